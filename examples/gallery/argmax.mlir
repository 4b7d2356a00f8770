// The largest number of each row, of any length, and where it is: of equal ones the first.
!m = memref<?x?xf32>
!v = !tirx.tile<4x256xf32, register>
!i = !tirx.tile<4x256xi32, register>
!v1 = !tirx.tile<4x1xf32, register>
!i1 = !tirx.tile<4x1xi32, register>

tirx.kernel @argmax(%x: !m, %place: memref<?x1xi32>) grid(%b = ceildiv(size(0, 0), 4)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %least = arith.constant 0xFF800000 : f32
  %last = arith.constant 0x7FFFFFFF : i32
  %size = memref.dim %x, %c1 : !m
  %v0 = tirx.splat %least : f32 -> !v1
  %i0 = tirx.splat %last : i32 -> !i1
  %v, %i = scf.for %k = %c0 to %size step %c256 iter_args(%most = %v0, %at = %i0) -> (!v1, !i1) {
    %e = tirx.load %x[%b * 4, %k] clipped pad(%least) : !m -> !v
    %n = tirx.map () { i32(index(1) + %k) } -> !i
    %best, %where = tirx.reduce ins(%e, %n : !v, !i) dim(1) (%p, %f, %q, %h) {
      %first = %p > %q | %p == %q & %f < %h;
      select(%first, %p, %q), select(%first, %f, %h)
    } -> !v1, !i1
    %u, %w = tirx.map ins(%most, %at, %best, %where : !v1, !i1, !v1, !i1) (%p, %f, %q, %h) {
      %first = %p > %q | %p == %q & %f < %h;
      select(%first, %p, %q), select(%first, %f, %h)
    } -> !v1, !i1
    scf.yield %u, %w : !v1, !i1
  }
  tirx.store %i, %place[%b * 4, 0] clipped : !i1, memref<?x1xi32>
}
