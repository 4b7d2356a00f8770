// x with L x = b for a lower triangular L of 64x64, many right hand sides: column after column of L is taken off b.
!l = memref<64x64xf32>
!m = memref<64x?xf32>
!t = !tirx.tile<64x32xf32, register>
!c = !tirx.tile<64x1xf32, register>
!r = !tirx.tile<1x32xf32, register>
!one = !tirx.tile<1x1xf32, register>

tirx.kernel @triangular_solve(%l: !l, %b: !m, %x: !m) grid(%i = ceildiv(size(1, 1), 32)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %e0 = tirx.load %b[0, %i * 32] clipped : !m -> !t
  %solved = scf.for %k = %c0 to %c64 step %c1 iter_args(%e = %e0) -> (!t) {
    %column = tirx.load %l[0, %k] : !l -> !c
    %diagonal = tirx.load %l[%k, %k] : !l -> !one
    %own = tirx.map ins(%e : !t) (%p) { select(index(0) == %k, %p, 0.0) } -> !t
    %row = tirx.reduce %own dim(0) add : !t -> !r
    %next = tirx.map ins(%e, %column, %row, %diagonal : !t, !c, !r, !one) (%p, %f, %q, %d) {
      %y = %q / %d;
      select(index(0) == %k, %y, select(index(0) > %k, fma(-%f, %y, %p), %p))
    } -> !t
    scf.yield %next : !t
  }
  tirx.store %solved, %x[0, %i * 32] clipped : !t, !m
}
