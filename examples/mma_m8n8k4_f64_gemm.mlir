// D = A * B^T in f64 with mma.sync.m8n8k4 (sm_80 and later): four warps, two along M and two along N, every block
// computes a 64x64 tile from registers. The layouts say who holds what, from the outside in:
//
// - A: warp row (2), fragment (4), lane group (8), step of K (4), lane in group (4). Both warps of a row of warps hold
//   the same part of A: R[2 : 1@warpid].
// - B: the same along N, with warp columns on stride 1 and the copies on stride 2.
// - The accumulator: 4x4 fragments of 8x8, two neighbouring columns in every lane.

#a = #tirx.tile_layout<S[(2, 4, 8, 4, 4) : (2@warpid, 1, 4@laneid, 4, 1@laneid)] + R[2 : 1@warpid]>
#b = #tirx.tile_layout<S[(2, 4, 8, 4, 4) : (1@warpid, 1, 4@laneid, 4, 1@laneid)] + R[2 : 2@warpid]>
#acc = #tirx.tile_layout<S[(2, 4, 8, 2, 4, 4, 2) : (2@warpid, 8, 4@laneid, 1@warpid, 2, 1@laneid, 1)]>

!a = !tirx.tile<64x16xf64, register, #a>
!b = !tirx.tile<64x16xf64, register, #b>
!acc = !tirx.tile<64x64xf64, register, #acc>

tirx.kernel @dgemm(%a: memref<256x128xf64>, %b: memref<192x128xf64>, %d: memref<256x192xf64>)
    target("sm_80") grid(3, 4) threads(128) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f64

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c64 : index

  %ra = tirx.alloc : !a
  %rb = tirx.alloc : !b
  %acc = tirx.alloc : !acc

  tirx.fill %acc, %zero : f64, !acc
  scf.for %k = %c0 to %c128 step %c16 {
    %ga = tirx.view %a[%m, %k] : memref<256x128xf64> -> !tirx.tile<64x16xf64, global>
    %gb = tirx.view %b[%n, %k] : memref<192x128xf64> -> !tirx.tile<64x16xf64, global>
    tirx.copy %ga, %ra : !tirx.tile<64x16xf64, global>, !a
    tirx.copy %gb, %rb : !tirx.tile<64x16xf64, global>, !b
    tirx.mma %ra, %rb, %acc : !a, !b, !acc
  }

  %gd = tirx.view %d[%m, %n] : memref<256x192xf64> -> !tirx.tile<64x64xf64, global>
  tirx.copy %acc, %gd : !acc, !tirx.tile<64x64xf64, global>
  tirx.return
}
