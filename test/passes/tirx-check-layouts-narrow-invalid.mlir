// RUN: tirx-opt %s --tirx-check-layouts --split-input-file --verify-diagnostics

// 6-bit elements are packed in global memory and one to a byte as shared memory and registers count them: only whole runs
// of 16 move between these.

!g = !tirx.tile<128x32xf6E3M2FN, global>
!r = !tirx.tile<128x32xf6E3M2FN, register, #tirx.tile_layout<S[(128, 4, 8) : (1@tx, 1, 4)]>>
tirx.kernel @load(%a: memref<128x32xf6E3M2FN>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<128x32xf6E3M2FN> -> !g
  // expected-error@+1 {{expected 6-bit elements in runs of 16 neighbours along K, found S[(128, 4, 8) : (1@tx, 1, 4)]}}
  %r = tirx.load %g : !g -> !r
  tirx.return
}

!s = !tirx.tile<128x24xf6E3M2FN, shared, #tirx.tile_layout<S[(128, 24) : (24, 1)]>>
!t = !tirx.tile<128x24xf6E3M2FN, shared>
tirx.kernel @partial_run() target("sm_100a") threads(128) {
  %s = tirx.alloc : !s
  %t = tirx.alloc : !t
  // expected-error@+1 {{expected 6-bit elements with K in steps of 16, found 24}}
  tirx.copy %s, %t : !s, !t
  tirx.return
}

!g2 = !tirx.tile<32x32xf6E3M2FN, global, #tirx.tile_layout<S[(32, 32) : (1, 32)]>>
!t2 = !tirx.tile<32x32xf6E3M2FN, shared>
tirx.kernel @along_rows(%a: memref<32x32xf6E3M2FN, strided<[1, 32]>>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<32x32xf6E3M2FN, strided<[1, 32]>> -> !g2
  %t = tirx.alloc : !t2
  // expected-error@+1 {{expected 6-bit elements in runs of 16 neighbours along K, found S[(32, 32) : (1, 32)]}}
  tirx.copy %g, %t : !g2, !t2
  tirx.return
}

// -----

// Of 4-bit elements, kind f8f6f4 reads 16 in the first half of 16 bytes.

#a = #tirx.tile_layout<S[(16, 8, 4, 32) : (256, 32, 4096, 1)]>
#b = #tirx.tile_layout<S[(8, 8, 8, 16) : (128, 16, 1024, 1)]>
#d = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
!a = !tirx.tile<128x128xf4E2M1FN, shared, #a>
!b = !tirx.tile<64x128xf8E4M3FN, shared, #b>
!d = !tirx.tile<128x64xf32, tensor, #d>
#a2 = #tirx.tile_layout<S[(128, 8, 16) : (256, 32, 1)]>
!a2 = !tirx.tile<128x128xf4E2M1FN, shared, #a2>
!a3 = !tirx.tile<128x128xf4E2M1FN, tensor>
!b2 = !tirx.tile<64x128xf8E4M3FN, shared>
!d2 = !tirx.tile<128x64xf32, tensor>
tirx.kernel @k() target("sm_100a") threads(128) {
  // packed: expected-error@+1 {{operand A: expected 4-bit elements padded as this kind of tcgen05.mma reads them, 16 neighbours along K in the first 8 of every 16 bytes (16 of 32 nibbles), found S[(16, 8, 4, 32) : (256, 32, 4096, 1)]}}
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %d = tirx.alloc : !d
  tirx.mma %a, %b, %d : !a, !b, !d
  // padded without a swizzle: expected-error@+1 {{operand A: the layout of K elements [0, 32) is not canonical: element (1, 0) is expected at byte 144 of the tile and is at byte 128; nearest canonical layout is K-major, swizzle 128B, LBO None, SBO 1024 bytes, Swizzle<3,4,3> o ((8,16),(16,2)):((128,1024),(1,16)), of which only the swizzle is missing; write #tirx.compose_layout<#tirx.swizzle_layout<5, 3, 3>, #tirx.tile_layout<S[(128, 8, 16) : (256, 32, 1)]>>}}
  %a2 = tirx.alloc : !a2
  tirx.mma %a2, %b, %d : !a2, !b, !d
  %a3 = tirx.alloc : !a3
  %b2 = tirx.alloc : !b2
  %d2 = tirx.alloc : !d2
  // tensor memory: expected-error@+1 {{expected A of 8 bits or more in tensor memory, or in shared memory, found e2m1: in tensor memory a byte holds one narrower element of kind f8f6f4, which copies do not make yet}}
  tirx.mma %a3, %b2, %d2 : !a3, !b2, !d2
  tirx.return
}
