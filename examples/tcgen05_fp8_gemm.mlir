// D = A * B^T on Blackwell with 8-bit floats: A is e4m3, B is e5m2, both K-major, sums in f32 (kind::f8f6f4 mixes its
// types freely). One instruction multiplies 32 elements of K, 32 bytes, so a row of 128 elements fills the 128 bytes of
// the widest swizzle and becomes four instructions.
//
//   tirx-opt --lower-to-ptx tcgen05_fp8_gemm.mlir

tirx.kernel @fp8_gemm(%a: memref<256x512xf8E4M3FN>, %b: memref<512x512xf8E5M2>, %d: memref<256x512xf32>)
    target("sm_100a") grid(4, 2) threads(128) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c512 = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c128 : index

  %sa = tirx.alloc : !tirx.tile<128x128xf8E4M3FN, shared>
  %sb = tirx.alloc : !tirx.tile<128x128xf8E5M2, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>

  tirx.fill %acc, %zero : f32, !tirx.tile<128x128xf32, tensor>
  scf.for %k = %c0 to %c512 step %c128 {
    %ga = tirx.view %a[%m, %k] : memref<256x512xf8E4M3FN> -> !tirx.tile<128x128xf8E4M3FN, global>
    %gb = tirx.view %b[%n, %k] : memref<512x512xf8E5M2> -> !tirx.tile<128x128xf8E5M2, global>
    tirx.copy %ga, %sa : !tirx.tile<128x128xf8E4M3FN, global>, !tirx.tile<128x128xf8E4M3FN, shared>
    tirx.copy %gb, %sb : !tirx.tile<128x128xf8E5M2, global>, !tirx.tile<128x128xf8E5M2, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x128xf8E4M3FN, shared>, !tirx.tile<128x128xf8E5M2, shared>, !tirx.tile<128x128xf32, tensor>
  }

  %gd = tirx.view %d[%m, %n] : memref<256x512xf32> -> !tirx.tile<128x128xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<128x128xf32, tensor>, !tirx.tile<128x128xf32, global>
  tirx.return
}
