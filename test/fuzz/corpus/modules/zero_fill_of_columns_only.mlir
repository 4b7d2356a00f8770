// RUN: tirx-opt --tirx-fold-zero-fill
!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TCol, 1@TCol)]>>
!g = !tirx.tile<128x128xf32, global, #tirx.tile_layout<S[128, 128]>>
tirx.kernel @k(%d: memref<128x128xf32>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tirx.alloc : !a
  %t = tirx.alloc : !t
  %z = arith.constant 0.0 : f32
  %g = tirx.view %d[%c0, %c0] : memref<128x128xf32> -> !g
  tirx.fill %t, %z : f32, !t
  scf.for %k = %c0 to %n step %c1 {
    tirx.mma %a, %a, %t : !a, !a, !t
  }
  tirx.copy %t, %g : !t, !g
  tirx.return
}
