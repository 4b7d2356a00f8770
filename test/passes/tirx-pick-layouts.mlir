// RUN: tirx-opt %s --tirx-pick-layouts --remarks --verify-diagnostics | filecheck %s

// Every choice is a remark at the allocation that it is about. Views get the strides of their memref without one.

// CHECK-LABEL: tirx.kernel @operands
// CHECK: %ga = tirx.view %a[%c0, %c0] {{.*}} -> !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
// CHECK: %gb = tirx.view %b[%c0, %c0] {{.*}} -> !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[(64, 64) : (1, 64)]>>
// CHECK: %row = tirx.view %a[%c0, %c0] {{.*}} -> !tirx.tile<64xf16, global, #tirx.tile_layout<S[64 : 1]>>
// CHECK: %k128 = {{.*}}<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
// CHECK: %mn128 = {{.*}}<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (1, 64)]>>>
// CHECK: %k64 = {{.*}}<64x96xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[(64, 3, 32) : (32, 2048, 1)]>>>
// CHECK: %k32 = {{.*}}<64x16xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(64, 16) : (16, 1)]>>>
// CHECK: %tf32 = {{.*}}<64x64xtf32, shared, #tirx.compose_layout<#tirx.swizzle_layout<2, 3, 3>, #tirx.tile_layout<S[(64, 2, 32) : (32, 2048, 1)]>>>
// CHECK: %f8 = {{.*}}<64x128xf8E4M3FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<4, 3, 3>, #tirx.tile_layout<S[(64, 128) : (128, 1)]>>>
// CHECK: tirx.mma %k128, %mn128, %acc
// CHECK: tirx.mma %k64, %k64, %acc
tirx.kernel @operands(%a: memref<64x64xf16>, %b: memref<64x64xf16, strided<[1, 64]>>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
  %gb = tirx.view %b[%c0, %c0] : memref<64x64xf16, strided<[1, 64]>> -> !tirx.tile<64x64xf16, global>
  %row = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<64xf16, global>
  // expected-remark@+1 {{picked #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>: K-major operand, swizzle 128B: copies take 224 cycles (64 wavefronts x 1 + 256 sectors x 0.5 + 32 instructions x 1), the least possible; 0 bytes of padding, 1 block}}
  %k128 = tirx.alloc : !tirx.tile<64x64xf16, shared>
  // expected-remark@+1 {{picked #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (1, 64)]>>: MN-major operand, swizzle 128B: copies take 224 cycles (64 wavefronts x 1 + 256 sectors x 0.5 + 32 instructions x 1), the least possible; 0 bytes of padding, 1 block}}
  %mn128 = tirx.alloc : !tirx.tile<64x64xf16, shared>
  // expected-remark@+1 {{picked #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[(64, 3, 32) : (32, 2048, 1)]>>: K-major operand, swizzle 64B: no copies to suit, 0 bytes of padding, 3 blocks}}
  %k64 = tirx.alloc : !tirx.tile<64x96xf16, shared>
  // expected-remark@+1 {{picked #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(64, 16) : (16, 1)]>>: K-major}}
  %k32 = tirx.alloc : !tirx.tile<64x16xf16, shared>
  // expected-remark@+1 {{K-major}}
  %tf32 = tirx.alloc : !tirx.tile<64x64xtf32, shared>
  // expected-remark@+1 {{K-major}}
  %f8 = tirx.alloc : !tirx.tile<64x128xf8E4M3FN, shared>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(4, 16, 64) : (32@TLane, 1@TLane, 1@TCol)]>: data path of a 64x64 accumulator}}
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  tirx.copy %ga, %k128 : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
  tirx.copy %gb, %mn128 : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
  tirx.mma %k128, %mn128, %acc : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf32, tensor>
  // One tile may be both operands.
  tirx.mma %k64, %k64, %acc : !tirx.tile<64x96xf16, shared>, !tirx.tile<64x96xf16, shared>, !tirx.tile<64x64xf32, tensor>
  tirx.mma %k32, %k32, %acc : !tirx.tile<64x16xf16, shared>, !tirx.tile<64x16xf16, shared>, !tirx.tile<64x64xf32, tensor>
  tirx.mma %tf32, %tf32, %acc : !tirx.tile<64x64xtf32, shared>, !tirx.tile<64x64xtf32, shared>, !tirx.tile<64x64xf32, tensor>
  tirx.mma %f8, %f8, %acc : !tirx.tile<64x128xf8E4M3FN, shared>, !tirx.tile<64x128xf8E4M3FN, shared>, !tirx.tile<64x64xf32, tensor>
  tirx.return
}

// Extents that are no powers of two: rows of 48 and 80 elements take the 32-byte swizzle, which divides them; a row of
// the 128-byte swizzle with a gap in it would be read as well, but half of the banks would serve the copy.

// CHECK-LABEL: tirx.kernel @odd_extents
tirx.kernel @odd_extents(%a: memref<128x48xf16>, %b: memref<224x80xf16>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<128x48xf16> -> !tirx.tile<128x48xf16, global>
  %gb = tirx.view %b[%c0, %c0] : memref<224x80xf16> -> !tirx.tile<224x80xf16, global>
  // expected-remark@+1 {{picked #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(128, 3, 16) : (16, 2048, 1)]>>: K-major operand, swizzle 32B: copies take 336 cycles (96 wavefronts x 1 + 384 sectors x 0.5 + 48 instructions x 1), the least possible; 0 bytes of padding, 3 blocks}}
  %k48 = tirx.alloc : !tirx.tile<128x48xf16, shared>
  // expected-remark@+1 {{K-major operand, swizzle 32B: copies take 1120 cycles (320 wavefronts x 1 + 1280 sectors x 0.5 + 160 instructions x 1), at least 980; 0 bytes of padding, 5 blocks}}
  %rows224 = tirx.alloc : !tirx.tile<224x80xf16, shared>
  // expected-remark@+1 {{K-major operand, swizzle 32B: no copies to suit}}
  %k80 = tirx.alloc : !tirx.tile<128x80xf16, shared>
  // expected-remark@+1 {{K-major operand, swizzle 32B: no copies to suit}}
  %n96 = tirx.alloc : !tirx.tile<96x48xf16, shared>
  // expected-remark@+1 {{data path}}
  %acc = tirx.alloc : !tirx.tile<128x96xf32, tensor>
  // expected-remark@+1 {{data path}}
  %wide = tirx.alloc : !tirx.tile<128x224xf32, tensor>
  tirx.copy %ga, %k48 : !tirx.tile<128x48xf16, global>, !tirx.tile<128x48xf16, shared>
  tirx.copy %gb, %rows224 : !tirx.tile<224x80xf16, global>, !tirx.tile<224x80xf16, shared>
  tirx.mma %k48, %n96, %acc : !tirx.tile<128x48xf16, shared>, !tirx.tile<96x48xf16, shared>, !tirx.tile<128x96xf32, tensor>
  tirx.mma %k80, %rows224, %wide : !tirx.tile<128x80xf16, shared>, !tirx.tile<224x80xf16, shared>, !tirx.tile<128x224xf32, tensor>
  tirx.return
}

// One layout for all uses of a tile: two products read it, whole and in part, and two copies fill it from matrices of
// different order. Vectors decide for the major-ness of the larger copy.

// CHECK-LABEL: tirx.kernel @many_uses
// CHECK: %upper = tirx.subview %t[0, 0] {{.*}} -> !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (1, 64)]>>>
// CHECK: %lower = tirx.subview %t[64, 0] {{.*}} -> !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (1, 64)] + 4096>>>
tirx.kernel @many_uses(%a: memref<128x64xf16, strided<[1, 128]>>, %b: memref<64x64xf16>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<128x64xf16, strided<[1, 128]>> -> !tirx.tile<128x64xf16, global>
  %gb = tirx.view %b[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
  // expected-remark@+1 {{picked #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(2, 64, 64) : (4096, 1, 64)]>>: MN-major operand, swizzle 128B: copies take 1088 cycles}}
  %t = tirx.alloc : !tirx.tile<128x64xf16, shared>
  // expected-remark@+1 {{data path}}
  %d = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  // expected-remark@+1 {{data path}}
  %e = tirx.alloc : !tirx.tile<64x128xf32, tensor>
  %upper = tirx.subview %t[0, 0] : !tirx.tile<128x64xf16, shared> -> !tirx.tile<64x64xf16, shared>
  %lower = tirx.subview %t[64, 0] : !tirx.tile<128x64xf16, shared> -> !tirx.tile<64x64xf16, shared>
  tirx.copy %ga, %t : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
  tirx.mma %t, %upper, %d : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, tensor>
  tirx.copy %gb, %lower : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
  tirx.mma %lower, %t, %e : !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<64x128xf32, tensor>
  tirx.return
}

// Patterns of 8 rows are whole, so only a layout without swizzle can start an operand at row 4.

// CHECK-LABEL: tirx.kernel @row_of_a_pattern
tirx.kernel @row_of_a_pattern() target("sm_100a") threads(128) {
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(128, 8, 8) : (8, 1024, 1)]>: K-major operand, swizzle none}}
  %t = tirx.alloc : !tirx.tile<128x64xf16, shared>
  // expected-remark@+1 {{data path}}
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  %a = tirx.subview %t[4, 0] : !tirx.tile<128x64xf16, shared> -> !tirx.tile<64x64xf16, shared>
  %b = tirx.subview %t[64, 0] : !tirx.tile<128x64xf16, shared> -> !tirx.tile<64x64xf16, shared>
  tirx.mma %a, %b, %acc : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf32, tensor>
  tirx.return
}

// Products may forbid what copies would like: no MN-major B of 8-bit elements has 8 columns.

// CHECK-LABEL: tirx.kernel @forbidden
tirx.kernel @forbidden(%b: memref<8x64xi8, strided<[1, 8]>>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %gb = tirx.view %b[%c0, %c0] : memref<8x64xi8, strided<[1, 8]>> -> !tirx.tile<8x64xi8, global>
  // expected-remark@+1 {{K-major operand, swizzle 64B: no copies to suit}}
  %a = tirx.alloc : !tirx.tile<64x64xi8, shared>
  // expected-remark@+1 {{K-major operand, swizzle 64B: copies take}}
  %sb = tirx.alloc : !tirx.tile<8x64xi8, shared>
  // expected-remark@+1 {{data path}}
  %acc = tirx.alloc : !tirx.tile<64x8xi32, tensor>
  tirx.copy %gb, %sb : !tirx.tile<8x64xi8, global>, !tirx.tile<8x64xi8, shared>
  tirx.mma %a, %sb, %acc : !tirx.tile<64x64xi8, shared>, !tirx.tile<8x64xi8, shared>, !tirx.tile<64x8xi32, tensor>
  tirx.return
}

// A tile of several stages repeats the layout of one, from one period of the swizzle to another.

// CHECK-LABEL: tirx.kernel @stages
tirx.kernel @stages() target("sm_100a") threads(128) {
  // expected-remark@+1 {{picked #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[(3, 68, 32) : (2560, 32, 1)]>>: K-major operand, swizzle 64B}}
  %ring = tirx.alloc : !tirx.tile<3x68x32xf16, shared>
  // expected-remark@+1 {{K-major}}
  %a = tirx.alloc : !tirx.tile<64x32xf16, shared>
  // expected-remark@+1 {{data path}}
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  %stage = tirx.subview %ring[2, 0, 0] : !tirx.tile<3x68x32xf16, shared> -> !tirx.tile<1x64x32xf16, shared>
  %b = tirx.reshape %stage : !tirx.tile<1x64x32xf16, shared> -> !tirx.tile<64x32xf16, shared>
  tirx.mma %a, %b, %acc : !tirx.tile<64x32xf16, shared>, !tirx.tile<64x32xf16, shared>, !tirx.tile<64x64xf32, tensor>
  tirx.return
}

// Accumulators go where the instruction writes them: data paths D and F, and for .ws D, E and G.

// CHECK-LABEL: tirx.kernel @accumulators
tirx.kernel @accumulators() target("sm_100a") threads(128) {
  // expected-remark@+1 {{K-major}}
  %a32 = tirx.alloc : !tirx.tile<32x32xf16, shared>
  // expected-remark@+1 {{K-major}}
  %a64 = tirx.alloc : !tirx.tile<64x32xf16, shared>
  // expected-remark@+1 {{K-major}}
  %a128 = tirx.alloc : !tirx.tile<128x32xf16, shared>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>: data path of a 128x64 accumulator}}
  %d = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>: data path of a 128x64 accumulator}}
  %d_ws = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(64, 2, 32) : (1@TLane, 64@TLane, 1@TCol)]>: data path of a 64x64 accumulator}}
  %e_ws = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(32, 4, 16) : (1@TLane, 32@TLane, 1@TCol)]>: data path of a 32x64 accumulator}}
  %g_ws = tirx.alloc : !tirx.tile<32x64xf32, tensor>
  tirx.mma %a128, %a64, %d : !tirx.tile<128x32xf16, shared>, !tirx.tile<64x32xf16, shared>, !tirx.tile<128x64xf32, tensor>
  tirx.mma %a128, %a64, %d_ws zero_columns([1]) : !tirx.tile<128x32xf16, shared>, !tirx.tile<64x32xf16, shared>, !tirx.tile<128x64xf32, tensor>
  tirx.mma %a64, %a64, %e_ws zero_columns([1]) : !tirx.tile<64x32xf16, shared>, !tirx.tile<64x32xf16, shared>, !tirx.tile<64x64xf32, tensor>
  tirx.mma %a32, %a64, %g_ws zero_columns([1]) : !tirx.tile<32x32xf16, shared>, !tirx.tile<64x32xf16, shared>, !tirx.tile<32x64xf32, tensor>
  tirx.return
}

// What is written stays. Layouts of other tiles follow from it.

#acc = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)] + 64@TCol>
#none = #tirx.tile_layout<S[(64, 4, 8) : (8, 512, 1)]>

// CHECK-LABEL: tirx.kernel @written
// CHECK: %b = tirx.alloc : !tirx.tile<64x32xf16, shared, #tirx.tile_layout<S[(64, 4, 8) : (8, 512, 1)]>>
// CHECK: %acc = tirx.alloc : !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)] + 64@TCol>>
tirx.kernel @written() target("sm_100a") threads(128) {
  // expected-remark@+1 {{K-major}}
  %a = tirx.alloc : !tirx.tile<128x32xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x32xf16, shared, #none>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, tensor, #acc>
  tirx.mma %a, %b, %acc : !tirx.tile<128x32xf16, shared>, !tirx.tile<64x32xf16, shared, #none>, !tirx.tile<128x64xf32, tensor, #acc>
  tirx.return
}

// Register tiles: what tcgen05.ld gives for a tensor tile, vectors over the threads for a tile in memory, and the
// same for all copies of it.

// CHECK-LABEL: tirx.kernel @registers
tirx.kernel @registers(%d: memref<64x64xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %gd = tirx.view %d[%c0, %c0] : memref<64x64xf32> -> !tirx.tile<64x64xf32, global>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(64, 64) : (64, 1)]>: row-major}}
  %scratch = tirx.alloc : !tirx.tile<64x64xf32, shared>
  // expected-remark@+1 {{K-major}}
  %a = tirx.alloc : !tirx.tile<64x32xf16, shared>
  // expected-remark@+1 {{data path}}
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(4, 16, 2, 32) : (1@warpid, 1@laneid, 16@laneid, 1)]>: what tcgen05.ld and st move}}
  %again = tirx.alloc : !tirx.tile<64x64xf32, register>
  %r = tirx.alloc : !tirx.tile<64x64xf32, register>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(8, 128, 4) : (4, 1@tx, 1)]>: vectors over 128 threads}}
  %v = tirx.alloc : !tirx.tile<64x64xf32, register>
  // expected-remark@+1 {{vectors over 128 threads}}
  %alone = tirx.alloc : !tirx.tile<64x64xf32, register>
  tirx.mma %a, %a, %acc : !tirx.tile<64x32xf16, shared>, !tirx.tile<64x32xf16, shared>, !tirx.tile<64x64xf32, tensor>
  tirx.copy %acc, %r : !tirx.tile<64x64xf32, tensor>, !tirx.tile<64x64xf32, register>
  tirx.copy %r, %gd : !tirx.tile<64x64xf32, register>, !tirx.tile<64x64xf32, global>
  tirx.copy %r, %again : !tirx.tile<64x64xf32, register>, !tirx.tile<64x64xf32, register>
  tirx.copy %gd, %v : !tirx.tile<64x64xf32, global>, !tirx.tile<64x64xf32, register>
  tirx.copy %v, %scratch : !tirx.tile<64x64xf32, register>, !tirx.tile<64x64xf32, shared>
  tirx.return
}

// Fragments of mma.sync: f64 over a 2x2 square of warps, with A copied along N and B along M.

// CHECK-LABEL: tirx.kernel @fragments
tirx.kernel @fragments() target("sm_80") threads(128) {
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 32) : (2@warpid, 1@laneid)] + R[2 : 1@warpid]>: fragments of mma.sync over 4 warps}}
  %a = tirx.alloc : !tirx.tile<16x4xf64, register>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 32) : (1@warpid, 1@laneid)] + R[2 : 2@warpid]>: fragments of mma.sync over 4 warps}}
  %b = tirx.alloc : !tirx.tile<16x4xf64, register>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 8, 2, 4, 2) : (2@warpid, 4@laneid, 1@warpid, 1@laneid, 1)]>: fragments of mma.sync over 4 warps}}
  %c = tirx.alloc : !tirx.tile<16x16xf64, register>
  tirx.mma %a, %b, %c : !tirx.tile<16x4xf64, register>, !tirx.tile<16x4xf64, register>, !tirx.tile<16x16xf64, register>
  tirx.return
}

// One warp holds the same fragments of A and of B, so that one tile can be both.

// CHECK-LABEL: tirx.kernel @one_tile
// CHECK: tirx.mma %a, %a, %c
tirx.kernel @one_tile() target("sm_80") threads(32) {
  // expected-remark@+1 {{picked #tirx.tile_layout<S[32 : 1@laneid]>: fragments of mma.sync over 1 warp}}
  %a = tirx.alloc : !tirx.tile<8x4xf64, register>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(32, 2) : (1@laneid, 1)]>: fragments of mma.sync over 1 warp}}
  %c = tirx.alloc : !tirx.tile<8x8xf64, register>
  tirx.mma %a, %a, %c : !tirx.tile<8x4xf64, register>, !tirx.tile<8x4xf64, register>, !tirx.tile<8x8xf64, register>
  tirx.return
}

// Parts of a tile, and other shapes of it, follow the tile.

// CHECK-LABEL: tirx.kernel @parts
// CHECK: %lower = {{.*}} -> !tirx.tile<64x64xf32, shared, #tirx.tile_layout<S[4096 : 1] + 4096>>
// CHECK: %flat = {{.*}} -> !tirx.tile<4096xf32, shared, #tirx.tile_layout<S[4096 : 1] + 4096>>
// CHECK: %row = {{.*}} -> !tirx.tile<128xf32, shared, #tirx.tile_layout<S[128 : 1] + 4160>>
tirx.kernel @parts() target("sm_80") threads(128) {
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(128, 64) : (64, 1)]>: row-major}}
  %whole = tirx.alloc : !tirx.tile<128x64xf32, shared>
  %lower = tirx.subview %whole[64, 0] : !tirx.tile<128x64xf32, shared> -> !tirx.tile<64x64xf32, shared>
  %flat = tirx.reshape %lower : !tirx.tile<64x64xf32, shared> -> !tirx.tile<4096xf32, shared>
  %row = tirx.subview %flat[64] : !tirx.tile<4096xf32, shared> -> !tirx.tile<128xf32, shared>
  tirx.return
}

// Values that loops carry, branches merge and arith.select chooses from have one layout: that of the first transfer, or
// the one that is written on one of them. Others have their own.

!v = !tirx.tile<16x16xf32, register>
!placed = !tirx.tile<16x16xf32, register, #tirx.tile_layout<S[(16, 2, 8) : (2@laneid, 1@laneid, 1)]>>
!g16 = !tirx.tile<16x16xf32, global, #tirx.tile_layout<S[(16, 16) : (16, 1)]>>

// CHECK-LABEL: tirx.kernel @classes
// CHECK: %x = tirx.load %g : {{.*}} -> !tirx.tile<16x16xf32, register, #tirx.tile_layout<S[(2, 32, 4) : (4, 1@tx, 1)]>>
// CHECK: %y = tirx.load %g : {{.*}} -> !tirx.tile<16x16xf32, register, #tirx.tile_layout<S[(2, 32, 4) : (4, 1@tx, 1)]>>
// CHECK: %s = arith.select %p, %x, %y : !tirx.tile<16x16xf32, register, #tirx.tile_layout<S[(2, 32, 4) : (4, 1@tx, 1)]>>
// CHECK: %t = scf.if %p -> (!tirx.tile<16x16xf32, register, #tirx.tile_layout<S[(2, 32, 4) : (4, 1@tx, 1)]>>) {
// CHECK: %z = tirx.zero : !tirx.tile<16x16xf32, register, #tirx.tile_layout<S[(2, 32, 4) : (4, 1@tx, 1)]>>
// CHECK: %u = scf.for {{.*}} iter_args(%e = %t) -> (!tirx.tile<16x16xf32, register, #tirx.tile_layout<S[(2, 32, 4) : (4, 1@tx, 1)]>>)
// CHECK: %other = tirx.load %g : {{.*}} -> !tirx.tile<16x16xf32, register, #tirx.tile_layout<S[(16, 2, 8) : (2@laneid, 1@laneid, 1)]>>
tirx.kernel @classes(%m: memref<16x16xf32>, %n: index, %p: i1) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = tirx.view %m[%c0, %c0] : memref<16x16xf32> -> !g16
  // expected-remark@+1 {{vectors over 32 threads}}
  %x = tirx.load %g : !g16 -> !v
  %y = tirx.load %g : !g16 -> !v
  %s = arith.select %p, %x, %y : !v
  %t = scf.if %p -> (!v) {
    scf.yield %s : !v
  } else {
    %z = tirx.zero : !v
    scf.yield %z : !v
  }
  %u = scf.for %i = %c0 to %n step %c1 iter_args(%e = %t) -> (!v) {
    scf.yield %e : !v
  }
  tirx.store %u, %g : !v, !g16
  %other = tirx.load %g : !g16 -> !v
  %written = builtin.unrealized_conversion_cast %other : !v to !placed
  tirx.store %written, %g : !placed, !g16
  tirx.return
}
