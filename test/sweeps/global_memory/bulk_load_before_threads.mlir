// pipeline: 
// A bulk tensor copy loads a tile, threads store over it then.

!s = !tirx.tile<64x32xf16, shared>
!r = !tirx.tile<64x32xf16, register>
!g = !tirx.tile<64x32xf16, global>

tirx.kernel @bulk_load_before_threads(%a: memref<128x32xf16>, %m: memref<128x32xf16>, %d: memref<128x32xf16>) target("sm_90a") grid(2) threads(128) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %i = tirx.block_id x
  %row = arith.muli %i, %c64 : index
  %part = arith.addi %row, %c8 : index
  %t = tirx.alloc : !s
  %ga = tirx.view %a[%row, %c0] : memref<128x32xf16> -> !g
  %gm = tirx.view %m[%row, %c0] : memref<128x32xf16> -> !g
  %gd = tirx.view %d[%row, %c0] : memref<128x32xf16> -> !g
  %x = tirx.load %ga : !g -> !r
  tirx.copy %gm, %t engine tma : !g, !s
  tirx.store %x, %gm : !r, !g
  tirx.copy %t, %gd : !s, !g
  tirx.return
}
