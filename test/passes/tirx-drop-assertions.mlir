// RUN: tirx-opt %s --tirx-drop-assertions | filecheck %s
// RUN: tirx-opt %s --lower-to-ptx="target=sm_90a assertions=off" | filecheck %s --check-prefix OFF
// RUN: tirx-opt --lower-to-ptx="target=sm_90a assertions=on" < %s | filecheck %s --check-prefix ON

// Nothing is left of the assertion of each iteration.

// CHECK-LABEL: tirx.kernel @sums
// CHECK-NOT:     tirx.assert
// CHECK-LABEL: func.func private @checked
// CHECK-NOT:     tirx.assert
// OFF-NOT: __assertfail
// OFF: ret;
// OFF-NOT: __assertfail
// ON: __assertfail
!s = !tirx.tile<16x64xf32, shared>
!r = !tirx.tile<16x64xf32, register>
tirx.kernel @sums(%x: memref<?x64xf32>, %d: memref<16x64xf32>, %n: index) target("sm_90a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tirx.zero : !r
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%t = %zero) -> (!r) {
    func.call @checked(%k) : (index) -> ()
    %s = tirx.alloc copy(%x[%k * 16, 0] clipped) : memref<?x64xf32>, !s
    %v = tirx.load %s : !s -> !r
    %u = tirx.map ins(%t, %v : !r, !r) (%a, %b) { %a + %b } -> !r
    scf.yield %u : !r
  }
  tirx.store %sum, %d[0, 0] : !r, memref<16x64xf32>
  tirx.return
}

func.func private @checked(%k: index) {
  %c100 = arith.constant 100 : index
  %few = arith.cmpi slt, %k, %c100 : index
  tirx.assert %few, "at most a hundred" : i1
  func.return
}
