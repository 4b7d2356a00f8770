// pipeline: split=last multiprocessors=2
// Two blocks add parts of a tile (split=last).

!s = !tirx.tile<64x16xf16, shared>
!g = !tirx.tile<64x16xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>

tirx.kernel @parts_of_the_last_round(%a: memref<192x64xf16>, %b: memref<64x64xf16>, %d: memref<192x64xf32>) target("sm_90a") grid(1, 3) threads(128) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %i = tirx.block_id y
  %m = arith.muli %i, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c64 step %c16 {
    %ga = tirx.view %a[%m, %k] : memref<192x64xf16> -> !g
    %gb = tirx.view %b[%c0, %k] : memref<64x64xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %gd = tirx.view %d[%m, %c0] : memref<192x64xf32> -> !tirx.tile<64x64xf32, global>
  tirx.copy %acc, %gd reduce(add) : !acc, !tirx.tile<64x64xf32, global>
  tirx.return
}
