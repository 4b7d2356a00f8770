// D = A * B^T in f16 on Hopper, for few rows and a long K: A is 128x256, B is 256x256, both K-major. Blocks of their own
// multiply two parts of K and add their sums to a workspace W in f32 (by the tensor memory accelerator, whole lines at a
// time), which is zero before the first launch. A second
// kernel rounds W to D and leaves zeros in it for the next product.
//
//   tirx-opt --lower-to-ptx="stages=3" wgmma_split_k_gemm.mlir

tirx.kernel @split_k_product(%a: memref<128x256xf16>, %b: memref<256x256xf16>, %w: memref<128x256xf32>)
    target("sm_90a") grid(2, 1, 2) threads(256) {
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %size = arith.constant 256 : index
  %length = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32

  %part = tirx.block_id z
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c128 : index
  %first = arith.muli %part, %length : index
  %behind = arith.addi %first, %length : index
  %end = arith.minui %behind, %size : index

  %sa = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, register>
  %sw = tirx.alloc : !tirx.tile<128x128xf32, shared>

  tirx.fill %acc, %zero : f32, !tirx.tile<128x128xf32, register>
  scf.for %k = %first to %end step %c64 {
    %ga = tirx.view %a[%m, %k] : memref<128x256xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%n, %k] : memref<256x256xf16> -> !tirx.tile<128x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, register>
  }

  %gw = tirx.view %w[%m, %n] : memref<128x256xf32> -> !tirx.tile<128x128xf32, global>
  tirx.copy %acc, %sw : !tirx.tile<128x128xf32, register>, !tirx.tile<128x128xf32, shared>
  tirx.copy %sw, %gw reduce(add) engine tma_reduce : !tirx.tile<128x128xf32, shared>, !tirx.tile<128x128xf32, global>
  tirx.return
}

tirx.kernel @split_k_round(%w: memref<128x256xf32>, %d: memref<128x256xf16>)
    target("sm_90a") grid(1, 16, 1) threads(256) {
  %c8 = arith.constant 8 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c8 : index
  %n = arith.muli %j, %c256 : index

  %sums = tirx.alloc : !tirx.tile<8x256xf32, register>
  %rounded = tirx.alloc : !tirx.tile<8x256xf16, register>
  %zeros = tirx.alloc : !tirx.tile<8x256xf32, register>

  %gw = tirx.view %w[%m, %n] : memref<128x256xf32> -> !tirx.tile<8x256xf32, global>
  %gd = tirx.view %d[%m, %n] : memref<128x256xf16> -> !tirx.tile<8x256xf16, global>
  tirx.copy %gw, %sums : !tirx.tile<8x256xf32, global>, !tirx.tile<8x256xf32, register>
  tirx.map ins(%sums : !tirx.tile<8x256xf32, register>) outs(%rounded : !tirx.tile<8x256xf16, register>) {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    tirx.yield %y : f16
  }
  tirx.copy %rounded, %gd : !tirx.tile<8x256xf16, register>, !tirx.tile<8x256xf16, global>
  tirx.fill %zeros, %zero : f32, !tirx.tile<8x256xf32, register>
  tirx.copy %zeros, %gw : !tirx.tile<8x256xf32, register>, !tirx.tile<8x256xf32, global>
  tirx.return
}
