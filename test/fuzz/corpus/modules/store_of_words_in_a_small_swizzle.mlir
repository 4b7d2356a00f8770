// RUN: tirx-opt --tirx-expand-copies
!s = !tirx.tile<128x32xf6E3M2FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<2, 3, 3>, #tirx.tile_layout<S[128, 32]>>>
!r = !tirx.tile<128x32xf6E3M2FN, register, #tirx.tile_layout<S[(128, 32) : (1@tx, 1)]>>
tirx.kernel @k() target("sm_100a") threads(128) {
  %s = tirx.alloc : !s
  %r = tirx.zero : !r
  tirx.store %r, %s : !r, !s
  tirx.return
}
