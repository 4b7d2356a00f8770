// Each row of 64 numbers in ascending order by the bitonic network, whose 21 rounds exchange partners in shared memory.
!m = memref<?x64xf32>
!s = !tirx.tile<8x64xf32, shared>
!t = !tirx.tile<8x64xf32, register>
!at = !tirx.tile<8x64xi32, register>

tirx.kernel @bitonic_sort(%x: !m, %y: !m) grid(%b = ceildiv(size(0, 0), 8)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %one = arith.constant 1 : i32
  %e0 = tirx.load %x[%b * 8, 0] clipped : !m -> !t
  %s = tirx.alloc : !s
  %sorted = scf.for %i = %c0 to %c6 step %c1 iter_args(%e1 = %e0) -> (!t) {
    %rounds = arith.addi %i, %c1 : index
    %r32 = arith.index_cast %rounds : index to i32
    %size = arith.shli %one, %r32 : i32
    %merged = scf.for %k = %c0 to %rounds step %c1 iter_args(%e = %e1) -> (!t) {
      %left = arith.subi %i, %k : index
      %l32 = arith.index_cast %left : index to i32
      %distance = arith.shli %one, %l32 : i32
      %at, %partner = tirx.map () { %o = i32(index(1)); %o, %o ^ %distance } -> !at, !at
      tirx.store %e, %s : !t, !s
      %other = tirx.load %s[0, [%partner]] : !s -> !t
      %r = tirx.map ins(%e, %other, %at : !t, !t, !at) (%p, %q, %o) {
        select(((%o & %size) == 0) == ((%o & %distance) == 0), minnumf(%p, %q), maxnumf(%p, %q))
      } -> !t
      scf.yield %r : !t
    }
    scf.yield %merged : !t
  }
  tirx.store %sorted, %y[%b * 8, 0] clipped : !t, !m
}
