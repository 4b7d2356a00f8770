// RUN: tirx-opt--lower-to-ptx
!s=!tirx.tile<1000x1000xf16,shared>!r=!tirx.tile<1000x1000xf16,register>!acc=!tirx.tile<1000x1000xf32,register>tirx.kernel@mma_sync()target("sm_80")threads(128){tirx.return}tirx.kernel@wgmma()target("sm_90a")threads(128){%s=tirx.alloc:!s
  %c = tirx.zero : !acc
  %d = tirx.mma %s, %s, %c : !s, !s, !acc -> !acc
  tirx.return
}