// pipeline: 
// Threads store a tile, cp.async copies a part of it.

!r = !tirx.tile<64x32xf16, register>
!g = !tirx.tile<64x32xf16, global>
!ps = !tirx.tile<32x32xf16, shared>
!pg = !tirx.tile<32x32xf16, global>

tirx.kernel @threads_to_cp_async(%a: memref<128x32xf16>, %m: memref<128x32xf16>, %d: memref<128x32xf16>) target("sm_80") grid(2) threads(128) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %i = tirx.block_id x
  %row = arith.muli %i, %c64 : index
  %part = arith.addi %row, %c8 : index
  %p = tirx.alloc : !ps
  %ga = tirx.view %a[%row, %c0] : memref<128x32xf16> -> !g
  %gm = tirx.view %m[%row, %c0] : memref<128x32xf16> -> !g
  %gp = tirx.view %m[%part, %c0] : memref<128x32xf16> -> !pg
  %gdp = tirx.view %d[%row, %c0] : memref<128x32xf16> -> !pg
  %x = tirx.load %ga : !g -> !r
  tirx.store %x, %gm : !r, !g
  tirx.copy %gp, %p engine cp_async : !pg, !ps
  tirx.copy %p, %gdp : !ps, !pg
  tirx.return
}
