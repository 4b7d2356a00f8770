// RUN: tirx-opt--lower-to-ptx="pipeline=off"
!g=!tirx.tile<16x64xf16,global,#tirx.tile_layout<S[(16,64):(64,1)]>>!s=!tirx.tile<16x64xf16,shared,#tirx.tile_layout<S[(16,64)]>>tirx.kernel@cp_async(%a:memref<1000000000000000000000000000000x64xf16>)target("sm_80")threads(128)memory(shared=2048,alignment=128){%i=tirx.block_id x%c0=arith.constant 0:index%s=tirx.alloc:!s%ga=tirx.view%a[%i,%c0]clipped:memref<1000000000000000000000000000000x64xf16>->!g
  tirx.cp_async%ga,%s:!g,!s
  tirx.return}