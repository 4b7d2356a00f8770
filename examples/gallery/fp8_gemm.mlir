// A product in e4m3 with a scale for each 128 neighbours of a row of x, and one for each 128x128 of w, promoted in f32:
// the tensor cores add 128 products at a time, and the sums of those are scaled and added in f32.
!x = memref<?x?xf8E4M3FN>
!m = memref<?x?xf32>
!g = !tirx.tile<64x128xf8E4M3FN, global>
!s = !tirx.tile<64x128xf8E4M3FN, shared>
!sums = !tirx.tile<64x64xf32, accumulator>
!f = !tirx.tile<64x64xf32, register>
!c = !tirx.tile<64x1xf32, register>
!one = !tirx.tile<1x1xf32, register>

tirx.kernel @fp8_gemm(%x: !x, %w: !x, %sx: !m, %sw: !m, %d: !m)
    grid(ceildiv(size(1, 0), 64), ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c64 : index
  %nb = arith.divui %n, %c128 : index
  %size = memref.dim %x, %c1 : !x
  %a = tirx.alloc : !s
  %b = tirx.alloc : !s
  %none = tirx.zero : !f
  %total = scf.for %k = %c0 to %size step %c128 iter_args(%t = %none) -> (!f) {
    %kb = arith.divui %k, %c128 : index
    %gx = tirx.view %x[%m, %k] clipped : !x -> !g
    %gw = tirx.view %w[%n, %k] clipped : !x -> !g
    %gsx = tirx.view %sx[%m, %kb] clipped : !m -> !tirx.tile<64x1xf32, global>
    %gsw = tirx.view %sw[%nb, %kb] clipped : !m -> !tirx.tile<1x1xf32, global>
    tirx.copy %gx, %a : !g, !s
    tirx.copy %gw, %b : !g, !s
    %rows = tirx.load %gsx : !tirx.tile<64x1xf32, global> -> !c
    %block = tirx.load %gsw : !tirx.tile<1x1xf32, global> -> !one
    %acc = tirx.alloc : !sums
    tirx.fill %acc, %zero : f32, !sums
    tirx.mma %a, %b, %acc : !s, !s, !sums
    %next = tirx.map ins(%t, %acc, %rows, %block : !f, !sums, !c, !one) {
    ^bb0(%p: f32, %q: f32, %u: f32, %v: f32):
      %scale = arith.mulf %u, %v : f32
      %r = math.fma %q, %scale, %p : f32
      tirx.yield %r : f32
    } -> !f
    scf.yield %next : !f
  }
  %gd = tirx.view %d[%m, %n] clipped : !m -> !tirx.tile<64x64xf32, global>
  tirx.store %total, %gd : !f, !tirx.tile<64x64xf32, global>
  tirx.return
}
