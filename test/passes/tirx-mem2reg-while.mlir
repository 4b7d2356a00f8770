// RUN: tirx-opt %s --tirx-mem2reg | filecheck %s

!t = !tirx.tile<64x32xf32, register>

// Loops carry what they write, through both regions of scf.while.

// CHECK-LABEL: tirx.kernel @carried
// CHECK:         %[[ZERO:.*]] = tirx.splat %f0
// CHECK:         %{{.*}}, %[[LAST:.*]] = scf.while (%{{.*}} = %z, %[[IN:.*]] = %[[ZERO]]) : (i32, !tirx.tile<64x32xf32, register>) -> (i32, !tirx.tile<64x32xf32, register>)
// CHECK:           scf.condition(%{{.*}}) %{{.*}}, %[[IN]] : i32, !tirx.tile<64x32xf32, register>
// CHECK:         ^bb0(%{{.*}}: i32, %[[BODY:.*]]: !tirx.tile<64x32xf32, register>):
// CHECK:           %[[NEXT:.*]] = tirx.map ins(%[[BODY]]
// CHECK:           scf.yield %{{.*}}, %[[NEXT]] : i32, !tirx.tile<64x32xf32, register>
// CHECK:         tirx.store %[[LAST]], %gd
tirx.kernel @carried(%d: memref<64x32xf32>, %n: i32) threads(64) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %f0 = arith.constant 0.0 : f32
  %acc = tirx.alloc : !t
  tirx.fill %acc, %f0 : f32, !t
  %r = scf.while (%i = %z) : (i32) -> i32 {
    %c = arith.cmpi slt, %i, %n : i32
    scf.condition(%c) %i : i32
  } do {
  ^bb0(%j: i32):
    tirx.map ins(%acc : !t) outs(%acc : !t) {
    ^bb0(%x: f32):
      %y = arith.addf %x, %x : f32
      tirx.yield %y : f32
    }
    %k = arith.addi %j, %one : i32
    scf.yield %k : i32
  }
  %gd = tirx.view %d[%c0, %c0] : memref<64x32xf32> -> !tirx.tile<64x32xf32, global>
  tirx.copy %acc, %gd : !t, !tirx.tile<64x32xf32, global>
  tirx.return
}

// What the first region of scf.while writes is written behind it: no loop around it carries the variable.

// CHECK-LABEL: tirx.kernel @written
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           %{{.*}}, %[[WRITTEN:.*]] = scf.while
// CHECK:           tirx.store %[[WRITTEN]], %gd
tirx.kernel @written(%d: memref<64x32xf32>, %n: i32, %m: index) threads(64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %f0 = arith.constant 0.0 : f32
  %x = tirx.alloc : !t
  %gd = tirx.view %d[%c0, %c0] : memref<64x32xf32> -> !tirx.tile<64x32xf32, global>
  scf.for %i = %c0 to %m step %c1 {
    %r = scf.while (%j = %z) : (i32) -> i32 {
      tirx.fill %x, %f0 : f32, !t
      %c = arith.cmpi slt, %j, %n : i32
      scf.condition(%c) %j : i32
    } do {
    ^bb0(%j: i32):
      %k = arith.addi %j, %one : i32
      scf.yield %k : i32
    }
    tirx.copy %x, %gd : !t, !tirx.tile<64x32xf32, global>
  }
  tirx.return
}

// Extents of the grid are those that the kernel gives; a launch computes formulas.

// CHECK-LABEL: tirx.kernel @extents
// CHECK-DAG:     %x = tirx.launch_value ceildiv(size(0, 0), 8)
// CHECK-DAG:     %y = arith.constant 3 : index
// CHECK-DAG:     %z = arith.constant 1 : index
tirx.kernel @extents(%d: memref<?x32xf32>) grid(ceildiv(size(0, 0), 8), 3) threads(64) {
  %x = tirx.grid_dim x
  %y = tirx.grid_dim y
  %z = tirx.grid_dim z
  %0 = arith.addi %x, %y : index
  %1 = arith.addi %0, %z : index
  tirx.return
}

// CHECK-LABEL: tirx.kernel @unknown
// CHECK:         %x = tirx.grid_dim x
tirx.kernel @unknown() threads(64) {
  %x = tirx.grid_dim x
  tirx.return
}
