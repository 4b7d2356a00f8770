// RUN: tirx-opt %s --allow-unregistered-dialect --tirx-mem2reg | filecheck %s

// Variables without contents before a branch are zero where it does not write them; one that nothing reads is no result.

// CHECK-LABEL: tirx.kernel @zeros
// CHECK:         %0 = arith.constant 0 : i32
// CHECK-NEXT:    %1 = arith.constant 0 : index
// CHECK-NEXT:    %2 = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:    %3, %4, %5 = scf.if %p -> (i32, index, f64) {
// CHECK-NEXT:      scf.yield %c7, %c9, %f : i32, index, f64
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %0, %1, %2 : i32, index, f64
// CHECK-NEXT:    }
// CHECK-NEXT:    "test.op"(%3, %4, %5) : (i32, index, f64) -> ()
tirx.kernel @zeros(%p: i1, %f: f64) target("sm_80") threads(32) {
  %c7 = arith.constant 7 : i32
  %c9 = arith.constant 9 : index
  %i = memref.alloca() : memref<i32>
  %j = memref.alloca() : memref<index>
  %x = memref.alloca() : memref<f64>
  %unused = memref.alloca() : memref<i32>
  scf.if %p {
    memref.store %c7, %i[] : memref<i32>
    memref.store %c9, %j[] : memref<index>
    memref.store %f, %x[] : memref<f64>
    memref.store %c7, %unused[] : memref<i32>
  }
  %0 = memref.load %i[] : memref<i32>
  %1 = memref.load %j[] : memref<index>
  %2 = memref.load %x[] : memref<f64>
  "test.op"(%0, %1, %2) : (i32, index, f64) -> ()
  tirx.return
}

// A result of the branch comes before what it carries. What is only read inside is no result either.

// CHECK-LABEL: tirx.kernel @both
// CHECK:         %r, %0 = scf.if %p -> (f64, i32) {
// CHECK-NEXT:      "test.op"(%c7) : (i32) -> ()
// CHECK-NEXT:      scf.yield %f, %c7 : f64, i32
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %f, %c8 : f64, i32
// CHECK-NEXT:    }
// CHECK-NEXT:    "test.op"(%r, %0) : (f64, i32) -> ()
tirx.kernel @both(%p: i1, %f: f64) target("sm_80") threads(32) {
  %c7 = arith.constant 7 : i32
  %c8 = arith.constant 8 : i32
  %i = memref.alloca() : memref<i32>
  %inside = memref.alloca() : memref<i32>
  %r = scf.if %p -> (f64) {
    memref.store %c7, %i[] : memref<i32>
    memref.store %c7, %inside[] : memref<i32>
    %again = memref.load %inside[] : memref<i32>
    "test.op"(%again) : (i32) -> ()
    scf.yield %f : f64
  } else {
    memref.store %c8, %i[] : memref<i32>
    scf.yield %f : f64
  }
  %0 = memref.load %i[] : memref<i32>
  "test.op"(%r, %0) : (f64, i32) -> ()
  tirx.return
}

// Sizes of arguments: what types say, and what only launches know.

// CHECK-LABEL: tirx.kernel @sizes
// CHECK:         %n = arith.constant 0 : index
// CHECK-NEXT:    %m = tirx.launch_value size(0, 1)
tirx.kernel @sizes(%a: memref<0x?x5xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<0x?x5xf32>
  %m = memref.dim %a, %c1 : memref<0x?x5xf32>
  "test.op"(%n, %m) : (index, index) -> ()
  tirx.return
}

// Engines of copies between registers and shared memory are those of the loads and stores; others have none.

!r = !tirx.tile<16x16xf16, register>
!s = !tirx.tile<16x16xf16, shared>
!g = !tirx.tile<16x16xf16, global>

// CHECK-LABEL: tirx.kernel @engines
// CHECK:         %0 = tirx.load %s engine ldmatrix
// CHECK-NEXT:    tirx.store %0, %s engine stmatrix
// CHECK-NEXT:    tirx.store %0, %g engine ld_st :
// CHECK-NEXT:    %1 = tirx.load %g engine ld_st :
tirx.kernel @engines(%a: memref<16x16xf16>) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<16x16xf16> -> !g
  %s = tirx.alloc : !s
  %r = tirx.alloc : !r
  tirx.copy %s, %r engine ldmatrix : !s, !r
  tirx.copy %r, %s engine stmatrix : !r, !s
  tirx.copy %r, %g engine ld_st : !r, !g
  tirx.copy %g, %r engine ld_st : !g, !r
  tirx.copy %r, %s : !r, !s
  tirx.return
}
