// D = A * B^T in f16 with f32 accumulation on Hopper: A is 256x256, B is 512x256, both K-major.
// Two warpgroups compute one 128x256 tile of D, which stays in their registers; wgmma reads A and B in shared memory.
// No layout is written: tirx-pick-layouts chooses them.
//
//   tirx-opt --lower-to-ptx wgmma_gemm.mlir

tirx.kernel @wgmma_gemm(%a: memref<256x256xf16>, %b: memref<512x256xf16>, %d: memref<256x512xf32>)
    target("sm_90a") grid(2, 2) threads(256) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c256 : index

  %sa = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<256x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x256xf32, register>

  tirx.fill %acc, %zero : f32, !tirx.tile<128x256xf32, register>
  scf.for %k = %c0 to %c256 step %c64 {
    %ga = tirx.view %a[%m, %k] : memref<256x256xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%n, %k] : memref<512x256xf16> -> !tirx.tile<256x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<256x64xf16, global>, !tirx.tile<256x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<256x64xf16, shared>, !tirx.tile<128x256xf32, register>
  }

  %gd = tirx.view %d[%m, %n] : memref<256x512xf32> -> !tirx.tile<128x256xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<128x256xf32, register>, !tirx.tile<128x256xf32, global>
  tirx.return
}
