// D = A * B^T in f16 where A is 2:4 sparse: of every four neighbours along K two are zero, and only the other two are
// stored. A of 256x512 comes as 256x256 stored values and 256x128 codes of 4 bits, one code for every four elements of
// K: bits 0-1 say where the first stored value stands among the four, bits 2-3 where the second does. A row of
// 1, 0, 0, 2, 0, 3, 4, 0 is stored as 1, 2, 3, 4 with the codes 0b1100 and 0b1001; two codes make a byte, the first
// one in its low half.
//
// The tensor core multiplies twice the K per instruction (32 instead of 16) and reads the codes from tensor memory.
// tirx-pick-layouts puts them there: the codes of rows r and r + 8 share a column, four codes to a lane. One column
// serves one instruction, and an address stands for two columns, from which the sparsity selector of the instruction
// descriptor chooses: it alternates from instruction to instruction.

tirx.kernel @sparse_gemm(%a: memref<256x256xf16>, %e: memref<256x128xi4>, %b: memref<256x512xf16>,
                         %d: memref<256x256xf32>)
    target("sm_100a") grid(2, 2) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32

  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c128 : index

  %sa = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<128x128xf16, shared>
  %codes = tirx.alloc : !tirx.tile<128x32xi4, tensor>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>

  tirx.fill %acc, %zero : f32, !tirx.tile<128x128xf32, tensor>
  scf.for %step = %c0 to %c4 step %c1 {
    // 128 elements of K a step: 64 stored ones of A, 32 codes.
    %k = arith.muli %step, %c128 : index
    %stored = arith.muli %step, %c64 : index
    %code = arith.muli %step, %c32 : index
    %ga = tirx.view %a[%m, %stored] : memref<256x256xf16> -> !tirx.tile<128x64xf16, global>
    %ge = tirx.view %e[%m, %code] : memref<256x128xi4> -> !tirx.tile<128x32xi4, global>
    %gb = tirx.view %b[%n, %k] : memref<256x512xf16> -> !tirx.tile<128x128xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.copy %ge, %codes : !tirx.tile<128x32xi4, global>, !tirx.tile<128x32xi4, tensor>
    tirx.copy %gb, %sb : !tirx.tile<128x128xf16, global>, !tirx.tile<128x128xf16, shared>
    tirx.mma %sa, %sb, %acc metadata(%codes)
        : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf16, shared>, !tirx.tile<128x128xf32, tensor>,
          !tirx.tile<128x32xi4, tensor>
  }

  %gd = tirx.view %d[%m, %n] : memref<256x256xf32> -> !tirx.tile<128x128xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<128x128xf32, tensor>, !tirx.tile<128x128xf32, global>
  tirx.return
}
