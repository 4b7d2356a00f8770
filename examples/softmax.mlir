// Softmax of the rows of a matrix of any number of rows of 1024 f32, four rows in a block (one in each warp), by
// exp(x) = 2^(x log2(e)). Nothing but the shapes of tiles is given: the layouts follow from the reductions.
//
//   tirx-opt --lower-to-ptx softmax.mlir

!tile = !tirx.tile<4x1024xf32, register>
!row = !tirx.tile<4x1xf32, register>

tirx.kernel @softmax(%x: memref<?x1024xf32>, %y: memref<?x1024xf32>) target("sm_80") grid(ceildiv(size(0, 0), 4)) threads(128) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i = tirx.block_id x
  %first = arith.muli %i, %c4 : index
  %gx = tirx.view %x[%first, %c0] clipped : memref<?x1024xf32> -> !tirx.tile<4x1024xf32, global>
  %gy = tirx.view %y[%first, %c0] clipped : memref<?x1024xf32> -> !tirx.tile<4x1024xf32, global>

  %tile = tirx.load %gx : !tirx.tile<4x1024xf32, global> -> !tile
  %most = tirx.reduce %tile dim(1) max : !tile -> !row
  %powers = tirx.map ins(%tile, %most : !tile, !row) {
  ^bb0(%a: f32, %m: f32):
    %log2e = arith.constant 1.44269504 : f32
    %distance = arith.subf %a, %m : f32
    %exponent = arith.mulf %distance, %log2e : f32
    %power = math.exp2 %exponent : f32
    tirx.yield %power : f32
  } -> !tile
  %sums = tirx.reduce %powers dim(1) add : !tile -> !row
  %inverse = tirx.map ins(%sums : !row) {
  ^bb0(%s: f32):
    %one = arith.constant 1.0 : f32
    %q = arith.divf %one, %s : f32
    tirx.yield %q : f32
  } -> !row
  %result = tirx.map ins(%powers, %inverse : !tile, !row) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    tirx.yield %r : f32
  } -> !tile
  tirx.copy %result, %gy : !tile, !tirx.tile<4x1024xf32, global>
  tirx.return
}
