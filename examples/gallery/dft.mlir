// The discrete Fourier transform of rows of 64 complex numbers: four products with the matrix of cosines and sines.
//
// Output k of a row is the sum over n of (re[n] + i im[n]) (cos[k, n] - i sin[k, n]); the angle is 2 pi (k n mod 64) / 64.
!m = memref<?x64xf32>
!r = !tirx.tile<64x64xf32, register>
!t = !tirx.tile<64x64xtf32, register>
!s = !tirx.tile<64x64xtf32, shared>
!sums = !tirx.tile<64x64xf32, accumulator>

tirx.kernel @dft(%re: !m, %im: !m, %re_out: !m, %im_out: !m) grid(%b = ceildiv(size(0, 0), 64)) threads(128) {
  %zero = arith.constant 0.0 : f32
  %cos, %sin, %less = tirx.map () {
    %angle = f32(i32(index(0) * index(1) & 63)) * 0.09817477042468103; %d = sin(%angle);
    cos(%angle), %d, -%d
  } -> !t, !t, !t
  %scos = tirx.alloc : !s
  %ssin = tirx.alloc : !s
  %sless = tirx.alloc : !s
  %sre = tirx.alloc : !s
  %sim = tirx.alloc : !s
  tirx.store %cos, %scos : !t, !s
  tirx.store %sin, %ssin : !t, !s
  tirx.store %less, %sless : !t, !s
  %a = tirx.load %re[%b * 64, 0] clipped : !m -> !r
  %i = tirx.load %im[%b * 64, 0] clipped : !m -> !r
  %at, %it = tirx.map ins(%a, %i : !r, !r) (%p, %q) { %p, %q } -> !t, !t
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
  tirx.copy %acc_re, %re_out[%b * 64, 0] clipped : !sums, !m
  tirx.copy %acc_im, %im_out[%b * 64, 0] clipped : !sums, !m
}
