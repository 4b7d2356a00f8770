// How often each number from 0 to 63 is in a vector. Each block counts in shared memory; other numbers count nowhere.

!numbers = !tirx.tile<1024xi32, register>
!counts = !tirx.tile<64xi32, shared>

tirx.kernel @histogram(%x: memref<?xi32>, %h: memref<64xi32>) grid(%i = ceildiv(size(0, 0), 1024)) threads(128) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant -1 : i32
  %counts = tirx.alloc : !counts
  tirx.fill %counts, %zero : i32, !counts
  %v = tirx.load %x[%i * 1024] clipped pad(%none) : memref<?xi32> -> !numbers
  %ones = tirx.splat %one : i32 -> !numbers
  tirx.store %ones, %counts[[%v]] clipped reduce(add) : !numbers, !counts
  tirx.copy %counts, %h[0] reduce(add) : !counts, memref<64xi32>
}
