// E = (A * B^T) * C^T with the intermediate result in tensor memory, as in attention: the sums of the first product
// are the A of the second one. Both are f16; sums of f16 have a column of 32 bits each, while A is packed two to a
// column, so they go through registers once: tcgen05.ld packs them, tcgen05.st puts them back beside each other. No
// layout is written: tirx-pick-layouts gives the accumulators and A the data path of M = 128, one row to a lane.

tirx.kernel @two_products(%a: memref<128x64xf16>, %b: memref<64x64xf16>, %c: memref<128x64xf16>,
                          %e: memref<128x128xf32>)
    target("sm_100a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %zero16 = arith.constant 0.0 : f16
  %zero = arith.constant 0.0 : f32

  %sa = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %sc = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %sums = tirx.alloc : !tirx.tile<128x64xf16, tensor>
  %registers = tirx.alloc : !tirx.tile<128x64xf16, register>
  %packed = tirx.alloc : !tirx.tile<128x64xf16, tensor>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>

  %ga = tirx.view %a[%c0, %c0] : memref<128x64xf16> -> !tirx.tile<128x64xf16, global>
  %gb = tirx.view %b[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
  %gc = tirx.view %c[%c0, %c0] : memref<128x64xf16> -> !tirx.tile<128x64xf16, global>
  tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
  tirx.copy %gb, %sb : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
  tirx.copy %gc, %sc : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>

  tirx.fill %sums, %zero16 : f16, !tirx.tile<128x64xf16, tensor>
  tirx.mma %sa, %sb, %sums
      : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf16, tensor>

  tirx.copy %sums, %registers : !tirx.tile<128x64xf16, tensor>, !tirx.tile<128x64xf16, register>
  tirx.copy %registers, %packed : !tirx.tile<128x64xf16, register>, !tirx.tile<128x64xf16, tensor>

  tirx.fill %acc, %zero : f32, !tirx.tile<128x128xf32, tensor>
  tirx.mma %packed, %sc, %acc
      : !tirx.tile<128x64xf16, tensor>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>

  %ge = tirx.view %e[%c0, %c0] : memref<128x128xf32> -> !tirx.tile<128x128xf32, global>
  tirx.copy %acc, %ge : !tirx.tile<128x128xf32, tensor>, !tirx.tile<128x128xf32, global>
  tirx.return
}
