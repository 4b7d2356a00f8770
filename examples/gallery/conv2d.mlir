// y[b, p, q, o] = sum over r, t, c of x[b, 2 p + r - 1, 2 q + t - 1, c] * w[o, r, t, c]: a convolution of 3x3, with stride 2
// and padding 1, as products of 64 places (4 rows of 16) and 64 channels of the output.

!x = memref<?x?x?x?xf16>
!w = memref<?x3x3x?xf16>
!s = !tirx.tile<4x16x32xf16, shared>
!b = !tirx.tile<64x32xf16, shared>
!sums = !tirx.tile<64x64xf32, accumulator>
!r = !tirx.tile<64x64xf32, register>
!out = !tirx.tile<4x16x64xf32, register>

tirx.kernel @conv2d(%x: !x, %w: !w, %y: memref<?x?x?x?xf32>)
    grid(%j = ceildiv(size(2, 3), 64), %pq = mul(ceildiv(size(2, 2), 16), ceildiv(size(2, 1), 4)), %image = size(2, 0)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %channels = memref.dim %w, %c3 : !w
  %columns = tirx.launch_value ceildiv(size(2, 2), 16)
  %p = arith.divui %pq, %columns : index
  %q = arith.remui %pq, %columns : index
  %s = tirx.alloc : !s
  %sb = tirx.alloc : !b
  %acc = tirx.alloc : !sums
  %a = tirx.reshape %s : !s -> !b
  tirx.fill %acc, %zero : f32, !sums
  scf.for %r = %c0 to %c3 step %c1 {
    scf.for %t = %c0 to %c3 step %c1 {
      scf.for %c = %c0 to %channels step %c32 {
        tirx.copy %x[%image, %p * 8 + %r - 1, %q * 32 + %t - 1, %c] steps [1, 2, 2, 1] clipped, %s : !x, !s
        tirx.copy %w[%j * 64, %r, %t, %c] dims(0, 3) clipped, %sb : !w, !b
        tirx.mma %a, %sb, %acc : !b, !b, !sums
      }
    }
  }
  %r = tirx.load %acc : !sums -> !r
  %places = tirx.reshape %r : !r -> !out
  tirx.store %places, %y[%image, %p * 4, %q * 16, %j * 64] clipped : !out, memref<?x?x?x?xf32>
}
