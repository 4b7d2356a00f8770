// RUN: tirx-opt %s --tirx-check-layouts --split-input-file --verify-diagnostics

// Room in shared memory.

tirx.kernel @overlap() target("sm_80") threads(32) {
  // expected-error@+1 {{expected a layout that gives every element its own address, found S[(8, 64) : (32, 1)]}}
  %s = tirx.alloc : !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[(8, 64) : (32, 1)]>>
  tirx.return
}

tirx.kernel @too_large() target("sm_100a") threads(128) {
  // expected-error@+1 {{expected at most 232448 bytes of shared memory on sm_100a in use at a time, found no room for %s of 262144 bytes}}
  %s = tirx.alloc : !tirx.tile<256x512xf16, shared>
  tirx.return
}

// -----

// Tiles that are in use at the same time in an iteration, and by a loop around them, which keeps what it has read.

tirx.kernel @too_large_together(%x: memref<256x128xf16>) target("sm_86") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = tirx.alloc : !tirx.tile<256x128xf16, shared>
  // expected-error@+1 {{expected at most 101376 bytes of shared memory on sm_86 in use at a time, found no room for %t of 65536 bytes next to %s of 65536 bytes}}
  %t = tirx.alloc : !tirx.tile<256x128xf16, shared>
  %g = tirx.view %x[%c0, %c0] : memref<256x128xf16> -> !tirx.tile<256x128xf16, global>
  scf.for %i = %c0 to %c4 step %c1 {
    tirx.copy %g, %s : !tirx.tile<256x128xf16, global>, !tirx.tile<256x128xf16, shared>
    tirx.copy %g, %t : !tirx.tile<256x128xf16, global>, !tirx.tile<256x128xf16, shared>
    tirx.copy %s, %g : !tirx.tile<256x128xf16, shared>, !tirx.tile<256x128xf16, global>
  }
  tirx.return
}

tirx.kernel @too_large_in_turn(%x: memref<256x128xf16>) target("sm_86") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = tirx.alloc : !tirx.tile<256x128xf16, shared>
  // expected-error@+1 {{expected at most 101376 bytes of shared memory on sm_86 in use at a time, found no room for %t of 65536 bytes next to %s of 65536 bytes}}
  %t = tirx.alloc : !tirx.tile<256x128xf16, shared>
  %g = tirx.view %x[%c0, %c0] : memref<256x128xf16> -> !tirx.tile<256x128xf16, global>
  scf.for %i = %c0 to %c4 step %c1 {
    tirx.copy %s, %g : !tirx.tile<256x128xf16, shared>, !tirx.tile<256x128xf16, global>
    tirx.copy %g, %s : !tirx.tile<256x128xf16, global>, !tirx.tile<256x128xf16, shared>
    tirx.copy %g, %t : !tirx.tile<256x128xf16, global>, !tirx.tile<256x128xf16, shared>
  }
  tirx.return
}

// -----

// Tiles of all of shared memory leave no room for what the lowering of tensor memory keeps there.

tirx.kernel @no_room_for_the_mbarrier() target("sm_100a") threads(128) {
  // expected-error@-1 {{expected at most 232448 bytes of shared memory on sm_100a, found 232460 with the mbarriers and the address of tensor memory}}
  %s = tirx.alloc : !tirx.tile<227x1024xi8, shared>
  %t = tirx.alloc : !tirx.tile<128x32xf32, tensor, #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>>
  tirx.return
}

// The holes of a layout count; every tile takes whole units of 16 bytes.
tirx.kernel @too_large_with_holes() target("sm_86") threads(128) {
  // expected-error@+1 {{found no room for %s of 126992 bytes}}
  %s = tirx.alloc : !tirx.tile<32xf16, shared, #tirx.tile_layout<S[32 : 2048]>>
  tirx.return
}

// And so does what lies before its offset.
tirx.kernel @too_large_with_offset() target("sm_86") threads(128) {
  // expected-error@+1 {{found no room for %s of 131136 bytes}}
  %s = tirx.alloc : !tirx.tile<32xf16, shared, #tirx.tile_layout<S[32 : 1] + 65536>>
  tirx.return
}

// And so does the alignment of swizzled tiles: 1008 bytes are free, but none of 256 that start at a multiple of 1024.
#row = #tirx.tile_layout<S[(6273, 16) : (16, 1)]>
#swizzled = #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(8, 16) : (16, 1)]>>
tirx.kernel @too_large_when_aligned(%x: memref<6273x16xi8>, %y: memref<8x16xf16>) target("sm_86") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tirx.alloc : !tirx.tile<6273x16xi8, shared, #row>
  // expected-error@+1 {{found no room for %t of 256 bytes next to %s of 100368 bytes}}
  %t = tirx.alloc : !tirx.tile<8x16xf16, shared, #swizzled>
  %g = tirx.view %x[%c0, %c0] : memref<6273x16xi8> -> !tirx.tile<6273x16xi8, global>
  %h = tirx.view %y[%c0, %c0] : memref<8x16xf16> -> !tirx.tile<8x16xf16, global>
  scf.for %k = %c0 to %c1 step %c1 {
    tirx.copy %g, %s : !tirx.tile<6273x16xi8, global>, !tirx.tile<6273x16xi8, shared, #row>
    tirx.copy %h, %t : !tirx.tile<8x16xf16, global>, !tirx.tile<8x16xf16, shared, #swizzled>
    tirx.copy %s, %g : !tirx.tile<6273x16xi8, shared, #row>, !tirx.tile<6273x16xi8, global>
  }
  tirx.return
}

// -----

// Tensor memory.

tirx.kernel @threads() target("sm_100a") threads(96) {
  // expected-error@+1 {{expected threads(128) or more, in whole warps, in a kernel with tensor memory, one warp for every 32 lanes, found threads(96)}}
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  tirx.return
}

tirx.kernel @shared_cells() target("sm_100a") threads(128) {
  // expected-error@+1 {{expected a layout that gives every element its own cell, found S[(256, 64) : (1@TCol, 1@TCol)]}}
  %t = tirx.alloc : !tirx.tile<256x64xf32, tensor, #tirx.tile_layout<S[(256, 64) : (1@TCol, 1@TCol)]>>
  tirx.return
}

#columns = #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>
#rest = #tirx.tile_layout<S[(128, 224) : (1@TLane, 1@TCol)]>
#more = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
tirx.kernel @too_many_columns(%x: f32) target("sm_100a") threads(128) {
  %t0 = tirx.alloc : !tirx.tile<128x256xf32, tensor, #columns>
  %t1 = tirx.alloc : !tirx.tile<128x224xf32, tensor, #rest>
  // expected-error@+1 {{expected at most 512 columns of tensor memory in use at a time, found no room for %t2 of 64 columns next to %t0 of 256 columns, %t1 of 224 columns}}
  %t2 = tirx.alloc : !tirx.tile<128x64xf32, tensor, #more>
  tirx.fill %t0, %x : f32, !tirx.tile<128x256xf32, tensor, #columns>
  tirx.fill %t1, %x : f32, !tirx.tile<128x224xf32, tensor, #rest>
  tirx.fill %t2, %x : f32, !tirx.tile<128x64xf32, tensor, #more>
  tirx.fill %t0, %x : f32, !tirx.tile<128x256xf32, tensor, #columns>
  tirx.fill %t1, %x : f32, !tirx.tile<128x224xf32, tensor, #rest>
  tirx.return
}

// The columns before a tile's offset are allocated too.
!later = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)] + 256@TCol>>
tirx.kernel @too_many_columns_with_offset(%x: f32) target("sm_100a") threads(128) {
  %t0 = tirx.alloc : !later
  // expected-error@+1 {{found no room for %t1 of 320 columns next to %t0 of 320 columns}}
  %t1 = tirx.alloc : !later
  tirx.fill %t0, %x : f32, !later
  tirx.fill %t1, %x : f32, !later
  tirx.fill %t0, %x : f32, !later
  tirx.return
}
