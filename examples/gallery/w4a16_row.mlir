// The product of `w4a16.mlir` for few rows of x: a block multiplies one of them, d = x (w * scales)^T, with BN rows of w.
//
// Reading the weights is all that takes time there, as long as enough warps make halves of them. So warps share out K, in
// parts of 128, as a batch of products whose sums are added at last. Products have eight columns, all of which are x.
!x = memref<?x?xf16>
!w = memref<?x?xi4>
!sx = !tirx.tile<1x[BK]xf16, shared>
!sw = !tirx.tile<[BN]x[BK]xi4, shared>
!ss = !tirx.tile<[BN]x[BK floordiv 32]xf16, shared>
!parts = !tirx.tile<[BK floordiv 128]x1x128xf16, shared>
!rx = !tirx.tile<[BK floordiv 128]x1x128xf16, register>
!columns = !tirx.tile<[BK floordiv 128]x8x128xf16, register>
!rw = !tirx.tile<[BN]x[BK]xi4, register>
!words = !tirx.tile<[BN]x[BK floordiv 128]x4x4x2x4xi4, register>
!order = !tirx.tile<[BN]x[BK floordiv 128]x4x4x4x2xi4, register>
!rs = !tirx.tile<[BN]x[BK floordiv 32]xf16, register>
!each = !tirx.tile<[BN]x[BK floordiv 128]x4x1x1x1xf16, register>
!halves = !tirx.tile<[BN]x[BK floordiv 128]x4x4x4x2xf16, register>
!rows = !tirx.tile<[BN]x[BK floordiv 128]x128xf16, register>
!a = !tirx.tile<[BK floordiv 128]x[BN]x128xf16, register>
!sums = !tirx.tile<[BK floordiv 128]x[BN]x8xf32, accumulator>
!f = !tirx.tile<[BK floordiv 128]x[BN]x8xf32, register>
!total = !tirx.tile<1x[BN]x8xf32, register>
!column = !tirx.tile<1x[BN]x1xf32, register>
!t = !tirx.tile<1x[BN]xf32, register>

tirx.kernel @w4a16_row(%x: !x, %w: !w, %scales: !x, %d: memref<?x?xf32>) params(BN in [32, 16], BK in [512, 1024])
    grid(%j = ceildiv(size(1, 0), BN), %i = size(0, 0)) threads(BN * BK floordiv 64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bk = tirx.param BK : index
  %size = memref.dim %x, %c1 : !x
  %sx = tirx.alloc : !sx
  %sw = tirx.alloc : !sw
  %ss = tirx.alloc : !ss
  %acc = tirx.alloc fill(0.0) : !sums
  scf.for %k = %c0 to %size step %bk {
    tirx.copy %x[%i, %k] clipped, %sx : !x, !sx
    tirx.copy %w[%j * BN, %k] clipped, %sw : !w, !sw
    tirx.copy %scales[%j * BN, %k floordiv 32] clipped, %ss : !x, !ss
    %q = tirx.load %sw : !sw -> !rw
    %words = tirx.reshape %q : !rw -> !words
    %order = tirx.transpose %words [0, 1, 3, 5, 2, 4] : !words -> !order
    %s = tirx.load %ss : !ss -> !rs
    %each = tirx.reshape %s : !rs -> !each
    %h = tirx.map ins(%order, %each : !order, !each) (%e, %by) { f16(%e) * %by } -> !halves
    %rows = tirx.reshape %h : !halves -> !rows
    %a = tirx.transpose %rows [1, 0, 2] : !rows -> !a
    %parts = tirx.reshape %sx : !sx -> !parts
    %rx = tirx.load %parts : !parts -> !rx
    %b = tirx.broadcast %rx : !rx -> !columns
    tirx.mma %a, %b, %acc instruction("m16n8k16") : !a, !columns, !sums
  }
  %f = tirx.load %acc : !sums -> !f
  %total = tirx.reduce %f dim(0) add : !f -> !total
  %column = tirx.reduce %total dim(2) max : !total -> !column
  %t = tirx.reshape %column : !column -> !t
  tirx.store %t, %d[%i, %j * BN] clipped : !t, memref<?x?xf32>
}
