// D = A * B^T of signed bytes with 32-bit integer sums on Blackwell: 256x256 with K = 512, one 128x128 tile for every
// block. Element types choose the kind: i8 and si8 are signed, ui8 unsigned (A and B may differ), and i32 sums make it
// kind::i8. `saturate` keeps sums at the ends of the range of i32, where they would wrap without it. One row of
// 128 bytes of K is one line of the 128-byte swizzle, and four instructions of K = 32.

tirx.kernel @i8_gemm(%a: memref<256x512xi8>, %b: memref<256x512xi8>, %d: memref<256x256xi32>)
    target("sm_100a") grid(2, 2) threads(128) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c512 = arith.constant 512 : index
  %zero = arith.constant 0 : i32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c128 : index

  %sa = tirx.alloc : !tirx.tile<128x128xi8, shared>
  %sb = tirx.alloc : !tirx.tile<128x128xi8, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xi32, tensor>

  tirx.fill %acc, %zero : i32, !tirx.tile<128x128xi32, tensor>
  scf.for %k = %c0 to %c512 step %c128 {
    %ga = tirx.view %a[%m, %k] : memref<256x512xi8> -> !tirx.tile<128x128xi8, global>
    %gb = tirx.view %b[%n, %k] : memref<256x512xi8> -> !tirx.tile<128x128xi8, global>
    tirx.copy %ga, %sa : !tirx.tile<128x128xi8, global>, !tirx.tile<128x128xi8, shared>
    tirx.copy %gb, %sb : !tirx.tile<128x128xi8, global>, !tirx.tile<128x128xi8, shared>
    tirx.mma %sa, %sb, %acc saturate
        : !tirx.tile<128x128xi8, shared>, !tirx.tile<128x128xi8, shared>, !tirx.tile<128x128xi32, tensor>
  }

  %gd = tirx.view %d[%m, %n] : memref<256x256xi32> -> !tirx.tile<128x128xi32, global>
  tirx.copy %acc, %gd : !tirx.tile<128x128xi32, tensor>, !tirx.tile<128x128xi32, global>
  tirx.return
}
