// D = A * B^T with scale factors along K, for all of Blackwell: MXFP8 (e4m3 with a power of two for every 32 elements of a
// row, as quantize_mxfp8.mlir writes them) and NVFP4 (e2m1 with an e4m3 without sign for every 16). A and B have any number
// of rows. Sums and scale factors are in the memory `accumulator`: in tensor memory on sm_100a, sm_103a, sm_107a and
// sm_110a, where tcgen05.mma multiplies, in registers on sm_120a and sm_121a, where mma.sync does.
//
//   tirx-opt --lower-to-ptx="target=sm_100a" block_scaled_any_target.mlir
//   tirx-opt --lower-to-ptx="target=sm_120a" block_scaled_any_target.mlir

!sums = !tirx.tile<128x128xf32, accumulator>
!result = !tirx.tile<128x128xf32, global>

!mxfp8_matrix = memref<?x512xf8E4M3FN>
!mxfp8_factors = memref<?x16xf8E8M0FNU>
!mxfp8_part = !tirx.tile<128x128xf8E4M3FN, global>
!mxfp8_operand = !tirx.tile<128x128xf8E4M3FN, shared>
!mxfp8_factors_part = !tirx.tile<128x4xf8E8M0FNU, global>
!mxfp8_scales = !tirx.tile<128x4xf8E8M0FNU, accumulator>

tirx.kernel @mxfp8(%a: !mxfp8_matrix, %sa: !mxfp8_factors, %b: !mxfp8_matrix, %sb: !mxfp8_factors, %d: memref<?x?xf32>)
    target("sm_100a") grid(ceildiv(size(2, 0), 128), ceildiv(size(0, 0), 128)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c128 : index

  %ta = tirx.alloc : !mxfp8_operand
  %tb = tirx.alloc : !mxfp8_operand
  %fa = tirx.alloc : !mxfp8_scales
  %fb = tirx.alloc : !mxfp8_scales
  %acc = tirx.alloc : !sums
  tirx.fill %acc, %zero : f32, !sums
  scf.for %step = %c0 to %c4 step %c1 {
    %k = arith.muli %step, %c128 : index
    %block = arith.muli %step, %c4 : index
    %ga = tirx.view %a[%m, %k] clipped : !mxfp8_matrix -> !mxfp8_part
    %gb = tirx.view %b[%n, %k] clipped : !mxfp8_matrix -> !mxfp8_part
    %gfa = tirx.view %sa[%m, %block] clipped : !mxfp8_factors -> !mxfp8_factors_part
    %gfb = tirx.view %sb[%n, %block] clipped : !mxfp8_factors -> !mxfp8_factors_part
    tirx.copy %ga, %ta : !mxfp8_part, !mxfp8_operand
    tirx.copy %gb, %tb : !mxfp8_part, !mxfp8_operand
    tirx.copy %gfa, %fa : !mxfp8_factors_part, !mxfp8_scales
    tirx.copy %gfb, %fb : !mxfp8_factors_part, !mxfp8_scales
    tirx.mma %ta, %tb, %acc scales(%fa, %fb) : !mxfp8_operand, !mxfp8_operand, !sums, !mxfp8_scales, !mxfp8_scales
  }
  %gd = tirx.view %d[%m, %n] clipped : memref<?x?xf32> -> !result
  tirx.copy %acc, %gd : !sums, !result
  tirx.return
}

!nvfp4_matrix = memref<?x512xf4E2M1FN>
!nvfp4_factors = memref<?x32xf8E4M3FN>
!nvfp4_part = !tirx.tile<128x256xf4E2M1FN, global>
!nvfp4_operand = !tirx.tile<128x256xf4E2M1FN, shared>
!nvfp4_factors_part = !tirx.tile<128x16xf8E4M3FN, global>
!nvfp4_scales = !tirx.tile<128x16xf8E4M3FN, accumulator>

tirx.kernel @nvfp4(%a: !nvfp4_matrix, %sa: !nvfp4_factors, %b: !nvfp4_matrix, %sb: !nvfp4_factors, %d: memref<?x?xf32>)
    target("sm_100a") grid(ceildiv(size(2, 0), 128), ceildiv(size(0, 0), 128)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c128 : index

  %ta = tirx.alloc : !nvfp4_operand
  %tb = tirx.alloc : !nvfp4_operand
  %fa = tirx.alloc : !nvfp4_scales
  %fb = tirx.alloc : !nvfp4_scales
  %acc = tirx.alloc : !sums
  tirx.fill %acc, %zero : f32, !sums
  scf.for %step = %c0 to %c2 step %c1 {
    %k = arith.muli %step, %c256 : index
    %block = arith.muli %step, %c16 : index
    %ga = tirx.view %a[%m, %k] clipped : !nvfp4_matrix -> !nvfp4_part
    %gb = tirx.view %b[%n, %k] clipped : !nvfp4_matrix -> !nvfp4_part
    %gfa = tirx.view %sa[%m, %block] clipped : !nvfp4_factors -> !nvfp4_factors_part
    %gfb = tirx.view %sb[%n, %block] clipped : !nvfp4_factors -> !nvfp4_factors_part
    tirx.copy %ga, %ta : !nvfp4_part, !nvfp4_operand
    tirx.copy %gb, %tb : !nvfp4_part, !nvfp4_operand
    tirx.copy %gfa, %fa : !nvfp4_factors_part, !nvfp4_scales
    tirx.copy %gfb, %fb : !nvfp4_factors_part, !nvfp4_scales
    tirx.mma %ta, %tb, %acc scales(%fa, %fb) : !nvfp4_operand, !nvfp4_operand, !sums, !nvfp4_scales, !nvfp4_scales
  }
  %gd = tirx.view %d[%m, %n] clipped : memref<?x?xf32> -> !result
  tirx.copy %acc, %gd : !sums, !result
  tirx.return
}
