// RUN: tirx-opt %s --tirx-check-sizes | filecheck %s

!g = !tirx.tile<64x32xf16, global>
!s = !tirx.tile<64x32xf16, shared>
!acc = !tirx.tile<64x64xf32, register>

// Of sizes that only the launch knows the kernel gets a requirement, once.

// CHECK-LABEL: tirx.kernel @dynamic
// CHECK-SAME:    attributes {tirx.requires = {{\[\[}}#ptx.formula<size(0, 1)>, "equal", #ptx.formula<size(1, 1)>, "expected one size along the last dimension of 'a' and 'b', which is K of a product"]]}
tirx.kernel @dynamic(%a: memref<64x?xf16>, %b: memref<64x?xf16>) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %size = memref.dim %a, %c1 : memref<64x?xf16>
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  scf.for %k = %c0 to %size step %c32 {
    %ga = tirx.view %a[%c0, %k] clipped : memref<64x?xf16> -> !g
    %gb = tirx.view %b[%c0, %k] clipped : memref<64x?xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  tirx.return
}

// CHECK-LABEL: tirx.kernel @one_static
// CHECK-SAME:    #ptx.formula<size(1, 1)>, "equal", #ptx.formula<96>
tirx.kernel @one_static(%a: memref<64x96xf16>, %b: memref<64x?xf16>, %k: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %sa = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  %ga = tirx.view %a[%c0, %k] clipped : memref<64x96xf16> -> !g
  %gb = tirx.view %b[%c0, %k] clipped : memref<64x?xf16> -> !g
  tirx.copy %ga, %sa : !g, !s
  %rb = tirx.load %gb : !g -> !tirx.tile<64x32xf16, register>
  tirx.mma %sa, %rb, %acc : !s, !tirx.tile<64x32xf16, register>, !acc
  tirx.return
}

// Other places along K, equal sizes, and views within their matrices ask for nothing.

// CHECK-LABEL: tirx.kernel @nothing
// CHECK-NOT:     attributes
// CHECK:         tirx.return
tirx.kernel @nothing(%a: memref<64x96xf16>, %b: memref<64x?xf16>, %k: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  %ga = tirx.view %a[%c0, %k] clipped : memref<64x96xf16> -> !g
  %gb = tirx.view %b[%c0, %c0] clipped : memref<64x?xf16> -> !g
  tirx.copy %ga, %sa : !g, !s
  tirx.copy %gb, %sb : !g, !s
  tirx.mma %sa, %sb, %acc : !s, !s, !acc
  tirx.return
}
