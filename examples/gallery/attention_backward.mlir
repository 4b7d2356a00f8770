// The gradients of attention: dV = P^T dO, dS = P * (dO V^T - delta), dQ += dS K, dK = dS^T Q, with P = exp(scale Q K^T - lse).
//
// A block has 128 keys, and goes through all queries, 64 at a time. Q, dO and K are staged once, and multiplied both ways:
// as they are, and transposed. %delta has the sums of dO * O along rows, %lse the logarithms of the sums of the forward
// pass. Rows of dO beyond the last query are zero, and so is what these queries add.

!x = memref<?x?x64xf16>
!v = memref<?x?xf32>
!w = memref<?x?x64xf32>
!k = !tirx.tile<128x64xf16, shared>
!q = !tirx.tile<64x64xf16, shared>
!kt = !tirx.tile<64x128xf16, shared>
!f = !tirx.tile<128x64xf32, register>
!h = !tirx.tile<128x64xf16, register>
!fq = !tirx.tile<64x64xf32, register>
!staged = !tirx.tile<1x64xf32, shared>
!row = !tirx.tile<1x64xf32, register>

tirx.kernel @attention_backward(%q: !x, %k: !x, %v: !x, %do: !x, %lse: !v, %delta: !v, %scale: f32, %dk: !x, %dv: !x, %dq: !w)
    params(CAUSAL in [0, 1]) grid(%j = ceildiv(size(1, 1), 128), %head = size(0, 0)) threads(256) {
  %size = tirx.launch_value size(0, 1)
  %keys = tirx.launch_value size(1, 1)
  %step = arith.constant 64 : index
  %n = tirx.map () { %j * 128 } -> index
  %first = tirx.map () { %n * CAUSAL } -> index
  %sk = tirx.alloc copy(%k[%head, %n, 0] clipped) : !x, !k
  %sv = tirx.alloc copy(%v[%head, %n, 0] clipped) : !x, !k
  %kt = tirx.transpose %sk [1, 0] : !k -> !kt
  %none = tirx.zero : !f
  %noneq = tirx.zero : !fq
  %gk, %gv = scf.for %m = %first to %size step %step iter_args(%ak = %none, %av = %none) -> (!f, !f) {
    %sq = tirx.alloc copy(%q[%head, %m, 0] clipped) : !x, !q
    %sdo = tirx.alloc copy(%do[%head, %m, 0] clipped) : !x, !q
    %sl = tirx.alloc copy(%lse[%head, %m] clipped) : !v, !staged
    %sd = tirx.alloc copy(%delta[%head, %m] clipped) : !v, !staged
    %qt = tirx.transpose %sq [1, 0] : !q -> !q
    %dot = tirx.transpose %sdo [1, 0] : !q -> !q
    %scores = tirx.mma %sk, %sq, %none : !k, !q, !f -> !f
    %dp = tirx.mma %sv, %sdo, %none : !k, !q, !f -> !f
    %l = tirx.load %sl : !staged -> !row
    %d = tirx.load %sd : !staged -> !row
    %partly = tirx.map () { %m < (%n + 128) * CAUSAL | %n + 128 > %keys } -> i1
    %s = scf.if %partly -> (!f) {
      %seen = tirx.map ins(%scores : !f) (%a) {
        %key = index(0) + %n; select(index(1) + %m >= %key * CAUSAL & %key < %keys, %a, -1.0e30)
      } -> !f
      scf.yield %seen : !f
    } else {
      scf.yield %scores : !f
    }
    %p, %ph = tirx.map ins(%s, %l : !f, !row) (%a, %b) { %e = exp2<afn>(fma(%a, %scale * 1.44269504, %b * -1.44269504)); %e, f16(%e) } -> !f, !h
    %av1 = tirx.mma %ph, %dot, %av : !h, !q, !f -> !f
    %ds = tirx.map ins(%p, %dp, %d : !f, !f, !row) (%a, %b, %c) { f16(%a * fma(%b, %scale, -(%c * %scale))) } -> !h
    %ak1 = tirx.mma %ds, %qt, %ak : !h, !q, !f -> !f
    %sds = tirx.alloc copy(%ds) : !h, !k
    %dst = tirx.transpose %sds [1, 0] : !k -> !kt
    %aq = tirx.mma %dst, %kt, %noneq : !kt, !kt, !fq -> !fq
    tirx.store %aq, %dq[%head, %m, 0] clipped reduce(add) : !fq, !w
    scf.yield %ak1, %av1 : !f, !f
  }
  %hk, %hv = tirx.map ins(%gk, %gv : !f, !f) (%a, %b) { f16(%a), f16(%b) } -> !h, !h
  tirx.store %hk, %dk[%head, %n, 0] clipped : !h, !x
  tirx.store %hv, %dv[%head, %n, 0] clipped : !h, !x
}
