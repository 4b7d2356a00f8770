// Y = X^T for X of 128x256 f32, by tiles of 32x64: Y is a memref whose rows are the columns of X. Threads load and store
// neighbours in memory, both times; the copy between the two register tiles changes who holds what, through shared memory
// with a swizzle that has no bank conflicts.
//
//   tirx-opt --lower-to-ptx transpose.mlir

tirx.kernel @transpose(%x: memref<128x256xf32>, %y: memref<128x256xf32, strided<[1, 128]>>)
    target("sm_80") grid(4, 4) threads(128) {
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c32 : index
  %n = arith.muli %j, %c64 : index
  %gx = tirx.view %x[%m, %n] : memref<128x256xf32> -> !tirx.tile<32x64xf32, global>
  %gy = tirx.view %y[%m, %n] : memref<128x256xf32, strided<[1, 128]>> -> !tirx.tile<32x64xf32, global>
  %rows = tirx.alloc : !tirx.tile<32x64xf32, register>
  %columns = tirx.alloc : !tirx.tile<32x64xf32, register>
  tirx.copy %gx, %rows : !tirx.tile<32x64xf32, global>, !tirx.tile<32x64xf32, register>
  tirx.copy %rows, %columns : !tirx.tile<32x64xf32, register>, !tirx.tile<32x64xf32, register>
  tirx.copy %columns, %gy : !tirx.tile<32x64xf32, register>, !tirx.tile<32x64xf32, global>
  tirx.return
}
