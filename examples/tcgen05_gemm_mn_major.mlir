// D = A * B^T in bf16 with both operands MN-major: A is stored with M contiguous, B with N contiguous.
// The strides of the memrefs say so; tirx-pick-layouts answers with MN-major shared tiles, so that copies move whole
// vectors, and the instruction descriptor gets its transpose bits from the layouts.

tirx.kernel @gemm_mn_major(%a: memref<256x128xbf16, strided<[1, 256]>>, %b: memref<128x128xbf16, strided<[1, 128]>>,
                           %d: memref<256x128xf32>)
    target("sm_100a") grid(1, 4) threads(128) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %m = arith.muli %i, %c64 : index

  %sa = tirx.alloc : !tirx.tile<64x32xbf16, shared>
  %sb = tirx.alloc : !tirx.tile<128x32xbf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x128xf32, tensor>

  tirx.fill %acc, %zero : f32, !tirx.tile<64x128xf32, tensor>
  scf.for %k = %c0 to %c128 step %c32 {
    %ga = tirx.view %a[%m, %k] : memref<256x128xbf16, strided<[1, 256]>> -> !tirx.tile<64x32xbf16, global>
    %gb = tirx.view %b[%c0, %k] : memref<128x128xbf16, strided<[1, 128]>> -> !tirx.tile<128x32xbf16, global>
    tirx.copy %ga, %sa : !tirx.tile<64x32xbf16, global>, !tirx.tile<64x32xbf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<128x32xbf16, global>, !tirx.tile<128x32xbf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<64x32xbf16, shared>, !tirx.tile<128x32xbf16, shared>, !tirx.tile<64x128xf32, tensor>
  }

  %gd = tirx.view %d[%m, %c0] : memref<256x128xf32> -> !tirx.tile<64x128xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<64x128xf32, tensor>, !tirx.tile<64x128xf32, global>
  tirx.return
}
