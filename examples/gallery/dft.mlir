// The discrete Fourier transform of rows of 64 complex numbers: four products with the matrix of cosines and sines.
//
// Output k of a row is the sum over n of (re[n] + i im[n]) (cos[k, n] - i sin[k, n]); the angle is 2 pi (k n mod 64) / 64.
!m = memref<?x64xf32>
!g = !tirx.tile<64x64xf32, global>
!r = !tirx.tile<64x64xf32, register>
!t = !tirx.tile<64x64xtf32, register>
!s = !tirx.tile<64x64xtf32, shared>
!sums = !tirx.tile<64x64xf32, accumulator>

tirx.kernel @dft(%re: !m, %im: !m, %re_out: !m, %im_out: !m) grid(ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %step = arith.constant 0.09817477042468103 : f32
  %b = tirx.block_id x
  %row = arith.muli %b, %c64 : index
  %cos, %sin, %less = tirx.map {
    %k = tirx.index 0
    %n = tirx.index 1
    %kn = arith.muli %k, %n : index
    %turn = arith.andi %kn, %c63 : index
    %i = arith.index_cast %turn : index to i32
    %f = arith.sitofp %i : i32 to f32
    %angle = arith.mulf %f, %step : f32
    %c = math.cos %angle : f32
    %d = math.sin %angle : f32
    %e = arith.negf %d : f32
    tirx.yield %c, %d, %e : f32, f32, f32
  } -> !t, !t, !t
  %scos = tirx.alloc : !s
  %ssin = tirx.alloc : !s
  %sless = tirx.alloc : !s
  %sre = tirx.alloc : !s
  %sim = tirx.alloc : !s
  tirx.store %cos, %scos : !t, !s
  tirx.store %sin, %ssin : !t, !s
  tirx.store %less, %sless : !t, !s
  %gre = tirx.view %re[%row, %c0] clipped : !m -> !g
  %gim = tirx.view %im[%row, %c0] clipped : !m -> !g
  %a = tirx.load %gre : !g -> !r
  %i = tirx.load %gim : !g -> !r
  %at, %it = tirx.map ins(%a, %i : !r, !r) {
  ^bb0(%p: f32, %q: f32):
    tirx.yield %p, %q : f32, f32
  } -> !t, !t
  tirx.store %at, %sre : !t, !s
  tirx.store %it, %sim : !t, !s
  %acc_re = tirx.alloc : !sums
  %acc_im = tirx.alloc : !sums
  tirx.fill %acc_re, %zero : f32, !sums
  tirx.fill %acc_im, %zero : f32, !sums
  tirx.mma %sre, %scos, %acc_re : !s, !s, !sums
  tirx.mma %sim, %ssin, %acc_re : !s, !s, !sums
  tirx.mma %sim, %scos, %acc_im : !s, !s, !sums
  tirx.mma %sre, %sless, %acc_im : !s, !s, !sums
  %ore = tirx.view %re_out[%row, %c0] clipped : !m -> !g
  %oim = tirx.view %im_out[%row, %c0] clipped : !m -> !g
  tirx.copy %acc_re, %ore : !sums, !g
  tirx.copy %acc_im, %oim : !sums, !g
  tirx.return
}
