// RUN: tirx-opt %s --tirx-inline | filecheck %s

!t = !tirx.tile<32xi32, register>

// CHECK-LABEL: tirx.kernel @kernel
tirx.kernel @kernel(%x: !t) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  // Twice the map, with what the function does inside of it, and no loop.
  // CHECK-NOT: scf.for
  // CHECK: tirx.map ins(%x :
  // CHECK-NEXT: ^bb0([[E:%.*]]: i32):
  // CHECK: [[W:%.*]] = arith.muli {{.*}} : i64
  // CHECK: arith.shrui [[W]], {{.*}} : i64
  // CHECK: arith.trunci
  // CHECK: arith.addi
  // CHECK: arith.addi
  // CHECK: tirx.yield
  // CHECK: tirx.map ins(%
  // CHECK-NOT: func.call
  // CHECK: tirx.return
  %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%t = %x) -> (!t) {
    %y = tirx.map ins(%t : !t) {
    ^bb0(%e: i32):
      %f = func.call @high(%e) : (i32) -> i32
      tirx.yield %f : i32
    } -> !t
    scf.yield %y : !t
  } {tirx.unroll}
  tirx.return
}

func.func private @high(%e: i32) -> i32 {
  %low, %high = arith.mului_extended %e, %e : i32
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%s = %high) -> (i32) {
    %n = arith.addi %s, %low : i32
    scf.yield %n : i32
  }
  func.return %r : i32
}
