// D = A * B^T in NVFP4 on Blackwell (kind::mxf4nvf4): elements are e2m1, two to a byte, and every 16 of them along K share
// a scale factor, a ue4m3 (an e4m3 whose sign is 0). The factors enter the product: element [m, k] of A counts as
// a[m, k] * sfa[m, k / 16]. A is 256x1024, B 512x1024, both K-major; every block computes a 128x256 tile of D.
//
// In global memory the scale factors have the order of cuBLAS and PyTorch: blocks of 128 rows by 4 of 512 bytes, rows r,
// r + 32, r + 64 and r + 96 of a block together in 16 bytes. A memref with strides says so: [block of rows, r / 32,
// r % 32, block of K, k % 4]. Shared memory has the same order, which tirx-pick-layouts picks because tcgen05.cp needs
// it: that instruction takes the blocks to tensor memory, where the product reads its scale factors.
//
//   tirx-opt --lower-to-ptx tcgen05_nvfp4_block_scaled_gemm.mlir

!a_shared = !tirx.tile<128x256xf4E2M1FN, shared>
!b_shared = !tirx.tile<256x256xf4E2M1FN, shared>
!acc = !tirx.tile<128x256xf32, tensor>
!sfa_global = memref<2x4x32x16x4xf8E4M3FN, strided<[8192, 4, 16, 512, 1]>>
!sfb_global = memref<4x4x32x16x4xf8E4M3FN, strided<[8192, 4, 16, 512, 1]>>

tirx.kernel @nvfp4_gemm(%a: memref<256x1024xf4E2M1FN>, %b: memref<512x1024xf4E2M1FN>, %sfa: !sfa_global,
    %sfb: !sfb_global, %d: memref<256x512xf32>) target("sm_100a") grid(2, 2) threads(128) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c256 : index
  %n_block = arith.muli %j, %c2 : index

  %sa = tirx.alloc : !a_shared
  %sb = tirx.alloc : !b_shared
  %ssfa = tirx.alloc : !tirx.tile<128x16xf8E4M3FN, shared>
  %ssfb = tirx.alloc : !tirx.tile<256x16xf8E4M3FN, shared>
  %tsfa = tirx.alloc : !tirx.tile<128x16xf8E4M3FN, tensor>
  %tsfb = tirx.alloc : !tirx.tile<256x16xf8E4M3FN, tensor>
  %acc = tirx.alloc : !acc

  tirx.fill %acc, %zero : f32, !acc
  // One step is 256 elements of K: 16 scale factors of each row, 4 blocks of them, and 4 instructions.
  scf.for %step = %c0 to %c16 step %c4 {
    %k = arith.muli %step, %c64 : index
    %ga = tirx.view %a[%m, %k] : memref<256x1024xf4E2M1FN> -> !tirx.tile<128x256xf4E2M1FN, global>
    %gb = tirx.view %b[%n, %k] : memref<512x1024xf4E2M1FN> -> !tirx.tile<256x256xf4E2M1FN, global>
    tirx.copy %ga, %sa : !tirx.tile<128x256xf4E2M1FN, global>, !a_shared
    tirx.copy %gb, %sb : !tirx.tile<256x256xf4E2M1FN, global>, !b_shared

    %gsfa = tirx.view %sfa[%i, %c0, %c0, %step, %c0] : !sfa_global -> !tirx.tile<1x4x32x4x4xf8E4M3FN, global>
    %gsfb = tirx.view %sfb[%n_block, %c0, %c0, %step, %c0] : !sfb_global -> !tirx.tile<2x4x32x4x4xf8E4M3FN, global>
    %ssfa_blocks = tirx.reshape %ssfa : !tirx.tile<128x16xf8E4M3FN, shared> -> !tirx.tile<1x4x32x4x4xf8E4M3FN, shared>
    %ssfb_blocks = tirx.reshape %ssfb : !tirx.tile<256x16xf8E4M3FN, shared> -> !tirx.tile<2x4x32x4x4xf8E4M3FN, shared>
    tirx.copy %gsfa, %ssfa_blocks : !tirx.tile<1x4x32x4x4xf8E4M3FN, global>, !tirx.tile<1x4x32x4x4xf8E4M3FN, shared>
    tirx.copy %gsfb, %ssfb_blocks : !tirx.tile<2x4x32x4x4xf8E4M3FN, global>, !tirx.tile<2x4x32x4x4xf8E4M3FN, shared>
    tirx.copy %ssfa, %tsfa : !tirx.tile<128x16xf8E4M3FN, shared>, !tirx.tile<128x16xf8E4M3FN, tensor>
    tirx.copy %ssfb, %tsfb : !tirx.tile<256x16xf8E4M3FN, shared>, !tirx.tile<256x16xf8E4M3FN, tensor>

    tirx.mma %sa, %sb, %acc scales(%tsfa, %tsfb) : !a_shared, !b_shared, !acc, !tirx.tile<128x16xf8E4M3FN, tensor>, !tirx.tile<256x16xf8E4M3FN, tensor>
  }

  %gd = tirx.view %d[%m, %n] : memref<256x512xf32> -> !tirx.tile<128x256xf32, global>
  tirx.copy %acc, %gd : !acc, !tirx.tile<128x256xf32, global>
  tirx.return
}
