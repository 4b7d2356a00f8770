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

// Elements of i1 are bytes.

!m = !tirx.tile<16x64xi1, register>

// CHECK-LABEL: tirx.kernel @truths(%m: memref<16x64xi8>)
// CHECK:         %q = memref.load %m[%{{.*}}, %{{.*}}] : memref<16x64xi8>
// CHECK-NEXT:    arith.constant 0 : i8
// CHECK-NEXT:    %[[Q:.*]] = arith.cmpi ne, %q
// CHECK:         ^bb0(%e: i8):
// CHECK-NEXT:      arith.constant 0 : i8
// CHECK-NEXT:      %[[E:.*]] = arith.cmpi ne, %e
// CHECK-NEXT:      %[[A:.*]] = arith.andi %[[E]], %[[Q]] : i1
// CHECK-NEXT:      %[[B:.*]] = arith.extui %[[A]] : i1 to i8
// CHECK-NEXT:      tirx.yield %[[B]] : i8
// CHECK:         !tirx.tile<16x64xi8, register>
tirx.kernel @truths(%m: memref<16x64xi1>) target("sm_80") threads(64) {
  %c0 = arith.constant 0 : index
  %q = memref.load %m[%c0, %c0] : memref<16x64xi1>
  %x = tirx.load %m[0, 0] : memref<16x64xi1> -> !m
  %y = tirx.map ins(%x : !m) (%e) { %e & %q } -> !m
  tirx.store %y, %m[0, 0] : !m, memref<16x64xi1>
}

// Scalar variables of i1 stay.

// CHECK-LABEL: tirx.kernel @variable(%m: memref<4xi8>)
// CHECK:         %v = memref.alloca() : memref<i1>
// CHECK:         %x = memref.load %v[] : memref<i1>
// CHECK-NEXT:    arith.extui %x : i1 to i8
tirx.kernel @variable(%m: memref<4xi1>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %v = memref.alloca() : memref<i1>
  %q = memref.load %m[%c0] : memref<4xi1>
  memref.store %q, %v[] : memref<i1>
  %x = memref.load %v[] : memref<i1>
  memref.store %x, %m[%c0] : memref<4xi1>
}

// Elements of index are i64, and numbers with a sign or without one are those of maps, but where memory has them.

// CHECK-LABEL: tirx.kernel @stored
// CHECK-SAME:    %m: memref<4xi64>, %n: memref<4xui8>
// CHECK:         %[[READ:.*]] = memref.load %m[%c0] : memref<4xi64>
// CHECK-NEXT:    %[[I:.*]] = arith.index_cast %[[READ]] : i64 to index
// CHECK-NEXT:    %[[SUM:.*]] = arith.addi %[[I]], %[[I]] : index
// CHECK-NEXT:    %[[WRITTEN:.*]] = arith.index_cast %[[SUM]] : index to i64
// CHECK-NEXT:    memref.store %[[WRITTEN]], %m[%[[I]]] : memref<4xi64>
// CHECK-NEXT:    %[[U:.*]] = memref.load %n[%c0] : memref<4xui8>
// CHECK-NEXT:    %[[BITS:.*]] = builtin.unrealized_conversion_cast %[[U]] : ui8 to i8
// CHECK-NEXT:    arith.select %{{.*}}, %[[BITS]], %[[BITS]] : i8
// CHECK-NEXT:    builtin.unrealized_conversion_cast %{{.*}} : i8 to ui8
// CHECK-NEXT:    memref.store
// CHECK-NEXT:    %[[AGAIN:.*]] = builtin.unrealized_conversion_cast %[[BITS]] : i8 to ui8
// CHECK-NEXT:    memref.store %[[AGAIN]]
tirx.kernel @stored(%m: memref<4xindex>, %n: memref<4xui8>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %i = memref.load %m[%c0] : memref<4xindex>
  %sum = arith.addi %i, %i : index
  memref.store %sum, %m[%i] : memref<4xindex>
  %u = memref.load %n[%c0] : memref<4xui8>
  %v = arith.select %true, %u, %u : ui8
  memref.store %v, %n[%i] : memref<4xui8>
  memref.store %u, %n[%i] : memref<4xui8>
}

// Branches of bodies become choices, and affine maps arith.

// CHECK-LABEL: tirx.kernel @chosen
// CHECK:         %[[TWO:.*]] = arith.constant 2 : index
// CHECK-NEXT:    %[[TWICE:.*]] = arith.muli %n, %[[TWO]] : index
// CHECK-NEXT:    %[[SUM:.*]] = arith.addi %[[TWICE]], %n : index
// CHECK:         arith.floordivsi %[[SUM]]
// CHECK:         tirx.map
// CHECK-NEXT:    ^bb0(%e: f32):
// CHECK:           %[[C:.*]] = arith.cmpf
// CHECK-NEXT:      %[[ROOT:.*]] = math.sqrt %e
// CHECK-NEXT:      %[[R:.*]] = arith.select %[[C]], %[[ROOT]], %e : f32
// CHECK-NEXT:      tirx.yield %[[R]] : f32
tirx.kernel @chosen(%m: memref<16xf32>, %n: index) target("sm_80") threads(32) {
  %part = affine.apply affine_map<(d0)[s0] -> ((d0 * 2 + s0) floordiv 16)> (%n)[%n]
  %x = tirx.load %m[%part * 8] clipped : memref<16xf32> -> !tirx.tile<8xf32, register>
  %zero = arith.constant 0.0 : f32
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) {
  ^bb0(%e: f32):
    %c = arith.cmpf ogt, %e, %zero : f32
    %r = scf.if %c -> (f32) {
      %root = math.sqrt %e : f32
      scf.yield %root : f32
    } else {
      scf.yield %e : f32
    }
    tirx.yield %r : f32
  } -> !tirx.tile<8xf32, register>
  tirx.store %y, %m[%part * 8] clipped : !tirx.tile<8xf32, register>, memref<16xf32>
}

// Shared tiles are allocated in front of loops and branches, as rings need them; what is done with them stays.

!sums = !tirx.tile<16x64xf32, register>
!staged = !tirx.tile<16x64xf32, shared>

// CHECK-LABEL: tirx.kernel @tiles_of_loops
// CHECK:         %zero = tirx.zero
// CHECK-NEXT:    %s = tirx.alloc : !tirx.tile<16x64xf32, shared>
// CHECK-NEXT:    %t = tirx.alloc : !tirx.tile<16x64xf32, shared>
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tirx.alloc : !tirx.tile<16x64xf32, register>
// CHECK-NEXT:      scf.if
// CHECK:             tirx.copy %{{.*}}, %s
// CHECK:           scf.if
// CHECK-NEXT:        tirx.copy %{{.*}}, %t
tirx.kernel @tiles_of_loops(%m: memref<64x64xf32>, %is: i1) target("sm_80") threads(64) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = tirx.zero : !sums
  scf.for %k = %c0 to %c64 step %c16 {
    %r = tirx.alloc : !sums
    scf.if %is {
      %s = tirx.alloc copy(%m[%k, 0]) : memref<64x64xf32>, !staged
      scf.if %is {
        %t = tirx.alloc copy(%s) : !staged, !staged
      }
    }
  }
}
