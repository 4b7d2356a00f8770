// RUN: tirx-opt %s --tirx-inline | filecheck %s

// Two iterations become one; what is left, where that is not known, is a loop behind, for which no ring is made.

// CHECK-LABEL: tirx.kernel @any_number
// CHECK:         %k_trips = arith.ceildivui %{{.*}}, %c3
// CHECK:         [[M:%.*]] = arith.addi %from, %{{.*}} : index
// CHECK:         [[C6:%.*]] = arith.constant 6 : index
// CHECK-NEXT:    [[R:%.*]] = scf.for %k = %from to [[M]] step [[C6]] iter_args(%t = %zero) -> (i32) {
// CHECK-NEXT:      [[X:%.*]] = memref.load %x[%k]
// CHECK-NEXT:      [[S:%.*]] = arith.addi %t, [[X]]
// CHECK:           [[J:%.*]] = arith.addi %k, %{{.*}} : index
// CHECK-NEXT:      [[Y:%.*]] = memref.load %x{{\[}}[[J]]]
// CHECK-NEXT:      [[T:%.*]] = arith.addi [[S]], [[Y]]
// CHECK-NEXT:      scf.yield [[T]]
// CHECK-NEXT:    } {tirx.stages = 4 : i64}
// CHECK-NEXT:    %s = scf.for %k_1 = [[M]] to %n step %c3 iter_args(%{{.*}} = [[R]]) -> (i32) {
// CHECK:         } {tirx.stages = 1 : i32}
// CHECK-NEXT:    memref.store %s,
tirx.kernel @any_number(%x: memref<?xi32>, %from: index, %n: index) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0 : i32
  %s = scf.for %k = %from to %n step %c3 iter_args(%t = %zero) -> (i32) {
    %e = memref.load %x[%k] : memref<?xi32>
    %u = arith.addi %t, %e : i32
    scf.yield %u : i32
  } {tirx.unroll = 2, tirx.stages = 4}
  memref.store %s, %x[%c0] : memref<?xi32>
  tirx.return
}

// Nothing is left of six.

// CHECK-LABEL: tirx.kernel @six
// CHECK:         %c6 = arith.constant 6 : index
// CHECK:         [[C6:%.*]] = arith.constant 6 : index
// CHECK:         [[C3:%.*]] = arith.constant 3 : index
// CHECK-NEXT:    scf.for %k = %c0 to [[C6]] step [[C3]] {
// CHECK-COUNT-3:   "test.op"
// CHECK:         }
// CHECK-NEXT:    tirx.return
tirx.kernel @six() target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  scf.for %k = %c0 to %c6 step %c1 {
    "test.op"(%k) : (index) -> ()
  } {tirx.unroll = 3}
  tirx.return
}

// As many iterations as become one are one, with no loop behind.

// CHECK-LABEL: tirx.kernel @all
// CHECK:         [[C3:%.*]] = arith.constant 3 : index
// CHECK:         scf.for %k = %c0 to %{{.*}} step [[S:%.*]] {
// CHECK-COUNT-3:   "test.op"
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.return
tirx.kernel @all() target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %k = %c0 to %c3 step %c1 {
    "test.op"(%k) : (index) -> ()
  } {tirx.unroll = 3}
  tirx.return
}

// A loop of fewer iterations stays as it is.

// CHECK-LABEL: tirx.kernel @three
// CHECK:         scf.for %k = %c0 to %c3 step %c1 {
// CHECK-NEXT:      "test.op"(%k)
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.return
tirx.kernel @three() target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %k = %c0 to %c3 step %c1 {
    "test.op"(%k) : (index) -> ()
  } {tirx.unroll = 4}
  tirx.return
}
