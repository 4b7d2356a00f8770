// Depthwise convolution of sequences: y[b, t, c] = sum over r of w[r, c] x[b, t + r - 1, c], 3 taps, zeros around.
!x = memref<?x?x?xf32>
!t = !tirx.tile<32x64xf32, register>
!w = !tirx.tile<1x64xf32, register>

tirx.kernel @depthwise_conv(%x: !x, %w: memref<3x?xf32>, %y: !x)
    grid(%i = ceildiv(size(0, 2), 64), %j = ceildiv(size(0, 1), 32), %b = size(0, 0)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %none = tirx.zero : !t
  %sum = scf.for %r = %c0 to %c3 step %c1 iter_args(%acc = %none) -> (!t) {
    %e = tirx.load %x[%b, %j * 32 - 1 + %r, %i * 64] clipped : !x -> !t
    %f = tirx.load %w[%r, %i * 64] clipped : memref<3x?xf32> -> !w
    %next = tirx.map ins(%e, %f, %acc : !t, !w, !t) (%p, %q, %s) { fma(%p, %q, %s) } -> !t
    scf.yield %next : !t
  } {tirx.unroll}
  tirx.store %sum, %y[%b, %j * 32, %i * 64] clipped : !t, !x
}
