// D = A * B^T in tf32 with both operands MN-major: A is stored with M contiguous, B with N contiguous, as f32 of which
// the tensor core reads the upper 19 bits. MN-major 32-bit operands exist in one layout only: lines of 128 bytes (32
// elements along M or N) whose 32-byte atoms, not the usual 16-byte ones, are swizzled by the row modulo 4. As a
// swizzle layout of 4-byte elements that is per_element 3 (8 elements to an atom), swizzle_len 2, atom_len 2;
// tirx-pick-layouts finds it from the strides of the memrefs.

tirx.kernel @tf32_mn_major(%a: memref<128x64xtf32, strided<[1, 128]>>, %b: memref<256x64xtf32, strided<[1, 256]>>,
                           %d: memref<128x256xf32>)
    target("sm_100a") grid(2) threads(128) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32

  %j = tirx.block_id x
  %n = arith.muli %j, %c128 : index

  %sa = tirx.alloc : !tirx.tile<128x32xtf32, shared>
  %sb = tirx.alloc : !tirx.tile<128x32xtf32, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>

  tirx.fill %acc, %zero : f32, !tirx.tile<128x128xf32, tensor>
  scf.for %k = %c0 to %c64 step %c32 {
    %ga = tirx.view %a[%c0, %k] : memref<128x64xtf32, strided<[1, 128]>> -> !tirx.tile<128x32xtf32, global>
    %gb = tirx.view %b[%n, %k] : memref<256x64xtf32, strided<[1, 256]>> -> !tirx.tile<128x32xtf32, global>
    tirx.copy %ga, %sa : !tirx.tile<128x32xtf32, global>, !tirx.tile<128x32xtf32, shared>
    tirx.copy %gb, %sb : !tirx.tile<128x32xtf32, global>, !tirx.tile<128x32xtf32, shared>
    tirx.mma %sa, %sb, %acc
        : !tirx.tile<128x32xtf32, shared>, !tirx.tile<128x32xtf32, shared>, !tirx.tile<128x128xf32, tensor>
  }

  %gd = tirx.view %d[%c0, %n] : memref<128x256xf32> -> !tirx.tile<128x128xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<128x128xf32, tensor>, !tirx.tile<128x128xf32, global>
  tirx.return
}
