// A product with weights of 4 bits: d = x (w * scales)^T, one scale for every 32 neighbours of a row of w.
!x = memref<?x?xf16>
!w = memref<?x?xi4>
!gx = !tirx.tile<64x64xf16, global>
!sx = !tirx.tile<64x64xf16, shared>
!gw = !tirx.tile<64x64xi4, global>
!rw = !tirx.tile<64x64xi4, register>
!groups = !tirx.tile<64x2x32xi4, register>
!gs = !tirx.tile<64x2x1xf16, global>
!rs = !tirx.tile<64x2x1xf16, register>
!halves = !tirx.tile<64x2x32xf16, register>
!b = !tirx.tile<64x64xf16, register>
!sums = !tirx.tile<64x64xf32, accumulator>
!f = !tirx.tile<64x64xf32, register>
!gd = !tirx.tile<64x64xf32, global>

tirx.kernel @w4a16(%x: !x, %w: !w, %scales: !x, %d: memref<?x?xf32>)
    grid(ceildiv(size(1, 0), 64), ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c64 : index
  %size = memref.dim %x, %c1 : !x
  %sx = tirx.alloc : !sx
  %sb = tirx.alloc : !sx
  %acc = tirx.alloc : !sums
  tirx.fill %acc, %zero : f32, !sums
  scf.for %k = %c0 to %size step %c64 {
    %g = arith.divui %k, %c32 : index
    %gx = tirx.view %x[%m, %k] clipped : !x -> !gx
    %gw = tirx.view %w[%n, %k] clipped : !w -> !gw
    %gs = tirx.view %scales[%n, %g] dims(0, 1, _) clipped : !x -> !gs
    tirx.copy %gx, %sx : !gx, !sx
    %q = tirx.load %gw : !gw -> !rw
    %groups = tirx.reshape %q : !rw -> !groups
    %s = tirx.load %gs : !gs -> !rs
    %f = tirx.map ins(%groups, %s : !groups, !rs) {
    ^bb0(%e: i4, %by: f16):
      %r = arith.sitofp %e : i4 to f16
      %t = arith.mulf %r, %by : f16
      tirx.yield %t : f16
    } -> !halves
    %b = tirx.reshape %f : !halves -> !b
    tirx.store %b, %sb : !b, !sx
    tirx.mma %sx, %sb, %acc : !sx, !sx, !sums
  }
  %gd = tirx.view %d[%m, %n] clipped : memref<?x?xf32> -> !gd
  %r = tirx.load %acc : !sums -> !f
  tirx.store %r, %gd : !f, !gd
  tirx.return
}
