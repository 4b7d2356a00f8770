// RUN: tirx-opt %s --convert-tcgen05-to-ptx | filecheck %s

// Every modifier of a product, with A and what goes with it at their columns in tensor memory. Elements of A are 16
// bits, so 4 of them at an offset of its layout are 2 columns.

#d = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
#at = #tirx.tile_layout<S[(128, 16) : (1@TLane, 1@TCol)] + 4@TCol>
#words = #tirx.tile_layout<S[(128, 2) : (1@TLane, 1@TCol)]>
#sf = #tirx.tile_layout<S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]>
!d = !tirx.tile<128x64xf32, tensor, #d>
!at = !tirx.tile<128x16xf16, tensor, #at>
!words = !tirx.tile<128x2xi32, tensor, #words>
!sf = !tirx.tile<32x4xf8E8M0FNU, tensor, #sf>

// CHECK-LABEL: tirx.kernel @modifiers
// CHECK:         %p = arith.constant true
// CHECK-NEXT:    tcgen05.mma tf32 %base, %a, %b, %i, %p disable_lanes(%w, %w, %w, %w) collector fill scale_d 4 : i32, i64
// CHECK-NEXT:    %0 = arith.constant 64 : i32
// CHECK-NEXT:    %1 = arith.addi %base, %0 : i32
// CHECK-NEXT:    %2 = arith.constant 2 : i32
// CHECK-NEXT:    %3 = arith.addi %1, %2 : i32
// CHECK-NEXT:    %4 = arith.constant 96 : i32
// CHECK-NEXT:    %5 = arith.addi %base, %4 : i32
// CHECK-NEXT:    tcgen05.mma f16 %base, %3, %b, %i, %p sparse(%5 : i32) ashift collector lastuse : i32, i32
// CHECK-NEXT:    %6 = arith.constant 96 : i32
// CHECK-NEXT:    %7 = arith.addi %base, %6 : i32
// CHECK-NEXT:    tcgen05.mma ws i8 %base, %a, %b, %i, %p sparse(%7 : i32) buffer "b3" collector use : i32, i64
// CHECK-NEXT:    %8 = arith.constant 64 : i32
// CHECK-NEXT:    %9 = arith.addi %base, %8 : i32
// CHECK-NEXT:    %10 = arith.constant 2 : i32
// CHECK-NEXT:    %11 = arith.addi %9, %10 : i32
// CHECK-NEXT:    tcgen05.mma ws f16 %base, %11, %b, %i, %p zero_column_mask %b : i32, i32
// CHECK-NEXT:    %12 = arith.constant 104 : i32
// CHECK-NEXT:    %13 = arith.addi %base, %12 : i32
// CHECK-NEXT:    %14 = arith.constant 108 : i32
// CHECK-NEXT:    %15 = arith.addi %base, %14 : i32
// CHECK-NEXT:    tcgen05.mma mxf8f6f4 %base, %a, %b, %i, %p scales(%13, %15 : i32, i32) : i32, i64
// CHECK-NEXT:    %16 = arith.constant 64 : i32
// CHECK-NEXT:    %17 = arith.addi %base, %16 : i32
// CHECK-NEXT:    %18 = arith.constant 2 : i32
// CHECK-NEXT:    %19 = arith.addi %17, %18 : i32
// CHECK-NEXT:    %20 = arith.constant 104 : i32
// CHECK-NEXT:    %21 = arith.addi %base, %20 : i32
// CHECK-NEXT:    %22 = arith.constant 108 : i32
// CHECK-NEXT:    %23 = arith.addi %base, %22 : i32
// CHECK-NEXT:    %24 = arith.constant 96 : i32
// CHECK-NEXT:    %25 = arith.addi %base, %24 : i32
// CHECK-NEXT:    tcgen05.mma mxf4nvf4 "scale_vec::4X" %base, %19, %b, %i, %p scales(%21, %23 : i32, i32) sparse(%25 : i32) collector use : i32, i32
// CHECK-NEXT:    %26 = arith.constant 104 : i32
// CHECK-NEXT:    %27 = arith.addi %base, %26 : i32
// CHECK-NEXT:    tcgen05.cp "32x128b" %27, %a multicast "warpx4" : i32
// CHECK-NEXT:    %28 = arith.constant 64 : i32
// CHECK-NEXT:    %29 = arith.addi %base, %28 : i32
// CHECK-NEXT:    %30 = arith.constant 2 : i32
// CHECK-NEXT:    %31 = arith.addi %29, %30 : i32
// CHECK-NEXT:    tcgen05.cp "128x256b" %31, %a decompress "b4x16_p64" : i32
// CHECK-NEXT:    tcgen05.shift %base : i32
// CHECK-NEXT:    tirx.return
tirx.kernel @modifiers(%a: i64, %b: i64, %i: i32, %w: i32, %base: i32) target("sm_100a") threads(128) {
  %p = arith.constant true
  %acc = tcgen05.tile %base, 0 : i32 -> !d
  %at = tcgen05.tile %base, 64 : i32 -> !at
  %meta = tcgen05.tile %base, 96 : i32 -> !words
  %sa = tcgen05.tile %base, 104 : i32 -> !sf
  %sb = tcgen05.tile %base, 108 : i32 -> !sf
  tcgen05.mma tf32 %acc, %a, %b, %i, %p disable_lanes(%w, %w, %w, %w) collector fill scale_d 4 : !d, i64
  tcgen05.mma f16 %acc, %at, %b, %i, %p sparse(%meta : !words) ashift collector lastuse : !d, !at
  tcgen05.mma ws i8 %acc, %a, %b, %i, %p sparse(%meta : !words) buffer "b3" collector use : !d, i64
  tcgen05.mma ws f16 %acc, %at, %b, %i, %p zero_column_mask %b : !d, !at
  tcgen05.mma mxf8f6f4 %acc, %a, %b, %i, %p scales(%sa, %sb : !sf, !sf) : !d, i64
  tcgen05.mma mxf4nvf4 "scale_vec::4X" %acc, %at, %b, %i, %p scales(%sa, %sb : !sf, !sf) sparse(%meta : !words) collector use : !d, !at
  tcgen05.cp "32x128b" %sa, %a multicast "warpx4" : !sf
  tcgen05.cp "128x256b" %at, %a decompress "b4x16_p64" : !at
  tcgen05.shift %acc : !d
  tirx.return
}

// Pairs of CTAs.

// CHECK-LABEL: tirx.kernel @pairs
// CHECK:         %slot = ptx.shared_alloc @slot bytes 4 align 4
// CHECK-NEXT:    %mbar = ptx.shared_alloc @mbar bytes 8 align 8
// CHECK-NEXT:    %p = arith.constant true
// CHECK-NEXT:    %ctas = arith.constant 3 : i16
// CHECK-NEXT:    tcgen05.alloc %slot columns 32 cta_group 2
// CHECK-NEXT:    tcgen05.relinquish_alloc_permit cta_group 2
// CHECK-NEXT:    tcgen05.mma f16 %base, %a, %a, %i, %p cta_group 2 disable_lanes(%w, %w, %w, %w, %w, %w, %w, %w) : i32, i64
// CHECK-NEXT:    tcgen05.cp "4x256b" %base, %a cta_group 2 : i32
// CHECK-NEXT:    tcgen05.shift %base cta_group 2 : i32
// CHECK-NEXT:    tcgen05.commit %mbar multicast %ctas cta_group 2
// CHECK-NEXT:    tcgen05.dealloc %base columns 32 cta_group 2
// CHECK-NEXT:    tirx.return
tirx.kernel @pairs(%a: i64, %i: i32, %w: i32, %base: i32) target("sm_100a") threads(128) {
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  %mbar = ptx.shared_alloc @mbar bytes 8 align 8
  %p = arith.constant true
  %ctas = arith.constant 3 : i16
  tcgen05.alloc %slot columns 32 cta_group 2
  tcgen05.relinquish_alloc_permit cta_group 2
  %acc = tcgen05.tile %base, 0 : i32 -> !d
  tcgen05.mma f16 %acc, %a, %a, %i, %p cta_group 2 disable_lanes(%w, %w, %w, %w, %w, %w, %w, %w) : !d, i64
  tcgen05.cp "4x256b" %acc, %a cta_group 2 : !d
  tcgen05.shift %acc cta_group 2 : !d
  tcgen05.commit %mbar multicast %ctas cta_group 2
  tcgen05.dealloc %base columns 32 cta_group 2
  tirx.return
}

// 16-bit elements in the low halves of columns, two of them to a register. Elements next to each other need no packing.

#low = #tirx.tile_layout<S[(128, 8) : (1@TLane, 2@TCol)] + 32@TCol>
#full = #tirx.tile_layout<S[(128, 8) : (1@TLane, 1@TCol)]>
#halves = #tirx.tile_layout<S[(4, 32, 8) : (1@warpid, 1@laneid, 1)]>
!low = !tirx.tile<128x8xf16, tensor, #low>
!full = !tirx.tile<128x8xf16, tensor, #full>
!halves = !tirx.tile<128x8xf16, register, #halves>

// CHECK-LABEL: tirx.kernel @packed
// CHECK:         %0 = ptx.read_special tid.x
// CHECK-NEXT:    %1 = arith.constant 96 : i32
// CHECK-NEXT:    %2 = arith.andi %0, %1 : i32
// CHECK-NEXT:    %3 = arith.constant 16 : i32
// CHECK-NEXT:    %4 = arith.shli %2, %3 : i32
// CHECK-NEXT:    %5 = arith.addi %base, %4 : i32
// CHECK-NEXT:    %6, %7, %8, %9 = tcgen05.ld "32x32b" num 4 %5 offset 16 pack : i32 -> i32, i32, i32, i32
// CHECK-NEXT:    %v = builtin.unrealized_conversion_cast %6, %7, %8, %9 : i32, i32, i32, i32 to !tirx.tile<128x8xf16, register, 
// CHECK-NEXT:    tcgen05.wait ld
// CHECK-NEXT:    %10 = ptx.read_special tid.x
// CHECK-NEXT:    %11 = arith.constant 96 : i32
// CHECK-NEXT:    %12 = arith.andi %10, %11 : i32
// CHECK-NEXT:    %13 = arith.constant 16 : i32
// CHECK-NEXT:    %14 = arith.shli %12, %13 : i32
// CHECK-NEXT:    %15 = arith.addi %base, %14 : i32
// CHECK-NEXT:    tcgen05.st "32x32b" num 4 %15 offset 16 unpack, %6, %7, %8, %9 : i32, i32, i32, i32, i32
// CHECK-NEXT:    %16 = ptx.read_special tid.x
// CHECK-NEXT:    %17 = arith.constant 96 : i32
// CHECK-NEXT:    %18 = arith.andi %16, %17 : i32
// CHECK-NEXT:    %19 = arith.constant 16 : i32
// CHECK-NEXT:    %20 = arith.shli %18, %19 : i32
// CHECK-NEXT:    %21 = arith.constant 32 : i32
// CHECK-NEXT:    %22 = arith.addi %base, %21 : i32
// CHECK-NEXT:    %23 = arith.addi %22, %20 : i32
// CHECK-NEXT:    tcgen05.st "32x32b" num 4 %23, %6, %7, %8, %9 : i32, i32, i32, i32, i32
// CHECK-NEXT:    tcgen05.wait st
// CHECK-NEXT:    tirx.return
tirx.kernel @packed(%base: i32) target("sm_100a") threads(128) {
  %low = tcgen05.tile %base, 0 : i32 -> !low
  %full = tcgen05.tile %base, 32 : i32 -> !full
  %v = tcgen05.ld "32x32b" %low pack : !low -> !halves
  tcgen05.wait ld
  tcgen05.st "32x32b" %low unpack, %v : !low, !halves
  tcgen05.st "32x32b" %full, %v : !full, !halves
  tcgen05.wait st
  tirx.return
}

// The greatest of 6 columns: two instructions, whose results are compared after they are there.

#six = #tirx.tile_layout<S[(128, 6) : (1@TLane, 1@TCol)]>
#r6 = #tirx.tile_layout<S[(4, 32, 6) : (1@warpid, 1@laneid, 1)]>
#r1 = #tirx.tile_layout<S[(4, 32) : (1@warpid, 1@laneid)]>
!six = !tirx.tile<128x6xf32, tensor, #six>

// CHECK-LABEL: tirx.kernel @reduction
// CHECK:         %0 = ptx.read_special tid.x
// CHECK-NEXT:    %1 = arith.constant 96 : i32
// CHECK-NEXT:    %2 = arith.andi %0, %1 : i32
// CHECK-NEXT:    %3 = arith.constant 16 : i32
// CHECK-NEXT:    %4 = arith.shli %2, %3 : i32
// CHECK-NEXT:    %5 = arith.addi %base, %4 : i32
// CHECK-NEXT:    %6, %7, %8, %9, %10 = tcgen05.ld.red max "32x32b" num 4 %5 as "f32" nan : i32 -> f32, f32, f32, f32, f32
// CHECK-NEXT:    %11, %12, %13 = tcgen05.ld.red max "32x32b" num 2 %5 offset 4 as "f32" nan : i32 -> f32, f32, f32
// CHECK-NEXT:    tcgen05.wait ld
// CHECK-NEXT:    %14 = ptx.max nan %6, %11 : f32
// CHECK-NEXT:    %v = builtin.unrealized_conversion_cast %7, %8, %9, %10, %12, %13 : f32, f32, f32, f32, f32, f32 to !tirx.tile<128x6xf32, register, 
// CHECK-NEXT:    %m = builtin.unrealized_conversion_cast %14 : f32 to !tirx.tile<128xf32, register, 
// CHECK-NEXT:    tirx.return
tirx.kernel @reduction(%base: i32) target("sm_103a") threads(128) {
  %t = tcgen05.tile %base, 0 : i32 -> !six
  %m, %v = tcgen05.ld.red max "32x32b" %t nan : !six -> !tirx.tile<128xf32, register, #r1>, !tirx.tile<128x6xf32, register, #r6>
  tirx.return
}

// Of four columns there is one instruction, and nothing to compare.

#four = #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>
#r4 = #tirx.tile_layout<S[(4, 32, 4) : (1@warpid, 1@laneid, 1)]>
!four = !tirx.tile<128x4xf32, tensor, #four>

// CHECK-LABEL: tirx.kernel @one_reduction
// CHECK:         tcgen05.ld.red min "32x32b" num 4
// CHECK-NEXT:    %v = builtin.unrealized_conversion_cast
// CHECK-NEXT:    %m = builtin.unrealized_conversion_cast
// CHECK-NEXT:    tirx.return
tirx.kernel @one_reduction(%base: i32) target("sm_103a") threads(128) {
  %t = tcgen05.tile %base, 0 : i32 -> !four
  %m, %v = tcgen05.ld.red min "32x32b" %t : !four -> !tirx.tile<128xf32, register, #r1>, !tirx.tile<128x4xf32, register, #r4>
  tirx.return
}

// An accumulator in the upper halves of the lanes: lane 16 is 16 << 16 in the address.

#upper = #tirx.tile_layout<S[(4, 16, 32) : (32@TLane, 1@TLane, 1@TCol)] + 16@TLane + 3@TCol>
!upper = !tirx.tile<64x32xf32, tensor, #upper>

// CHECK-LABEL: tirx.kernel @upper_lanes
// CHECK:         %[[PLACE:.*]] = arith.constant 1048579 : i32
// CHECK-NEXT:    %[[D:.*]] = arith.addi %base, %[[PLACE]] : i32
// CHECK-NEXT:    tcgen05.mma f16 %[[D]],
tirx.kernel @upper_lanes(%base: i32, %b: i64, %i: i32) target("sm_100a") threads(128) {
  %p = arith.constant true
  %t = tcgen05.tile %base, 0 : i32 -> !upper
  tcgen05.mma f16 %t, %b, %b, %i, %p : !upper, i64
  tirx.return
}
