// Attention with a mask from memory, of which only a window counts: query i sees the keys from i - 63 to i that have
// mask[i, j] not 0. One head of 64 numbers, softmax as it goes.
!q = memref<?x64xf16>
!g = !tirx.tile<64x64xf16, global>
!s = !tirx.tile<64x64xf16, shared>
!sums = !tirx.tile<64x64xf32, accumulator>
!f = !tirx.tile<64x64xf32, register>
!h = !tirx.tile<64x64xf16, register>
!b = !tirx.tile<64x64xi8, register>
!c = !tirx.tile<64x1xf32, register>

tirx.kernel @window_attention(%q: !q, %key: !q, %value: !q, %mask: memref<?x?xi8>, %d: memref<?x64xf32>)
    grid(ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant 0 : i8
  %zero = arith.constant 0.0 : f32
  %least = arith.constant -1.0e30 : f32
  %scale = arith.constant 0.125 : f32
  %i = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %gq = tirx.view %q[%m, %c0] clipped : !q -> !g
  %sq = tirx.alloc : !s
  %sk = tirx.alloc : !s
  %sv = tirx.alloc : !s
  tirx.copy %gq, %sq : !g, !s
  %out0 = tirx.zero : !f
  %most0 = tirx.splat %least : f32 -> !c
  %total0 = tirx.zero : !c
  %before = arith.subi %m, %c64 : index
  %start = arith.maxsi %before, %c0 : index
  %end = arith.addi %m, %c64 : index
  %out, %most, %total = scf.for %n = %start to %end step %c64
      iter_args(%o = %out0, %big = %most0, %sum = %total0) -> (!f, !c, !c) {
    %gk = tirx.view %key[%n, %c0] clipped : !q -> !g
    %gv = tirx.view %value[%n, %c0] dims(1, 0) clipped : !q -> !g
    %gm = tirx.view %mask[%m, %n] clipped : memref<?x?xi8> -> !tirx.tile<64x64xi8, global>
    tirx.copy %gk, %sk : !g, !s
    tirx.copy %gv, %sv : !g, !s
    %seen = tirx.load %gm : !tirx.tile<64x64xi8, global> -> !b
    %scores = tirx.alloc : !sums
    tirx.fill %scores, %zero : f32, !sums
    tirx.mma %sq, %sk, %scores : !s, !s, !sums
    %e = tirx.map ins(%scores, %seen : !sums, !b) {
    ^bb0(%p: f32, %u: i8):
      %r = tirx.index 0
      %t = tirx.index 1
      %row = arith.addi %m, %r : index
      %at = arith.addi %n, %t : index
      %back = arith.subi %row, %at : index
      %near = arith.cmpi ult, %back, %c64 : index
      %shown = arith.cmpi ne, %u, %none : i8
      %both = arith.andi %near, %shown : i1
      %scaled = arith.mulf %p, %scale : f32
      %x = arith.select %both, %scaled, %least : f32
      tirx.yield %x : f32
    } -> !f
    %here = tirx.reduce %e dim(1) max : !f -> !c
    %next, %keep = tirx.map ins(%big, %here : !c, !c) {
    ^bb0(%p: f32, %u: f32):
      %x = arith.maximumf %p, %u : f32
      %less = arith.subf %p, %x : f32
      %y = math.exp %less : f32
      tirx.yield %x, %y : f32, f32
    } -> !c, !c
    %w, %hw = tirx.map ins(%e, %next : !f, !c) {
    ^bb0(%p: f32, %u: f32):
      %less = arith.subf %p, %u : f32
      %x = math.exp %less : f32
      %y = arith.truncf %x : f32 to f16
      tirx.yield %x, %y : f32, f16
    } -> !f, !h
    %part = tirx.reduce %w dim(1) add : !f -> !c
    %shrunk, %sum_next = tirx.map ins(%sum, %part, %keep : !c, !c, !c) {
    ^bb0(%p: f32, %u: f32, %k: f32):
      %x = math.fma %p, %k, %u : f32
      tirx.yield %k, %x : f32, f32
    } -> !c, !c
    %product = tirx.alloc : !sums
    tirx.fill %product, %zero : f32, !sums
    tirx.mma %hw, %sv, %product : !h, !s, !sums
    %o_next = tirx.map ins(%o, %product, %shrunk : !f, !sums, !c) {
    ^bb0(%p: f32, %u: f32, %k: f32):
      %x = math.fma %p, %k, %u : f32
      tirx.yield %x : f32
    } -> !f
    scf.yield %o_next, %next, %sum_next : !f, !c, !c
  }
  %y = tirx.map ins(%out, %total : !f, !c) {
  ^bb0(%p: f32, %u: f32):
    %x = arith.divf %p, %u : f32
    tirx.yield %x : f32
  } -> !f
  %gd = tirx.view %d[%m, %c0] clipped : memref<?x64xf32> -> !tirx.tile<64x64xf32, global>
  tirx.store %y, %gd : !f, !tirx.tile<64x64xf32, global>
  tirx.return
}
