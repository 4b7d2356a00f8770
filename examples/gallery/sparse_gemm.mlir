// D = A B^T in f16 where A is 2:4 sparse: of every four neighbours along K two are stored, and a code of 4 bits says which.
!m = memref<?x?xf16>
!c = memref<?x?xi4>
!a = !tirx.tile<64x32xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!e = !tirx.tile<64x16xi4, register>
!sums = !tirx.tile<64x64xf32, accumulator>
!d = memref<?x?xf32>

tirx.kernel @sparse_gemm(%a: !m, %codes: !c, %b: !m, %d: !d)
    grid(%j = ceildiv(size(2, 0), 64), %i = ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %size = memref.dim %codes, %c1 : !c
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %acc = tirx.alloc fill(0.0) : !sums
  scf.for %k = %c0 to %size step %c16 {
    tirx.copy %a[%i * 64, %k * 2] clipped, %sa : !m, !a
    tirx.copy %b[%j * 64, %k * 4] clipped, %sb : !m, !b
    %e = tirx.load %codes[%i * 64, %k] clipped : !c -> !e
    tirx.mma %sa, %sb, %acc metadata(%e) : !a, !b, !sums, !e
  }
  tirx.copy %acc, %d[%i * 64, %j * 64] clipped : !sums, !d
}
