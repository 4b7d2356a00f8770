// Cross entropy of rows of at most 1024 logits with labels, and its gradient: one online reduction of maximum and sum.
!m = memref<?x?xf32>
!g = !tirx.tile<4x1024xf32, global>
!v = !tirx.tile<4x1024xf32, register>
!l = !tirx.tile<4x1xi32, register>
!c = !tirx.tile<4x1xf32, register>

tirx.kernel @cross_entropy(%x: !m, %labels: memref<?x1xi32>, %loss: memref<?x1xf32>, %dx: !m) target("sm_90a")
    grid(ceildiv(size(0, 0), 4)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %least = arith.constant -1.0e30 : f32
  %b = tirx.block_id x
  %i = arith.muli %b, %c4 : index
  %columns = memref.dim %x, %c1 : !m
  %gx = tirx.view %x[%i, %c0] clipped : !m -> !g
  %gl = tirx.view %labels[%i, %c0] clipped : memref<?x1xi32> -> !tirx.tile<4x1xi32, global>
  %go = tirx.view %loss[%i, %c0] clipped : memref<?x1xf32> -> !tirx.tile<4x1xf32, global>
  %gd = tirx.view %dx[%i, %c0] clipped : !m -> !g
  %loaded = tirx.load %gx : !g -> !v
  %label = tirx.load %gl : !tirx.tile<4x1xi32, global> -> !l
  %e, %ones, %hits, %hit = tirx.map ins(%loaded, %label : !v, !l) {
  ^bb0(%p: f32, %t: i32):
    %j = tirx.index 1
    %n = arith.index_cast %j : index to i32
    %inside = arith.cmpi ult, %j, %columns : index
    %r = arith.select %inside, %p, %least : f32
    %w = arith.select %inside, %one, %zero : f32
    %is = arith.cmpi eq, %n, %t : i32
    %h = arith.select %is, %p, %zero : f32
    %k = arith.select %is, %one, %zero : f32
    tirx.yield %r, %w, %h, %k : f32, f32, f32, f32
  } -> !v, !v, !v, !v
  %most, %total = tirx.reduce ins(%e, %ones : !v, !v) dim(1) {
  ^bb0(%m: f32, %s: f32, %p: f32, %q: f32):
    %n = arith.maximumf %m, %p : f32
    %dm = arith.subf %m, %n : f32
    %dp = arith.subf %p, %n : f32
    %em = math.exp %dm : f32
    %ep = math.exp %dp : f32
    %sm = arith.mulf %s, %em : f32
    %r = math.fma %q, %ep, %sm : f32
    tirx.yield %n, %r : f32, f32
  } -> !c, !c
  %chosen = tirx.reduce %hits dim(1) add : !v -> !c
  %o = tirx.map ins(%most, %total, %chosen : !c, !c, !c) {
  ^bb0(%m: f32, %s: f32, %h: f32):
    %log = math.log %s : f32
    %all = arith.addf %m, %log : f32
    %r = arith.subf %all, %h : f32
    tirx.yield %r : f32
  } -> !c
  tirx.store %o, %go : !c, !tirx.tile<4x1xf32, global>
  %d = tirx.map ins(%e, %hit, %most, %total : !v, !v, !c, !c) {
  ^bb0(%p: f32, %k: f32, %m: f32, %s: f32):
    %dp = arith.subf %p, %m : f32
    %ep = math.exp %dp : f32
    %share = arith.divf %ep, %s : f32
    %r = arith.subf %share, %k : f32
    tirx.yield %r : f32
  } -> !v
  tirx.store %d, %gd : !v, !g
  tirx.return
}
