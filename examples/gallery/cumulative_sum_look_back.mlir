// The inclusive cumulative sum of each row of a matrix, which is read once: a block adds the sums of the blocks to its
// left, and looks back until it meets one that knows the sum of all before it.
//
// %part has the sum of each block, %whole that of all up to it, %state which of them is there: 0 none, 1 the first, 2 both.

!m = memref<?x?xf32>
!flags = memref<?x?xi32>
!g = !tirx.tile<4x128xf32, global>
!r = !tirx.tile<4x128xf32, register>
!gc = !tirx.tile<4x1xf32, global>
!c = !tirx.tile<4x1xf32, register>

tirx.kernel @cumulative_sum_look_back(%x: !m, %part: !m, %whole: !m, %state: !flags, %y: !m)
    grid(ceildiv(size(0, 1), 128), ceildiv(size(0, 0), 4)) threads(128) in_order {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c128 = arith.constant 128 : index
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %j = tirx.block_id x
  %i = tirx.block_id y
  %m = arith.muli %i, %c4 : index
  %n = arith.muli %j, %c128 : index
  %gx = tirx.view %x[%m, %n] clipped : !m -> !g
  %v = tirx.load %gx : !g -> !r
  %sums, %total = tirx.scan %v dim(1) add : !r -> !r, !c
  %gp = tirx.view %part[%m, %j] clipped : !m -> !gc
  tirx.store %total, %gp : !c, !gc
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
      %gw = tirx.view %whole[%m, %k] clipped : !m -> !gc
      %w = tirx.load %gw : !gc -> !c
      scf.yield %w : !c
    } else {
      %gq = tirx.view %part[%m, %k] clipped : !m -> !gc
      %q = tirx.load %gq : !gc -> !c
      scf.yield %q : !c
    }
    %sum = tirx.map ins(%b, %found : !c, !c) {
    ^bb0(%p: f32, %q: f32):
      %s = arith.addf %p, %q : f32
      tirx.yield %s : f32
    } -> !c
    %open = arith.cmpi eq, %ready, %one : i32
    %left = arith.cmpi ugt, %k, %c0 : index
    %again = arith.andi %open, %left : i1
    %k1 = arith.subi %k, %c1 : index
    scf.yield %sum, %k1, %again : !c, index, i1
  }
  %known = tirx.map ins(%before, %total : !c, !c) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    tirx.yield %s : f32
  } -> !c
  %gw = tirx.view %whole[%m, %j] clipped : !m -> !gc
  tirx.store %known, %gw : !c, !gc
  tirx.signal %state[%i, %j], %two : !flags
  %out = tirx.map ins(%sums, %before : !r, !c) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    tirx.yield %s : f32
  } -> !r
  %gy = tirx.view %y[%m, %n] clipped : !m -> !g
  tirx.store %out, %gy : !r, !g
  tirx.return
}
