// RUN: tirx-opt %s --split-input-file --convert-tirx-to-ptx | filecheck %s

// Coordinates of tensor maps are signed integers of 32 bits. An index that a launch does not bound becomes the nearest
// one that fits, once, where it is computed; there, too, the tile is beyond a memref whose size the launch checks.

#rows = #tirx.tile_layout<S[(16, 32) : (32, 1)]>
!g = !tirx.tile<16x32xf32, global, #rows>
!s = !tirx.tile<16x32xf32, shared, #rows>

// CHECK-LABEL: ptx.entry @clipped
// CHECK-SAME: [#ptx.formula<size(0, 0)>, "at_most", #ptx.formula<2146435072>,
// CHECK: %n = builtin.unrealized_conversion_cast
// CHECK-NEXT: %[[LEAST:.*]] = arith.constant -2146435072 : index
// CHECK-NEXT: %[[MOST:.*]] = arith.constant 2146435072 : index
// CHECK-NEXT: %[[LESS:.*]] = arith.minsi %n, %[[MOST]] : index
// CHECK-NEXT: %[[NEAR:.*]] = arith.maxsi %[[LESS]], %[[LEAST]] : index
// CHECK: scf.for
// CHECK: arith.index_cast %[[NEAR]] : index to i32
// CHECK: ptx.cp.async.bulk.tensor.load
tirx.kernel @clipped(%a: memref<?x32xf32>, %n: index) target("sm_90a") threads(32) memory(shared = 2304, alignment = 128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %bar = arith.constant 2048 : i32
  %sa = tirx.alloc at 0 : !s
  scf.for %k = %c0 to %c4 step %c1 {
    %ga = tirx.view %a[%n, %c0] clipped : memref<?x32xf32> -> !g
    tirx.tma_load %ga, %sa, %bar : !g, !s
  }
  tirx.return
}

// -----

// A tile that is not clipped lies within its memref, whose size is checked; constants are known.

#rows = #tirx.tile_layout<S[(16, 32) : (32, 1)]>
!g = !tirx.tile<16x32xf32, global, #rows>
!s = !tirx.tile<16x32xf32, shared, #rows>

// CHECK-LABEL: ptx.entry @inside
// CHECK-SAME: [#ptx.formula<size(0, 0)>, "at_most", #ptx.formula<2146435072>,
// CHECK-NOT: minsi
// CHECK: arith.constant 2146435072 : i32
// CHECK-NOT: minsi
tirx.kernel @inside(%a: memref<?x32xf32>, %n: index) target("sm_90a") threads(32) memory(shared = 2304, alignment = 128) {
  %c0 = arith.constant 0 : index
  %far = arith.constant 2146435072 : index
  %bar = arith.constant 2048 : i32
  %sa = tirx.alloc at 0 : !s
  %ga = tirx.view %a[%n, %c0] : memref<?x32xf32> -> !g
  %gb = tirx.view %a[%far, %c0] clipped : memref<?x32xf32> -> !g
  tirx.tma_load %ga, %sa, %bar : !g, !s
  tirx.tma_load %gb, %sa, %bar : !g, !s
  tirx.return
}
