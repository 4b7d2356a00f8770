// A product in e4m3 with a scale for each 128 neighbours of a row of x, and one for each 128x128 of w, promoted in f32:
// the tensor cores add 128 products at a time, and the sums of those are scaled and added in f32.
!x = memref<?x?xf8E4M3FN>
!m = memref<?x?xf32>
!s = !tirx.tile<64x128xf8E4M3FN, shared>
!sums = !tirx.tile<64x64xf32, accumulator>
!f = !tirx.tile<64x64xf32, register>
!c = !tirx.tile<64x1xf32, register>
!one = !tirx.tile<1x1xf32, register>

tirx.kernel @fp8_gemm(%x: !x, %w: !x, %sx: !m, %sw: !m, %d: !m)
    grid(%j = ceildiv(size(1, 0), 64), %i = ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.muli %j, %c64 : index
  %nb = arith.divui %n, %c128 : index
  %size = memref.dim %x, %c1 : !x
  %a = tirx.alloc : !s
  %b = tirx.alloc : !s
  %none = tirx.zero : !f
  %total = scf.for %k = %c0 to %size step %c128 iter_args(%t = %none) -> (!f) {
    %kb = arith.divui %k, %c128 : index
    tirx.copy %x[%i * 64, %k] clipped, %a : !x, !s
    tirx.copy %w[%n, %k] clipped, %b : !x, !s
    %rows = tirx.load %sx[%i * 64, %kb] clipped : !m -> !c
    %block = tirx.load %sw[%nb, %kb] clipped : !m -> !one
    %acc = tirx.alloc : !sums
    tirx.fill %acc, %zero : f32, !sums
    tirx.mma %a, %b, %acc : !s, !s, !sums
    %next = tirx.map ins(%t, %acc, %rows, %block : !f, !sums, !c, !one) (%p, %q, %u, %v) {
      fma(%q, %u * %v, %p)
    } -> !f
    scf.yield %next : !f
  }
  tirx.store %total, %d[%i * 64, %n] clipped : !f, !m
}
