// How often each number from 0 to 63 is in a vector. Each block counts in shared memory; other numbers count nowhere.

!numbers = !tirx.tile<1024xi32, register>
!counts = !tirx.tile<64xi32, shared>
!places = !tirx.tile<1024xi32, shared>
!h = !tirx.tile<64xi32, global>

tirx.kernel @histogram(%x: memref<?xi32>, %h: memref<64xi32>) grid(ceildiv(size(0, 0), 1024)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1024 = arith.constant 1024 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant -1 : i32
  %i = tirx.block_id x
  %m = arith.muli %i, %c1024 : index
  %counts = tirx.alloc : !counts
  tirx.fill %counts, %zero : i32, !counts
  %gx = tirx.view %x[%m] clipped : memref<?xi32> -> !tirx.tile<1024xi32, global>
  %v = tirx.load %gx pad(%none) : !tirx.tile<1024xi32, global> -> !numbers
  %at = tirx.view %counts[[%v]] clipped : !counts, !numbers -> !places
  %ones = tirx.splat %one : i32 -> !numbers
  tirx.store %ones, %at reduce(add) : !numbers, !places
  %gh = tirx.view %h[%c0] : memref<64xi32> -> !h
  tirx.copy %counts, %gh reduce(add) : !counts, !h
  tirx.return
}
