// D = A * B^T in f16 with f32 accumulation by mma.sync.m16n8k16 (sm_80 and later): A is 256x128, B is 512x128, both
// K-major. Eight warps, two along M and four along N, hold 64x64 elements of a 128x256 tile of D each. A and B are
// staged in shared memory, with swizzles in which ldmatrix has no bank conflicts; fragments are loaded one step of K
// ahead. No layout is written: tirx-pick-layouts chooses them.
//
//   tirx-opt --lower-to-ptx mma_m16n8k16_f16_gemm.mlir
//   tirx-opt --lower-to-ptx="stages=3" mma_m16n8k16_f16_gemm.mlir      (cp.async, two slots ahead)

tirx.kernel @mma_f16_gemm(%a: memref<256x128xf16>, %b: memref<512x128xf16>, %d: memref<256x512xf32>)
    target("sm_80") grid(2, 2) threads(256) {
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
  scf.for %k = %c0 to %c128 step %c64 {
    %ga = tirx.view %a[%m, %k] : memref<256x128xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%n, %k] : memref<512x128xf16> -> !tirx.tile<256x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<256x64xf16, global>, !tirx.tile<256x64xf16, shared>
    tirx.mma %sa, %sb, %acc instruction("m16n8k16") : !tirx.tile<128x64xf16, shared>, !tirx.tile<256x64xf16, shared>, !tirx.tile<128x256xf32, register>
  }

  %gd = tirx.view %d[%m, %n] : memref<256x512xf32> -> !tirx.tile<128x256xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<128x256xf32, register>, !tirx.tile<128x256xf32, global>
  tirx.return
}
