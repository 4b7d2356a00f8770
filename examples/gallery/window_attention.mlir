// Attention with a mask from memory, of which only a window counts: query i sees the keys from i - 63 to i that have
// mask[i, j] not 0. One head of 64 numbers, softmax as it goes.
!q = memref<?x64xf16>
!s = !tirx.tile<64x64xf16, shared>
!sums = !tirx.tile<64x64xf32, accumulator>
!f = !tirx.tile<64x64xf32, register>
!h = !tirx.tile<64x64xf16, register>
!b = !tirx.tile<64x64xi8, register>
!c = !tirx.tile<64x1xf32, register>

tirx.kernel @window_attention(%q: !q, %key: !q, %value: !q, %mask: memref<?x?xi8>, %d: memref<?x64xf32>)
    grid(%i = ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %least = arith.constant -1.0e30 : f32
  %m = arith.muli %i, %c64 : index
  %sq = tirx.alloc : !s
  %sk = tirx.alloc : !s
  %sv = tirx.alloc : !s
  tirx.copy %q[%m, 0] clipped, %sq : !q, !s
  %out0 = tirx.zero : !f
  %most0 = tirx.splat %least : f32 -> !c
  %total0 = tirx.zero : !c
  %before = arith.subi %m, %c64 : index
  %start = arith.maxsi %before, %c0 : index
  %end = arith.addi %m, %c64 : index
  %out, %most, %total = scf.for %n = %start to %end step %c64
      iter_args(%o = %out0, %big = %most0, %sum = %total0) -> (!f, !c, !c) {
    tirx.copy %key[%n, 0] clipped, %sk : !q, !s
    tirx.copy %value[%n, 0] dims(1, 0) clipped, %sv : !q, !s
    %seen = tirx.load %mask[%m, %n] clipped : memref<?x?xi8> -> !b
    %scores = tirx.alloc : !sums
    tirx.fill %scores, %zero : f32, !sums
    tirx.mma %sq, %sk, %scores : !s, !s, !sums
    %e = tirx.map ins(%scores, %seen : !sums, !b) (%p, %u) {
      %back = %m + index(0) - %n - index(1);
      select(%back >= 0 & %back < 64 & %u != 0, %p * 0.125, -1.0e30)
    } -> !f
    %here = tirx.reduce %e dim(1) max : !f -> !c
    %next, %keep = tirx.map ins(%big, %here : !c, !c) (%p, %u) { %x = maximumf(%p, %u); %x, exp(%p - %x) } -> !c, !c
    %w, %hw = tirx.map ins(%e, %next : !f, !c) (%p, %u) { %x = exp(%p - %u); %x, f16(%x) } -> !f, !h
    %part = tirx.reduce %w dim(1) add : !f -> !c
    %shrunk, %sum_next = tirx.map ins(%sum, %part, %keep : !c, !c, !c) (%p, %u, %k) { %k, fma(%p, %k, %u) } -> !c, !c
    %product = tirx.alloc : !sums
    tirx.fill %product, %zero : f32, !sums
    tirx.mma %hw, %sv, %product : !h, !s, !sums
    %o_next = tirx.map ins(%o, %product, %shrunk : !f, !sums, !c) (%p, %u, %k) { fma(%p, %k, %u) } -> !f
    scf.yield %o_next, %next, %sum_next : !f, !c, !c
  }
  %y = tirx.map ins(%out, %total : !f, !c) (%p, %u) { %p / %u } -> !f
  tirx.store %y, %d[%m, 0] clipped : !f, memref<?x64xf32>
}
