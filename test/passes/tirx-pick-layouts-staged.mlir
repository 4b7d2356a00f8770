// RUN: tirx-opt %s --split-input-file --tirx-mem2reg --tirx-pick-layouts --remarks --verify-diagnostics | filecheck %s

// Shared tiles that fragments are loaded from: the remark names the cost of every layout. Four neighbouring lanes of f64
// load 16 bytes each of one row and of the row four below.

// CHECK-LABEL: tirx.kernel @f64
// CHECK:         %sa = tirx.alloc : !tirx.tile<32x16xf64, shared, #tirx.compose_layout<#tirx.swizzle_layout<1, 3, 3>, #tirx.tile_layout<S[(32, 16) : (16, 1)]>>>
// CHECK:         tirx.load %sa : {{.*}} -> !tirx.tile<32x16xf64, register, #tirx.tile_layout<S[(2, 2, 2, 2, 2, 2, 4, 2) : (1@warpid, 4, 4@laneid, 8@laneid, 16@laneid, 2, 1@laneid, 1)]>>
// CHECK:         tirx.mma {{.*}} plan(mma_sync, variants = ["m8n8k4.row.col.f64"]) :
tirx.kernel @f64(%a: memref<32x16xf64>, %x: f64) target("sm_80") threads(64) {
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<32x16xf64> -> !tirx.tile<32x16xf64, global>
  // expected-remark@+1 {{rows with swizzle 128B: fragments and copies take 152 cycles (64 wavefronts x 1 + 128 sectors x 0.5 + 24 instructions x 1), the least possible; plain rows 184, rows with swizzle 64B in 2 blocks 184, rows with swizzle 32B in 4 blocks 248}}
  %sa = tirx.alloc : !tirx.tile<32x16xf64, shared>
  %ra = tirx.alloc : !tirx.tile<32x16xf64, register>
  %rb = tirx.alloc : !tirx.tile<16x16xf64, register>
  %acc = tirx.alloc : !tirx.tile<32x16xf64, register>
  // expected-remark@+1 {{fragments of mma.sync over 2 warps}}
  tirx.fill %acc, %x : f64, !tirx.tile<32x16xf64, register>
  // expected-remark@+1 {{fragments of mma.sync over 2 warps}}
  tirx.fill %rb, %x : f64, !tirx.tile<16x16xf64, register>
  tirx.copy %ga, %sa : !tirx.tile<32x16xf64, global>, !tirx.tile<32x16xf64, shared>
  // expected-remark@+1 {{fragments of mma.sync over 2 warps}}
  tirx.copy %sa, %ra : !tirx.tile<32x16xf64, shared>, !tirx.tile<32x16xf64, register>
  tirx.mma %ra, %rb, %acc : !tirx.tile<32x16xf64, register>, !tirx.tile<16x16xf64, register>, !tirx.tile<32x16xf64, register>
  tirx.return
}

// -----

// A written layout stays, and the rows of the fragments follow it. A target that prefers m16n8k8 gets it.

#rows = #tirx.compose_layout<#tirx.swizzle_layout<1, 3, 3>, #tirx.tile_layout<S[(32, 16) : (16, 1)]>>

// CHECK-LABEL: tirx.kernel @written
// CHECK:         tirx.load %sa : {{.*}} -> !tirx.tile<32x16xf64, register, #tirx.tile_layout<S[(2, 2, 2, 2, 2, 4, 4) : (1@warpid, 1, 4@laneid, 8@laneid, 16@laneid, 2, 1@laneid)]>>
// CHECK:         tirx.mma {{.*}} plan(mma_sync, variants = ["m16n8k8.row.col.f64"]) :
tirx.kernel @written(%x: f64) target("sm_90") threads(64) {
  %sa = tirx.alloc : !tirx.tile<32x16xf64, shared, #rows>
  // expected-remark@+1 {{fragments of mma.sync over 2 warps}}
  %ra = tirx.load %sa : !tirx.tile<32x16xf64, shared, #rows> -> !tirx.tile<32x16xf64, register>
  // expected-remark@+1 {{fragments of mma.sync over 2 warps}}
  %rb = tirx.splat %x : f64 -> !tirx.tile<16x16xf64, register>
  // expected-remark@+1 {{fragments of mma.sync over 2 warps}}
  %acc = tirx.splat %x : f64 -> !tirx.tile<32x16xf64, register>
  %d = tirx.mma %ra, %rb, %acc : !tirx.tile<32x16xf64, register>, !tirx.tile<16x16xf64, register>, !tirx.tile<32x16xf64, register> -> !tirx.tile<32x16xf64, register>
  tirx.return
}

// -----

// K-major and MN-major tiles of 16-bit elements, as they lie in global memory.

// CHECK-LABEL: tirx.kernel @f16
// CHECK:         %sa = tirx.alloc : !tirx.tile<64x32xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[(64, 32) : (32, 1)]>>>
// CHECK:         %sb = tirx.alloc : !tirx.tile<64x32xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 32) : (1, 64)]>>>
tirx.kernel @f16(%a: memref<64x32xf16>, %b: memref<64x32xf16, strided<[1, 64]>>, %x: f32) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<64x32xf16> -> !tirx.tile<64x32xf16, global>
  %gb = tirx.view %b[%c0, %c0] : memref<64x32xf16, strided<[1, 64]>> -> !tirx.tile<64x32xf16, global>
  // expected-remark@+1 {{rows with swizzle 64B: fragments and copies take}}
  %sa = tirx.alloc : !tirx.tile<64x32xf16, shared>
  // expected-remark@+1 {{columns with swizzle 128B: fragments and copies take}}
  %sb = tirx.alloc : !tirx.tile<64x32xf16, shared>
  tirx.copy %ga, %sa : !tirx.tile<64x32xf16, global>, !tirx.tile<64x32xf16, shared>
  tirx.copy %gb, %sb : !tirx.tile<64x32xf16, global>, !tirx.tile<64x32xf16, shared>
  // expected-remark@+1 {{fragments of mma.sync over 4 warps}}
  %ra = tirx.load %sa : !tirx.tile<64x32xf16, shared> -> !tirx.tile<64x32xf16, register>
  // expected-remark@+1 {{fragments of mma.sync over 4 warps}}
  %rb = tirx.load %sb : !tirx.tile<64x32xf16, shared> -> !tirx.tile<64x32xf16, register>
  // expected-remark@+1 {{fragments of mma.sync over 4 warps}}
  %acc = tirx.splat %x : f32 -> !tirx.tile<64x64xf32, register>
  %d = tirx.mma %ra, %rb, %acc : !tirx.tile<64x32xf16, register>, !tirx.tile<64x32xf16, register>, !tirx.tile<64x64xf32, register> -> !tirx.tile<64x64xf32, register>
  tirx.return
}

// -----

// A of wgmma in registers is loaded from shared memory by ldmatrix: rows of 128 bytes need the swizzle.

// CHECK-LABEL: tirx.kernel @registers_of_wgmma
// CHECK:         %sa = tirx.alloc : !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
tirx.kernel @registers_of_wgmma() target("sm_90a") threads(128) {
  // expected-remark@+1 {{rows with swizzle 128B: fragments and copies take}}
  %sa = tirx.alloc : !tirx.tile<64x64xf16, shared>
  // expected-remark@+1 {{K-major operand, swizzle 128B}}
  %sb = tirx.alloc : !tirx.tile<16x64xf16, shared>
  // expected-remark@+1 {{accumulator of wgmma over 128 threads}}
  %d = tirx.alloc fill(0.0) : !tirx.tile<64x16xf32, register>
  // expected-remark@+1 {{A of wgmma over 128 threads}}
  %a = tirx.load %sa : !tirx.tile<64x64xf16, shared> -> !tirx.tile<64x64xf16, register>
  tirx.mma %a, %sb, %d : !tirx.tile<64x64xf16, register>, !tirx.tile<16x64xf16, shared>, !tirx.tile<64x16xf32, register>
  tirx.return
}

// -----

// A tile that is stored to and loaded from is as it was: rows one after the other.

// CHECK-LABEL: tirx.kernel @stored_fragments
// CHECK:         %sa = tirx.alloc : !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
tirx.kernel @stored_fragments() target("sm_90a") threads(128) {
  // expected-remark@+1 {{row-major}}
  %sa = tirx.alloc : !tirx.tile<64x64xf16, shared>
  // expected-remark@+1 {{K-major operand, swizzle 128B}}
  %sb = tirx.alloc : !tirx.tile<16x64xf16, shared>
  // expected-remark@+1 {{accumulator of wgmma over 128 threads}}
  %d = tirx.alloc fill(0.0) : !tirx.tile<64x16xf32, register>
  // expected-remark@+1 {{A of wgmma over 128 threads}}
  %a = tirx.load %sa : !tirx.tile<64x64xf16, shared> -> !tirx.tile<64x64xf16, register>
  tirx.store %a, %sa : !tirx.tile<64x64xf16, register>, !tirx.tile<64x64xf16, shared>
  tirx.mma %a, %sb, %d : !tirx.tile<64x64xf16, register>, !tirx.tile<16x64xf16, shared>, !tirx.tile<64x16xf32, register>
  tirx.return
}
