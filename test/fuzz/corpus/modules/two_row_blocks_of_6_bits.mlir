// RUN: tirx-opt --lower-to-ptx
tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<256x16xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x16xf16, shared>
  %acc = tirx.alloc : !tirx.tile<256x64xf6E2M3FN, tensor>
  tirx.mma %a, %b, %acc : !tirx.tile<256x16xf16, shared>, !tirx.tile<64x16xf16, shared>, !tirx.tile<256x64xf6E2M3FN, tensor>
  tirx.return
}
