// Attention of one query to keys and values that lie in pages of 16, whose numbers a table of blocks has, four at a time.

!cache = memref<?x16x64xf32>
!ids = !tirx.tile<4xi32, register>
!pages = !tirx.tile<4x16x64xf32, register>
!scores = !tirx.tile<4x16x1xf32, register>
!one = !tirx.tile<1x1x1xf32, register>
!row = !tirx.tile<1x1x64xf32, register>

tirx.kernel @paged_decode(%q: memref<?x64xf32>, %keys: !cache, %values: !cache, %table: memref<?x?xi32>,
    %lengths: memref<?xi32>, %o: memref<?x64xf32>) grid(%b = size(0, 0)) threads(128) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant -1 : i32
  %low = arith.constant -1.0e30 : f32
  %length = memref.load %lengths[%b] : memref<?xi32>
  %n = arith.index_cast %length : i32 to index
  %behind = arith.addi %n, %c15 : index
  %count = arith.divui %behind, %c16 : index
  %query = tirx.load %q[%b, 0] dims(_, _, 1) : memref<?x64xf32> -> !row
  %m0 = tirx.splat %low : f32 -> !one
  %l0 = tirx.zero : !one
  %o0 = tirx.zero : !row
  %m, %l, %sum = scf.for %j = %c0 to %count step %c4 iter_args(%m1 = %m0, %l1 = %l0, %o1 = %o0) -> (!one, !one, !row) {
    %page = tirx.load %table[%b, %j] clipped to [*, %count - %j] pad(%none) : memref<?x?xi32> -> !ids
    %k = tirx.load %keys[[%page], 0, 0] clipped : !cache -> !pages
    %v = tirx.load %values[[%page], 0, 0] clipped : !cache -> !pages
    %kq = tirx.map ins(%k, %query : !pages, !row) (%x, %y) { %x * %y } -> !pages
    %s = tirx.reduce %kq dim(2) add : !pages -> !scores
    %seen = tirx.map ins(%s : !scores) (%x) { select((index(0) + %j) * 16 + index(1) < %n, %x, -1.0e30) } -> !scores
    %mx = tirx.reduce %seen dim(0, 1) max : !scores -> !one
    %m2, %f = tirx.map ins(%m1, %mx : !one, !one) (%x, %y) { %z = maxnumf(%x, %y); %z, exp(%x - %z) } -> !one, !one
    %w = tirx.map ins(%seen, %m2 : !scores, !one) (%x, %y) { exp(%x - %y) } -> !scores
    %wsum = tirx.reduce %w dim(0, 1) add : !scores -> !one
    %wv = tirx.map ins(%v, %w : !pages, !scores) (%x, %y) { %x * %y } -> !pages
    %vsum = tirx.reduce %wv dim(0, 1) add : !pages -> !row
    %l2 = tirx.map ins(%l1, %f, %wsum : !one, !one, !one) (%x, %y, %z) { fma(%x, %y, %z) } -> !one
    %o2 = tirx.map ins(%o1, %f, %vsum : !row, !one, !row) (%x, %y, %z) { fma(%x, %y, %z) } -> !row
    scf.yield %m2, %l2, %o2 : !one, !one, !row
  }
  %out = tirx.map ins(%sum, %l : !row, !one) (%x, %y) { %x / %y } -> !row
  tirx.store %out, %o[%b, 0] dims(_, _, 1) : !row, memref<?x64xf32>
}
