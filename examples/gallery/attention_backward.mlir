// The gradients of attention: dV = P^T dO, dS = P * (dO V^T - delta), dQ += dS K, dK = dS^T Q, with P = exp(scale Q K^T - lse).
//
// A block has 64 keys, and goes through all queries. Q, dO and K are staged once, and multiplied both ways: as they are,
// and transposed. %delta has the sums of dO * O along rows, %lse the logarithms of the sums of the forward pass.

!x = memref<?x?x64xf16>
!v = memref<?x?xf32>
!w = memref<?x?x64xf32>
!g = !tirx.tile<64x64xf16, global>
!g1 = !tirx.tile<1x64xf32, global>
!gw = !tirx.tile<64x64xf32, global>
!s = !tirx.tile<64x64xf16, shared>
!f = !tirx.tile<64x64xf32, register>
!h = !tirx.tile<64x64xf16, register>
!row = !tirx.tile<1x64xf32, register>

tirx.kernel @attention_backward(%q: !x, %k: !x, %v: !x, %do: !x, %lse: !v, %delta: !v, %scale: f32, %dk: !x, %dv: !x, %dq: !w)
    params(CAUSAL in [0, 1]) grid(ceildiv(size(1, 1), 64), size(0, 0)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %j = tirx.block_id x
  %head = tirx.block_id y
  %size = memref.dim %q, %c1 : !x
  %causal = tirx.param CAUSAL : index
  %all = arith.cmpi eq, %causal, %c0 : index
  %n = arith.muli %j, %c64 : index
  %first = arith.muli %n, %causal : index
  %sk = tirx.alloc : !s
  %sv = tirx.alloc : !s
  %sq = tirx.alloc : !s
  %sdo = tirx.alloc : !s
  %vk = tirx.view %k[%head, %n, %c0] clipped : !x -> !g
  %vv = tirx.view %v[%head, %n, %c0] clipped : !x -> !g
  tirx.copy %vk, %sk : !g, !s
  tirx.copy %vv, %sv : !g, !s
  %none = tirx.zero : !f
  %gk, %gv = scf.for %m = %first to %size step %c64 iter_args(%ak = %none, %av = %none) -> (!f, !f) {
    %vq = tirx.view %q[%head, %m, %c0] clipped : !x -> !g
    %vdo = tirx.view %do[%head, %m, %c0] clipped : !x -> !g
    %vl = tirx.view %lse[%head, %m] clipped : !v -> !g1
    %vd = tirx.view %delta[%head, %m] clipped : !v -> !g1
    tirx.copy %vq, %sq : !g, !s
    tirx.copy %vdo, %sdo : !g, !s
    %l = tirx.load %vl : !g1 -> !row
    %d = tirx.load %vd : !g1 -> !row
    %s = tirx.mma %sk, %sq, %none : !s, !s, !f -> !f
    %p, %ph = tirx.map ins(%s, %l : !f, !row) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.mulf %a, %scale : f32
      %e = arith.subf %c, %b : f32
      %r = math.exp %e : f32
      %i0 = tirx.index 0
      %i1 = tirx.index 1
      %key = arith.addi %i0, %n : index
      %query = arith.addi %i1, %m : index
      %later = arith.cmpi uge, %query, %key : index
      %allowed = arith.ori %later, %all : i1
      %inside = arith.cmpi ult, %query, %size : index
      %seen = arith.andi %allowed, %inside : i1
      %z = arith.select %seen, %r, %zero : f32
      %t = arith.truncf %z : f32 to f16
      tirx.yield %z, %t : f32, f16
    } -> !f, !h
    %dot = tirx.transpose %sdo [1, 0] : !s -> !s
    %qt = tirx.transpose %sq [1, 0] : !s -> !s
    %kt = tirx.transpose %sk [1, 0] : !s -> !s
    %av1 = tirx.mma %ph, %dot, %av : !h, !s, !f -> !f
    %dp = tirx.mma %sv, %sdo, %none : !s, !s, !f -> !f
    %ds = tirx.map ins(%p, %dp, %d : !f, !f, !row) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %e = arith.subf %b, %c : f32
      %u = arith.mulf %a, %e : f32
      %r = arith.mulf %u, %scale : f32
      %t = arith.truncf %r : f32 to f16
      tirx.yield %t : f16
    } -> !h
    %ak1 = tirx.mma %ds, %qt, %ak : !h, !s, !f -> !f
    %dst = tirx.transpose %ds [1, 0] : !h -> !h
    %aq = tirx.mma %dst, %kt, %none : !h, !s, !f -> !f
    %vdq = tirx.view %dq[%head, %m, %c0] clipped : !w -> !gw
    tirx.store %aq, %vdq reduce(add) : !f, !gw
    scf.yield %ak1, %av1 : !f, !f
  }
  %hk, %hv = tirx.map ins(%gk, %gv : !f, !f) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.truncf %a : f32 to f16
    %z = arith.truncf %b : f32 to f16
    tirx.yield %y, %z : f16, f16
  } -> !h, !h
  %vdk = tirx.view %dk[%head, %n, %c0] clipped : !x -> !g
  %vdv = tirx.view %dv[%head, %n, %c0] clipped : !x -> !g
  tirx.store %hk, %vdk : !h, !g
  tirx.store %hv, %vdv : !h, !g
  tirx.return
}
