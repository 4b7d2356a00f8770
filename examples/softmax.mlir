// Softmax of the rows of a matrix of any number of rows of 1024 f16, computed in f32, four rows in a block (one in each
// warp), by exp(x) = 2^(x log2(e)). Nothing but the shapes of tiles is given: the layouts follow from the reductions.
//
//   tirx-opt --lower-to-ptx softmax.mlir

!memory = memref<?x1024xf16>
!part = !tirx.tile<4x1024xf16, global>
!half = !tirx.tile<4x1024xf16, register>
!tile = !tirx.tile<4x1024xf32, register>
!row = !tirx.tile<4x1xf32, register>

tirx.kernel @softmax(%x: !memory, %y: !memory) target("sm_80") grid(ceildiv(size(0, 0), 4)) threads(128) {
  %c0 = arith.constant 0 : index
  %rows = arith.constant 4 : index
  %log2e = arith.constant 1.44269504 : f32
  %i = tirx.block_id x
  %first = arith.muli %i, %rows : index
  %gx = tirx.view %x[%first, %c0] clipped : !memory -> !part
  %gy = tirx.view %y[%first, %c0] clipped : !memory -> !part

  %halves = tirx.load %gx : !part -> !half
  %exponents = tirx.map ins(%halves : !half) {
  ^bb0(%h: f16):
    %a = arith.extf %h : f16 to f32
    %e = arith.mulf %a, %log2e : f32
    tirx.yield %e : f32
  } -> !tile
  %most = tirx.reduce %exponents dim(1) max : !tile -> !row
  %powers = tirx.map ins(%exponents, %most : !tile, !row) {
  ^bb0(%e: f32, %m: f32):
    %distance = arith.subf %e, %m : f32
    %power = math.exp2 %distance : f32
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
    %h = arith.truncf %r : f32 to f16
    tirx.yield %h : f16
  } -> !half
  tirx.copy %result, %gy : !half, !part
  tirx.return
}
