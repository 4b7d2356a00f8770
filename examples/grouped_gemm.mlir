// Y = X * W[e]^T in f16 on Hopper for a mixture of experts: the rows of X (tokens) are sorted by expert, those of each fill
// whole blocks of 128 rows, and `%experts` has the expert of each block. Any number of tokens and experts; W is
// experts x N x K with N = 256 and K = 128.
//
//   tirx-opt --lower-to-ptx grouped_gemm.mlir

!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<256x64xf16, shared>
!sums = !tirx.tile<128x256xf32, register>
!halves = !tirx.tile<128x256xf16, register>

tirx.kernel @grouped_gemm(%x: memref<?x128xf16>, %w: memref<?x256x128xf16>, %experts: memref<?xi32>,
    %y: memref<?x256xf16>) target("sm_90a") grid(1, ceildiv(size(0, 0), 128)) threads(256) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c256 : index
  %expert = memref.load %experts[%i] : memref<?xi32>
  %e = arith.index_cast %expert : i32 to index

  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %acc = tirx.alloc : !sums
  tirx.fill %acc, %zero : f32, !sums
  scf.for %k = %c0 to %c128 step %c64 {
    %gx = tirx.view %x[%m, %k] clipped : memref<?x128xf16> -> !tirx.tile<128x64xf16, global>
    %gw = tirx.view %w[%e, %n, %k] clipped : memref<?x256x128xf16> -> !tirx.tile<256x64xf16, global>
    tirx.copy %gx, %sa : !tirx.tile<128x64xf16, global>, !a
    tirx.copy %gw, %sb : !tirx.tile<256x64xf16, global>, !b
    tirx.mma %sa, %sb, %acc : !a, !b, !sums
  }

  %result = tirx.map ins(%acc : !sums) {
  ^bb0(%s: f32):
    %h = arith.truncf %s : f32 to f16
    tirx.yield %h : f16
  } -> !halves
  %gy = tirx.view %y[%m, %n] clipped : memref<?x256xf16> -> !tirx.tile<128x256xf16, global>
  tirx.copy %result, %gy : !halves, !tirx.tile<128x256xf16, global>
  tirx.return
}
