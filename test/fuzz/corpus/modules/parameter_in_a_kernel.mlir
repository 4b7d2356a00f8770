// RUN: tirx-opt--lower-to-ptx""
tirx.kernel@k(%x:memref<8x64xf16>)target("sm_80")threads(32){%c0=arith.constant 0:index%map=ptx.param_address@map
  tirx.return}