// RUN: tirx-opt --convert-tirx-to-tcgen05
!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!t = !tirx.tile<128x64xf16, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
tirx.kernel @k() target("sm_100a") threads(128) memory(shared = 32784, alignment = 1024, columns = 128, slot = 32768, mbarrier = 32776) {
  %a = tirx.alloc at 0 : !a
  %t = tirx.alloc at 0 : !t
  tirx.async_copy %a, %t engine(tcgen05_cp) : !a, !t
  tirx.return
}
