// Causal attention of sequences of any lengths, which lie behind each other: sequence s has the queries and the keys from
// offset s to offset s + 1, as many keys as queries or more, and its last query sees all keys. Four heads share keys.
//
// Block b has 64 rows: the queries from first[b] on of sequence[b], at most 16, each with the four heads of a head of keys.
!q = memref<?x64xf16>
!k = memref<?x?x64xf16>
!list = memref<?xi32>
!ids = !tirx.tile<64xi32, register>
!s = !tirx.tile<64x64xf16, shared>
!sums = !tirx.tile<64x64xf32, accumulator>
!f = !tirx.tile<64x64xf32, register>
!h = !tirx.tile<64x64xf16, register>
!c = !tirx.tile<64x1xf32, register>

tirx.kernel @ragged_attention(%q: !q, %keys: !k, %values: !k, %query_offsets: !list, %key_offsets: !list, %sequence: !list,
    %first: !list, %d: !q) grid(%head = size(1, 1), %b = size(5, 0)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant -1 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0e30 : f32
  %scale = arith.constant 0.18033688 : f32  // log2(e) / sqrt(64)
  %s32 = memref.load %sequence[%b] : !list
  %s = arith.index_cast %s32 : i32 to index
  %next = arith.addi %s, %c1 : index
  %from32 = memref.load %first[%b] : !list
  %from = arith.index_cast %from32 : i32 to index
  %ends32 = memref.load %query_offsets[%next] : !list
  %ends = arith.index_cast %ends32 : i32 to index
  %begin32 = memref.load %key_offsets[%s] : !list
  %begin = arith.index_cast %begin32 : i32 to index
  %behind32 = memref.load %key_offsets[%next] : !list
  %behind = arith.index_cast %behind32 : i32 to index
  %length = arith.subi %behind, %begin : index
  %ahead = arith.subi %length, %ends : index
  %most = arith.addi %from, %c16 : index
  %last = arith.addi %most, %ahead : index
  %stop = arith.minsi %last, %length : index
  %heads_of_keys = memref.dim %keys, %c1 : !k
  %heads = arith.muli %heads_of_keys, %c4 : index
  %rows = tirx.map () {
    %query = %from + index(0) / 4;
    i32(select(%query < %ends, %query * %heads + %head * 4 + (index(0) & 3), %none))
  } -> !ids
  %sq = tirx.alloc : !s
  %sk = tirx.alloc : !s
  %sv = tirx.alloc : !s
  tirx.copy %q[[%rows], 0] clipped, %sq : !q, !s
  %out0 = tirx.zero : !f
  %top0 = tirx.splat %low : f32 -> !c
  %total0 = tirx.zero : !c
  %out, %top, %total = scf.for %n = %c0 to %stop step %c64
      iter_args(%o = %out0, %big = %top0, %sum = %total0) -> (!f, !c, !c) {
    tirx.copy %keys[%begin + %n, %head, 0] dims(0, 2) clipped, %sk : !k, !s  // those of the next sequence are masked
    tirx.copy %values[%begin + %n, %head, 0] dims(2, 0) clipped to [%length - %n, *, *], %sv : !k, !s
    %scores = tirx.alloc : !sums
    tirx.fill %scores, %zero : f32, !sums
    tirx.mma %sq, %sk, %scores : !s, !s, !sums
    %e = tirx.map ins(%scores : !sums) (%p) {
      select(%n + index(1) <= %from + index(0) / 4 + %ahead, %p, -1.0e30)
    } -> !f
    %here = tirx.reduce %e dim(1) max : !f -> !c
    %new, %keep = tirx.map ins(%big, %here : !c, !c) (%p, %u) {
      %x = maxnumf(%p, %u);
      %x, exp2((%p - %x) * %scale)
    } -> !c, !c
    %w, %hw = tirx.map ins(%e, %new : !f, !c) (%p, %u) { %x = exp2((%p - %u) * %scale); %x, f16(%x) } -> !f, !h
    %part = tirx.reduce %w dim(1) add : !f -> !c
    %sum_new = tirx.map ins(%sum, %part, %keep : !c, !c, !c) (%p, %u, %k) { fma(%p, %k, %u) } -> !c
    %shrunk = tirx.map ins(%o, %keep : !f, !c) (%p, %k) { %p * %k } -> !f
    %o_new = tirx.mma %hw, %sv, %shrunk : !h, !s, !f -> !f
    scf.yield %o_new, %new, %sum_new : !f, !c, !c
  }
  %y = tirx.map ins(%out, %total : !f, !c) (%p, %u) { f16(%p / %u) } -> !h
  tirx.store %y, %d[[%rows], 0] clipped : !h, !q
}
