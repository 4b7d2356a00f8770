// RUN: tirx-opt --convert-tirx-to-tcgen05
!t = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
tirx.kernel @k() target("sm_100a") threads(128) memory(shared = 12, alignment = 8, columns = 512, slot = 8) {
  %t = tirx.alloc at 449 : !t
  tirx.return
}
