// The largest number of each row, of any length, and where it is: of equal ones the first.
!m = memref<?x?xf32>
!g = !tirx.tile<4x256xf32, global>
!v = !tirx.tile<4x256xf32, register>
!i = !tirx.tile<4x256xi32, register>
!v1 = !tirx.tile<4x1xf32, register>
!i1 = !tirx.tile<4x1xi32, register>

func.func private @first_largest(%p: f32, %i: i32, %q: f32, %j: i32) -> (f32, i32) {
  %more = arith.cmpf ogt, %p, %q : f32
  %same = arith.cmpf oeq, %p, %q : f32
  %early = arith.cmpi slt, %i, %j : i32
  %tie = arith.andi %same, %early : i1
  %first = arith.ori %more, %tie : i1
  %m = arith.select %first, %p, %q : f32
  %k = arith.select %first, %i, %j : i32
  func.return %m, %k : f32, i32
}

tirx.kernel @argmax(%x: !m, %place: memref<?x1xi32>) grid(ceildiv(size(0, 0), 4)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c256 = arith.constant 256 : index
  %least = arith.constant 0xFF800000 : f32
  %last = arith.constant 0x7FFFFFFF : i32
  %b = tirx.block_id x
  %row = arith.muli %b, %c4 : index
  %size = memref.dim %x, %c1 : !m
  %v0 = tirx.splat %least : f32 -> !v1
  %i0 = tirx.splat %last : i32 -> !i1
  %v, %i = scf.for %k = %c0 to %size step %c256 iter_args(%most = %v0, %at = %i0) -> (!v1, !i1) {
    %gx = tirx.view %x[%row, %k] clipped : !m -> !g
    %e = tirx.load %gx pad(%least) : !g -> !v
    %n = tirx.map {
      %j = tirx.index 1
      %o = arith.addi %j, %k : index
      %r = arith.index_cast %o : index to i32
      tirx.yield %r : i32
    } -> !i
    %best, %where = tirx.reduce ins(%e, %n : !v, !i) dim(1) {
    ^bb0(%p: f32, %f: i32, %q: f32, %h: i32):
      %m, %o = func.call @first_largest(%p, %f, %q, %h) : (f32, i32, f32, i32) -> (f32, i32)
      tirx.yield %m, %o : f32, i32
    } -> !v1, !i1
    %u, %w = tirx.map ins(%most, %at, %best, %where : !v1, !i1, !v1, !i1) {
    ^bb0(%p: f32, %f: i32, %q: f32, %h: i32):
      %m, %o = func.call @first_largest(%p, %f, %q, %h) : (f32, i32, f32, i32) -> (f32, i32)
      tirx.yield %m, %o : f32, i32
    } -> !v1, !i1
    scf.yield %u, %w : !v1, !i1
  }
  %gi = tirx.view %place[%row, %c0] clipped : memref<?x1xi32> -> !tirx.tile<4x1xi32, global>
  tirx.store %i, %gi : !i1, !tirx.tile<4x1xi32, global>
  tirx.return
}
