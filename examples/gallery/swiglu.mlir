// A SwiGLU MLP in two kernels: y = d w^T where d = silu(x g^T) * (x u^T).
//
// In one kernel, each block would add a part to all columns of y for its 64 columns of d: in f32, and as often as there are
// such blocks, where d is written and read once here, in f16.
!x = memref<?x?xf16>
!s = !tirx.tile<64x64xf16, shared>
!sums = !tirx.tile<64x64xf32, accumulator>
!h = !tirx.tile<64x64xf16, register>

// d = silu(x g^T) * (x u^T): two products that share x.
tirx.kernel @swiglu(%x: !x, %gate: !x, %up: !x, %d: !x)
    grid(%j = ceildiv(size(1, 0), 64), %i = ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %size = memref.dim %x, %c1 : !x
  %a = tirx.alloc fill(0.0) : !sums
  %b = tirx.alloc fill(0.0) : !sums
  scf.for %k = %c0 to %size step %c64 {
    %sx = tirx.alloc copy(%x[%i * 64, %k] clipped) : !x, !s
    %sg = tirx.alloc copy(%gate[%j * 64, %k] clipped) : !x, !s
    %su = tirx.alloc copy(%up[%j * 64, %k] clipped) : !x, !s
    tirx.mma %sx, %sg, %a : !s, !s, !sums
    tirx.mma %sx, %su, %b : !s, !s, !sums
  }
  %h = tirx.map ins(%a, %b : !sums, !sums) (%p, %q) { f16(%p / (exp(-%p) + 1.0) * %q) } -> !h
  tirx.store %h, %d[%i * 64, %j * 64] clipped : !h, !x
}

// y = d w^T.
tirx.kernel @swiglu_down(%d: !x, %w: !x, %y: !x)
    grid(%j = ceildiv(size(1, 0), 64), %i = ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %size = memref.dim %d, %c1 : !x
  %sums = tirx.alloc fill(0.0) : !sums
  scf.for %k = %c0 to %size step %c64 {
    %sd = tirx.alloc copy(%d[%i * 64, %k] clipped) : !x, !s
    %sw = tirx.alloc copy(%w[%j * 64, %k] clipped) : !x, !s
    tirx.mma %sd, %sw, %sums : !s, !s, !sums
  }
  %r = tirx.map ins(%sums : !sums) (%p) { f16(%p) } -> !h
  tirx.store %r, %y[%i * 64, %j * 64] clipped : !h, !x
}
