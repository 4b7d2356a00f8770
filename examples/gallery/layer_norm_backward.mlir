// Layer norm of rows of at most 512, backward: mean and deviation by Welford's merge, sums of weights by reductions.
!m = memref<?x?xf32>
!w = memref<1x?xf32>
!g = !tirx.tile<8x512xf32, global>
!gw = !tirx.tile<1x512xf32, global>
!v = !tirx.tile<8x512xf32, register>
!r = !tirx.tile<1x512xf32, register>
!c = !tirx.tile<8x1xf32, register>

tirx.kernel @layer_norm_backward(%x: !m, %weight: !w, %dy: !m, %dx: !m, %dweight: !w, %dbias: !w) target("sm_90a")
    grid(ceildiv(size(0, 0), 8)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %b = tirx.block_id x
  %i = arith.muli %b, %c8 : index
  %columns = memref.dim %x, %c1 : !m
  %n32 = arith.index_cast %columns : index to i32
  %n = arith.sitofp %n32 : i32 to f32
  %gx = tirx.view %x[%i, %c0] clipped : !m -> !g
  %gy = tirx.view %dy[%i, %c0] clipped : !m -> !g
  %gd = tirx.view %dx[%i, %c0] clipped : !m -> !g
  %gw = tirx.view %weight[%c0, %c0] clipped : !w -> !gw
  %ga = tirx.view %dweight[%c0, %c0] clipped : !w -> !gw
  %gb = tirx.view %dbias[%c0, %c0] clipped : !w -> !gw
  %e = tirx.load %gx : !g -> !v
  %u = tirx.load %gy : !g -> !v
  %s = tirx.load %gw : !gw -> !r
  %counts, %none = tirx.map {
    %j = tirx.index 1
    %inside = arith.cmpi ult, %j, %columns : index
    %k = arith.select %inside, %one, %zero : f32
    tirx.yield %k, %zero : f32, f32
  } -> !v, !v
  %mean, %squares, %count = tirx.reduce ins(%e, %none, %counts : !v, !v, !v) dim(1) {
  ^bb0(%ma: f32, %sa: f32, %na: f32, %mb: f32, %sb: f32, %nb: f32):
    %k = arith.addf %na, %nb : f32
    %some = arith.maximumf %k, %one : f32
    %share = arith.divf %nb, %some : f32
    %d = arith.subf %mb, %ma : f32
    %m = math.fma %d, %share, %ma : f32
    %both = arith.addf %sa, %sb : f32
    %dd = arith.mulf %d, %d : f32
    %na_share = arith.mulf %na, %share : f32
    %q = math.fma %dd, %na_share, %both : f32
    tirx.yield %m, %q, %k : f32, f32, f32
  } -> !c, !c, !c
  %h, %scaled, %along, %part = tirx.map ins(%e, %u, %s, %mean, %squares : !v, !v, !r, !c, !c) {
  ^bb0(%p: f32, %y: f32, %t: f32, %m: f32, %q: f32):
    %j = tirx.index 1
    %inside = arith.cmpi ult, %j, %columns : index
    %d = arith.subf %p, %m : f32
    %variance = arith.divf %q, %n : f32
    %more = arith.addf %variance, %epsilon : f32
    %inverse = math.rsqrt %more : f32
    %normal = arith.mulf %d, %inverse : f32
    %hat = arith.select %inside, %normal, %zero : f32
    %g = arith.mulf %y, %t : f32
    %a = arith.mulf %g, %hat : f32
    %w = arith.mulf %y, %hat : f32
    tirx.yield %hat, %g, %a, %w : f32, f32, f32, f32
  } -> !v, !v, !v, !v
  %sum = tirx.reduce %scaled dim(1) add : !v -> !c
  %turn = tirx.reduce %along dim(1) add : !v -> !c
  %r = tirx.map ins(%h, %scaled, %sum, %turn, %squares : !v, !v, !c, !c, !c) {
  ^bb0(%hat: f32, %g: f32, %a: f32, %t: f32, %q: f32):
    %variance = arith.divf %q, %n : f32
    %more = arith.addf %variance, %epsilon : f32
    %inverse = math.rsqrt %more : f32
    %ht = arith.mulf %hat, %t : f32
    %both = arith.addf %a, %ht : f32
    %mean_of = arith.divf %both, %n : f32
    %d = arith.subf %g, %mean_of : f32
    %o = arith.mulf %d, %inverse : f32
    tirx.yield %o : f32
  } -> !v
  tirx.store %r, %gd : !v, !g
  %dw = tirx.reduce %part dim(0) add : !v -> !r
  %db = tirx.reduce %u dim(0) add : !v -> !r
  tirx.store %dw, %ga reduce(add) : !r, !gw
  tirx.store %db, %gb reduce(add) : !r, !gw
  tirx.return
}
