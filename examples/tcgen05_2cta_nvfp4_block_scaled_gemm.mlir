// The NVFP4 GEMM of tcgen05_nvfp4_block_scaled_gemm.mlir by pairs of blocks: every pair computes a 256x256 tile of D
// with tcgen05.mma.cta_group::2. A is 256x1024, B 512x1024, both K-major, in e2m1 with a ue4m3 scale factor for every 16
// elements along K; in global memory the scale factors have the order of cuBLAS and PyTorch, blocks of 128 rows by 4.
//
// tirx-split-pairs gives each block half of the rows of A, of B and of the accumulator. The scale factors of A go with
// its rows; those of B are needed for all columns of D, so that both blocks keep all of them. One thread of the pair
// issues tcgen05.cp and tcgen05.mma for both. `grid` and `tirx.block_id` count pairs: this is launched with 4 x 1 blocks
// of 128 threads.
//
//   tirx-opt --lower-to-ptx tcgen05_2cta_nvfp4_block_scaled_gemm.mlir

!a_shared = !tirx.tile<256x256xf4E2M1FN, shared>
!b_shared = !tirx.tile<256x256xf4E2M1FN, shared>
!acc = !tirx.tile<256x256xf32, tensor>
!sfa_global = memref<2x4x32x16x4xf8E4M3FN, strided<[8192, 4, 16, 512, 1]>>
!sfb_global = memref<4x4x32x16x4xf8E4M3FN, strided<[8192, 4, 16, 512, 1]>>

tirx.kernel @pair_nvfp4_gemm(%a: memref<256x1024xf4E2M1FN>, %b: memref<512x1024xf4E2M1FN>, %sfa: !sfa_global,
    %sfb: !sfb_global, %d: memref<256x512xf32>) target("sm_100a") grid(2) cluster(2) threads(128) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32

  %j = tirx.block_id x
  %n = arith.muli %j, %c256 : index
  %n_block = arith.muli %j, %c2 : index

  %sa = tirx.alloc : !a_shared
  %sb = tirx.alloc : !b_shared
  %ssfa = tirx.alloc : !tirx.tile<256x16xf8E4M3FN, shared>
  %ssfb = tirx.alloc : !tirx.tile<256x16xf8E4M3FN, shared>
  %tsfa = tirx.alloc : !tirx.tile<256x16xf8E4M3FN, tensor>
  %tsfb = tirx.alloc : !tirx.tile<256x16xf8E4M3FN, tensor>
  %acc = tirx.alloc : !acc

  tirx.fill %acc, %zero : f32, !acc
  // One step is 256 elements of K: 16 scale factors of each row, 4 blocks of them, and 4 instructions.
  scf.for %step = %c0 to %c16 step %c4 {
    %k = arith.muli %step, %c64 : index
    %ga = tirx.view %a[%c0, %k] : memref<256x1024xf4E2M1FN> -> !tirx.tile<256x256xf4E2M1FN, global>
    %gb = tirx.view %b[%n, %k] : memref<512x1024xf4E2M1FN> -> !tirx.tile<256x256xf4E2M1FN, global>
    tirx.copy %ga, %sa : !tirx.tile<256x256xf4E2M1FN, global>, !a_shared
    tirx.copy %gb, %sb : !tirx.tile<256x256xf4E2M1FN, global>, !b_shared

    %gsfa = tirx.view %sfa[%c0, %c0, %c0, %step, %c0] : !sfa_global -> !tirx.tile<2x4x32x4x4xf8E4M3FN, global>
    %gsfb = tirx.view %sfb[%n_block, %c0, %c0, %step, %c0] : !sfb_global -> !tirx.tile<2x4x32x4x4xf8E4M3FN, global>
    %ssfa_blocks = tirx.reshape %ssfa : !tirx.tile<256x16xf8E4M3FN, shared> -> !tirx.tile<2x4x32x4x4xf8E4M3FN, shared>
    %ssfb_blocks = tirx.reshape %ssfb : !tirx.tile<256x16xf8E4M3FN, shared> -> !tirx.tile<2x4x32x4x4xf8E4M3FN, shared>
    tirx.copy %gsfa, %ssfa_blocks : !tirx.tile<2x4x32x4x4xf8E4M3FN, global>, !tirx.tile<2x4x32x4x4xf8E4M3FN, shared>
    tirx.copy %gsfb, %ssfb_blocks : !tirx.tile<2x4x32x4x4xf8E4M3FN, global>, !tirx.tile<2x4x32x4x4xf8E4M3FN, shared>
    tirx.copy %ssfa, %tsfa : !tirx.tile<256x16xf8E4M3FN, shared>, !tirx.tile<256x16xf8E4M3FN, tensor>
    tirx.copy %ssfb, %tsfb : !tirx.tile<256x16xf8E4M3FN, shared>, !tirx.tile<256x16xf8E4M3FN, tensor>

    tirx.mma %sa, %sb, %acc scales(%tsfa, %tsfb) : !a_shared, !b_shared, !acc, !tirx.tile<256x16xf8E4M3FN, tensor>, !tirx.tile<256x16xf8E4M3FN, tensor>
  }

  %gd = tirx.view %d[%c0, %n] : memref<256x512xf32> -> !tirx.tile<256x256xf32, global>
  tirx.copy %acc, %gd : !acc, !tirx.tile<256x256xf32, global>
  tirx.return
}
