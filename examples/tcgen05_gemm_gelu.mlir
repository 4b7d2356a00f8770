// D = gelu(A * B^T + bias) in bf16 on Blackwell: A is Mx128 for any M, B is 128x128, both K-major, in bf16. The sums are
// loaded from tensor memory into registers, where the epilogue works on the whole tile.
//
//   tirx-opt --lower-to-ptx tcgen05_gemm_gelu.mlir

tirx.kernel @gemm_gelu(%a: memref<?x128xbf16>, %b: memref<128x128xbf16>, %bias: memref<1x128xf32>, %d: memref<?x128xbf16>)
    target("sm_100a") grid(2, ceildiv(size(0, 0), 128)) threads(128) {
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

  %sa = tirx.alloc : !tirx.tile<128x64xbf16, shared>
  %sb = tirx.alloc : !tirx.tile<64x64xbf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, tensor>

  tirx.fill %acc, %zero : f32, !tirx.tile<128x64xf32, tensor>
  scf.for %k = %c0 to %ck step %cbk {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x128xbf16> -> !tirx.tile<128x64xbf16, global>
    %gb = tirx.view %b[%n, %k] clipped : memref<128x128xbf16> -> !tirx.tile<64x64xbf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xbf16, global>, !tirx.tile<128x64xbf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<64x64xbf16, global>, !tirx.tile<64x64xbf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64xbf16, shared>, !tirx.tile<64x64xbf16, shared>, !tirx.tile<128x64xf32, tensor>
  }

  %gbias = tirx.view %bias[%c0, %n] clipped : memref<1x128xf32> -> !tirx.tile<1x64xf32, global>
  %tbias = tirx.load %gbias : !tirx.tile<1x64xf32, global> -> !tirx.tile<1x64xf32, register>
  %sums = tirx.load %acc : !tirx.tile<128x64xf32, tensor> -> !tirx.tile<128x64xf32, register>
  %td = tirx.map ins(%sums, %tbias : !tirx.tile<128x64xf32, register>, !tirx.tile<1x64xf32, register>) {
  ^bb0(%u: f32, %v: f32):
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %root = arith.constant 0.70710678 : f32
    %x = arith.addf %u, %v : f32
    %scaled = arith.mulf %x, %root : f32
    %erf = math.erf %scaled : f32
    %more = arith.addf %erf, %one : f32
    %weight = arith.mulf %more, %half : f32
    %gelu = arith.mulf %x, %weight : f32
    %result = arith.truncf %gelu : f32 to bf16
    tirx.yield %result : bf16
  } -> !tirx.tile<128x64xbf16, register>
  %gd = tirx.view %d[%m, %n] clipped : memref<?x128xbf16> -> !tirx.tile<128x64xbf16, global>
  tirx.copy %td, %gd : !tirx.tile<128x64xbf16, register>, !tirx.tile<128x64xbf16, global>
  tirx.return
}
