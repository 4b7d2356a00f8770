// RUN: tirx-opt %s --tirx-fold-subviews | filecheck %s

// CHECK-LABEL: tirx.kernel @parts
tirx.kernel @parts(%a: memref<4x64x64xf16>, %i: index, %n: index) threads(32) {
  %c16 = arith.constant 16 : index
  %t = tirx.alloc : !tirx.tile<64x64xf16, shared>
  // CHECK: tirx.subview %t[%n, 16] : !tirx.tile<64x64xf16, shared> -> !tirx.tile<32x32xf16, shared>
  %p = tirx.subview %t[%n, %c16] : !tirx.tile<64x64xf16, shared> -> !tirx.tile<32x32xf16, shared>
  %g = tirx.view %a[%i, %n, %n] clipped : memref<4x64x64xf16> -> !tirx.tile<64x64xf16, global>
  %h = tirx.subview %g[0, 8] : !tirx.tile<64x64xf16, global> -> !tirx.tile<64x32xf16, global>
  // CHECK: %[[M:.*]] = arith.addi %n, %i : index
  // CHECK: %[[EIGHT:.*]] = arith.constant 8 : index
  // CHECK: %[[FROM:.*]] = arith.addi %n, %[[EIGHT]] : index
  // CHECK: %[[SIXTEEN:.*]] = arith.constant 16 : index
  // CHECK: %[[N:.*]] = arith.addi %[[FROM]], %[[SIXTEEN]] : index
  // CHECK: %q = tirx.view %a[%i, %[[M]], %[[N]]] clipped : memref<4x64x64xf16> -> !tirx.tile<32x16xf16, global>
  %q = tirx.subview %h[%i, %c16] : !tirx.tile<64x32xf16, global> -> !tirx.tile<32x16xf16, global>
  %c0 = arith.constant 0 : index
  %v = tirx.zero : !tirx.tile<64x64xf16, register>
  // CHECK: tirx.subview %v[0, 63] steps [2, -1] : !tirx.tile<64x64xf16, register> -> !tirx.tile<32x32xf16, register>
  %r = tirx.subview %v[%c0, 63] steps [2, -1] : !tirx.tile<64x64xf16, register> -> !tirx.tile<32x32xf16, register>
  tirx.return
}
