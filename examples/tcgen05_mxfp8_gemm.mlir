// D = A * B^T on Blackwell for e4m3 with a power of two for every 32 elements of a row (MX format), as quantize_mxfp8.mlir
// writes them: A is M x 1024 with factors M x 32, B is N x 1024 with factors N x 32, for any M and N. The factors go from
// global memory to tensor memory, where the product reads them.
//
//   tirx-opt --lower-to-ptx tcgen05_mxfp8_gemm.mlir

!matrix = memref<?x1024xf8E4M3FN>
!factors = memref<?x32xf8E8M0FNU>
!part = !tirx.tile<128x128xf8E4M3FN, global>
!operand = !tirx.tile<128x128xf8E4M3FN, shared>
!factors_part = !tirx.tile<128x4xf8E8M0FNU, global>
!scales = !tirx.tile<128x4xf8E8M0FNU, tensor>
!sums = !tirx.tile<128x128xf32, tensor>

tirx.kernel @mxfp8_gemm(%a: !matrix, %sa: !factors, %b: !matrix, %sb: !factors, %d: memref<?x?xf32>)
    target("sm_100a") grid(ceildiv(size(2, 0), 128), ceildiv(size(0, 0), 128)) threads(128) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c128 : index

  %ta = tirx.alloc : !operand
  %tb = tirx.alloc : !operand
  %fa = tirx.alloc : !scales
  %fb = tirx.alloc : !scales
  %acc = tirx.alloc : !sums
  tirx.fill %acc, %zero : f32, !sums
  scf.for %step = %c0 to %c8 step %c1 {
    %k = arith.muli %step, %c128 : index
    %block = arith.muli %step, %c4 : index
    %ga = tirx.view %a[%m, %k] clipped : !matrix -> !part
    %gb = tirx.view %b[%n, %k] clipped : !matrix -> !part
    %gfa = tirx.view %sa[%m, %block] clipped : !factors -> !factors_part
    %gfb = tirx.view %sb[%n, %block] clipped : !factors -> !factors_part
    tirx.copy %ga, %ta : !part, !operand
    tirx.copy %gb, %tb : !part, !operand
    tirx.copy %gfa, %fa : !factors_part, !scales
    tirx.copy %gfb, %fb : !factors_part, !scales
    tirx.mma %ta, %tb, %acc scales(%fa, %fb) : !operand, !operand, !sums, !scales, !scales
  }
  %gd = tirx.view %d[%m, %n] clipped : memref<?x?xf32> -> !tirx.tile<128x128xf32, global>
  tirx.copy %acc, %gd : !sums, !tirx.tile<128x128xf32, global>
  tirx.return
}
