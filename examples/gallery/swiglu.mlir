// The first half of a SwiGLU MLP in one kernel: d = silu(x g^T) * (x u^T), two products that share x.
!x = memref<?x?xf16>
!s = !tirx.tile<64x64xf16, shared>
!sums = !tirx.tile<64x64xf32, accumulator>
!h = !tirx.tile<64x64xf16, register>

tirx.kernel @swiglu(%x: !x, %gate: !x, %up: !x, %d: !x)
    grid(%j = ceildiv(size(1, 0), 64), %i = ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %size = memref.dim %x, %c1 : !x
  %sx = tirx.alloc : !s
  %sg = tirx.alloc : !s
  %su = tirx.alloc : !s
  %a = tirx.alloc : !sums
  %b = tirx.alloc : !sums
  tirx.fill %a, %zero : f32, !sums
  tirx.fill %b, %zero : f32, !sums
  scf.for %k = %c0 to %size step %c64 {
    tirx.copy %x[%i * 64, %k] clipped, %sx : !x, !s
    tirx.copy %gate[%j * 64, %k] clipped, %sg : !x, !s
    tirx.copy %up[%j * 64, %k] clipped, %su : !x, !s
    tirx.mma %sx, %sg, %a : !s, !s, !sums
    tirx.mma %sx, %su, %b : !s, !s, !sums
  }
  %h = tirx.map ins(%a, %b : !sums, !sums) (%p, %q) { f16(%p / (exp(-%p) + 1.0) * %q) } -> !h
  tirx.store %h, %d[%i * 64, %j * 64] clipped : !h, !x
}
