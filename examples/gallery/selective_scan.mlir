// A linear recurrence along time, h[t] = a[t] h[t - 1] + b[t], for 32 channels a block and 64 steps at a time.
!m = memref<?x?xf32>
!t = !tirx.tile<64x32xf32, register>
!h = !tirx.tile<1x32xf32, register>

tirx.kernel @selective_scan(%a: !m, %b: !m, %y: !m) target("sm_90a") grid(%block = ceildiv(size(0, 1), 32)) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  %steps = memref.dim %a, %c0 : !m
  %same = tirx.splat %one : f32 -> !h
  %start = tirx.zero : !h
  %last = scf.for %i = %c0 to %steps step %c64 iter_args(%before = %start) -> (!h) {
    %factor = tirx.load %a[%i, %block * 32] clipped : !m -> !t
    %term = tirx.load %b[%i, %block * 32] clipped : !m -> !t
    %product, %state, %all, %after = tirx.scan ins(%factor, %term : !t, !t) dim(0) init(%same, %before : !h, !h)
        (%p, %q, %r, %s) {
      %p * %r, fma(%q, %r, %s)
    } -> !t, !t, !h, !h
    tirx.store %state, %y[%i, %block * 32] clipped : !t, !m
    scf.yield %after : !h
  }
}
