// RUN: tirx-opt--lower-to-ptx --explain-json
#a=#tirx.compose_layout<#tirx.swizzle_layout<3,3,3>,#tirx.tile_layout<S[128,64]>>#d=#tirx.tile_layout<S[(2,4,2,8,8,4,2):(4@warpid,1@warpid,2,4@laneid,4,1@laneid,1)]+4@warpid>#fragment=#tirx.tile_layout<S[(4,2,8,2,4,2):(1,2,4,4,1,1)]>#codes=#tirx.tile_layout<S[(4,2,8,2,4):(1,4,4,1,1)]>#d64=#tirx.tile_layout<S[(4,2,8,8,4,2):(1@warpid,2,4@laneid,4,1@laneid,1)]>!a=!tirx.tile<128x64xf16,shared,#a>!d=!tirx.tile<128x64xf32,register,#d>!a16=!tirx.tile<64x16xf16,register,#fragment>!d64=!tirx.tile<64x64xf32,register,#d64>!codes=!tirx.tile<64x8xf32,register,#codes>func.func@two_warpgroups(%a:!a,%p:i1){%0=wgmma.smem_descriptor%a,2of 16rows 64from[0,64]warpgroup 1:!a ->i64%1=wgmma.smem_descriptor%a,2of 16rows 64from[0]:!a ->i64%2=wgmma.uninitialized:!d%3=wgmma.mma_async"f16""f16"n 64%2at 0,%0,%1:!d,i64->!tirx.pending<!d>func.return
}
func.func @parts(%a: !a, %x: i64, %d: !d64, %r: !a16, %e: !codes) {
  %0 = wgmma.smem_descriptor %a, 0 of 16 rows 32 from [32] : !a -> i64
  %1 = wgmma.mma_async "f16" "f16" n 32 a(%r : !a16) b(%0) c(%d : !d64) at 16 a_at 0 -> !tirx.pending<!d64>
  %2 = wgmma.mma_async "f16" "f16" n 64 a(%x : i64) b(%x) c(%1 : !tirx.pending<!d64>) at 0 metadata(%e : !codes) metadata_at 0 selector 1 -> !tirx.pending<!d64>
  func.return
}