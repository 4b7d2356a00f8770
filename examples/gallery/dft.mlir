// The discrete Fourier transform of rows of 64 complex numbers: four products with the matrix of cosines and sines.
//
// Output k of a row is the sum over n of (re[n] + i im[n]) (cos[k, n] - i sin[k, n]); the angle is 2 pi (k n mod 64) / 64.
!m = memref<?x64xtf32>
!d = memref<?x64xf32>
!t = !tirx.tile<64x64xtf32, register>
!s = !tirx.tile<64x64xtf32, shared>
!sums = !tirx.tile<64x64xf32, accumulator>

tirx.kernel @dft(%re: !m, %im: !m, %re_out: !d, %im_out: !d) grid(%b = ceildiv(size(0, 0), 64)) threads(128) {
  %cos, %sin, %less = tirx.map () {
    %angle = f32(i32(index(0) * index(1) & 63)) * 0.09817477042468103; cos(%angle), sin(%angle), -sin(%angle)
  } -> !t, !t, !t
  %scos = tirx.alloc copy(%cos) : !t, !s
  %ssin = tirx.alloc copy(%sin) : !t, !s
  %sless = tirx.alloc copy(%less) : !t, !s
  %sre = tirx.alloc copy(%re[%b * 64, 0] clipped) : !m, !s
  %sim = tirx.alloc copy(%im[%b * 64, 0] clipped) : !m, !s
  %acc_re = tirx.alloc fill(0.0) : !sums
  %acc_im = tirx.alloc fill(0.0) : !sums
  tirx.mma %sre, %scos, %acc_re : !s, !s, !sums
  tirx.mma %sim, %ssin, %acc_re : !s, !s, !sums
  tirx.mma %sim, %scos, %acc_im : !s, !s, !sums
  tirx.mma %sre, %sless, %acc_im : !s, !s, !sums
  tirx.copy %acc_re, %re_out[%b * 64, 0] clipped : !sums, !d
  tirx.copy %acc_im, %im_out[%b * 64, 0] clipped : !sums, !d
}
