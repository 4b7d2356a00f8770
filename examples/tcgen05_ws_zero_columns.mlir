// A product that treats some columns of B as zero, whatever shared memory holds there: runs of 3 zeroed columns and
// 4 used ones from column 0 on, as padding along the rows of a convolution asks for. zero_columns selects
// tcgen05.mma.ws; the zero-column mask descriptor is found by the compiler, one sub-mask for every 32 columns here
// (M = 64, N = 64). B is read from column 2 on (shift = 2), so its tile holds N + 2 columns, rounded up to a whole
// number of 8-row groups by the memref below.

tirx.kernel @ws_zero_columns(%a: memref<64x64xf16>, %b: memref<66x64xf16>, %d: memref<64x64xf32>)
    target("sm_100a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32

  %sa = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<66x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>

  %ga = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
  %gb = tirx.view %b[%c0, %c0] : memref<66x64xf16> -> !tirx.tile<66x64xf16, global>
  tirx.copy %ga, %sa : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
  tirx.copy %gb, %sb : !tirx.tile<66x64xf16, global>, !tirx.tile<66x64xf16, shared>

  tirx.fill %acc, %zero : f32, !tirx.tile<64x64xf32, tensor>
  tirx.mma %sa, %sb, %acc zero_columns(start = 0, zero = 3, use = 4, shift = 2)
      : !tirx.tile<64x64xf16, shared>, !tirx.tile<66x64xf16, shared>, !tirx.tile<64x64xf32, tensor>

  %gd = tirx.view %d[%c0, %c0] : memref<64x64xf32> -> !tirx.tile<64x64xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<64x64xf32, tensor>, !tirx.tile<64x64xf32, global>
  tirx.return
}
