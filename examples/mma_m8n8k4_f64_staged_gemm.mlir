// D = A * B^T in f64 by mma.sync.m8n8k4 (sm_80 and later): A is 256x32, B is 256x32, both K-major. As in
// mma_m16n8k8_f64_gemm.mlir, tiles are staged in shared memory and no layout is written; here a lane loads two
// neighbours along K at once, for two instructions.
//
//   tirx-opt --lower-to-ptx mma_m8n8k4_f64_staged_gemm.mlir

tirx.kernel @staged_dgemm(%a: memref<256x32xf64>, %b: memref<256x32xf64>, %d: memref<256x256xf64>)
    target("sm_80") grid(2, 2) threads(256) {
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
    tirx.mma %sa, %sb, %acc instruction("m8n8k4") : !tirx.tile<128x16xf64, shared>, !tirx.tile<128x16xf64, shared>, !tirx.tile<128x128xf64, register>
  }

  %gd = tirx.view %d[%m, %n] : memref<256x256xf64> -> !tirx.tile<128x128xf64, global>
  tirx.copy %acc, %gd : !tirx.tile<128x128xf64, register>, !tirx.tile<128x128xf64, global>
  tirx.return
}
