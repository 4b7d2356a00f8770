// Attributes of others on kernels and operations survive the passes that rewrite these operations.

// RUN: tirx-opt %s --tirx-mem2reg --tirx-split-pairs --tirx-load-operands --tirx-pick-layouts --tirx-fold-zero-fill --tirx-fuse-epilogue --tirx-select-instructions --tirx-select-copies --tirx-tile-loop --tirx-pipeline-loops --tirx-specialize-warps --tirx-prefetch-fragments | filecheck %s

// CHECK: tirx.kernel @gemm
// CHECK-SAME: attributes {my.kernel = 1 : i32}
// CHECK-DAG: tirx.alloc {my.alloc = 3 : i32}
// CHECK-DAG: tirx.mma {{.*}} {my.product = 2 : i32}
// CHECK-DAG: tirx.copy {{.*}} {my.copy = 4 : i32, tirx.chosen_engine}
// CHECK-DAG: tirx.view {{.*}} {my.view = 5 : i32}
tirx.kernel @gemm(%a: memref<64x32xf16>, %b: memref<64x32xf16>, %d: memref<64x64xf32>) target("sm_80") grid(1) threads(128)
    attributes {my.kernel = 1 : i32} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ga = tirx.view %a[%c0, %c0] {my.view = 5 : i32} : memref<64x32xf16> -> !tirx.tile<64x32xf16, global>
  %gb = tirx.view %b[%c0, %c0] : memref<64x32xf16> -> !tirx.tile<64x32xf16, global>
  %gd = tirx.view %d[%c0, %c0] : memref<64x64xf32> -> !tirx.tile<64x64xf32, global>
  %sa = tirx.alloc {my.alloc = 3 : i32} : !tirx.tile<64x32xf16, shared>
  %sb = tirx.alloc : !tirx.tile<64x32xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, register>
  tirx.fill %acc, %zero : f32, !tirx.tile<64x64xf32, register>
  tirx.copy %ga, %sa {my.copy = 4 : i32} : !tirx.tile<64x32xf16, global>, !tirx.tile<64x32xf16, shared>
  tirx.copy %gb, %sb : !tirx.tile<64x32xf16, global>, !tirx.tile<64x32xf16, shared>
  tirx.mma %sa, %sb, %acc {my.product = 2 : i32} : !tirx.tile<64x32xf16, shared>, !tirx.tile<64x32xf16, shared>, !tirx.tile<64x64xf32, register>
  tirx.copy %acc, %gd : !tirx.tile<64x64xf32, register>, !tirx.tile<64x64xf32, global>
  tirx.return
}

// CHECK: tirx.kernel @sum
// CHECK: tirx.map {{.*}} {my.map = 6 : i32}
// CHECK: scf.for
// CHECK: } {my.loop = 7 : i32}
tirx.kernel @sum(%x: memref<64x64xf32>, %n: index) target("sm_80") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %gx = tirx.view %x[%c0, %c0] : memref<64x64xf32> -> !tirx.tile<64x64xf32, global>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, register>
  tirx.fill %acc, %zero : f32, !tirx.tile<64x64xf32, register>
  tirx.map ins(%acc : !tirx.tile<64x64xf32, register>) outs(%acc : !tirx.tile<64x64xf32, register>) attributes {my.map = 6 : i32} {
  ^bb0(%v: f32):
    %w = arith.addf %v, %v : f32
    tirx.yield %w : f32
  }
  scf.for %i = %c0 to %n step %c1 {
    tirx.copy %acc, %acc : !tirx.tile<64x64xf32, register>, !tirx.tile<64x64xf32, register>
    tirx.map ins(%acc : !tirx.tile<64x64xf32, register>) outs(%acc : !tirx.tile<64x64xf32, register>) {
    ^bb0(%v: f32):
      %w = arith.mulf %v, %v : f32
      tirx.yield %w : f32
    }
  } {my.loop = 7 : i32}
  tirx.copy %acc, %gx : !tirx.tile<64x64xf32, register>, !tirx.tile<64x64xf32, global>
  tirx.return
}
