// A product in e4m3 with a scale for each 128 neighbours of a row of x, and one for each 128x128 of w, promoted in f32:
// the tensor cores add 128 products at a time, and the sums of those are scaled and added in f32. Scales of x come one block
// of K after the other, as PyTorch wants them: those of a tile are neighbours, which are copied with its elements.
!x = memref<?x?xf8E4M3FN>
!m = memref<?x?xf32>
!a = !tirx.tile<[BM]x128xf8E4M3FN, shared>
!b = !tirx.tile<128x128xf8E4M3FN, shared>
!scales = !tirx.tile<1x[BM]xf32, shared>
!sums = !tirx.tile<[BM]x128xf32, accumulator>
!f = !tirx.tile<[BM]x128xf32, register>
!h = !tirx.tile<[BM]x128xbf16, register>
!r = !tirx.tile<1x[BM]xf32, register>
!c = !tirx.tile<[BM]x1xf32, register>
!one = !tirx.tile<1x1xf32, register>

tirx.kernel @fp8_gemm(%x: !x, %w: !x, %sx: !m, %sw: !m, %d: memref<?x?xbf16>) params(BM in [128, 256, 64])
    grid(%j = ceildiv(size(1, 0), 128), %i = ceildiv(size(0, 0), BM)) threads(256) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = memref.dim %sx, %c0 : !m
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %scales = tirx.alloc : !scales
  %none = tirx.zero : !f
  %block0 = tirx.load %sw[%j, 0] clipped : !m -> !one
  %total, %last = scf.for %k = %c0 to %size step %c1 iter_args(%t = %none, %block = %block0) -> (!f, !one) {
    tirx.copy %x[%i * BM, %k * 128] clipped, %a : !x, !a
    tirx.copy %w[%j * 128, %k * 128] clipped, %b : !x, !b
    tirx.copy %sx[%k, %i * BM] clipped, %scales : !m, !scales
    %acc = tirx.alloc fill(0.0) : !sums
    tirx.mma %a, %b, %acc : !a, !b, !sums
    %row = tirx.load %scales : !scales -> !r
    %block1 = tirx.load %sw[%j, %k + 1] clipped : !m -> !one
    %rows = tirx.transpose %row [1, 0] : !r -> !c
    %next = tirx.map ins(%t, %acc, %rows, %block : !f, !sums, !c, !one) (%p, %q, %u, %v) { fma(%q, %u * %v, %p) } -> !f
    scf.yield %next, %block1 : !f, !one
  }
  %half = tirx.map ins(%total : !f) (%e) { bf16(%e) } -> !h
  tirx.store %half, %d[%i * BM, %j * 128] clipped : !h, memref<?x?xbf16>
}
