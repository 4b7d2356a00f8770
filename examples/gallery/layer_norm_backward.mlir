// Layer norm of rows of at most 512, backward: mean and deviation by Welford's merge, sums of weights by reductions.
!m = memref<?x?xf32>
!w = memref<1x?xf32>
!v = !tirx.tile<8x512xf32, register>
!r = !tirx.tile<1x512xf32, register>
!c = !tirx.tile<8x1xf32, register>

tirx.kernel @layer_norm_backward(%x: !m, %weight: !w, %dy: !m, %dx: !m, %dweight: !w, %dbias: !w) target("sm_90a")
    grid(%b = ceildiv(size(0, 0), 8)) threads(128) {
  %c1 = arith.constant 1 : index
  %columns = memref.dim %x, %c1 : !m
  %n32 = arith.index_cast %columns : index to i32
  %n = arith.sitofp %n32 : i32 to f32
  %e = tirx.load %x[%b * 8, 0] clipped : !m -> !v
  %u = tirx.load %dy[%b * 8, 0] clipped : !m -> !v
  %s = tirx.load %weight[0, 0] clipped : !w -> !r
  %counts, %none = tirx.map () { select(index(1) < %columns, 1.0, 0.0), 0.0 } -> !v, !v
  %mean, %squares, %count = tirx.reduce ins(%e, %none, %counts : !v, !v, !v) dim(1) (%ma, %sa, %na, %mb, %sb, %nb) {
    %k = %na + %nb; %share = %nb / maximumf(%k, 1.0); %d = %mb - %ma;
    fma(%d, %share, %ma), fma(%d * %d, %na * %share, %sa + %sb), %k
  } -> !c, !c, !c
  %h, %scaled, %along, %part = tirx.map ins(%e, %u, %s, %mean, %squares : !v, !v, !r, !c, !c) (%p, %y, %t, %m, %q) {
    %hat = select(index(1) < %columns, (%p - %m) * rsqrt(%q / %n + 1.0e-5), 0.0); %g = %y * %t;
    %hat, %g, %g * %hat, %y * %hat
  } -> !v, !v, !v, !v
  %sum = tirx.reduce %scaled dim(1) add : !v -> !c
  %turn = tirx.reduce %along dim(1) add : !v -> !c
  %r = tirx.map ins(%h, %scaled, %sum, %turn, %squares : !v, !v, !c, !c, !c) (%hat, %g, %a, %t, %q) {
    (%g - (%a + %hat * %t) / %n) * rsqrt(%q / %n + 1.0e-5)
  } -> !v
  tirx.store %r, %dx[%b * 8, 0] clipped : !v, !m
  %dw = tirx.reduce %part dim(0) add : !v -> !r
  %db = tirx.reduce %u dim(0) add : !v -> !r
  tirx.store %dw, %dweight[0, 0] clipped reduce(add) : !r, !w
  tirx.store %db, %dbias[0, 0] clipped reduce(add) : !r, !w
}
