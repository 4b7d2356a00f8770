// RUN: tirx-opt %s -p "tirx-mem2reg,tirx-load-operands,tirx-pick-layouts,tirx-select-copies" -o /dev/null --split-input-file --verify-diagnostics

// A transposed tile of 8 bits is loaded by element, for each of its products once; its rows are not, nor other types.

!s = !tirx.tile<64x64xsi8, shared>
!acc = !tirx.tile<64x64xi32, register>
tirx.kernel @transposed(%a: memref<64x64xsi8>, %b: memref<64x64xsi8>, %d: memref<64x64xi32>) target("sm_80") grid(1) threads(128) {
  %sa = tirx.alloc copy(%a[0, 0]) : memref<64x64xsi8>, !s
  %sb = tirx.alloc copy(%b[0, 0]) : memref<64x64xsi8>, !s
  %zero = tirx.zero : !acc
  %ta = tirx.transpose %sa [1, 0] : !s -> !s
  %tb = tirx.transpose %sb [1, 0] : !s -> !s
  // expected-warning@+1 {{A of si8 and B of si8 loaded element by element: neighbours along K are apart in shared memory, and ldmatrix transposes elements of 16 bits only; it loads tiles of a memref in which they are adjacent}}
  %0 = tirx.mma %ta, %tb, %zero : !s, !s, !acc -> !acc
  // expected-warning@+1 {{B of si8 loaded element by element}}
  %1 = tirx.mma %sa, %tb, %0 : !s, !s, !acc -> !acc
  %2 = tirx.mma %sa, %sb, %1 : !s, !s, !acc -> !acc
  tirx.store %2, %d[0, 0] : !acc, memref<64x64xi32>
}

// -----

!s = !tirx.tile<64x64xbf16, shared>
!acc = !tirx.tile<64x64xf32, register>
tirx.kernel @matrices(%a: memref<64x64xbf16>, %b: memref<64x64xbf16>, %d: memref<64x64xf32>) target("sm_80") grid(1) threads(128) {
  %sa = tirx.alloc copy(%a[0, 0]) : memref<64x64xbf16>, !s
  %sb = tirx.alloc copy(%b[0, 0]) : memref<64x64xbf16>, !s
  %zero = tirx.zero : !acc
  %tb = tirx.transpose %sb [1, 0] : !s -> !s
  %0 = tirx.mma %sa, %tb, %zero : !s, !s, !acc -> !acc
  tirx.store %0, %d[0, 0] : !acc, memref<64x64xf32>
}

// -----

// No instruction loads fragments of f64, and an engine that is written stays.

!s = !tirx.tile<32x32xf64, shared>
!acc = !tirx.tile<32x32xf64, register>
!t = !tirx.tile<32x32xtf32, shared>
!r = !tirx.tile<32x32xtf32, register>
!sums = !tirx.tile<32x32xf32, register>
tirx.kernel @others(%a: memref<32x32xf64>, %d: memref<32x32xf64>, %x: memref<32x32xtf32>, %y: memref<32x32xf32>)
    target("sm_80") grid(1) threads(128) {
  %sa = tirx.alloc copy(%a[0, 0]) : memref<32x32xf64>, !s
  %zero = tirx.zero : !acc
  %ta = tirx.transpose %sa [1, 0] : !s -> !s
  %0 = tirx.mma %sa, %ta, %zero : !s, !s, !acc -> !acc
  tirx.store %0, %d[0, 0] : !acc, memref<32x32xf64>
  %sx = tirx.alloc copy(%x[0, 0]) : memref<32x32xtf32>, !t
  %tx = tirx.transpose %sx [1, 0] : !t -> !t
  %v = tirx.load %tx engine ld_st : !t -> !r
  %none = tirx.zero : !sums
  %1 = tirx.mma %sx, %v, %none : !t, !r, !sums -> !sums
  tirx.store %1, %y[0, 0] : !sums, memref<32x32xf32>
}

// -----

// Products in f16 of elements of 8 bits have the same warning.

!s = !tirx.tile<64x64xf8E4M3FN, shared>
!x = !tirx.tile<64x64xf8E4M3FN, register>
!h = !tirx.tile<64x64xf16, register>
!acc = !tirx.tile<64x64xf32, register>
tirx.kernel @converted(%a: memref<64x64xf8E4M3FN>, %d: memref<64x64xf32>) target("sm_80") grid(1) threads(128) {
  %s = tirx.alloc copy(%a[0, 0]) : memref<64x64xf8E4M3FN>, !s
  %t = tirx.transpose %s [1, 0] : !s -> !s
  %zero = tirx.zero : !acc
  %x = tirx.load %s : !s -> !x
  %y = tirx.load %t : !s -> !x
  %p = tirx.map ins(%x : !x) (%e) { f16(%e) } -> !h
  %q = tirx.map ins(%y : !x) (%e) { f16(%e) } -> !h
  // expected-warning@+1 {{B of f8E4M3FN loaded element by element}}
  %0 = tirx.mma %p, %q, %zero : !h, !h, !acc -> !acc
  tirx.store %0, %d[0, 0] : !acc, memref<64x64xf32>
}

// -----

// wgmma reads 8 and 32 bits along K only: columns of memory are turned by the copies, which say so once. Those of
// 16 bits, rows and sizes that only the launch knows are as they are.

!s = !tirx.tile<64x64xf8E4M3FN, shared>
!h = !tirx.tile<64x64xf16, shared>
!acc = !tirx.tile<64x64xf32, register>
!m = memref<?x?xf8E4M3FN>
tirx.kernel @turned(%a: !m, %b: !m, %c: memref<64x64xf16>, %d: memref<64x64xf32>) target("sm_90a") grid(1) threads(128) {
  %zero = tirx.zero : !acc
  // expected-warning@+1 {{A of f8E4M3FN copied element by element: neighbours in global memory are apart in shared memory; a memref in which neighbours along K are adjacent is copied in vectors}}
  %sa = tirx.alloc copy(%a[0, 0] dims(1, 0)) : !m, !s
  %sb = tirx.alloc copy(%b[0, 0]) : !m, !s
  %0 = tirx.mma %sa, %sb, %zero : !s, !s, !acc -> !acc
  %1 = tirx.mma %sa, %sa, %0 : !s, !s, !acc -> !acc
  %sc = tirx.alloc copy(%c[0, 0] dims(1, 0)) : memref<64x64xf16>, !h
  %2 = tirx.mma %sc, %sc, %1 : !h, !h, !acc -> !acc
  tirx.store %2, %d[0, 0] : !acc, memref<64x64xf32>
}
