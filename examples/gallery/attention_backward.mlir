// The gradients of attention: dV = P^T dO, dS = P * (dO V^T - delta), dQ += dS K, dK = dS^T Q, with P = exp(scale Q K^T - lse).
//
// A block has 64 keys, and goes through all queries. Q, dO and K are staged once, and multiplied both ways: as they are,
// and transposed. %delta has the sums of dO * O along rows, %lse the logarithms of the sums of the forward pass.

!x = memref<?x?x64xf16>
!v = memref<?x?xf32>
!w = memref<?x?x64xf32>
!s = !tirx.tile<64x64xf16, shared>
!f = !tirx.tile<64x64xf32, register>
!h = !tirx.tile<64x64xf16, register>
!row = !tirx.tile<1x64xf32, register>

tirx.kernel @attention_backward(%q: !x, %k: !x, %v: !x, %do: !x, %lse: !v, %delta: !v, %scale: f32, %dk: !x, %dv: !x, %dq: !w)
    params(CAUSAL in [0, 1]) grid(%j = ceildiv(size(1, 1), 64), %head = size(0, 0)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %size = memref.dim %q, %c1 : !x
  %causal = tirx.param CAUSAL : index
  %all = arith.cmpi eq, %causal, %c0 : index
  %n = arith.muli %j, %c64 : index
  %first = arith.muli %n, %causal : index
  %sk = tirx.alloc : !s
  %sv = tirx.alloc : !s
  %sq = tirx.alloc : !s
  %sdo = tirx.alloc : !s
  tirx.copy %k[%head, %n, 0] clipped, %sk : !x, !s
  tirx.copy %v[%head, %n, 0] clipped, %sv : !x, !s
  %none = tirx.zero : !f
  %gk, %gv = scf.for %m = %first to %size step %c64 iter_args(%ak = %none, %av = %none) -> (!f, !f) {
    tirx.copy %q[%head, %m, 0] clipped, %sq : !x, !s
    tirx.copy %do[%head, %m, 0] clipped, %sdo : !x, !s
    %l = tirx.load %lse[%head, %m] clipped : !v -> !row
    %d = tirx.load %delta[%head, %m] clipped : !v -> !row
    %s = tirx.mma %sk, %sq, %none : !s, !s, !f -> !f
    %p, %ph = tirx.map ins(%s, %l : !f, !row) (%a, %b) {
      %query = index(1) + %m;
      %z = select((%query >= index(0) + %n | %all) & %query < %size, exp(%a * %scale - %b), 0.0);
      %z, f16(%z)
    } -> !f, !h
    %dot = tirx.transpose %sdo [1, 0] : !s -> !s
    %qt = tirx.transpose %sq [1, 0] : !s -> !s
    %kt = tirx.transpose %sk [1, 0] : !s -> !s
    %av1 = tirx.mma %ph, %dot, %av : !h, !s, !f -> !f
    %dp = tirx.mma %sv, %sdo, %none : !s, !s, !f -> !f
    %ds = tirx.map ins(%p, %dp, %d : !f, !f, !row) (%a, %b, %c) { f16(%a * (%b - %c) * %scale) } -> !h
    %ak1 = tirx.mma %ds, %qt, %ak : !h, !s, !f -> !f
    %dst = tirx.transpose %ds [1, 0] : !h -> !h
    %aq = tirx.mma %dst, %kt, %none : !h, !s, !f -> !f
    tirx.store %aq, %dq[%head, %m, 0] clipped reduce(add) : !f, !w
    scf.yield %ak1, %av1 : !f, !f
  }
  %hk, %hv = tirx.map ins(%gk, %gv : !f, !f) (%a, %b) { f16(%a), f16(%b) } -> !h, !h
  tirx.store %hk, %dk[%head, %n, 0] clipped : !h, !x
  tirx.store %hv, %dv[%head, %n, 0] clipped : !h, !x
}
