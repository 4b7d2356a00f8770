// pipeline: 
// A bulk tensor copy stores a tile, another one loads it.

!s = !tirx.tile<64x32xf16, shared>
!r = !tirx.tile<64x32xf16, register>
!g = !tirx.tile<64x32xf16, global>

tirx.kernel @bulk_store_to_bulk_load(%a: memref<128x32xf16>, %m: memref<128x32xf16>, %d: memref<128x32xf16>) target("sm_90a") grid(2) threads(128) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %i = tirx.block_id x
  %row = arith.muli %i, %c64 : index
  %part = arith.addi %row, %c8 : index
  %s = tirx.alloc : !s
  %t = tirx.alloc : !s
  %ga = tirx.view %a[%row, %c0] : memref<128x32xf16> -> !g
  %gm = tirx.view %m[%row, %c0] : memref<128x32xf16> -> !g
  %gd = tirx.view %d[%row, %c0] : memref<128x32xf16> -> !g
  %x = tirx.load %ga : !g -> !r
  tirx.copy %x, %s : !r, !s
  tirx.copy %s, %gm engine tma_store : !s, !g
  tirx.copy %gm, %t engine tma : !g, !s
  tirx.copy %t, %gd : !s, !g
  tirx.return
}
