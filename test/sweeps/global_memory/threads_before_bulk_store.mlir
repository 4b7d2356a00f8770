// pipeline: 
// Threads load a part of a tile that a bulk tensor copy stores to then.

!s = !tirx.tile<64x32xf16, shared>
!r = !tirx.tile<64x32xf16, register>
!g = !tirx.tile<64x32xf16, global>
!pr = !tirx.tile<32x32xf16, register>
!pg = !tirx.tile<32x32xf16, global>

tirx.kernel @threads_before_bulk_store(%a: memref<128x32xf16>, %m: memref<128x32xf16>, %d: memref<128x32xf16>) target("sm_90a") grid(2) threads(128) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %i = tirx.block_id x
  %row = arith.muli %i, %c64 : index
  %part = arith.addi %row, %c8 : index
  %s = tirx.alloc : !s
  %ga = tirx.view %a[%row, %c0] : memref<128x32xf16> -> !g
  %gm = tirx.view %m[%row, %c0] : memref<128x32xf16> -> !g
  %gp = tirx.view %m[%part, %c0] : memref<128x32xf16> -> !pg
  %gdp = tirx.view %d[%row, %c0] : memref<128x32xf16> -> !pg
  %x = tirx.load %ga : !g -> !r
  tirx.copy %x, %s : !r, !s
  %y = tirx.load %gp : !pg -> !pr
  tirx.store %y, %gdp : !pr, !pg
  tirx.copy %s, %gm engine tma_store : !s, !g
  tirx.return
}
