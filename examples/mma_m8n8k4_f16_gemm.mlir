// D = A * B^T in f16 with mma.sync.m8n8k4 on Volta and Turing (emulated from sm_80 on), f32 accumulation. Four warps
// tile a 64x64 block. No layout is written: tirx-pick-layouts lays out the fragments, with the four 8x8x4 products
// of the instruction as a 2x2 square, and copies of A and B where several lanes need them.

tirx.kernel @hgemm(%a: memref<128x64xf16>, %b: memref<128x64xf16>, %d: memref<128x128xf32>)
    target("sm_70") grid(2, 2) threads(128) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c64 : index

  %ra = tirx.alloc : !tirx.tile<64x16xf16, register>
  %rb = tirx.alloc : !tirx.tile<64x16xf16, register>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, register>

  tirx.fill %acc, %zero : f32, !tirx.tile<64x64xf32, register>
  scf.for %k = %c0 to %c64 step %c16 {
    %ga = tirx.view %a[%m, %k] : memref<128x64xf16> -> !tirx.tile<64x16xf16, global>
    %gb = tirx.view %b[%n, %k] : memref<128x64xf16> -> !tirx.tile<64x16xf16, global>
    tirx.copy %ga, %ra : !tirx.tile<64x16xf16, global>, !tirx.tile<64x16xf16, register>
    tirx.copy %gb, %rb : !tirx.tile<64x16xf16, global>, !tirx.tile<64x16xf16, register>
    tirx.mma %ra, %rb, %acc : !tirx.tile<64x16xf16, register>, !tirx.tile<64x16xf16, register>, !tirx.tile<64x64xf32, register>
  }

  %gd = tirx.view %d[%m, %n] : memref<128x128xf32> -> !tirx.tile<64x64xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<64x64xf32, register>, !tirx.tile<64x64xf32, global>
  tirx.return
}
