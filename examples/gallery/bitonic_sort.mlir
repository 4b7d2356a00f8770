// Each row of 64 numbers in ascending order by the bitonic network, whose 21 rounds exchange partners in shared memory.
!m = memref<?x64xf32>
!g = !tirx.tile<8x64xf32, global>
!s = !tirx.tile<8x64xf32, shared>
!t = !tirx.tile<8x64xf32, register>
!at = !tirx.tile<8x64xi32, register>

tirx.kernel @bitonic_sort(%x: !m, %y: !m) grid(ceildiv(size(0, 0), 8)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tirx.block_id x
  %row = arith.muli %b, %c8 : index
  %gx = tirx.view %x[%row, %c0] clipped : !m -> !g
  %gy = tirx.view %y[%row, %c0] clipped : !m -> !g
  %e0 = tirx.load %gx : !g -> !t
  %s = tirx.alloc : !s
  %sorted = scf.for %i = %c0 to %c6 step %c1 iter_args(%e1 = %e0) -> (!t) {
    %rounds = arith.addi %i, %c1 : index
    %r32 = arith.index_cast %rounds : index to i32
    %size = arith.shli %one, %r32 : i32
    %merged = scf.for %k = %c0 to %rounds step %c1 iter_args(%e = %e1) -> (!t) {
      %left = arith.subi %i, %k : index
      %l32 = arith.index_cast %left : index to i32
      %distance = arith.shli %one, %l32 : i32
      %at, %partner = tirx.map {
        %n = tirx.index 1
        %o = arith.index_cast %n : index to i32
        %p = arith.xori %o, %distance : i32
        tirx.yield %o, %p : i32, i32
      } -> !at, !at
      tirx.store %e, %s : !t, !s
      %gs = tirx.view %s[%c0, [%partner]] : !s, !at -> !s
      %other = tirx.load %gs : !s -> !t
      %r = tirx.map ins(%e, %other, %at : !t, !t, !at) {
      ^bb0(%p: f32, %q: f32, %o: i32):
        %up = arith.andi %o, %size : i32
        %side = arith.andi %o, %distance : i32
        %rises = arith.cmpi eq, %up, %zero : i32
        %lower = arith.cmpi eq, %side, %zero : i32
        %low = arith.cmpi eq, %rises, %lower : i1
        %min = arith.minnumf %p, %q : f32
        %max = arith.maxnumf %p, %q : f32
        %v = arith.select %low, %min, %max : f32
        tirx.yield %v : f32
      } -> !t
      scf.yield %r : !t
    }
    scf.yield %merged : !t
  }
  tirx.store %sorted, %gy : !t, !g
  tirx.return
}
