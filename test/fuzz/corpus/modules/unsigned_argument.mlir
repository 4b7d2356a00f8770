// RUN: tirx-opt--lower-to-ptx""
tirx.kernel@k(%i:ui32,%m:memref<4xbf16>)target("sm_80")threads(32){arith.sitofp%i:ui32 to bf16
  tirx.return}