// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s

!x = !tirx.tile<8x4xf32, register>

// CHECK-LABEL: tirx.kernel @parts
tirx.kernel @parts(%x: !x, %i: index, %m: !tirx.tile<8x4xf32, shared, #tirx.tile_layout<S[(8, 4) : (4, 1)]>>) target("sm_80") threads(32) {
  // CHECK-NEXT: %t = tirx.transpose %x [1, 0] {tag} : !tirx.tile<8x4xf32, register> -> !tirx.tile<4x8xf32, register>
  %t = tirx.transpose %x [1, 0] {tag} : !x -> !tirx.tile<4x8xf32, register>
  // CHECK-NEXT: %u = tirx.transpose %m [1, 0] : !tirx.tile<8x4xf32, shared, #tirx.tile_layout<S[(8, 4) : (4, 1)]>> -> !tirx.tile<4x8xf32, shared, #tirx.tile_layout<S[(4, 8) : (1, 4)]>>
  %u = tirx.transpose %m [1, 0] : !tirx.tile<8x4xf32, shared, #tirx.tile_layout<S[(8, 4) : (4, 1)]>> -> !tirx.tile<4x8xf32, shared, #tirx.tile_layout<S[(4, 8) : (1, 4)]>>
  // CHECK-NEXT: %z = tirx.concat %x, %x dim(0) {tag} : !tirx.tile<8x4xf32, register>, !tirx.tile<8x4xf32, register> -> !tirx.tile<16x4xf32, register>
  %z = tirx.concat %x, %x dim(0) {tag} : !x, !x -> !tirx.tile<16x4xf32, register>
  // CHECK-NEXT: %s = tirx.subview %x[%i, 3] steps [1, -2] {tag} : !tirx.tile<8x4xf32, register> -> !tirx.tile<2x2xf32, register>
  %s = tirx.subview %x[%i, 3] steps [1, -2] {tag} : !x -> !tirx.tile<2x2xf32, register>
  // CHECK-NEXT: %[[TWO:.*]] = arith.constant 2 : index
  // CHECK-NEXT: %[[TWICE:.*]] = arith.muli %[[TWO]], %i : index
  // CHECK-NEXT: %[[ONE:.*]] = arith.constant 1 : index
  // CHECK-NEXT: %[[SUM:.*]] = arith.addi %[[TWICE]], %[[ONE]] : index
  // CHECK-NEXT: %row = tirx.subview %x[%[[SUM]], 0] : !tirx.tile<8x4xf32, register> -> !tirx.tile<1x4xf32, register>
  %row = tirx.subview %x[2 * %i + 1, 0] : !x -> !tirx.tile<1x4xf32, register>
  // CHECK-NEXT: %c = tirx.convert %x elements [3 : i64, 4 : i64, -1 : i64] {tag} : !tirx.tile<8x4xf32, register> -> !tirx.tile<8x4xf32, register>
  %c = tirx.convert %x elements [3, 4, -1] {tag} : !x -> !x
  // CHECK-NEXT: %h = tirx.bitcast %x {tag} : !tirx.tile<8x4xf32, register> -> !tirx.tile<8x8xf16, register>
  %h = tirx.bitcast %x {tag} : !x -> !tirx.tile<8x8xf16, register>
  // CHECK-NEXT: %w = tirx.bitcast %h : !tirx.tile<8x8xf16, register> -> !tirx.tile<8x2xi64, register>
  %w = tirx.bitcast %h : !tirx.tile<8x8xf16, register> -> !tirx.tile<8x2xi64, register>
  // CHECK-NEXT: %[[PART:.*]] = tirx.subview %x[%i, 3] steps [1, 1] : !tirx.tile<8x4xf32, register> -> !tirx.tile<1x1xf32, register>
  // CHECK-NEXT: %e = tirx.element %[[PART]] : !tirx.tile<1x1xf32, register> -> f32
  %e = tirx.subview %x[%i, 3] steps [1, 1] : !x -> f32
  // CHECK-NEXT: %n = tirx.map
  %n = tirx.map () { i32(index(1)) } -> !tirx.tile<8x4xi32, register>
  // CHECK: %v = tirx.view %x[%i, [%n]] clipped : !tirx.tile<8x4xf32, register>, !tirx.tile<8x4xi32, register> -> !tirx.tile<8x4xf32, register>
  %v = tirx.view %x[%i, [%n]] clipped : !x, !tirx.tile<8x4xi32, register> -> !x
  tirx.return
}
