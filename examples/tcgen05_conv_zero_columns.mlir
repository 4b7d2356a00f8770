// A 3x3 convolution as an implicit GEMM: 64 channels in, 64 out, on an image of 8 rows of 32 pixels, f16 with f32 sums.
//
//   out[o, y, x] = sum over r, s, c of w[r, s, o, c] * image[y + r - 1, x + s - 1, c]
//
// M is the output channel, K the input channel, and N runs over the pixels, row after row: a block computes 128 pixels,
// four rows of the image. The pixel that filter tap s needs for column j is j + s - 1: the same pixels for all three
// taps but for a shift, so B is loaded once, from one pixel before the tile on. It holds N + 2 = 130 pixels, and tap s
// reads it from column s on: shift = s, and N + s pixels of it.
//
// What is wrong with that are the ends of the rows: the left neighbour of pixel 0 of a row is padding, but memory has
// the last pixel of the row before there. These columns are zeroed, one in every row of 32 (one zeroed, 31 used):
//
//   tap 0 needs x - 1, which is padding where x = 0:    zero = 1, use = 31, from column 0 on
//   tap 1 needs x:                                      no column
//   tap 2 needs x + 1, which is padding where x = 31:   zero = 1, use = 31, from column 31 on
//
// That is what tirx.tcgen05.convolution_mask(m = 64, n = 128, row_length = 32, left_pad = 1, tap = s) finds. Padding
// above and below the image is stored: a row of zeros each, so that filter row r starts 32 * r pixels further on. One
// more pixel at either end, which no product uses, lets every tile start one pixel early and end one late.

!w = !tirx.tile<64x64xf16, shared>
!b = !tirx.tile<130x64xf16, shared>
!acc = !tirx.tile<64x128xf32, tensor>

tirx.kernel @conv(%image: memref<322x64xf16>, %w: memref<3x3x64x64xf16>, %out: memref<64x256xf32>)
    target("sm_100a") grid(2) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32

  %block = tirx.block_id x
  %pixel = arith.muli %block, %c128 : index

  %w0 = tirx.alloc : !w
  %w1 = tirx.alloc : !w
  %w2 = tirx.alloc : !w
  %b2 = tirx.alloc : !b
  %b1 = tirx.subview %b2[0, 0] : !b -> !tirx.tile<129x64xf16, shared>
  %b0 = tirx.subview %b2[0, 0] : !b -> !tirx.tile<128x64xf16, shared>
  %acc = tirx.alloc : !acc

  tirx.fill %acc, %zero : f32, !acc
  scf.for %r = %c0 to %c3 step %c1 {
    %down = arith.muli %r, %c32 : index
    %first = arith.addi %pixel, %down : index
    %gb = tirx.view %image[%first, %c0] : memref<322x64xf16> -> !tirx.tile<130x64xf16, global>
    %g0 = tirx.view %w[%r, %c0, %c0, %c0] : memref<3x3x64x64xf16> -> !tirx.tile<64x64xf16, global>
    %g1 = tirx.view %w[%r, %c1, %c0, %c0] : memref<3x3x64x64xf16> -> !tirx.tile<64x64xf16, global>
    %g2 = tirx.view %w[%r, %c2, %c0, %c0] : memref<3x3x64x64xf16> -> !tirx.tile<64x64xf16, global>
    tirx.copy %gb, %b2 : !tirx.tile<130x64xf16, global>, !b
    tirx.copy %g0, %w0 : !tirx.tile<64x64xf16, global>, !w
    tirx.copy %g1, %w1 : !tirx.tile<64x64xf16, global>, !w
    tirx.copy %g2, %w2 : !tirx.tile<64x64xf16, global>, !w
    tirx.mma %w0, %b0, %acc zero_columns(start = 0, zero = 1, use = 31) : !w, !tirx.tile<128x64xf16, shared>, !acc
    tirx.mma %w1, %b1, %acc zero_columns([], shift = 1) : !w, !tirx.tile<129x64xf16, shared>, !acc
    tirx.mma %w2, %b2, %acc zero_columns(start = 31, zero = 1, use = 31, shift = 2) : !w, !b, !acc
  }

  %gd = tirx.view %out[%c0, %pixel] : memref<64x256xf32> -> !tirx.tile<64x128xf32, global>
  tirx.copy %acc, %gd : !acc, !tirx.tile<64x128xf32, global>
  tirx.return
}
