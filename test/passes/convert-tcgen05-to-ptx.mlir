// RUN: tirx-opt %s --convert-tcgen05-to-ptx | filecheck %s

// Allocation, synchronisation, the products: one instruction each. The accumulator is the base address plus its column
// (64) and the offset of its layout (8 columns).

#acc = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)] + 8@TCol>
!acc = !tirx.tile<128x64xf32, tensor, #acc>

// CHECK-LABEL: tirx.kernel @instructions
// CHECK:         %slot = ptx.shared_alloc @slot bytes 4 align 4
// CHECK-NEXT:    %mbar = ptx.shared_alloc @mbar bytes 8 align 8
// CHECK-NEXT:    %p = arith.constant true
// CHECK-NEXT:    tcgen05.alloc %slot columns 256
// CHECK-NEXT:    tcgen05.relinquish_alloc_permit
// CHECK-NEXT:    %base = ptx.ld shared %slot : i32 -> i32
// CHECK-NEXT:    %0 = arith.constant 64 : i32
// CHECK-NEXT:    %1 = arith.addi %base, %0 : i32
// CHECK-NEXT:    %2 = arith.constant 8 : i32
// CHECK-NEXT:    %3 = arith.addi %1, %2 : i32
// CHECK-NEXT:    tcgen05.mma f16 %3, {{.*}}, %p : i32, i64
// CHECK-NEXT:    %4 = arith.constant 64 : i32
// CHECK-NEXT:    %5 = arith.addi %base, %4 : i32
// CHECK-NEXT:    %6 = arith.constant 8 : i32
// CHECK-NEXT:    %7 = arith.addi %5, %6 : i32
// CHECK-NEXT:    tcgen05.mma ws tf32 %7, {{.*}}, %p zero_column_mask %d : i32, i64
// CHECK-NEXT:    tcgen05.commit %mbar
// CHECK-NEXT:    tcgen05.fence before_thread_sync
// CHECK-NEXT:    tcgen05.fence after_thread_sync
// CHECK-NEXT:    tcgen05.dealloc %base columns 256
// CHECK-NEXT:    tirx.return
tirx.kernel @instructions(%d: i64, %i: i32) target("sm_100a") threads(128) {
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  %mbar = ptx.shared_alloc @mbar bytes 8 align 8
  %p = arith.constant true
  tcgen05.alloc %slot columns 256
  tcgen05.relinquish_alloc_permit
  %base = ptx.ld shared %slot : i32 -> i32
  %acc = tcgen05.tile %base, 64 : i32 -> !acc
  tcgen05.mma f16 %acc, %d, %d, %i, %p : !acc, i64
  tcgen05.mma ws tf32 %acc, %d, %d, %i, %p zero_column_mask %d : !acc, i64
  tcgen05.commit %mbar
  tcgen05.fence before_thread_sync
  tcgen05.fence after_thread_sync
  tcgen05.dealloc %base columns 256
  tirx.return
}

// Loads and stores: every warp adds its 32 lanes, (tid & 96) << 16, to the address of the allocation; column 64 of the
// tile and the offset of the part are immediates or added once. 48 columns take two instructions.

#r48 = #tirx.tile_layout<S[(4, 32, 48) : (1@warpid, 1@laneid, 1)]>

// CHECK-LABEL: tirx.kernel @load_store
// CHECK:         %0 = ptx.read_special tid.x
// CHECK-NEXT:    %1 = arith.constant 96 : i32
// CHECK-NEXT:    %2 = arith.andi %0, %1 : i32
// CHECK-NEXT:    %3 = arith.constant 16 : i32
// CHECK-NEXT:    %4 = arith.shli %2, %3 : i32
// CHECK-NEXT:    %5 = arith.constant 64 : i32
// CHECK-NEXT:    %6 = arith.addi %base, %5 : i32
// CHECK-NEXT:    %7 = arith.addi %6, %4 : i32
// CHECK-NEXT:    %8, {{.*}}, %39 = tcgen05.ld "32x32b" num 32 %7 offset 24
// CHECK-NEXT:    %40, {{.*}}, %55 = tcgen05.ld "32x32b" num 16 %7 offset 56
// CHECK-NEXT:    %v = builtin.unrealized_conversion_cast %8, {{.*}}, %55
// CHECK-NEXT:    tcgen05.wait ld
// CHECK-NEXT:    %56 = ptx.read_special tid.x
// CHECK-NEXT:    %57 = arith.constant 96 : i32
// CHECK-NEXT:    %58 = arith.andi %56, %57 : i32
// CHECK-NEXT:    %59 = arith.constant 16 : i32
// CHECK-NEXT:    %60 = arith.shli %58, %59 : i32
// CHECK-NEXT:    %61 = arith.constant 64 : i32
// CHECK-NEXT:    %62 = arith.addi %base, %61 : i32
// CHECK-NEXT:    %63 = arith.addi %62, %60 : i32
// CHECK-NEXT:    tcgen05.st "32x32b" num 32 %63 offset 24, %8, {{.*}}, %39
// CHECK-NEXT:    tcgen05.st "32x32b" num 16 %63 offset 56, %40, {{.*}}, %55
// CHECK-NEXT:    tcgen05.wait st
// CHECK-NEXT:    tirx.return
tirx.kernel @load_store(%base: i32) target("sm_100a") threads(128) {
  %t = tcgen05.tile %base, 64 : i32 -> !acc
  %part = tirx.subview %t[0, 16] : !acc -> !tirx.tile<128x48xf32, tensor, #tirx.tile_layout<S[(128, 48) : (1@TLane, 1@TCol)] + 24@TCol>>
  %v = tcgen05.ld "32x32b" %part : !tirx.tile<128x48xf32, tensor, #tirx.tile_layout<S[(128, 48) : (1@TLane, 1@TCol)] + 24@TCol>> -> !tirx.tile<128x48xf32, register, #r48>
  tcgen05.wait ld
  tcgen05.st "32x32b" %part, %v : !tirx.tile<128x48xf32, tensor, #tirx.tile_layout<S[(128, 48) : (1@TLane, 1@TCol)] + 24@TCol>>, !tirx.tile<128x48xf32, register, #r48>
  tcgen05.wait st
  tirx.return
}

// Data path F: lanes 0 to 15 of each warp hold the lower 16 columns of their row, lanes 16 to 31 the upper ones.

#f = #tirx.tile_layout<S[(4, 16, 32) : (32@TLane, 1@TLane, 1@TCol)]>
#rf = #tirx.tile_layout<S[(4, 16, 2, 16) : (1@warpid, 1@laneid, 16@laneid, 1)]>

// CHECK-LABEL: tirx.kernel @data_path_f
// CHECK:         %0 = ptx.read_special tid.x
// CHECK-NEXT:    %1 = arith.constant 96 : i32
// CHECK-NEXT:    %2 = arith.andi %0, %1 : i32
// CHECK-NEXT:    %3 = arith.constant 16 : i32
// CHECK-NEXT:    %4 = arith.shli %2, %3 : i32
// CHECK-NEXT:    %5 = arith.addi %base, %4 : i32
// CHECK-NEXT:    %6, {{.*}}, %21 = tcgen05.ld "16x32bx2" num 16 %5 half_split_offset 16
// CHECK-NEXT:    %v = builtin.unrealized_conversion_cast %6, {{.*}}, %21
// CHECK-NEXT:    tcgen05.wait ld
// CHECK-NEXT:    tirx.return
tirx.kernel @data_path_f(%base: i32) target("sm_100a") threads(128) {
  %t = tcgen05.tile %base, 0 : i32 -> !tirx.tile<64x32xf32, tensor, #f>
  %v = tcgen05.ld "16x32bx2" %t : !tirx.tile<64x32xf32, tensor, #f> -> !tirx.tile<64x32xf32, register, #rf>
  tcgen05.wait ld
  tirx.return
}

// The shapes of 16 lanes come twice, for lanes 0 and 16 of each warp (16 << 16 = 1048576): the lower half first.

#g = #tirx.tile_layout<S[(32, 4, 16) : (1@TLane, 32@TLane, 1@TCol)]>
#rg = #tirx.tile_layout<S[(2, 2, 8, 4, 2, 4, 2) : (8, 2, 4@laneid, 1@warpid, 4, 1@laneid, 1)]>

// CHECK-LABEL: tirx.kernel @data_path_g
// CHECK:         %0 = ptx.read_special tid.x
// CHECK-NEXT:    %1 = arith.constant 96 : i32
// CHECK-NEXT:    %2 = arith.andi %0, %1 : i32
// CHECK-NEXT:    %3 = arith.constant 16 : i32
// CHECK-NEXT:    %4 = arith.shli %2, %3 : i32
// CHECK-NEXT:    %5 = arith.constant 32 : i32
// CHECK-NEXT:    %6 = arith.addi %base, %5 : i32
// CHECK-NEXT:    %7 = arith.addi %6, %4 : i32
// CHECK-NEXT:    %8, {{.*}}, %15 = tcgen05.ld "16x256b" num 2 %7
// CHECK-NEXT:    %16, {{.*}}, %23 = tcgen05.ld "16x256b" num 2 %7 offset 1048576
// CHECK-NEXT:    %v = builtin.unrealized_conversion_cast %8, {{.*}}, %23
// CHECK-NEXT:    tcgen05.wait ld
// CHECK-NEXT:    tirx.return
tirx.kernel @data_path_g(%base: i32) target("sm_100a") threads(128) {
  %t = tcgen05.tile %base, 32 : i32 -> !tirx.tile<32x64xf32, tensor, #g>
  %v = tcgen05.ld "16x256b" %t : !tirx.tile<32x64xf32, tensor, #g> -> !tirx.tile<32x64xf32, register, #rg>
  tcgen05.wait ld
  tirx.return
}
