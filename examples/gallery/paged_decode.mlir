// Attention of one query to keys and values that lie in pages of 16, whose numbers a table of blocks has, four at a time.

!cache = memref<?x16x64xf32>
!ids = !tirx.tile<4xi32, register>
!gpages = !tirx.tile<4x16x64xf32, global>
!pages = !tirx.tile<4x16x64xf32, register>
!scores = !tirx.tile<4x16x1xf32, register>
!one = !tirx.tile<1x1x1xf32, register>
!row = !tirx.tile<1x1x64xf32, register>

tirx.kernel @paged_decode(%q: memref<?x64xf32>, %keys: !cache, %values: !cache, %table: memref<?x?xi32>,
    %lengths: memref<?xi32>, %o: memref<?x64xf32>) grid(size(0, 0)) threads(128) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant -1 : i32
  %low = arith.constant -1.0e30 : f32
  %b = tirx.block_id x
  %length = memref.load %lengths[%b] : memref<?xi32>
  %n = arith.index_cast %length : i32 to index
  %behind = arith.addi %n, %c15 : index
  %count = arith.divui %behind, %c16 : index
  %gq = tirx.view %q[%b, %c0] dims(_, _, 1) : memref<?x64xf32> -> !tirx.tile<1x1x64xf32, global>
  %query = tirx.load %gq : !tirx.tile<1x1x64xf32, global> -> !row
  %m0 = tirx.splat %low : f32 -> !one
  %l0 = tirx.zero : !one
  %o0 = tirx.zero : !row
  %m, %l, %sum = scf.for %j = %c0 to %count step %c4 iter_args(%m1 = %m0, %l1 = %l0, %o1 = %o0) -> (!one, !one, !row) {
    %left = arith.subi %count, %j : index
    %gids = tirx.view %table[%b, %j] clipped to [*, %left] : memref<?x?xi32> -> !tirx.tile<4xi32, global>
    %page = tirx.load %gids pad(%none) : !tirx.tile<4xi32, global> -> !ids
    %gk = tirx.view %keys[[%page], %c0, %c0] clipped : !cache, !ids -> !gpages
    %gv = tirx.view %values[[%page], %c0, %c0] clipped : !cache, !ids -> !gpages
    %k = tirx.load %gk : !gpages -> !pages
    %v = tirx.load %gv : !gpages -> !pages
    %kq = tirx.map ins(%k, %query : !pages, !row) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.mulf %x, %y : f32
      tirx.yield %z : f32
    } -> !pages
    %s = tirx.reduce %kq dim(2) add : !pages -> !scores
    %seen = tirx.map ins(%s : !scores) {
    ^bb0(%x: f32):
      %at = tirx.index 0
      %key = tirx.index 1
      %number = arith.addi %at, %j : index
      %first = arith.muli %number, %c16 : index
      %position = arith.addi %first, %key : index
      %is = arith.cmpi ult, %position, %n : index
      %z = arith.select %is, %x, %low : f32
      tirx.yield %z : f32
    } -> !scores
    %mx = tirx.reduce %seen dim(0, 1) max : !scores -> !one
    %m2, %f = tirx.map ins(%m1, %mx : !one, !one) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.maxnumf %x, %y : f32
      %d = arith.subf %x, %z : f32
      %e = math.exp %d : f32
      tirx.yield %z, %e : f32, f32
    } -> !one, !one
    %w = tirx.map ins(%seen, %m2 : !scores, !one) {
    ^bb0(%x: f32, %y: f32):
      %d = arith.subf %x, %y : f32
      %e = math.exp %d : f32
      tirx.yield %e : f32
    } -> !scores
    %wsum = tirx.reduce %w dim(0, 1) add : !scores -> !one
    %wv = tirx.map ins(%v, %w : !pages, !scores) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.mulf %x, %y : f32
      tirx.yield %z : f32
    } -> !pages
    %vsum = tirx.reduce %wv dim(0, 1) add : !pages -> !row
    %l2 = tirx.map ins(%l1, %f, %wsum : !one, !one, !one) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %t = math.fma %x, %y, %z : f32
      tirx.yield %t : f32
    } -> !one
    %o2 = tirx.map ins(%o1, %f, %vsum : !row, !one, !row) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %t = math.fma %x, %y, %z : f32
      tirx.yield %t : f32
    } -> !row
    scf.yield %m2, %l2, %o2 : !one, !one, !row
  }
  %out = tirx.map ins(%sum, %l : !row, !one) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.divf %x, %y : f32
    tirx.yield %z : f32
  } -> !row
  %go = tirx.view %o[%b, %c0] dims(_, _, 1) : memref<?x64xf32> -> !tirx.tile<1x1x64xf32, global>
  tirx.store %out, %go : !row, !tirx.tile<1x1x64xf32, global>
  tirx.return
}
