// Cross entropy of rows of at most 1024 logits with labels, and its gradient: one online reduction of maximum and sum.
!m = memref<?x?xf32>
!v = !tirx.tile<4x1024xf32, register>
!l = !tirx.tile<4x1xi32, register>
!c = !tirx.tile<4x1xf32, register>

tirx.kernel @cross_entropy(%x: !m, %labels: memref<?x1xi32>, %loss: memref<?x1xf32>, %dx: !m) target("sm_90a")
    grid(%b = ceildiv(size(0, 0), 4)) threads(128) {
  %c1 = arith.constant 1 : index
  %columns = memref.dim %x, %c1 : !m
  %loaded = tirx.load %x[%b * 4, 0] clipped : !m -> !v
  %label = tirx.load %labels[%b * 4, 0] clipped : memref<?x1xi32> -> !l
  %e, %ones, %hits, %hit = tirx.map ins(%loaded, %label : !v, !l) (%p, %t) {
    %inside = index(1) < %columns; %is = i32(index(1)) == %t;
    select(%inside, %p, -1.0e30), select(%inside, 1.0, 0.0), select(%is, %p, 0.0), select(%is, 1.0, 0.0)
  } -> !v, !v, !v, !v
  %most, %total = tirx.reduce ins(%e, %ones : !v, !v) dim(1) (%m, %s, %p, %q) {
    %n = maximumf(%m, %p);
    %n, fma(%q, exp(%p - %n), %s * exp(%m - %n))
  } -> !c, !c
  %chosen = tirx.reduce %hits dim(1) add : !v -> !c
  %o = tirx.map ins(%most, %total, %chosen : !c, !c, !c) (%m, %s, %h) { %m + log(%s) - %h } -> !c
  tirx.store %o, %loss[%b * 4, 0] clipped : !c, memref<?x1xf32>
  %d = tirx.map ins(%e, %hit, %most, %total : !v, !v, !c, !c) (%p, %k, %m, %s) { exp(%p - %m) / %s - %k } -> !v
  tirx.store %d, %dx[%b * 4, 0] clipped : !v, !m
}
