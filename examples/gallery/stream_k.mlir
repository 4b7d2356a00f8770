// D = A * B^T in f16 by one kernel whose blocks share out all rounds of all tiles evenly (Stream-K).
//
// A block multiplies a run of rounds, which may begin and end within a tile. Sums of a tile that a later block finishes go
// to %part, with a flag in %done; whoever multiplies the last round of a tile adds those of the blocks before, in order.

!m = memref<?x?xf16>
!sa = !tirx.tile<64x64xf16, shared>
!acc = !tirx.tile<64x64xf32, accumulator>
!sums = !tirx.tile<64x64xf32, register>
!half = !tirx.tile<64x64xf16, register>
!p = memref<?x64x64xf32>
!gp = !tirx.tile<64x64xf32, global>

tirx.kernel @stream_k(%a: !m, %b: !m, %part: !p, %done: memref<?xi32>, %d: !m)
    grid(%block = size(3, 0)) threads(128) in_order {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %rounds = tirx.launch_value ceildiv(size(0, 1), 64)
  %columns = tirx.launch_value ceildiv(size(1, 0), 64)
  %total = tirx.launch_value mul(mul(ceildiv(size(0, 1), 64), ceildiv(size(1, 0), 64)), ceildiv(size(0, 0), 64))
  %per = tirx.launch_value ceildiv(mul(mul(ceildiv(size(0, 1), 64), ceildiv(size(1, 0), 64)), ceildiv(size(0, 0), 64)), size(3, 0))
  %first = arith.muli %block, %per : index
  %behind = arith.addi %first, %per : index
  %end = arith.minui %behind, %total : index
  %sa = tirx.alloc : !sa
  %sb = tirx.alloc : !sa
  %acc = tirx.alloc : !acc
  %ready = scf.while (%at = %first) : (index) -> index {
    %more = arith.cmpi ult, %at, %end : index
    scf.condition(%more) %at : index
  } do {
  ^bb0(%at: index):
    %t = arith.divui %at, %rounds : index
    %k0 = arith.remui %at, %rounds : index
    %left = arith.subi %end, %at : index
    %to = arith.addi %k0, %left : index
    %k1 = arith.minui %rounds, %to : index
    %i = arith.divui %t, %columns : index
    %j = arith.remui %t, %columns : index
    %low = arith.muli %k0, %c64 : index
    %high = arith.muli %k1, %c64 : index
    tirx.fill %acc, %zero : f32, !acc
    scf.for %k = %low to %high step %c64 {
      tirx.copy %a[%i * 64, %k] clipped, %sa : !m, !sa
      tirx.copy %b[%j * 64, %k] clipped, %sb : !m, !sa
      tirx.mma %sa, %sb, %acc : !sa, !sa, !acc
    }
    %mine = tirx.load %acc : !acc -> !sums
    %last = arith.cmpi eq, %k1, %rounds : index
    scf.if %last {
      %start = arith.muli %t, %rounds : index
      %from = arith.divui %start, %per : index
      %sum = scf.for %c = %from to %block step %c1 iter_args(%s = %mine) -> (!sums) {
        %flag = tirx.wait_until %done[%c] sge, %one : memref<?xi32>
        %gp = tirx.view %part[%c, 0, 0] : !p -> !gp
        %p = tirx.load %gp : !gp -> !sums
        %s1 = tirx.map ins(%s, %p : !sums, !sums) (%x, %y) { %x + %y } -> !sums
        scf.yield %s1 : !sums
      }
      %h = tirx.map ins(%sum : !sums) (%x) { f16(%x) } -> !half
      tirx.store %h, %d[%i * 64, %j * 64] clipped : !half, !m
    } else {
      %gp = tirx.view %part[%block, 0, 0] : !p -> !gp
      tirx.store %mine, %gp : !sums, !gp
      tirx.signal %done[%block], %one : memref<?xi32>
    }
    %done1 = arith.subi %k1, %k0 : index
    %next = arith.addi %at, %done1 : index
    scf.yield %next : index
  }
}
