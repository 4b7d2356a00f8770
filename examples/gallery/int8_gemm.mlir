// A product of bytes with a scale for each row of x and each row of w: exact sums in i32, scaled in f32.
!x = memref<?x?xi8>
!v = memref<?xf32>
!h = memref<?x?xf16>
!s = !tirx.tile<64x64xi8, shared>
!sums = !tirx.tile<64x64xi32, register>
!c = !tirx.tile<64x1xf32, register>
!r = !tirx.tile<1x64xf32, register>
!d = !tirx.tile<64x64xf16, register>

tirx.kernel @int8_gemm(%x: !x, %w: !x, %sx: !v, %sw: !v, %d: !h)
    grid(%j = ceildiv(size(1, 0), 64), %i = ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %size = memref.dim %x, %c1 : !x
  %a = tirx.alloc : !s
  %b = tirx.alloc : !s
  %acc = tirx.alloc : !sums
  tirx.fill %acc, %zero : i32, !sums
  scf.for %k = %c0 to %size step %c64 {
    tirx.copy %x[%i * 64, %k] clipped, %a : !x, !s
    tirx.copy %w[%j * 64, %k] clipped, %b : !x, !s
    tirx.mma %a, %b, %acc : !s, !s, !sums
  }
  %rows = tirx.load %sx[%i * 64] dims(0, _) clipped : !v -> !c
  %columns = tirx.load %sw[%j * 64] dims(_, 0) clipped : !v -> !r
  %y = tirx.map ins(%acc, %rows, %columns : !sums, !c, !r) (%e, %u, %v) { f16(f32(%e) * %u * %v) } -> !d
  tirx.store %y, %d[%i * 64, %j * 64] clipped : !d, !h
}
