// D = A * B^T in f64 by mma.sync.m16n8k8 (sm_90 and later): A is 256x32, B is 256x32, both K-major. Eight warps hold
// 32x64 elements of a 128x128 tile of D each; 16 elements of K are staged in shared memory at a time. tirx-pick-
// layouts chooses a swizzle of 128 bytes and an order of the rows of the fragments in which loads of 8 bytes have no
// bank conflicts.
//
//   tirx-opt --lower-to-ptx mma_m16n8k8_f64_gemm.mlir
//   tirx-opt --lower-to-ptx="stages=5 roles=load" mma_m16n8k8_f64_gemm.mlir      (TMA, by warps of their own)

tirx.kernel @mma_f64_gemm(%a: memref<256x32xf64>, %b: memref<256x32xf64>, %d: memref<256x256xf64>)
    target("sm_90a") grid(2, 2) threads(256) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f64

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c128 : index

  %sa = tirx.alloc : !tirx.tile<128x16xf64, shared>
  %sb = tirx.alloc : !tirx.tile<128x16xf64, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf64, register>

  tirx.fill %acc, %zero : f64, !tirx.tile<128x128xf64, register>
  scf.for %k = %c0 to %c32 step %c16 {
    %ga = tirx.view %a[%m, %k] : memref<256x32xf64> -> !tirx.tile<128x16xf64, global>
    %gb = tirx.view %b[%n, %k] : memref<256x32xf64> -> !tirx.tile<128x16xf64, global>
    tirx.copy %ga, %sa : !tirx.tile<128x16xf64, global>, !tirx.tile<128x16xf64, shared>
    tirx.copy %gb, %sb : !tirx.tile<128x16xf64, global>, !tirx.tile<128x16xf64, shared>
    tirx.mma %sa, %sb, %acc instruction("m16n8k8") : !tirx.tile<128x16xf64, shared>, !tirx.tile<128x16xf64, shared>, !tirx.tile<128x128xf64, register>
  }

  %gd = tirx.view %d[%m, %n] : memref<256x256xf64> -> !tirx.tile<128x128xf64, global>
  tirx.copy %acc, %gd : !tirx.tile<128x128xf64, register>, !tirx.tile<128x128xf64, global>
  tirx.return
}
