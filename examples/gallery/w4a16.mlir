// A product with weights of 4 bits: d = x (w * scales)^T, one scale for 32 neighbours of a row of w; those without are 0.
//
// Rows of w are the rows of A, which threads make of packed weights in their registers: d^T = (w * scales) x^T. Few rows
// of x, and wgmma, take no more time than reading the weights. Rows of w are packed for that, filled up to multiples of 128:
// of 4x4x4x2 neighbours along K (groups of scales, i, t, pairs), those that one thread multiplies lie side by side, in the
// order t, group, pair, i. `parts=2` shares out K where there are few rows of w.
!x = memref<?x?xf16>
!w = memref<?x?xi4>
!sx = !tirx.tile<[BM]x[BK]xf16, shared>
!sw = !tirx.tile<[BN]x[BK]xi4, shared>
!ss = !tirx.tile<[BN]x[BK floordiv 32]xf16, shared>
!rw = !tirx.tile<[BN]x[BK]xi4, register>
!words = !tirx.tile<[BN]x[BK floordiv 128]x4x4x2x4xi4, register>
!order = !tirx.tile<[BN]x[BK floordiv 128]x4x4x4x2xi4, register>
!rs = !tirx.tile<[BN]x[BK floordiv 32]xf16, register>
!each = !tirx.tile<[BN]x[BK floordiv 128]x4x1x1x1xf16, register>
!halves = !tirx.tile<[BN]x[BK floordiv 128]x4x4x4x2xf16, register>
!a = !tirx.tile<[BN]x[BK]xf16, register>
!sums = !tirx.tile<[BN]x[BM]xf32, accumulator>
!f = !tirx.tile<[BN]x[BM]xf32, register>
!t = !tirx.tile<[BM]x[BN]xf32, register>

tirx.kernel @w4a16(%x: !x, %w: !w, %scales: !x, %d: memref<?x?xf32>) params(BM in [16, 8, 64], BN in [128, 64], BK in [256, 512])
    grid(%j = ceildiv(size(1, 0), BN), %i = ceildiv(size(0, 0), BM)) threads(BN * 2) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bk = tirx.param BK : index
  %size = memref.dim %x, %c1 : !x
  %sx = tirx.alloc : !sx
  %sw = tirx.alloc : !sw
  %ss = tirx.alloc : !ss
  %acc = tirx.alloc fill(0.0) : !sums
  scf.for %k = %c0 to %size step %bk {
    tirx.copy %x[%i * BM, %k] clipped, %sx : !x, !sx
    tirx.copy %w[%j * BN, %k] clipped, %sw : !w, !sw
    tirx.copy %scales[%j * BN, %k floordiv 32] clipped, %ss : !x, !ss
    %q = tirx.load %sw : !sw -> !rw
    %s = tirx.load %ss : !ss -> !rs
    %words = tirx.reshape %q : !rw -> !words
    %order = tirx.transpose %words [0, 1, 3, 5, 2, 4] : !words -> !order
    %each = tirx.reshape %s : !rs -> !each
    %f = tirx.map ins(%order, %each : !order, !each) (%e, %by) { f16(%e) * %by } -> !halves
    %a = tirx.reshape %f : !halves -> !a
    tirx.mma %a, %sx, %acc : !a, !sx, !sums
  }
  %r = tirx.load %acc : !sums -> !f
  %t = tirx.transpose %r [1, 0] : !f -> !t
  tirx.store %t, %d[%i * BM, %j * BN] clipped : !t, memref<?x?xf32>
}
