// D = max(A * B^T + bias, 0) with A, B and D in f16 and sums in f32: one program for four generations of GPUs. The memory
// `accumulator` is tensor memory where the target multiplies there, registers elsewhere. This is mma.sync.m16n8k8 on
// Turing, mma.sync.m16n8k16 with cp.async on Ampere, wgmma on Hopper and tcgen05.mma on Blackwell, both with bulk tensor
// copies. A and B have any number of rows; on Hopper and Blackwell rows of D start at multiples of 16 bytes.
//
//   tirx-opt --lower-to-ptx="target=sm_75" gemm_any_target.mlir
//   tirx-opt --lower-to-ptx="target=sm_80" gemm_any_target.mlir
//   tirx-opt --lower-to-ptx="target=sm_90a" gemm_any_target.mlir
//   tirx-opt --lower-to-ptx="target=sm_100a" gemm_any_target.mlir

tirx.kernel @gemm_any_target(%a: memref<?x256xf16>, %b: memref<?x256xf16>, %bias: memref<1x?xf16>, %d: memref<?x?xf16>)
    target("sm_80") grid(ceildiv(size(1, 0), 64), ceildiv(size(0, 0), 128)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %size = memref.dim %a, %c1 : memref<?x256xf16>
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c64 : index

  %sa = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, accumulator>

  tirx.fill %acc, %zero : f32, !tirx.tile<128x64xf32, accumulator>
  scf.for %k = %c0 to %size step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x256xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%n, %k] clipped : memref<?x256xf16> -> !tirx.tile<64x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, accumulator>
  }

  %gbias = tirx.view %bias[%c0, %n] clipped : memref<1x?xf16> -> !tirx.tile<1x64xf16, global>
  %tbias = tirx.load %gbias : !tirx.tile<1x64xf16, global> -> !tirx.tile<1x64xf16, register>
  %result = tirx.map ins(%acc, %tbias : !tirx.tile<128x64xf32, accumulator>, !tirx.tile<1x64xf16, register>) {
  ^bb0(%x: f32, %y: f16):
    %wide = arith.extf %y : f16 to f32
    %sum = arith.addf %x, %wide : f32
    %positive = arith.maximumf %sum, %zero : f32
    %half = arith.truncf %positive : f32 to f16
    tirx.yield %half : f16
  } -> !tirx.tile<128x64xf16, register>
  %gd = tirx.view %d[%m, %n] clipped : memref<?x?xf16> -> !tirx.tile<128x64xf16, global>
  tirx.copy %result, %gd : !tirx.tile<128x64xf16, register>, !tirx.tile<128x64xf16, global>
  tirx.return
}
