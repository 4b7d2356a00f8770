// The gradients of attention: dV = P^T dO, dS = P * (dO V^T - delta), dQ += dS K, dK = dS^T Q, with P = exp(scale Q K^T - lse).
//
// A block has B keys, and goes through all queries, B at a time: 64 where shared memory has no room for more. Q, dO and K
// are staged once, and multiplied both ways: as they are, and transposed. %delta has the sums of dO * O along rows, %lse
// the logarithms of the sums of the forward pass. Rows of dO beyond the last query are zero, and so is what these queries
// add. The products for dV and dK run while threads hand dS to that for dQ, and add dQ.

!x = memref<?x?x64xf16>
!v = memref<?x?xf32>
!w = memref<?x?x64xf32>
!k = !tirx.tile<[B]x64xf16, shared>
!kt = !tirx.tile<64x[B]xf16, shared>
!s = !tirx.tile<[B]x[B]xf16, shared>
!f = !tirx.tile<[B]x64xf32, register>
!h = !tirx.tile<[B]x64xf16, register>
!p = !tirx.tile<[B]x[B]xf32, register>
!ph = !tirx.tile<[B]x[B]xf16, register>
!staged = !tirx.tile<1x[B]xf32, shared>
!row = !tirx.tile<1x[B]xf32, register>

tirx.kernel @attention_backward(%q: !x, %k: !x, %v: !x, %do: !x, %lse: !v, %delta: !v, %scale: f32, %dk: !x, %dv: !x, %dq: !w)
    params(CAUSAL in [0, 1], B in [128, 64]) grid(%j = ceildiv(size(1, 1), B), %head = size(0, 0)) threads(B * 2) {
  %size = tirx.launch_value size(0, 1)
  %keys = tirx.launch_value size(1, 1)
  %first = tirx.map () { %j * B * CAUSAL } -> index
  %step = tirx.param B : index
  %sk = tirx.alloc copy(%k[%head, %j * B, 0] clipped) : !x, !k
  %sv = tirx.alloc copy(%v[%head, %j * B, 0] clipped) : !x, !k
  %kt = tirx.transpose %sk [1, 0] : !k -> !kt
  %none = tirx.zero : !f
  %nones = tirx.zero : !p
  %gk, %gv = scf.for %m = %first to %size step %step iter_args(%ak = %none, %av = %none) -> (!f, !f) {
    %sq = tirx.alloc copy(%q[%head, %m, 0] clipped) : !x, !k
    %sdo = tirx.alloc copy(%do[%head, %m, 0] clipped) : !x, !k
    %sl = tirx.alloc copy(%lse[%head, %m] clipped) : !v, !staged
    %sd = tirx.alloc copy(%delta[%head, %m] clipped) : !v, !staged
    %qt = tirx.transpose %sq [1, 0] : !k -> !kt
    %dot = tirx.transpose %sdo [1, 0] : !k -> !kt
    %scores = tirx.mma %sk, %sq, %nones : !k, !k, !p -> !p
    %dp = tirx.mma %sv, %sdo, %nones : !k, !k, !p -> !p
    %partly = tirx.map () { %m < (%j + 1) * B * CAUSAL | (%j + 1) * B > %keys } -> i1
    %s = scf.if %partly -> (!p) {
      %seen = tirx.map ins(%scores : !p) (%a) {
        %key = index(0) + %j * B; select(index(1) + %m >= %key * CAUSAL & %key < %keys, %a, -1.0e30)
      } -> !p
      scf.yield %seen : !p
    } else {
      scf.yield %scores : !p
    }
    %l = tirx.load %sl : !staged -> !row
    %p, %ph = tirx.map ins(%s, %l : !p, !row) (%a, %b) { %e = exp2<afn>(fma(%a, %scale * 1.44269504, %b * -1.44269504)); %e, f16(%e) } -> !p, !ph
    %d = tirx.load %sd : !staged -> !row
    %ds = tirx.map ins(%p, %dp, %d : !p, !p, !row) (%a, %b, %c) { f16(%a * fma(%b, %scale, -(%c * %scale))) } -> !ph
    %sds = tirx.alloc copy(%ds) : !ph, !s
    %av1 = tirx.mma %ph, %dot, %av : !ph, !kt, !f -> !f
    %dst = tirx.transpose %sds [1, 0] : !s -> !s
    %aq = tirx.mma %dst, %kt, %none : !s, !kt, !f -> !f
    %ak1 = tirx.mma %ds, %qt, %ak : !ph, !kt, !f -> !f
    tirx.store %aq, %dq[%head, %m, 0] clipped reduce(add) : !f, !w
    scf.yield %ak1, %av1 : !f, !f
  }
  %hk, %hv = tirx.map ins(%gk, %gv : !f, !f) (%a, %b) { f16(%a), f16(%b) } -> !h, !h
  tirx.store %hk, %dk[%head, %j * B, 0] clipped : !h, !x
  tirx.store %hv, %dv[%head, %j * B, 0] clipped : !h, !x
}
