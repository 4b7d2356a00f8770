// The inclusive cumulative sum of each row of a matrix, which is read once: a block adds the sums of the blocks to its
// left, and looks back until it meets one that knows the sum of all before it.
//
// %part has the sum of each block, %whole that of all up to it, %state which of them is there: 0 none, 1 the first, 2 both.

!m = memref<?x?xf32>
!flags = memref<?x?xi32>
!r = !tirx.tile<4x128xf32, register>
!gc = !tirx.tile<4x1xf32, global>
!c = !tirx.tile<4x1xf32, register>

tirx.kernel @cumulative_sum_look_back(%x: !m, %part: !m, %whole: !m, %state: !flags, %y: !m)
    grid(%j = ceildiv(size(0, 1), 128), %i = ceildiv(size(0, 0), 4)) threads(128) in_order {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %v = tirx.load %x[%i * 4, %j * 128] clipped : !m -> !r
  %sums, %total = tirx.scan %v dim(1) add : !r -> !r, !c
  tirx.store %total, %part[%i * 4, %j] clipped : !c, !m
  tirx.signal %state[%i, %j], %one : !flags
  %none = tirx.zero : !c
  %some = arith.cmpi ugt, %j, %c0 : index
  %last = arith.subi %j, %c1 : index
  %before, %at, %more = scf.while (%b = %none, %k = %last, %go = %some) : (!c, index, i1) -> (!c, index, i1) {
    scf.condition(%go) %b, %k, %go : !c, index, i1
  } do {
  ^bb0(%b: !c, %k: index, %go: i1):
    %ready = tirx.wait_until %state[%i, %k] sge, %one : !flags
    %all = arith.cmpi eq, %ready, %two : i32
    %found = scf.if %all -> (!c) {
      %gw = tirx.view %whole[%i * 4, %k] clipped : !m -> !gc
      %w = tirx.load %gw : !gc -> !c
      scf.yield %w : !c
    } else {
      %q = tirx.load %part[%i * 4, %k] clipped : !m -> !c
      scf.yield %q : !c
    }
    %sum = tirx.map ins(%b, %found : !c, !c) (%p, %q) { %p + %q } -> !c
    %open = arith.cmpi eq, %ready, %one : i32
    %left = arith.cmpi ugt, %k, %c0 : index
    %again = arith.andi %open, %left : i1
    %k1 = arith.subi %k, %c1 : index
    scf.yield %sum, %k1, %again : !c, index, i1
  }
  %known = tirx.map ins(%before, %total : !c, !c) (%p, %q) { %p + %q } -> !c
  %gw = tirx.view %whole[%i * 4, %j] clipped : !m -> !gc
  tirx.store %known, %gw : !c, !gc
  tirx.signal %state[%i, %j], %two : !flags
  %out = tirx.map ins(%sums, %before : !r, !c) (%p, %q) { %p + %q } -> !r
  tirx.store %out, %y[%i * 4, %j * 128] clipped : !r, !m
}
