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
