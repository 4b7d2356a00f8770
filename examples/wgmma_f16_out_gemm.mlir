// D = A * B^T in f16 on Hopper, rounded from sums in f32: A is 256x256, B is 512x256, both K-major. The product of
// wgmma_gemm.mlir, with a last step on registers.
//
//   tirx-opt --lower-to-ptx wgmma_f16_out_gemm.mlir
//   tirx-opt --lower-to-ptx="stages=3" wgmma_f16_out_gemm.mlir      (TMA both ways, three slots)

!in = f16
!out = f16

tirx.kernel @wgmma_f16_out_gemm(%a: memref<256x256x!in>, %b: memref<512x256x!in>, %d: memref<256x512x!out>)
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

  %sa = tirx.alloc : !tirx.tile<128x64x!in, shared>
  %sb = tirx.alloc : !tirx.tile<256x64x!in, shared>
  %acc = tirx.alloc : !tirx.tile<128x256xf32, register>
  %sums = tirx.alloc : !tirx.tile<128x256x!out, register>

  tirx.fill %acc, %zero : f32, !tirx.tile<128x256xf32, register>
  scf.for %k = %c0 to %c256 step %c64 {
    %ga = tirx.view %a[%m, %k] : memref<256x256x!in> -> !tirx.tile<128x64x!in, global>
    %gb = tirx.view %b[%n, %k] : memref<512x256x!in> -> !tirx.tile<256x64x!in, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64x!in, global>, !tirx.tile<128x64x!in, shared>
    tirx.copy %gb, %sb : !tirx.tile<256x64x!in, global>, !tirx.tile<256x64x!in, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64x!in, shared>, !tirx.tile<256x64x!in, shared>, !tirx.tile<128x256xf32, register>
  }

  tirx.map ins(%acc : !tirx.tile<128x256xf32, register>) outs(%sums : !tirx.tile<128x256x!out, register>) {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to !out
    tirx.yield %y : !out
  }
  %gd = tirx.view %d[%m, %n] : memref<256x512x!out> -> !tirx.tile<128x256x!out, global>
  tirx.copy %sums, %gd : !tirx.tile<128x256x!out, register>, !tirx.tile<128x256x!out, global>
  tirx.return
}
