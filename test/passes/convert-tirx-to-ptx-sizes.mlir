// RUN: tirx-opt %s --split-input-file --convert-tirx-to-ptx | filecheck %s

// Bounds have 32 bits up to 2^31 - 2^20 elements, and 64 beyond.

#r = #tirx.tile_layout<S[(32, 4) : (1@laneid, 1)]>
#g = #tirx.tile_layout<S[(32, 4) : (4, 1)]>
!r = !tirx.tile<32x4xf32, register, #r>
!g = !tirx.tile<32x4xf32, global, #g>

// CHECK-LABEL: ptx.entry @most
// CHECK:         arith.constant 2146435072 : i32
tirx.kernel @most(%a: memref<2146435072x4xf32>, %f: f32) target("sm_90a") grid(9) threads(32) {
  %c0 = arith.constant 0 : index
  %x = tirx.block_id x
  %v = tirx.view %a[%x, %c0] clipped : memref<2146435072x4xf32> -> !g
  %s = tirx.splat %f : f32 -> !r
  tirx.store %s, %v : !r, !g
  tirx.return
}

// -----

#r = #tirx.tile_layout<S[(32, 4) : (1@laneid, 1)]>
#g = #tirx.tile_layout<S[(32, 4) : (4, 1)]>
!r = !tirx.tile<32x4xf32, register, #r>
!g = !tirx.tile<32x4xf32, global, #g>

// CHECK-LABEL: ptx.entry @more
// CHECK:         arith.constant 2146435073 : i64
tirx.kernel @more(%n: index, %a: memref<2146435073x4xf32>, %f: f32) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %v = tirx.view %a[%n, %c0] clipped : memref<2146435073x4xf32> -> !g
  %s = tirx.splat %f : f32 -> !r
  tirx.store %s, %v : !r, !g
  tirx.return
}

// -----

// Strides of launches are bytes. Elements of a row are a constant apart, and rows that are 32 apart 32 strides.

#r = #tirx.tile_layout<S[(2, 32, 4) : (4, 1@laneid, 1)]>
!r = !tirx.tile<64x4xf64, register, #r>
!g = !tirx.tile<64x4xf64, global>

// CHECK-LABEL: ptx.entry @strides
// CHECK-SAME:    mul(stride(0, 0), 8)
// CHECK: scf.if
// CHECK: %[[DISTANCE:.*]] = arith.muli %{{.*}}, %[[STRIDE:[0-9]+]] : i64
// CHECK-NEXT: %[[ROW:.*]] = arith.addi %{{.*}}, %[[DISTANCE]] : i64
// CHECK-NEXT: ptx.st global %[[ROW]], %{{.*}}
// CHECK-NEXT: ptx.st global %[[ROW]] offset 16, %{{.*}}
// CHECK: %[[ROWS:.*]] = arith.shli %[[STRIDE]], %{{.*}} : i64
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[ROW]], %[[ROWS]] : i64
// CHECK-NEXT: ptx.st global %[[NEXT]], %{{.*}}
tirx.kernel @strides(%a: memref<?x?xf64>, %f: f64) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %v = tirx.view %a[%c0, %c0] clipped : memref<?x?xf64> -> !g
  %s = tirx.splat %f : f64 -> !r
  tirx.store %s, %v : !r, !g
  tirx.return
}
