// What a GEMM does to its sums before they are stored, by mma.sync.m16n8k16 (sm_80 and later): A is Mx128 for any M, B is
// 128x128, both K-major, in f16. Other sizes than 128 need nothing but their numbers.
//
//   tirx-opt --lower-to-ptx mma_gemm_epilogues.mlir

// D = max(A * B^T + bias, 0) + R, in f16: the bias has one element for every column, R is a residual.

tirx.kernel @bias_relu_residual(%a: memref<?x128xf16>, %b: memref<128x128xf16>, %bias: memref<1x128xf16>, %r: memref<?x128xf16>, %d: memref<?x128xf16>)
    target("sm_80") grid(2, ceildiv(size(0, 0), 128)) threads(128) {
  %c0 = arith.constant 0 : index
  %ck = arith.constant 128 : index
  %cbk = arith.constant 64 : index
  %cbm = arith.constant 128 : index
  %cbn = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %cbm : index
  %n = arith.muli %j, %cbn : index

  %sa = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, register>

  tirx.fill %acc, %zero : f32, !tirx.tile<128x64xf32, register>
  scf.for %k = %c0 to %ck step %cbk {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x128xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%n, %k] clipped : memref<128x128xf16> -> !tirx.tile<64x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, register>
  }

  // The epilogue works on whole tiles, in the registers that hold the sums.
  %gbias = tirx.view %bias[%c0, %n] clipped : memref<1x128xf16> -> !tirx.tile<1x64xf16, global>
  %gr = tirx.view %r[%m, %n] clipped : memref<?x128xf16> -> !tirx.tile<128x64xf16, global>
  %tbias = tirx.load %gbias : !tirx.tile<1x64xf16, global> -> !tirx.tile<1x64xf16, register>
  %tr = tirx.load %gr : !tirx.tile<128x64xf16, global> -> !tirx.tile<128x64xf16, register>
  %td = tirx.map ins(%acc, %tbias, %tr : !tirx.tile<128x64xf32, register>, !tirx.tile<1x64xf16, register>, !tirx.tile<128x64xf16, register>) {
  ^bb0(%x: f32, %y: f16, %z: f16):
    %wide = arith.extf %y : f16 to f32
    %sum = arith.addf %x, %wide : f32
    %positive = arith.maximumf %sum, %zero : f32
    %half = arith.truncf %positive : f32 to f16
    %result = arith.addf %half, %z : f16
    tirx.yield %result : f16
  } -> !tirx.tile<128x64xf16, register>
  %gd = tirx.view %d[%m, %n] clipped : memref<?x128xf16> -> !tirx.tile<128x64xf16, global>
  tirx.copy %td, %gd : !tirx.tile<128x64xf16, register>, !tirx.tile<128x64xf16, global>
  tirx.return
}

// C = alpha * A * B^T + beta * C, in f32.

tirx.kernel @alpha_beta(%a: memref<?x128xf16>, %b: memref<128x128xf16>, %c: memref<?x128xf32>, %alpha: f32, %beta: f32)
    target("sm_80") grid(2, ceildiv(size(0, 0), 128)) threads(128) {
  %c0 = arith.constant 0 : index
  %ck = arith.constant 128 : index
  %cbk = arith.constant 64 : index
  %cbm = arith.constant 128 : index
  %cbn = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %cbm : index
  %n = arith.muli %j, %cbn : index

  %sa = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, register>

  tirx.fill %acc, %zero : f32, !tirx.tile<128x64xf32, register>
  scf.for %k = %c0 to %ck step %cbk {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x128xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%n, %k] clipped : memref<128x128xf16> -> !tirx.tile<64x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, register>
  }

  %gc = tirx.view %c[%m, %n] clipped : memref<?x128xf32> -> !tirx.tile<128x64xf32, global>
  %tc = tirx.load %gc : !tirx.tile<128x64xf32, global> -> !tirx.tile<128x64xf32, register>
  tirx.map ins(%acc, %tc : !tirx.tile<128x64xf32, register>, !tirx.tile<128x64xf32, register>) outs(%acc : !tirx.tile<128x64xf32, register>) {
  ^bb0(%x: f32, %y: f32):
    %scaled = arith.mulf %beta, %y : f32
    %result = math.fma %alpha, %x, %scaled : f32
    tirx.yield %result : f32
  }
  tirx.copy %acc, %gc : !tirx.tile<128x64xf32, register>, !tirx.tile<128x64xf32, global>
  tirx.return
}
