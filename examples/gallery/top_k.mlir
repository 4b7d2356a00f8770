// The four largest numbers of each row of at most 1024, and where they are: of equal ones the first.
!m = memref<?x?xf32>
!g = !tirx.tile<4x1024xf32, global>
!v = !tirx.tile<4x1024xf32, register>
!i = !tirx.tile<4x1024xi32, register>
!v1 = !tirx.tile<4x1xf32, register>
!i1 = !tirx.tile<4x1xi32, register>

tirx.kernel @top_k(%x: !m, %values: memref<?x4xf32>, %places: memref<?x4xi32>) target("sm_90a")
    grid(ceildiv(size(0, 0), 4)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %least = arith.constant 0xFF800000 : f32
  %b = tirx.block_id x
  %row = arith.muli %b, %c4 : index
  %columns = memref.dim %x, %c1 : !m
  %gx = tirx.view %x[%row, %c0] clipped : !m -> !g
  %loaded = tirx.load %gx : !g -> !v
  %e0, %at = tirx.map ins(%loaded : !v) {
  ^bb0(%p: f32):
    %j = tirx.index 1
    %n = arith.index_cast %j : index to i32
    %inside = arith.cmpi ult, %j, %columns : index
    %r = arith.select %inside, %p, %least : f32
    tirx.yield %r, %n : f32, i32
  } -> !v, !i
  %last = scf.for %k = %c0 to %c4 step %c1 iter_args(%e = %e0) -> (!v) {
    %best, %place = tirx.reduce ins(%e, %at : !v, !i) dim(1) {
    ^bb0(%p: f32, %i: i32, %q: f32, %j: i32):
      %more = arith.cmpf ogt, %p, %q : f32
      %same = arith.cmpf oeq, %p, %q : f32
      %early = arith.cmpi slt, %i, %j : i32
      %tie = arith.andi %same, %early : i1
      %first = arith.ori %more, %tie : i1
      %r = arith.select %first, %p, %q : f32
      %s = arith.select %first, %i, %j : i32
      tirx.yield %r, %s : f32, i32
    } -> !v1, !i1
    %gv = tirx.view %values[%row, %k] clipped : memref<?x4xf32> -> !tirx.tile<4x1xf32, global>
    %gi = tirx.view %places[%row, %k] clipped : memref<?x4xi32> -> !tirx.tile<4x1xi32, global>
    tirx.store %best, %gv : !v1, !tirx.tile<4x1xf32, global>
    tirx.store %place, %gi : !i1, !tirx.tile<4x1xi32, global>
    %rest = tirx.map ins(%e, %at, %place : !v, !i, !i1) {
    ^bb0(%p: f32, %i: i32, %j: i32):
      %taken = arith.cmpi eq, %i, %j : i32
      %r = arith.select %taken, %least, %p : f32
      tirx.yield %r : f32
    } -> !v
    scf.yield %rest : !v
  }
  tirx.return
}
