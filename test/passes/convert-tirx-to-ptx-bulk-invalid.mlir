// RUN: tirx-opt %s --split-input-file --verify-diagnostics --convert-tirx-to-ptx

!tile = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (72, 1)]>>
tirx.kernel @box(%a: memref<256x512xf16>) target("sm_90a") threads(128) memory(shared = 16384, alignment = 128) {
  %c0 = arith.constant 0 : index
  %bar = arith.constant 64 : i32
  %s = tirx.alloc at 0 : !tile
  %g = tirx.view %a[%c0, %c0] : memref<256x512xf16> -> !tirx.tile<64x64xf16, global>
  // expected-error@+1 {{expected every box to start at a multiple of 128 bytes in shared memory, found one at 144 with boxes of 1x64}}
  tirx.tma_load %g, %s, %bar : !tirx.tile<64x64xf16, global>, !tile
  tirx.return
}

!tile2 = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
tirx.kernel @place(%a: memref<256x512xf16>) target("sm_90a") threads(128) memory(shared = 16384, alignment = 1024) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc at 512 : !tile2
  %g = tirx.view %a[%c0, %c0] : memref<256x512xf16> -> !tirx.tile<64x64xf16, global>
  // expected-error@+1 {{expected a shared tile that is aligned to 1024 bytes, found 512}}
  tirx.tma_store %s, %g : !tile2, !tirx.tile<64x64xf16, global>
  tirx.return
}

!tile3 = !tirx.tile<64x64xf32, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 2>, #tirx.tile_layout<S[(64, 2, 32) : (32, 2048, 1)]>>>
tirx.kernel @atoms(%a: memref<256x512xf32>) target("sm_90a") threads(128) memory(shared = 16384, alignment = 1024) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc at 0 : !tile3
  %g = tirx.view %a[%c0, %c0] : memref<256x512xf32> -> !tirx.tile<64x64xf32, global>
  // expected-error@+1 {{expected sm_100 or later for swizzles of 32-byte atoms in tensor maps, found sm_90a}}
  tirx.tma_store %s, %g : !tile3, !tirx.tile<64x64xf32, global>
  tirx.return
}

!tile4 = !tirx.tile<16x16xf16, shared, #tirx.tile_layout<S[(16, 16) : (1, 16)]>>
!view = !tirx.tile<16x16xf16, global, #tirx.tile_layout<S[(16, 16) : (512, 1)]>>
tirx.kernel @transposed(%a: memref<256x512xf16>) target("sm_80") threads(128) memory(shared = 512, alignment = 128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc at 0 : !tile4
  %g = tirx.view %a[%c0, %c0] : memref<256x512xf16> -> !view
  // expected-error@+1 {{expected runs of 4, 8 or 16 bytes that are neighbours in global and in shared memory and aligned for cp.async, found none}}
  tirx.cp_async %g, %s : !view, !tile4
  tirx.return
}
