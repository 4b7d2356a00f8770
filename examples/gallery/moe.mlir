// Mixture of experts: y[ids[r]] += weights[r] * w[e] x[ids[r]] for the rows r of each expert e, which are a group of their own.
//
// Block b along y has the rows from first[b] on, at most 64, of expert[b]; a group ends where offsets of the next begins.

!x = memref<?x?xf16>
!w = memref<?x?x?xf16>
!list = memref<?xi32>
!ids = !tirx.tile<64xi32, register>
!gx = !tirx.tile<64x64xf16, global>
!s = !tirx.tile<64x64xf16, shared>
!sums = !tirx.tile<64x64xf32, accumulator>
!f = !tirx.tile<64x64xf32, register>
!gy = !tirx.tile<64x64xf32, global>
!column = !tirx.tile<64x1xf32, register>

tirx.kernel @moe(%x: !x, %w: !w, %ids: !list, %weights: memref<?xf32>, %expert: !list, %first: !list, %offsets: !list,
    %y: memref<?x?xf32>) grid(ceildiv(size(1, 1), 64), size(4, 0)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant -1 : i32
  %zero = arith.constant 0.0 : f32
  %b = tirx.block_id y
  %j = tirx.block_id x
  %n = arith.muli %j, %c64 : index
  %depth = memref.dim %x, %c1 : !x
  %e32 = memref.load %expert[%b] : !list
  %e = arith.index_cast %e32 : i32 to index
  %r32 = memref.load %first[%b] : !list
  %r = arith.index_cast %r32 : i32 to index
  %next = arith.addi %e, %c1 : index
  %end32 = memref.load %offsets[%next] : !list
  %end = arith.index_cast %end32 : i32 to index
  %rows = arith.subi %end, %r : index
  %gids = tirx.view %ids[%r] clipped to [%rows] : !list -> !tirx.tile<64xi32, global>
  %token = tirx.load %gids pad(%none) : !tirx.tile<64xi32, global> -> !ids
  %sx = tirx.alloc : !s
  %sw = tirx.alloc : !s
  %acc = tirx.alloc : !sums
  tirx.fill %acc, %zero : f32, !sums
  scf.for %k = %c0 to %depth step %c64 {
    %gx = tirx.view %x[[%token], %k] clipped : !x, !ids -> !gx
    %gw = tirx.view %w[%e, %n, %k] clipped : !w -> !gx
    tirx.copy %gx, %sx : !gx, !s
    tirx.copy %gw, %sw : !gx, !s
    tirx.mma %sx, %sw, %acc : !s, !s, !sums
  }
  %gby = tirx.view %weights[%r] dims(0, _) clipped to [%rows] : memref<?xf32> -> !tirx.tile<64x1xf32, global>
  %by = tirx.load %gby : !tirx.tile<64x1xf32, global> -> !column
  %out = tirx.map ins(%acc, %by : !sums, !column) {
  ^bb0(%p: f32, %q: f32):
    %t = arith.mulf %p, %q : f32
    tirx.yield %t : f32
  } -> !f
  %gy = tirx.view %y[[%token], %n] clipped : memref<?x?xf32>, !ids -> !gy
  tirx.store %out, %gy reduce(add) : !f, !gy
  tirx.return
}
