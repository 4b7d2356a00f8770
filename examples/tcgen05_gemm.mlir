// D = A * B^T in f16 with f32 accumulation on Blackwell: A is 512x256, B is 1024x256, both K-major.
// Every block computes one 128x256 tile of D. No layout is written: tirx-pick-layouts chooses them.
//
//   tirx-opt --lower-to-ptx tcgen05_gemm.mlir

tirx.kernel @gemm(%a: memref<512x256xf16>, %b: memref<1024x256xf16>, %d: memref<512x1024xf32>)
    target("sm_100a") grid(4, 4) threads(128) {
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
  %acc = tirx.alloc : !tirx.tile<128x256xf32, tensor>

  tirx.fill %acc, %zero : f32, !tirx.tile<128x256xf32, tensor>
  scf.for %k = %c0 to %c256 step %c64 {
    %ga = tirx.view %a[%m, %k] : memref<512x256xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%n, %k] : memref<1024x256xf16> -> !tirx.tile<256x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<256x64xf16, global>, !tirx.tile<256x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<256x64xf16, shared>, !tirx.tile<128x256xf32, tensor>
  }

  %gd = tirx.view %d[%m, %n] : memref<512x1024xf32> -> !tirx.tile<128x256xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<128x256xf32, tensor>, !tirx.tile<128x256xf32, global>
  tirx.return
}
