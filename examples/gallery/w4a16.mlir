// A product with weights of 4 bits: d = x (w * scales)^T, one scale for every 32 neighbours of a row of w.
!x = memref<?x?xf16>
!w = memref<?x?xi4>
!sx = !tirx.tile<64x64xf16, shared>
!rw = !tirx.tile<64x64xi4, register>
!groups = !tirx.tile<64x2x32xi4, register>
!rs = !tirx.tile<64x2x1xf16, register>
!halves = !tirx.tile<64x2x32xf16, register>
!b = !tirx.tile<64x64xf16, register>
!sums = !tirx.tile<64x64xf32, accumulator>
!f = !tirx.tile<64x64xf32, register>

tirx.kernel @w4a16(%x: !x, %w: !w, %scales: !x, %d: memref<?x?xf32>)
    grid(%j = ceildiv(size(1, 0), 64), %i = ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %size = memref.dim %x, %c1 : !x
  %sx = tirx.alloc : !sx
  %sb = tirx.alloc : !sx
  %acc = tirx.alloc : !sums
  tirx.fill %acc, %zero : f32, !sums
  scf.for %k = %c0 to %size step %c64 {
    %g = arith.divui %k, %c32 : index
    tirx.copy %x[%i * 64, %k] clipped, %sx : !x, !sx
    %q = tirx.load %w[%j * 64, %k] clipped : !w -> !rw
    %groups = tirx.reshape %q : !rw -> !groups
    %s = tirx.load %scales[%j * 64, %g] dims(0, 1, _) clipped : !x -> !rs
    %f = tirx.map ins(%groups, %s : !groups, !rs) (%e, %by) { f16(%e) * %by } -> !halves
    %b = tirx.reshape %f : !halves -> !b
    tirx.store %b, %sb : !b, !sx
    tirx.mma %sx, %sb, %acc : !sx, !sx, !sums
  }
  %r = tirx.load %acc : !sums -> !f
  tirx.store %r, %d[%i * 64, %j * 64] clipped : !f, memref<?x?xf32>
}
