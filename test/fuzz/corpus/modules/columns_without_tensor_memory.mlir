// RUN: tirx-opt --tirx-allocate-memory --convert-tirx-to-tcgen05
tirx.kernel @k() target("sm_90") threads(128) {
  %x = tirx.alloc : !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
  tirx.return
}
