// RUN: tirx-opt %s --tirx-check-layouts | filecheck %s

// What is legal is left as it is; this pass only reports.

// CHECK: tirx.kernel @nothing_picked
// CHECK: %acc = tirx.alloc : !tirx.tile<128x256xf32, tensor>{{$}}
tirx.kernel @nothing_picked(%f16: f16, %f32: f32) target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  tirx.fill %a, %f16 : f16, !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<256x64xf16, shared>
  tirx.fill %b, %f16 : f16, !tirx.tile<256x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x256xf32, tensor>
  tirx.fill %acc, %f32 : f32, !tirx.tile<128x256xf32, tensor>
  tirx.mma %a, %b, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<256x64xf16, shared>, !tirx.tile<128x256xf32, tensor>
  tirx.return
}

// K-major with each swizzle, and MN-major: everything that one descriptor can say.

#sw128 = #tirx.swizzle_layout<3, 3, 3>
#sw64 = #tirx.swizzle_layout<3, 2, 3>
#sw32 = #tirx.swizzle_layout<3, 1, 3>
#a128 = #tirx.compose_layout<#sw128, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
#b64 = #tirx.compose_layout<#sw64, #tirx.tile_layout<S[(64, 2, 32) : (32, 2048, 1)]>>
#b32 = #tirx.compose_layout<#sw32, #tirx.tile_layout<S[(64, 4, 16) : (16, 1024, 1)]>>
#bnone = #tirx.tile_layout<S[(8, 8, 8, 8) : (64, 8, 512, 1)]>
#bmn = #tirx.compose_layout<#sw128, #tirx.tile_layout<S[(64, 64) : (1, 64)]>>
#acc64 = #tirx.tile_layout<S[(4, 16, 64) : (32@TLane, 1@TLane, 1@TCol)]>
#acc64_at_64 = #tirx.tile_layout<S[(4, 16, 64) : (32@TLane, 1@TLane, 1@TCol)] + 64@TCol>

// CHECK: tirx.kernel @canonical_layouts
tirx.kernel @canonical_layouts(%f16: f16, %f32: f32) target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #a128>
  tirx.fill %a, %f16 : f16, !tirx.tile<64x64xf16, shared, #a128>
  %b0 = tirx.alloc : !tirx.tile<64x64xf16, shared, #b64>
  tirx.fill %b0, %f16 : f16, !tirx.tile<64x64xf16, shared, #b64>
  %b1 = tirx.alloc : !tirx.tile<64x64xf16, shared, #b32>
  tirx.fill %b1, %f16 : f16, !tirx.tile<64x64xf16, shared, #b32>
  %b2 = tirx.alloc : !tirx.tile<64x64xf16, shared, #bnone>
  tirx.fill %b2, %f16 : f16, !tirx.tile<64x64xf16, shared, #bnone>
  %b3 = tirx.alloc : !tirx.tile<64x64xf16, shared, #bmn>
  tirx.fill %b3, %f16 : f16, !tirx.tile<64x64xf16, shared, #bmn>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor, #acc64>
  tirx.fill %acc, %f32 : f32, !tirx.tile<64x64xf32, tensor, #acc64>
  // Any column will do.
  %moved = tirx.alloc : !tirx.tile<64x64xf32, tensor, #acc64_at_64>
  tirx.fill %moved, %f32 : f32, !tirx.tile<64x64xf32, tensor, #acc64_at_64>
  tirx.mma %a, %b0, %acc : !tirx.tile<64x64xf16, shared, #a128>, !tirx.tile<64x64xf16, shared, #b64>, !tirx.tile<64x64xf32, tensor, #acc64>
  tirx.mma %a, %b1, %acc : !tirx.tile<64x64xf16, shared, #a128>, !tirx.tile<64x64xf16, shared, #b32>, !tirx.tile<64x64xf32, tensor, #acc64>
  tirx.mma %a, %b2, %acc : !tirx.tile<64x64xf16, shared, #a128>, !tirx.tile<64x64xf16, shared, #bnone>, !tirx.tile<64x64xf32, tensor, #acc64>
  tirx.mma %a, %b3, %moved : !tirx.tile<64x64xf16, shared, #a128>, !tirx.tile<64x64xf16, shared, #bmn>, !tirx.tile<64x64xf32, tensor, #acc64_at_64>
  tirx.return
}

// All of shared memory but for an mbarrier and a slot, and all 512 columns. Beyond 48 KiB it is dynamic on sm_80.

#columns = #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>

// CHECK: tirx.kernel @full
tirx.kernel @full() target("sm_100a") threads(128) {
  %s = tirx.alloc : !tirx.tile<3631x64xi8, shared, #tirx.tile_layout<S[(3631, 64) : (64, 1)]>>
  %t0 = tirx.alloc : !tirx.tile<128x256xf32, tensor, #columns>
  %t1 = tirx.alloc : !tirx.tile<128x256xf32, tensor, #columns>
  tirx.return
}

// CHECK: tirx.kernel @full_sm_80
tirx.kernel @full_sm_80() target("sm_80") threads(96) {
  %s = tirx.alloc : !tirx.tile<163x1024xi8, shared>
  // The last of 96 threads.
  %r = tirx.alloc : !tirx.tile<3x32xf32, register, #tirx.tile_layout<S[(3, 32) : (1@warpid, 1@laneid)]>>
  tirx.return
}

// Views: the last block and the last step end exactly at the edge. What is not known is not reported.

// CHECK: tirx.kernel @views
tirx.kernel @views(%a: memref<96x40xf32>, %n: index) target("sm_80") grid(3, 2) threads(32) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %c40 = arith.constant 40 : index
  %x = tirx.block_id x
  %m = arith.muli %x, %c32 : index
  scf.for %k = %c0 to %c40 step %c8 {
    %g = tirx.view %a[%m, %k] : memref<96x40xf32> -> !tirx.tile<32x8xf32, global>
  }
  // From 0 in steps of 32 up to 40: the last one starts at 32, not at 39.
  scf.for %k = %c0 to %c40 step %c32 {
    %g = tirx.view %a[%m, %k] : memref<96x40xf32> -> !tirx.tile<32x8xf32, global>
  }
  %unknown = tirx.view %a[%n, %n] : memref<96x40xf32> -> !tirx.tile<32x8xf32, global>
  tirx.return
}

// Without a grid nothing is known of the block.

// CHECK: tirx.kernel @no_grid
tirx.kernel @no_grid(%a: memref<96x40xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %x = tirx.block_id x
  %g = tirx.view %a[%x, %c0] : memref<96x40xf32> -> !tirx.tile<96x8xf32, global>
  tirx.return
}

// Fragments in registers: f64 needs sm_80, f16 sm_70.

#a64 = #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>
#c64 = #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>

// CHECK: tirx.kernel @fragments
tirx.kernel @fragments() target("sm_80") threads(32) {
  %a = tirx.alloc : !tirx.tile<8x4xf64, register, #a64>
  %c = tirx.alloc : !tirx.tile<8x8xf64, register, #c64>
  tirx.mma %a, %a, %c : !tirx.tile<8x4xf64, register, #a64>, !tirx.tile<8x4xf64, register, #a64>, !tirx.tile<8x8xf64, register, #c64>
  tirx.return
}

// A loop whose first step is known only as a multiple stays within bounds: its last step is one, too.

// CHECK-LABEL: tirx.kernel @split_k
tirx.kernel @split_k(%a: memref<64x256xf16>) target("sm_80") grid(4) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %block = tirx.block_id x
  %first = arith.muli %block, %c64 : index
  scf.for %k = %first to %c256 step %c256 {
    %t = tirx.view %a[%c0, %k] : memref<64x256xf16> -> !tirx.tile<64x64xf16, global>
  }
  tirx.return
}

// A condition may be what keeps a part within its tile.

// CHECK-LABEL: tirx.kernel @conditional_part
tirx.kernel @conditional_part() target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %s = tirx.alloc : !tirx.tile<2x64xf16, shared, #tirx.tile_layout<S[(2, 64) : (64, 1)]>>
  scf.for %i = %c0 to %c4 step %c1 {
    %inside = arith.cmpi slt, %i, %c2 : index
    scf.if %inside {
      // CHECK: tirx.subview %s[%i, 0]
      %part = tirx.subview %s[%i, 0] : !tirx.tile<2x64xf16, shared, #tirx.tile_layout<S[(2, 64) : (64, 1)]>> -> !tirx.tile<1x64xf16, shared, #tirx.tile_layout<S[(1, 64) : (64, 1)]>>
    }
  }
  tirx.return
}
