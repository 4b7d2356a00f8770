// RUN: tirx-opt--convert-tirx-to-ptx
!g=!tirx.tile<16x64xf16,global,#tirx.tile_layout<S[(16,64):(64,1)]>>!s=!tirx.tile<16x64xf16,shared,#tirx.tile_layout<S[(16,64)]>>tirx.kernel@cp_async(%a:memref<20x64xf16>)target("sm_80")threads(128)memory(shared=2048,alignment=2147483648){%i=tirx.block_id x%c0=arith.constant 0:index tirx.alloc at 0:!s%ga=tirx.view%a[%i,%c0]:memref<20x64xf16>->!g
  tirx.return}