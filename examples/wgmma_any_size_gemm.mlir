// D = A * B^T in f16 on Hopper for matrices of any size: one kernel, which reads M, N and K at the launch. A is MxK and
// B is NxK; what tiles have beyond the matrices is read as zero, and dropped when it is written. Rows of the matrices
// start at multiples of 16 bytes.
//
//   tirx-opt --lower-to-ptx wgmma_any_size_gemm.mlir
//   tirx-opt --lower-to-ptx="pipeline=off" wgmma_any_size_gemm.mlir      (not persistent, without rings)

tirx.kernel @wgmma_any_size_gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %d: memref<?x?xf16>)
    target("sm_90a") grid(ceildiv(size(2, 1), 256), ceildiv(size(2, 0), 128)) threads(256) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %size = memref.dim %a, %c1 : memref<?x?xf16>
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c256 : index

  %sa = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<256x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x256xf32, register>
  %sums = tirx.alloc : !tirx.tile<128x256xf16, register>
  %sd = tirx.alloc : !tirx.tile<128x256xf16, shared>

  tirx.fill %acc, %zero : f32, !tirx.tile<128x256xf32, register>
  scf.for %k = %c0 to %size step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x?xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%n, %k] clipped : memref<?x?xf16> -> !tirx.tile<256x64xf16, global>
    tirx.copy %ga, %sa engine tma : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.copy %gb, %sb engine tma : !tirx.tile<256x64xf16, global>, !tirx.tile<256x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<256x64xf16, shared>, !tirx.tile<128x256xf32, register>
  }

  tirx.map ins(%acc : !tirx.tile<128x256xf32, register>) outs(%sums : !tirx.tile<128x256xf16, register>) {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    tirx.yield %y : f16
  }
  %gd = tirx.view %d[%m, %n] clipped : memref<?x?xf16> -> !tirx.tile<128x256xf16, global>
  tirx.copy %sums, %sd : !tirx.tile<128x256xf16, register>, !tirx.tile<128x256xf16, shared>
  tirx.copy %sd, %gd engine tma_store : !tirx.tile<128x256xf16, shared>, !tirx.tile<128x256xf16, global>
  tirx.return
}
