// The first half of a SwiGLU MLP in one kernel: d = silu(x g^T) * (x u^T), two products that share x.
!x = memref<?x?xf16>
!g = !tirx.tile<64x64xf16, global>
!s = !tirx.tile<64x64xf16, shared>
!sums = !tirx.tile<64x64xf32, accumulator>
!h = !tirx.tile<64x64xf16, register>

tirx.kernel @swiglu(%x: !x, %gate: !x, %up: !x, %d: !x)
    grid(ceildiv(size(1, 0), 64), ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c64 : index
  %size = memref.dim %x, %c1 : !x
  %sx = tirx.alloc : !s
  %sg = tirx.alloc : !s
  %su = tirx.alloc : !s
  %a = tirx.alloc : !sums
  %b = tirx.alloc : !sums
  tirx.fill %a, %zero : f32, !sums
  tirx.fill %b, %zero : f32, !sums
  scf.for %k = %c0 to %size step %c64 {
    %gx = tirx.view %x[%m, %k] clipped : !x -> !g
    %gg = tirx.view %gate[%n, %k] clipped : !x -> !g
    %gu = tirx.view %up[%n, %k] clipped : !x -> !g
    tirx.copy %gx, %sx : !g, !s
    tirx.copy %gg, %sg : !g, !s
    tirx.copy %gu, %su : !g, !s
    tirx.mma %sx, %sg, %a : !s, !s, !sums
    tirx.mma %sx, %su, %b : !s, !s, !sums
  }
  %h = tirx.map ins(%a, %b : !sums, !sums) {
  ^bb0(%p: f32, %q: f32):
    %minus = arith.negf %p : f32
    %e = math.exp %minus : f32
    %below = arith.addf %e, %one : f32
    %silu = arith.divf %p, %below : f32
    %r = arith.mulf %silu, %q : f32
    %half = arith.truncf %r : f32 to f16
    tirx.yield %half : f16
  } -> !h
  %gd = tirx.view %d[%m, %n] clipped : !x -> !g
  tirx.store %h, %gd : !h, !g
  tirx.return
}
