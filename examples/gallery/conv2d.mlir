// y[b, p, q, o] = sum over r, t, c of x[b, 2 p + r - 1, 2 q + t - 1, c] * w[o, r, t, c]: a convolution of 3x3, with stride 2
// and padding 1, as products of 64 places (4 rows of 16) and 64 channels of the output.

!x = memref<?x?x?x?xf16>
!w = memref<?x3x3x?xf16>
!g = !tirx.tile<4x16x32xf16, global>
!s = !tirx.tile<4x16x32xf16, shared>
!gw = !tirx.tile<64x32xf16, global>
!b = !tirx.tile<64x32xf16, shared>
!sums = !tirx.tile<64x64xf32, accumulator>
!out = !tirx.tile<64x64xf32, shared>

tirx.kernel @conv2d(%x: !x, %w: !w, %y: memref<?x?x?x?xf32>)
    grid(ceildiv(size(2, 3), 64), mul(ceildiv(size(2, 2), 16), ceildiv(size(2, 1), 4)), size(2, 0)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %channels = memref.dim %w, %c3 : !w
  %columns = tirx.launch_value ceildiv(size(2, 2), 16)
  %j = tirx.block_id x
  %pq = tirx.block_id y
  %image = tirx.block_id z
  %o = arith.muli %j, %c64 : index
  %p = arith.divui %pq, %columns : index
  %q = arith.remui %pq, %columns : index
  %top = arith.muli %p, %c8 : index
  %left = arith.muli %q, %c32 : index
  %s = tirx.alloc : !s
  %sb = tirx.alloc : !b
  %acc = tirx.alloc : !sums
  %a = tirx.reshape %s : !s -> !b
  tirx.fill %acc, %zero : f32, !sums
  scf.for %r = %c0 to %c3 step %c1 {
    scf.for %t = %c0 to %c3 step %c1 {
      %below = arith.addi %top, %r : index
      %right = arith.addi %left, %t : index
      %row = arith.subi %below, %c1 : index
      %column = arith.subi %right, %c1 : index
      scf.for %c = %c0 to %channels step %c32 {
        %gx = tirx.view %x[%image, %row, %column, %c] steps [1, 2, 2, 1] clipped : !x -> !g
        %gw = tirx.view %w[%o, %r, %t, %c] dims(0, 3) clipped : !w -> !gw
        tirx.copy %gx, %s : !g, !s
        tirx.copy %gw, %sb : !gw, !b
        tirx.mma %a, %sb, %acc : !b, !b, !sums
      }
    }
  }
  %sout = tirx.alloc : !out
  tirx.copy %acc, %sout : !sums, !out
  %places = tirx.reshape %sout : !out -> !tirx.tile<4x16x64xf32, shared>
  %m = arith.muli %p, %c4 : index
  %n = arith.muli %q, %c16 : index
  %gy = tirx.view %y[%image, %m, %n, %o] clipped : memref<?x?x?x?xf32> -> !tirx.tile<4x16x64xf32, global>
  tirx.copy %places, %gy engine ld_st : !tirx.tile<4x16x64xf32, shared>, !tirx.tile<4x16x64xf32, global>
  tirx.return
}
