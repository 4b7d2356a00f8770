// RUN: tirx-opt --tirx-pick-layouts
tirx.kernel @k() target("sm_100a") threads(256) {
  %a = tirx.alloc : !tirx.tile<1000x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %c = tirx.zero : !tirx.tile<1000x64xf32, register>
  %x = tirx.load %a : !tirx.tile<1000x64xf16, shared> -> !tirx.tile<1000x64xf16, register>
  %y = tirx.load %b : !tirx.tile<64x64xf16, shared> -> !tirx.tile<64x64xf16, register>
  %d = tirx.mma %x, %y, %c : !tirx.tile<1000x64xf16, register>, !tirx.tile<64x64xf16, register>, !tirx.tile<1000x64xf32, register> -> !tirx.tile<1000x64xf32, register>
  tirx.return
}
