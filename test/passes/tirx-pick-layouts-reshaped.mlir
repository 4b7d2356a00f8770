// RUN: tirx-opt %s --tirx-mem2reg --tirx-pick-layouts | filecheck %s

// Fragments carry back through reshapes to what is loaded from shared memory, not to what global memory has: the load of
// %w is in the layout of A.
// CHECK-LABEL: tirx.kernel @reshaped_operand
// CHECK:         %q = tirx.load %w : {{.*}} -> !tirx.tile<64x64xsi8, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
// CHECK-NOT:     tirx.convert
// CHECK:         %a = builtin.unrealized_conversion_cast %f
// CHECK-NEXT:    tirx.mma %a
// CHECK:         %h = tirx.load %g : {{.*}} -> !tirx.tile<64x64xf16, register, #tirx.tile_layout<S[(4, 128, 8) : (8, 1@tx, 1)]>>
// CHECK-NEXT:    %b = tirx.convert %h
tirx.kernel @reshaped_operand(%m: memref<64x64xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %w = tirx.alloc : !tirx.tile<64x64xsi8, shared>
  %x = tirx.alloc : !tirx.tile<16x64xf16, shared>
  %d = tirx.alloc fill(0.0) : !tirx.tile<64x16xf32, register>
  %q = tirx.load %w : !tirx.tile<64x64xsi8, shared> -> !tirx.tile<64x64xsi8, register>
  %groups = tirx.reshape %q : !tirx.tile<64x64xsi8, register> -> !tirx.tile<64x2x32xsi8, register>
  %f = tirx.map ins(%groups : !tirx.tile<64x2x32xsi8, register>) (%e) { f16(%e) } -> !tirx.tile<64x2x32xf16, register>
  %a = tirx.reshape %f : !tirx.tile<64x2x32xf16, register> -> !tirx.tile<64x64xf16, register>
  tirx.mma %a, %x, %d : !tirx.tile<64x64xf16, register>, !tirx.tile<16x64xf16, shared>, !tirx.tile<64x16xf32, register>
  %g = tirx.view %m[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
  %h = tirx.load %g : !tirx.tile<64x64xf16, global> -> !tirx.tile<64x64xf16, register>
  %b = tirx.reshape %h : !tirx.tile<64x64xf16, register> -> !tirx.tile<64x64xf16, register>
  tirx.mma %b, %x, %d : !tirx.tile<64x64xf16, register>, !tirx.tile<16x64xf16, shared>, !tirx.tile<64x16xf32, register>
  tirx.return
}

// A product reads all rows of a shared tile of rank 4 as one operand: four neighbours of four rows lie one after the other.
// CHECK-LABEL: tirx.kernel @rows_of_places
// CHECK: %s = tirx.alloc : !tirx.tile<4x4x4x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
tirx.kernel @rows_of_places() target("sm_90a") threads(128) {
  %s = tirx.alloc : !tirx.tile<4x4x4x64xf16, shared>
  %x = tirx.alloc : !tirx.tile<16x64xf16, shared>
  %d = tirx.alloc fill(0.0) : !tirx.tile<64x16xf32, register>
  %a = tirx.reshape %s : !tirx.tile<4x4x4x64xf16, shared> -> !tirx.tile<64x64xf16, shared>
  tirx.mma %a, %x, %d : !tirx.tile<64x64xf16, shared>, !tirx.tile<16x64xf16, shared>, !tirx.tile<64x16xf32, register>
  tirx.return
}

// The columns of A are all rows of the tile, as in the gradient of a convolution's weights.
// CHECK-LABEL: tirx.kernel @columns_of_places
// CHECK: %s = tirx.alloc : !tirx.tile<2x4x4x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(32, 64) : (64, 1)]>>>
tirx.kernel @columns_of_places() target("sm_90a") threads(128) {
  %s = tirx.alloc : !tirx.tile<2x4x4x64xf16, shared>
  %x = tirx.alloc : !tirx.tile<16x32xf16, shared>
  %d = tirx.alloc fill(0.0) : !tirx.tile<64x16xf32, register>
  %rows = tirx.reshape %s : !tirx.tile<2x4x4x64xf16, shared> -> !tirx.tile<32x64xf16, shared>
  %a = tirx.transpose %rows [1, 0] : !tirx.tile<32x64xf16, shared> -> !tirx.tile<64x32xf16, shared>
  tirx.mma %a, %x, %d : !tirx.tile<64x32xf16, shared>, !tirx.tile<16x32xf16, shared>, !tirx.tile<64x16xf32, register>
  tirx.return
}

// Every 64th element is in one of four threads: what is computed with them gets a layout of all threads.

// CHECK-LABEL: tirx.kernel @uneven
// CHECK:         %p = tirx.convert %x elements [0 : i64, 64 : i64]
// CHECK-SAME:      -> !tirx.tile<64xf32, register, #tirx.tile_layout<S[(16, 4) : (1@laneid, 1)] + R[(2, 2) : (16@laneid, 1@warpid)]>>
tirx.kernel @uneven(%a: memref<4096xf32>, %d: memref<64xf32>) target("sm_80") grid(1) threads(64) {
  %x = tirx.load %a[0] : memref<4096xf32> -> !tirx.tile<4096xf32, register>
  %p = tirx.convert %x elements [0 : i64, 64 : i64] : !tirx.tile<4096xf32, register> -> !tirx.tile<64xf32, register>
  %y = tirx.map ins(%p : !tirx.tile<64xf32, register>) (%e) { exp(%e) } -> !tirx.tile<64xf32, register>
  %s = tirx.reduce %y dim(0) add : !tirx.tile<64xf32, register> -> !tirx.tile<1xf32, register>
  tirx.store %s, %d[0] : !tirx.tile<1xf32, register>, memref<64xf32>
}

// Two neighbours along K, of which wgmma wants pairs, lie four elements of 4 bits apart: registers hold them in the order
// in memory, those of a word side by side, and the map takes each from where it is.

// CHECK-LABEL: tirx.kernel @packed_for_wgmma
// CHECK:         %words = tirx.load %w : {{.*}} -> !tirx.tile<64x32xi4, register, #tirx.tile_layout<S[(4, 2, 32, 8) : (1@warpid, 8, 1@laneid, 1)]>>
// CHECK:         %f = tirx.map ins(%q : !tirx.tile<64x4x4x2xi4, register, #tirx.tile_layout<S[(4, 2, 8, 4, 4, 2) : (1@warpid, 8, 4@laneid, 1, 1@laneid, 4)]>>)
// CHECK:           -> !tirx.tile<64x4x4x2xf16, register, #tirx.tile_layout<S[(4, 2, 8, 4, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
// CHECK-NEXT:    %a = builtin.unrealized_conversion_cast %f
// CHECK-NEXT:    %{{.*}} = tirx.mma %a
tirx.kernel @packed_for_wgmma() target("sm_90a") threads(128) {
  %w = tirx.alloc : !tirx.tile<64x32xi4, shared>
  %x = tirx.alloc : !tirx.tile<8x32xf16, shared>
  %acc = tirx.alloc fill(0.0) : !tirx.tile<64x8xf32, register>
  %words = tirx.load %w : !tirx.tile<64x32xi4, shared> -> !tirx.tile<64x32xi4, register>
  // (row, t, pair, i) -> (row, i, t, pair)
  %q = tirx.convert %words elements [0, 32, 1, 8, 4] : !tirx.tile<64x32xi4, register> -> !tirx.tile<64x4x4x2xi4, register>
  %f = tirx.map ins(%q : !tirx.tile<64x4x4x2xi4, register>) (%e) { f16(%e) } -> !tirx.tile<64x4x4x2xf16, register>
  %a = tirx.convert %f elements [0, 32, 1] : !tirx.tile<64x4x4x2xf16, register> -> !tirx.tile<64x32xf16, register>
  tirx.mma %a, %x, %acc : !tirx.tile<64x32xf16, register>, !tirx.tile<8x32xf16, shared>, !tirx.tile<64x8xf32, register>
  tirx.return
}
