// A product of f32 with nearly all of its digits by tf32: each factor is a large and a small part, and three of the four
// products of parts count.
!m = memref<?x?xf32>
!r = !tirx.tile<64x32xf32, register>
!t = !tirx.tile<64x32xtf32, register>
!s = !tirx.tile<64x32xtf32, shared>
!sums = !tirx.tile<64x64xf32, accumulator>
!f = !tirx.tile<64x64xf32, register>

tirx.kernel @tf32x3_gemm(%a: !m, %b: !m, %d: !m)
    grid(%j = ceildiv(size(1, 0), 64), %i = ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %size = memref.dim %a, %c1 : !m
  %a_large = tirx.alloc : !s
  %a_small = tirx.alloc : !s
  %b_large = tirx.alloc : !s
  %b_small = tirx.alloc : !s
  %acc = tirx.alloc fill(0.0) : !sums
  scf.for %k = %c0 to %size step %c32 {
    %ra = tirx.load %a[%i * 64, %k] clipped : !m -> !r
    %rb = tirx.load %b[%j * 64, %k] clipped : !m -> !r
    %al, %as, %bl, %bs = tirx.map ins(%ra, %rb : !r, !r) (%p, %q) {
      %u = as_f32(as_i32(%p) & -8192); %v = as_f32(as_i32(%q) & -8192);
      %u, %p - %u, %v, %q - %v
    } -> !t, !t, !t, !t
    tirx.store %al, %a_large : !t, !s
    tirx.store %as, %a_small : !t, !s
    tirx.store %bl, %b_large : !t, !s
    tirx.store %bs, %b_small : !t, !s
    tirx.mma %a_small, %b_large, %acc : !s, !s, !sums
    tirx.mma %a_large, %b_small, %acc : !s, !s, !sums
    tirx.mma %a_large, %b_large, %acc : !s, !s, !sums
  }
  %r = tirx.load %acc : !sums -> !f
  tirx.store %r, %d[%i * 64, %j * 64] clipped : !f, !m
}
