// The four largest numbers of each row of at most 1024, and where they are: of equal ones the first.
!m = memref<?x?xf32>
!v = !tirx.tile<4x1024xf32, register>
!i = !tirx.tile<4x1024xi32, register>
!v1 = !tirx.tile<4x1xf32, register>
!i1 = !tirx.tile<4x1xi32, register>

tirx.kernel @top_k(%x: !m, %values: memref<?x4xf32>, %places: memref<?x4xi32>) target("sm_90a")
    grid(%b = ceildiv(size(0, 0), 4)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %columns = memref.dim %x, %c1 : !m
  %loaded = tirx.load %x[%b * 4, 0] clipped : !m -> !v
  %e0, %at = tirx.map ins(%loaded : !v) (%p) { select(index(1) < %columns, %p, -inf), i32(index(1)) } -> !v, !i
  %last = scf.for %k = %c0 to %c4 step %c1 iter_args(%e = %e0) -> (!v) {
    %best, %place = tirx.reduce ins(%e, %at : !v, !i) dim(1) (%p, %i, %q, %j) {
      %first = %p > %q | %p == %q & %i < %j;
      select(%first, %p, %q), select(%first, %i, %j)
    } -> !v1, !i1
    tirx.store %best, %values[%b * 4, %k] clipped : !v1, memref<?x4xf32>
    tirx.store %place, %places[%b * 4, %k] clipped : !i1, memref<?x4xi32>
    %rest = tirx.map ins(%e, %at, %place : !v, !i, !i1) (%p, %i, %j) { select(%i == %j, -inf, %p) } -> !v
    scf.yield %rest : !v
  }
}
