// D = A * B^T in f16 with f32 accumulation, by pairs of blocks: A is 512x256, B is 1024x256, both K-major.
//
// With cluster(2) the body says what two blocks do together: every pair computes one 256x256 tile of D with
// tcgen05.mma.cta_group::2. Of A, of B and of the accumulator each block holds half of the rows in its own memory, so
// B is loaded once for both: tirx-split-pairs shares the work out. `grid` and `tirx.block_id` count pairs: this is
// launched with 8 x 2 blocks of 128 threads.
//
//   tirx-opt --lower-to-ptx tcgen05_2cta_gemm.mlir

tirx.kernel @pair_gemm(%a: memref<512x256xf16>, %b: memref<1024x256xf16>, %d: memref<512x1024xf32>)
    target("sm_100a") grid(4, 2) cluster(2) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c256 : index
  %n = arith.muli %j, %c256 : index

  %sa = tirx.alloc : !tirx.tile<256x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<256x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<256x256xf32, tensor>

  tirx.fill %acc, %zero : f32, !tirx.tile<256x256xf32, tensor>
  scf.for %k = %c0 to %c256 step %c64 {
    %ga = tirx.view %a[%m, %k] : memref<512x256xf16> -> !tirx.tile<256x64xf16, global>
    %gb = tirx.view %b[%n, %k] : memref<1024x256xf16> -> !tirx.tile<256x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<256x64xf16, global>, !tirx.tile<256x64xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<256x64xf16, global>, !tirx.tile<256x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<256x64xf16, shared>, !tirx.tile<256x64xf16, shared>, !tirx.tile<256x256xf32, tensor>
  }

  %gd = tirx.view %d[%m, %n] : memref<512x1024xf32> -> !tirx.tile<256x256xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<256x256xf32, tensor>, !tirx.tile<256x256xf32, global>
  tirx.return
}
