// RUN: tirx-opt %s --tirx-check-sizes --verify-diagnostics

!g = !tirx.tile<64x32xf16, global>
!r = !tirx.tile<64x32xf16, register>
!acc = !tirx.tile<64x64xf32, register>

tirx.kernel @different(%a: memref<64x96xf16>, %b: memref<64x80xf16>, %k: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %acc = tirx.alloc : !acc
  %ga = tirx.view %a[%c0, %k] clipped : memref<64x96xf16> -> !g
  %gb = tirx.view %b[%c0, %k] clipped : memref<64x80xf16> -> !g
  %ra = tirx.load %ga : !g -> !r
  %rb = tirx.load %gb : !g -> !r
  // expected-warning@+1 {{expected K of 'a' and 'b' to be one size, found 96 and 80}}
  tirx.mma %ra, %rb, %acc : !r, !r, !acc
  tirx.return
}

// Parts from another row on read all of K; parts from another column on do not.

tirx.kernel @parts(%a: memref<128x96xf16>, %b: memref<128x80xf16>, %k: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %acc = tirx.alloc : !acc
  %ga = tirx.view %a[%c0, %k] clipped : memref<128x96xf16> -> !tirx.tile<128x64xf16, global>
  %gb = tirx.view %b[%c0, %k] clipped : memref<128x80xf16> -> !tirx.tile<128x64xf16, global>
  %pa = tirx.subview %ga[64, 0] : !tirx.tile<128x64xf16, global> -> !g
  %pb = tirx.subview %gb[64, 0] : !tirx.tile<128x64xf16, global> -> !g
  %qa = tirx.subview %ga[0, 32] : !tirx.tile<128x64xf16, global> -> !g
  %ra = tirx.load %pa : !g -> !r
  %rb = tirx.load %pb : !g -> !r
  %sa = tirx.load %qa : !g -> !r
  // expected-warning@+1 {{expected K of 'a' and 'b' to be one size, found 96 and 80}}
  tirx.mma %ra, %rb, %acc : !r, !r, !acc
  tirx.mma %sa, %rb, %acc : !r, !r, !acc
  tirx.return
}
