// Attention of one query to keys and values that lie in pages of 16, whose numbers a table of blocks has, four at a time.
// Pages are copied rounds ahead, and their numbers loaded a round before that.
//
// Four blocks share out the keys of a query. The last one of them that is done puts their parts together, each a largest
// score, a sum of weights and weighted values.
!cache = memref<?x16x64xf32>
!ids = !tirx.tile<4xi32, register>
!pages = !tirx.tile<4x16x64xf32, register>
!staged = !tirx.tile<4x16x64xf32, shared>
!scores = !tirx.tile<4x16x1xf32, register>
!one = !tirx.tile<1x1x1xf32, register>
!row = !tirx.tile<1x1x64xf32, register>
!part = memref<?x4xf32>
!four = !tirx.tile<1x4x1xf32, register>
!fours = !tirx.tile<1x4x64xf32, register>

tirx.kernel @paged_decode(%q: memref<?x64xf32>, %keys: !cache, %values: !cache, %table: memref<?x?xi32>,
    %lengths: memref<?xi32>, %most: !part, %sums: !part, %rows: memref<?x4x64xf32>, %done: memref<?xi32>,
    %o: memref<?x64xf32>) grid(%i = 4, %b = size(0, 0)) threads(128) {
  %c4 = arith.constant 4 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant -1 : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %low = arith.constant -1.0e30 : f32
  %length = memref.load %lengths[%b] : memref<?xi32>
  %n = arith.index_cast %length : i32 to index
  %behind = arith.addi %n, %c15 : index
  %count = arith.divui %behind, %c16 : index
  %more = arith.addi %count, %c15 : index
  %chunks = arith.divui %more, %c16 : index
  %share = arith.muli %chunks, %c4 : index
  %from = arith.muli %i, %share : index
  %behind_share = arith.addi %from, %share : index
  %to = arith.minui %behind_share, %count : index
  %query = tirx.load %q[%b, 0] dims(_, _, 1) : memref<?x64xf32> -> !row
  %m0 = tirx.splat %low : f32 -> !one
  %l0 = tirx.zero : !one
  %o0 = tirx.zero : !row
  %m, %l, %sum = scf.for %j = %from to %to step %c4 iter_args(%m1 = %m0, %l1 = %l0, %o1 = %o0) -> (!one, !one, !row) {
    %page = tirx.load %table[%b, %j] clipped to [*, %count - %j] pad(%none) : memref<?x?xi32> -> !ids
    %sk = tirx.alloc copy(%keys[[%page], 0, 0] clipped) : !cache, !staged
    %sv = tirx.alloc copy(%values[[%page], 0, 0] clipped) : !cache, !staged
    %k = tirx.load %sk : !staged -> !pages
    %v = tirx.load %sv : !staged -> !pages
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
  tirx.store %m, %most[%b, %i] dims(_, 0, 1) : !one, !part
  tirx.store %l, %sums[%b, %i] dims(_, 0, 1) : !one, !part
  tirx.store %sum, %rows[%b, %i, 0] : !row, memref<?x4x64xf32>
  %counter = tirx.view %done[%b] : memref<?xi32> -> !tirx.tile<1xi32, global>
  %before = tirx.atomic add %one, %counter acq_rel : i32, !tirx.tile<1xi32, global> -> i32
  %is_last = arith.cmpi eq, %before, %three : i32
  scf.if %is_last {
    %ms = tirx.load %most[%b, 0] dims(0, 1, _) : !part -> !four
    %ls = tirx.load %sums[%b, 0] dims(0, 1, _) : !part -> !four
    %os = tirx.load %rows[%b, 0, 0] : memref<?x4x64xf32> -> !fours
    %mx = tirx.reduce %ms dim(1) max : !four -> !one
    %w, %lw = tirx.map ins(%ms, %ls, %mx : !four, !four, !one) (%x, %y, %z) { %e = exp(%x - %z); %e, %e * %y } -> !four, !four
    %all = tirx.reduce %lw dim(1) add : !four -> !one
    %ow = tirx.map ins(%os, %w, %all : !fours, !four, !one) (%x, %y, %z) { %x * (%y / %z) } -> !fours
    %out = tirx.reduce %ow dim(1) add : !fours -> !row
    tirx.store %out, %o[%b, 0] dims(_, _, 1) : !row, memref<?x64xf32>
    memref.store %zero, %done[%b] : memref<?xi32>
  }
}
