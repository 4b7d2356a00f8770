// Mixture of experts: y[ids[r]] += weights[r] * w[e] x[ids[r]] for the rows r of each expert e, which are a group of their own.
//
// Block b along y has the rows from first[b] on, at most 64, of expert[b]; a group ends where offsets of the next begins.

!x = memref<?x?xf16>
!w = memref<?x?x?xf16>
!list = memref<?xi32>
!ids = !tirx.tile<64xi32, register>
!s = !tirx.tile<64x64xf16, shared>
!sums = !tirx.tile<64x64xf32, accumulator>
!f = !tirx.tile<64x64xf32, register>
!column = !tirx.tile<64x1xf32, register>

tirx.kernel @moe(%x: !x, %w: !w, %ids: !list, %weights: memref<?xf32>, %expert: !list, %first: !list, %offsets: !list,
    %y: memref<?x?xf32>) grid(%j = ceildiv(size(1, 1), 64), %b = size(4, 0)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant -1 : i32
  %zero = arith.constant 0.0 : f32
  %depth = memref.dim %x, %c1 : !x
  %e32 = memref.load %expert[%b] : !list
  %e = arith.index_cast %e32 : i32 to index
  %r32 = memref.load %first[%b] : !list
  %r = arith.index_cast %r32 : i32 to index
  %next = arith.addi %e, %c1 : index
  %end32 = memref.load %offsets[%next] : !list
  %end = arith.index_cast %end32 : i32 to index
  %token = tirx.load %ids[%r] clipped to [%end - %r] pad(%none) : !list -> !ids
  %sx = tirx.alloc : !s
  %sw = tirx.alloc : !s
  %acc = tirx.alloc : !sums
  tirx.fill %acc, %zero : f32, !sums
  scf.for %k = %c0 to %depth step %c64 {
    tirx.copy %x[[%token], %k] clipped, %sx : !x, !s
    tirx.copy %w[%e, %j * 64, %k] clipped, %sw : !w, !s
    tirx.mma %sx, %sw, %acc : !s, !s, !sums
  }
  %by = tirx.load %weights[%r] dims(0, _) clipped to [%end - %r] : memref<?xf32> -> !column
  %out = tirx.map ins(%acc, %by : !sums, !column) (%p, %q) { %p * %q } -> !f
  tirx.store %out, %y[[%token], %j * 64] clipped reduce(add) : !f, memref<?x?xf32>
}
