// x with L x = b for a lower triangular L of 64x64, many right hand sides: column after column of L is taken off b.
!l = memref<64x64xf32>
!m = memref<64x?xf32>
!t = !tirx.tile<64x32xf32, register>
!c = !tirx.tile<64x1xf32, register>
!r = !tirx.tile<1x32xf32, register>
!one = !tirx.tile<1x1xf32, register>

tirx.kernel @triangular_solve(%l: !l, %b: !m, %x: !m) grid(ceildiv(size(1, 1), 32)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %i = tirx.block_id x
  %n = arith.muli %i, %c32 : index
  %gb = tirx.view %b[%c0, %n] clipped : !m -> !tirx.tile<64x32xf32, global>
  %gx = tirx.view %x[%c0, %n] clipped : !m -> !tirx.tile<64x32xf32, global>
  %e0 = tirx.load %gb : !tirx.tile<64x32xf32, global> -> !t
  %solved = scf.for %k = %c0 to %c64 step %c1 iter_args(%e = %e0) -> (!t) {
    %gl = tirx.view %l[%c0, %k] : !l -> !tirx.tile<64x1xf32, global>
    %gd = tirx.view %l[%k, %k] : !l -> !tirx.tile<1x1xf32, global>
    %column = tirx.load %gl : !tirx.tile<64x1xf32, global> -> !c
    %diagonal = tirx.load %gd : !tirx.tile<1x1xf32, global> -> !one
    %own = tirx.map ins(%e : !t) {
    ^bb0(%p: f32):
      %j = tirx.index 0
      %is = arith.cmpi eq, %j, %k : index
      %r = arith.select %is, %p, %zero : f32
      tirx.yield %r : f32
    } -> !t
    %row = tirx.reduce %own dim(0) add : !t -> !r
    %next = tirx.map ins(%e, %column, %row, %diagonal : !t, !c, !r, !one) {
    ^bb0(%p: f32, %f: f32, %q: f32, %d: f32):
      %j = tirx.index 0
      %y = arith.divf %q, %d : f32
      %minus = arith.negf %f : f32
      %less = math.fma %minus, %y, %p : f32
      %below = arith.cmpi ugt, %j, %k : index
      %is = arith.cmpi eq, %j, %k : index
      %rest = arith.select %below, %less, %p : f32
      %r = arith.select %is, %y, %rest : f32
      tirx.yield %r : f32
    } -> !t
    scf.yield %next : !t
  }
  tirx.store %solved, %gx : !t, !tirx.tile<64x32xf32, global>
  tirx.return
}
