// D = scale * A * B^T in e4m3, by mma.sync.m16n8k16 on bf16 (sm_89 and later, which convert to 8 bits): A is Mx128 for any M, B
// is 128x128, both K-major. Two numbers are converted at a time; those that e4m3 does not reach become its largest.
//
//   tirx-opt --lower-to-ptx mma_gemm_fp8_output.mlir

tirx.kernel @fp8_output(%a: memref<?x128xbf16>, %b: memref<128x128xbf16>, %d: memref<?x128xf8E4M3FN>, %scale: f32)
    target("sm_89") grid(2, ceildiv(size(0, 0), 128)) threads(128) {
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
  %acc = tirx.alloc : !tirx.tile<128x64xf32, register>

  tirx.fill %acc, %zero : f32, !tirx.tile<128x64xf32, register>
  scf.for %k = %c0 to %ck step %cbk {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x128xbf16> -> !tirx.tile<128x64xbf16, global>
    %gb = tirx.view %b[%n, %k] clipped : memref<128x128xbf16> -> !tirx.tile<64x64xbf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xbf16, global>, !tirx.tile<128x64xbf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<64x64xbf16, global>, !tirx.tile<64x64xbf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64xbf16, shared>, !tirx.tile<64x64xbf16, shared>, !tirx.tile<128x64xf32, register>
  }

  %td = tirx.map ins(%acc : !tirx.tile<128x64xf32, register>) {
  ^bb0(%x: f32):
    %scaled = arith.mulf %x, %scale : f32
    %result = arith.truncf %scaled : f32 to f8E4M3FN
    tirx.yield %result : f8E4M3FN
  } -> !tirx.tile<128x64xf8E4M3FN, register>
  %gd = tirx.view %d[%m, %n] clipped : memref<?x128xf8E4M3FN> -> !tirx.tile<128x64xf8E4M3FN, global>
  tirx.copy %td, %gd : !tirx.tile<128x64xf8E4M3FN, register>, !tirx.tile<128x64xf8E4M3FN, global>
  tirx.return
}
