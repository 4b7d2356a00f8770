// D += A * B^T with K shared out among blocks: A is 128x512, B is 64x512, both K-major, in f16; four blocks multiply 128
// elements of K each, and add their sums to D in f32 (red.global.add, four at a time on sm_90).
//
//   tirx-opt --lower-to-ptx split_k_gemm.mlir

tirx.kernel @split_k(%a: memref<128x512xf16>, %b: memref<64x512xf16>, %d: memref<128x64xf32>)
    target("sm_90a") grid(4) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id x
  %first = arith.muli %i, %c128 : index
  %end = arith.addi %first, %c128 : index

  %sa = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, register>

  tirx.fill %acc, %zero : f32, !tirx.tile<128x64xf32, register>
  scf.for %k = %first to %end step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<128x512xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%c0, %k] : memref<64x512xf16> -> !tirx.tile<64x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, register>
  }

  %gd = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !tirx.tile<128x64xf32, global>
  tirx.copy %acc, %gd reduce(add) : !tirx.tile<128x64xf32, register>, !tirx.tile<128x64xf32, global>
  tirx.return
}
