// The GEMM of tcgen05_gemm.mlir, one block, with every layout written by hand.
//
// - The operands are K-major with the 128-byte swizzle: one row of 64 f16 is one 128-byte line, and the swizzle
//   (per_element 3, swizzle_len 3, atom_len 3) permutes the 16-byte chunks of a line by its row modulo 8.
// - The accumulator is on data path D: row i on lane i, column j in column j of tensor memory.

#swizzle_128b = #tirx.swizzle_layout<3, 3, 3>
#a = #tirx.compose_layout<#swizzle_128b, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>
#b = #tirx.compose_layout<#swizzle_128b, #tirx.tile_layout<S[(256, 64) : (64, 1)]>>
#acc = #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>

!a = !tirx.tile<128x64xf16, shared, #a>
!b = !tirx.tile<256x64xf16, shared, #b>
!acc = !tirx.tile<128x256xf32, tensor, #acc>

tirx.kernel @gemm_explicit(%a: memref<128x256xf16>, %b: memref<256x256xf16>, %d: memref<128x256xf32>)
    target("sm_100a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32

  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %acc = tirx.alloc : !acc

  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c256 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<128x256xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%c0, %k] : memref<256x256xf16> -> !tirx.tile<256x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !a
    tirx.copy %gb, %sb : !tirx.tile<256x64xf16, global>, !b
    tirx.mma %sa, %sb, %acc : !a, !b, !acc
  }

  %gd = tirx.view %d[%c0, %c0] : memref<128x256xf32> -> !tirx.tile<128x256xf32, global>
  tirx.copy %acc, %gd : !acc, !tirx.tile<128x256xf32, global>
  tirx.return
}
