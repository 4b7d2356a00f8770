// A linear recurrence along time, h[t] = a[t] h[t - 1] + b[t], for 32 channels a block and 64 steps at a time.
!m = memref<?x?xf32>
!g = !tirx.tile<64x32xf32, global>
!t = !tirx.tile<64x32xf32, register>
!h = !tirx.tile<1x32xf32, register>

tirx.kernel @selective_scan(%a: !m, %b: !m, %y: !m) target("sm_90a") grid(ceildiv(size(0, 1), 32)) threads(128) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  %block = tirx.block_id x
  %j = arith.muli %block, %c32 : index
  %steps = memref.dim %a, %c0 : !m
  %same = tirx.splat %one : f32 -> !h
  %start = tirx.zero : !h
  %last = scf.for %i = %c0 to %steps step %c64 iter_args(%before = %start) -> (!h) {
    %ga = tirx.view %a[%i, %j] clipped : !m -> !g
    %gb = tirx.view %b[%i, %j] clipped : !m -> !g
    %gy = tirx.view %y[%i, %j] clipped : !m -> !g
    %factor = tirx.load %ga : !g -> !t
    %term = tirx.load %gb : !g -> !t
    %product, %state, %all, %after = tirx.scan ins(%factor, %term : !t, !t) dim(0) init(%same, %before : !h, !h) {
    ^bb0(%p: f32, %q: f32, %r: f32, %s: f32):
      %f = arith.mulf %p, %r : f32
      %e = math.fma %q, %r, %s : f32
      tirx.yield %f, %e : f32, f32
    } -> !t, !t, !h, !h
    tirx.store %state, %gy : !t, !g
    scf.yield %after : !h
  }
  tirx.return
}
