// RUN: tirx-opt %s | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s

!g = !tirx.tile<4x8xi32, global>
!x = !tirx.tile<4x8xi32, register>
!s = !tirx.tile<1x1xf32, shared>

// CHECK-LABEL: tirx.kernel @atomics(
// CHECK:         %0 = tirx.atomic add %x, %g : !tirx.tile<4x8xi32, register>, !tirx.tile<4x8xi32, global> -> !tirx.tile<4x8xi32, register>
// CHECK-NEXT:    %1 = tirx.atomic cas(%x) %0, %g acq_rel sys {tag} : !tirx.tile<4x8xi32, register>, !tirx.tile<4x8xi32, global> -> !tirx.tile<4x8xi32, register>
// CHECK-NEXT:    %2 = tirx.atomic max %f, %s acquire cta : f32, !tirx.tile<1x1xf32, shared> -> f32
// CHECK-NEXT:    %3 = tirx.atomic exch %f, %s cluster : f32, !tirx.tile<1x1xf32, shared> -> f32
tirx.kernel @atomics(%g: !g, %x: !x, %s: !s, %f: f32) threads(32) {
  %0 = tirx.atomic add %x, %g : !x, !g -> !x
  %1 = tirx.atomic cas(%x) %0, %g sys acq_rel {tag} : !x, !g -> !x
  %2 = tirx.atomic max %f, %s acquire cta : f32, !s -> f32
  %3 = tirx.atomic exch %f, %s cluster relaxed : f32, !s -> f32
  tirx.return
}

// CHECK-LABEL: tirx.kernel @flags(
// CHECK-SAME:    grid(2, 3) threads(32) in_order {
// CHECK:         tirx.signal %m[%i], %n : memref<?xi32>
// CHECK-NEXT:    tirx.signal add %w[%i, %i], %l sys {tag} : memref<?x4xi64>
// CHECK-NEXT:    %0 = tirx.wait_until %m[%i] sge, %n : memref<?xi32>
// CHECK-NEXT:    %1 = tirx.wait_until %w[%i, %i] ult, %l cta {tag} : memref<?x4xi64>
tirx.kernel @flags(%m: memref<?xi32>, %w: memref<?x4xi64>, %n: i32, %l: i64) in_order grid(2, 3) threads(32) {
  %i = tirx.block_id x
  tirx.signal %m[%i], %n : memref<?xi32>
  tirx.signal add %w[%i, %i], %l sys {tag} : memref<?x4xi64>
  %0 = tirx.wait_until %m[%i] sge, %n gpu : memref<?xi32>
  %1 = tirx.wait_until %w[%i, %i] ult, %l cta {tag} : memref<?x4xi64>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @together() grid(2) threads(32) cooperative {
tirx.kernel @together() grid(2) threads(32) cooperative {
  tirx.return
}
