// Depthwise convolution of sequences: y[b, t, c] = sum over r of w[r, c] x[b, t + r - 1, c], 3 taps, zeros around.
!x = memref<?x?x?xf32>
!g = !tirx.tile<32x64xf32, global>
!t = !tirx.tile<32x64xf32, register>
!gw = !tirx.tile<1x64xf32, global>
!w = !tirx.tile<1x64xf32, register>

tirx.kernel @depthwise_conv(%x: !x, %w: memref<3x?xf32>, %y: !x)
    grid(ceildiv(size(0, 2), 64), ceildiv(size(0, 1), 32), size(0, 0)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %i = tirx.block_id x
  %j = tirx.block_id y
  %b = tirx.block_id z
  %c = arith.muli %i, %c64 : index
  %t = arith.muli %j, %c32 : index
  %before = arith.subi %t, %c1 : index
  %none = tirx.zero : !t
  %sum = scf.for %r = %c0 to %c3 step %c1 iter_args(%acc = %none) -> (!t) {
    %at = arith.addi %before, %r : index
    %gx = tirx.view %x[%b, %at, %c] clipped : !x -> !g
    %gw = tirx.view %w[%r, %c] clipped : memref<3x?xf32> -> !gw
    %e = tirx.load %gx : !g -> !t
    %f = tirx.load %gw : !gw -> !w
    %next = tirx.map ins(%e, %f, %acc : !t, !w, !t) {
    ^bb0(%p: f32, %q: f32, %s: f32):
      %u = math.fma %p, %q, %s : f32
      tirx.yield %u : f32
    } -> !t
    scf.yield %next : !t
  } {tirx.unroll}
  %gy = tirx.view %y[%b, %t, %c] clipped : !x -> !g
  tirx.store %sum, %gy : !t, !g
  tirx.return
}
