// pipeline: multiprocessors=2
tirx.kernel @k(%a: memref<192x64xf32>, %d: memref<192x64xf32>) target("sm_90a") grid(%i = 3) threads(65) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %s = tirx.alloc : !tirx.tile<64x16xf32, shared>
  scf.for %k = %c0 to %c64 step %c16 {
    tirx.copy %a[%i * 64, %k], %s : memref<192x64xf32>, !tirx.tile<64x16xf32, shared>
    tirx.copy %s, %d[%i * 64, %k] : !tirx.tile<64x16xf32, shared>, memref<192x64xf32>
  }
}
