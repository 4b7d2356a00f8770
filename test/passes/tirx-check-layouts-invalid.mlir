// RUN: tirx-opt %s --tirx-check-layouts --split-input-file --verify-diagnostics

// expected-error@+1 {{expected a target, such as target("sm_100a"), on the kernel or on the command line}}
tirx.kernel @no_target() threads(128) {
  tirx.return
}

// -----

// What the target has.

tirx.kernel @no_tcgen05() target("sm_100") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // expected-error@+1 {{'tcgen05' does not exist on sm_100; supported on sm_100a, sm_100f, sm_103a, sm_103f, sm_110a, sm_110f}}
  tirx.mma %a, %a, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @no_i8() target("sm_103a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xsi8, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xi32, tensor>
  // expected-error@+1 {{'tcgen05.kind::i8' does not exist on sm_103a; supported on sm_100a, sm_110a}}
  tirx.mma %a, %a, %acc : !tirx.tile<128x64xsi8, shared>, !tirx.tile<128x64xsi8, shared>, !tirx.tile<128x128xi32, tensor>
  tirx.return
}

// -----

#a = #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>
#c = #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>
tirx.kernel @no_f64() target("sm_75") threads(32) {
  %a = tirx.alloc : !tirx.tile<8x4xf64, register, #a>
  %c = tirx.alloc : !tirx.tile<8x8xf64, register, #c>
  // expected-error@+1 {{'mma.m8n8k4.f64' does not exist on sm_75; supported on sm_80, }}
  tirx.mma %a, %a, %c : !tirx.tile<8x4xf64, register, #a>, !tirx.tile<8x4xf64, register, #a>, !tirx.tile<8x8xf64, register, #c>
  tirx.return
}

// -----

// Room in shared memory.

tirx.kernel @overlap() target("sm_80") threads(32) {
  // expected-error@+1 {{expected a layout that gives every element its own address, found S[(8, 64) : (32, 1)]}}
  %s = tirx.alloc : !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[(8, 64) : (32, 1)]>>
  tirx.return
}

// -----

tirx.kernel @too_large() target("sm_100a") threads(128) {
  // expected-error@+1 {{expected at most 232448 bytes of shared memory on sm_100a in use at a time, found no room for %s of 262144 bytes}}
  %s = tirx.alloc : !tirx.tile<256x512xf16, shared>
  tirx.return
}

// -----

// Tiles that are in use at the same time, by a loop around them.

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
  }
  tirx.return
}

// -----

// Tiles of all of shared memory leave no room for what the lowering of tensor memory keeps there.

tirx.kernel @no_room_for_the_mbarrier() target("sm_100a") threads(128) {
  // expected-error@-1 {{expected at most 232448 bytes of shared memory on sm_100a, found 232460 with the mbarrier of the products and the address of tensor memory}}
  %s = tirx.alloc : !tirx.tile<227x1024xi8, shared>
  %t = tirx.alloc : !tirx.tile<128x32xf32, tensor, #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>>
  tirx.return
}

// -----

// The holes of a layout count; every tile takes whole units of 16 bytes.
tirx.kernel @too_large_with_holes() target("sm_86") threads(128) {
  // expected-error@+1 {{found no room for %s of 126992 bytes}}
  %s = tirx.alloc : !tirx.tile<32xf16, shared, #tirx.tile_layout<S[32 : 2048]>>
  tirx.return
}

// -----

// And so does what lies before its offset.
tirx.kernel @too_large_with_offset() target("sm_86") threads(128) {
  // expected-error@+1 {{found no room for %s of 131136 bytes}}
  %s = tirx.alloc : !tirx.tile<32xf16, shared, #tirx.tile_layout<S[32 : 1] + 65536>>
  tirx.return
}

// -----

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

// -----

tirx.kernel @wide_elements() target("sm_100a") threads(128) {
  // expected-error@+1 {{expected elements of 32 bits or fewer in tensor memory, found f64}}
  %t = tirx.alloc : !tirx.tile<128x64xf64, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
  tirx.return
}

// -----

tirx.kernel @shared_cells() target("sm_100a") threads(128) {
  // expected-error@+1 {{expected a layout that gives every element its own cell, found S[(256, 64) : (1@TCol, 1@TCol)]}}
  %t = tirx.alloc : !tirx.tile<256x64xf32, tensor, #tirx.tile_layout<S[(256, 64) : (1@TCol, 1@TCol)]>>
  tirx.return
}

// -----

tirx.kernel @no_columns() target("sm_100a") threads(128) {
  // expected-error@+1 {{expected a tensor-memory layout with axis TCol, found S[128 : 1@TLane]}}
  %t = tirx.alloc : !tirx.tile<128xf32, tensor, #tirx.tile_layout<S[128 : 1@TLane]>>
  tirx.return
}

// -----

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

// -----

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

// -----

// Register tiles.

tirx.kernel @beyond_threads() target("sm_80") threads(64) {
  // expected-error@+1 {{expected a register tile within the 64 threads of the kernel, found one that reaches thread 95: S[(2, 32) : (1@warpid, 1@laneid)] + 1@warpid}}
  %r = tirx.alloc : !tirx.tile<2x32xf32, register, #tirx.tile_layout<S[(2, 32) : (1@warpid, 1@laneid)] + 1@warpid>>
  tirx.return
}

// -----

tirx.kernel @other_threads() target("sm_80") threads(64) {
  // expected-error@+1 {{expected axes that count threads of a block, found bx in S[(2, 32) : (1@bx, 1@laneid)]}}
  %r = tirx.alloc : !tirx.tile<2x32xf32, register, #tirx.tile_layout<S[(2, 32) : (1@bx, 1@laneid)]>>
  tirx.return
}

// -----

// Bounds of views.

tirx.kernel @negative(%a: memref<64x64xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c-8 = arith.constant -8 : index
  // expected-error@+1 {{expected dimension 1 to start at 0 or later, found -8}}
  %g = tirx.view %a[%c0, %c-8] : memref<64x64xf32> -> !tirx.tile<64x8xf32, global>
  tirx.return
}

// -----

tirx.kernel @beyond(%a: memref<2x64x64xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %in = tirx.view %a[%c1, %c0, %c0] : memref<2x64x64xf32> -> !tirx.tile<64x64xf32, global>
  // expected-error@+1 {{expected dimension 0 of the view within 2 elements, found one that reaches element 2}}
  %out = tirx.view %a[%c2, %c0, %c0] : memref<2x64x64xf32> -> !tirx.tile<64x64xf32, global>
  tirx.return
}

// -----

tirx.kernel @last_block(%a: memref<96x64xf32>) target("sm_80") grid(1, 4) threads(32) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %y = tirx.block_id y
  %m = arith.muli %y, %c32 : index
  // expected-error@+1 {{expected dimension 0 of the view within 96 elements, found one that reaches element 127}}
  %g = tirx.view %a[%m, %c0] : memref<96x64xf32> -> !tirx.tile<32x64xf32, global>
  tirx.return
}

// -----

tirx.kernel @last_step(%a: memref<64x64xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.for %k = %c0 to %c64 step %c16 {
    // expected-error@+1 {{expected dimension 1 of the view within 64 elements, found one that reaches element 79}}
    %g = tirx.view %a[%c0, %k] : memref<64x64xf32> -> !tirx.tile<64x32xf32, global>
  }
  tirx.return
}

// -----

// Types and shapes of products on tensor memory.

tirx.kernel @kind() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<128x64xsi8, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // expected-error@+1 {{expected operand types of one kind of tcgen05.mma, found f16 and s8; f16, bf16 (kind f16); tf32 (kind tf32); }}
  tirx.mma %a, %b, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xsi8, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @mixed_halves() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<128x64xbf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // expected-error@+1 {{kind f16: expected A and B of one type, found f16 and bf16}}
  tirx.mma %a, %b, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xbf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @accumulator_type() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xi32, tensor>
  // expected-error@+1 {{kind f16: expected an accumulator of f16 or f32, found s32}}
  tirx.mma %a, %a, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xi32, tensor>
  tirx.return
}

// -----

tirx.kernel @rank() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<2x128x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<2x128x128xf32, tensor>
  // expected-error@+1 {{expected tiles of rank 2 for tcgen05.mma, found rank 3}}
  tirx.mma %a, %a, %acc : !tirx.tile<2x128x64xf16, shared>, !tirx.tile<2x128x64xf16, shared>, !tirx.tile<2x128x128xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @m() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<96x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<96x128xf32, tensor>
  // expected-error@+1 {{kind::f16, cta_group 1: expected M in {64, 128}, found 96; nearest is 64}}
  tirx.mma %a, %b, %acc : !tirx.tile<96x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<96x128xf32, tensor>
  tirx.return
}

// -----

// M = 32 exists only with a zero-column mask (.ws), which in turn has fewer N.
tirx.kernel @m_32() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<32x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<96x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<32x96xf32, tensor>
  // expected-error@+1 {{kind::f16, cta_group 1: expected M in {64, 128}, found 32; nearest is 64}}
  tirx.mma %a, %b, %acc : !tirx.tile<32x64xf16, shared>, !tirx.tile<96x64xf16, shared>, !tirx.tile<32x96xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @n() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<300x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x300xf32, tensor>
  // expected-error@+1 {{kind::f16, cta_group 1: expected N in {8, 16, ..., 256}, found 300; nearest is 256}}
  tirx.mma %a, %b, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<300x64xf16, shared>, !tirx.tile<128x300xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @n_ws() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<32x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<96x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<32x96xf32, tensor>
  // expected-error@+1 {{kind::f16, cta_group 1, .ws: expected N in {64, 128, 256}, found 96; nearest is 64}}
  tirx.mma %a, %b, %acc zero_columns([0]) : !tirx.tile<32x64xf16, shared>, !tirx.tile<96x64xf16, shared>, !tirx.tile<32x96xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x30xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // expected-error@+1 {{kind f16: expected K in multiples of 16, found 30; the nearest is 32}}
  tirx.mma %a, %a, %acc : !tirx.tile<128x30xf16, shared>, !tirx.tile<128x30xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @k_8bit() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x16xf8E5M2, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // expected-error@+1 {{kind f8f6f4: expected K in multiples of 32, found 16; the nearest is 32}}
  tirx.mma %a, %a, %acc : !tirx.tile<128x16xf8E5M2, shared>, !tirx.tile<128x16xf8E5M2, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

// -----

// Zero columns.

tirx.kernel @column_out_of_range() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  // expected-error@+1 {{expected zero columns within [0, 64), found column 64}}
  tirx.mma %a, %a, %acc zero_columns([3, 64]) : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @shift_of_32_rows() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<32x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<81x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<32x64xf32, tensor>
  // expected-error@+1 {{shift: expected at most 16 for M = 32, found 17}}
  tirx.mma %a, %b, %acc zero_columns([3], shift = 17) : !tirx.tile<32x64xf16, shared>, !tirx.tile<81x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
  tirx.return
}

// -----

// One column, then two in a row: no descriptor has runs of both lengths.
tirx.kernel @not_periodic() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  // expected-error@+1 {{no zero-column mask descriptor has these columns: column 7 is expected used and is zeroed, because columns 3 to 3 make a run of 1 zeroed columns and all such runs must have that length; the run at column 6 has 2}}
  tirx.mma %a, %b, %acc zero_columns([3, 6, 7]) : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @runs() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  // expected-error@+1 {{start within [0, 64), found start = 64, zero = 1, use = 1}}
  tirx.mma %a, %a, %acc zero_columns(start = 64, zero = 1, use = 1) : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @start_count() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  // expected-error@+1 {{start_count[1]: expected at most 2, to stay inside the first run of 3 zeroed columns, found 3}}
  tirx.mma %a, %a, %acc zero_columns(start_count = [3, 3, 0, 0], first_span = [0, 1, 0, 0], skip_span = 2, use_span = 3)
      : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @shift() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<32x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<81x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<32x64xf32, tensor>
  // expected-error@+1 {{shift: expected at most 16 for M = 32, found 17}}
  tirx.mma %a, %b, %acc zero_columns([0], shift = 17) : !tirx.tile<32x64xf16, shared>, !tirx.tile<81x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
  tirx.return
}

// -----

// Layouts of operands, each checked as soon as it is written.

#plain = #tirx.tile_layout<S[(128, 64) : (64, 1)]>
tirx.kernel @not_swizzled() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared, #plain>
  %b = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // expected-error@+1 {{the layout of K elements [0, 16) is not canonical: element (1, 0) is expected at byte 144 of the tile and is at byte 128; nearest canonical layout is K-major, swizzle 128B, LBO None, SBO 1024 bytes, }}
  tirx.mma %a, %b, %acc : !tirx.tile<128x64xf16, shared, #plain>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

// -----

// The second step of K starts one row too far: in the middle of the swizzle pattern.
#broken = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 4, 16) : (64, 4160, 1)]>>
tirx.kernel @k_steps() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x64xf16, shared, #broken>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  // expected-error@+1 {{the layout of K elements [16, 32) is not canonical: element (0, 16) is expected at byte }}
  tirx.mma %a, %b, %acc : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared, #broken>, !tirx.tile<64x64xf32, tensor>
  tirx.return
}

// -----

#twice = #tirx.tile_layout<S[(8, 8, 8, 8) : (64, 8, 512, 1)] + R[2 : 4096]>
tirx.kernel @replicas() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #twice>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  // expected-error@+1 {{expected one copy of every element in shared memory, found a layout with replicas}}
  tirx.mma %a, %a, %acc : !tirx.tile<64x64xf16, shared, #twice>, !tirx.tile<64x64xf16, shared, #twice>, !tirx.tile<64x64xf32, tensor>
  tirx.return
}

// -----

// The data path of M = 64 is not that of M = 128 on half the lanes.

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
#dense = #tirx.tile_layout<S[(64, 64) : (1@TLane, 1@TCol)]>
tirx.kernel @data_path() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #a>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor, #dense>
  // expected-error@+1 {{expected the 64x64 accumulator where tcgen05.mma writes it, S[(4, 16, 64) : (32@TLane, 1@TLane, 1@TCol)] (plus any column offset), found S[(64, 64) : (1@TLane, 1@TCol)]}}
  tirx.mma %a, %a, %acc : !tirx.tile<64x64xf16, shared, #a>, !tirx.tile<64x64xf16, shared, #a>, !tirx.tile<64x64xf32, tensor, #dense>
  tirx.return
}

// -----

// And that of the weight-stationary product is yet another one.

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
#f = #tirx.tile_layout<S[(4, 16, 64) : (32@TLane, 1@TLane, 1@TCol)]>
tirx.kernel @data_path_ws() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #a>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor, #f>
  // expected-error@+1 {{expected the 64x64 accumulator where tcgen05.mma.ws writes it, S[(64, 2, 32) : (1@TLane, 64@TLane, 1@TCol)] (plus any column offset), found S[(4, 16, 64)}}
  tirx.mma %a, %a, %acc zero_columns([0]) : !tirx.tile<64x64xf16, shared, #a>, !tirx.tile<64x64xf16, shared, #a>, !tirx.tile<64x64xf32, tensor, #f>
  tirx.return
}

// -----

// What only the whole instruction descriptor shows.

#a = #tirx.compose_layout<#tirx.swizzle_layout<4, 2, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>
#acc = #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>
tirx.kernel @negate_i8() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xsi8, shared, #a>
  %acc = tirx.alloc : !tirx.tile<128x128xi32, tensor, #acc>
  // expected-error@+1 {{negat}}
  tirx.mma %a, %a, %acc negate_a : !tirx.tile<128x64xsi8, shared, #a>, !tirx.tile<128x64xsi8, shared, #a>, !tirx.tile<128x128xi32, tensor, #acc>
  tirx.return
}

// -----

#a = #tirx.compose_layout<#tirx.swizzle_layout<4, 2, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>
#acc = #tirx.tile_layout<S[(128, 72) : (1@TLane, 1@TCol)]>
tirx.kernel @transposed_n() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf8E4M3FN, shared, #a>
  %b = tirx.alloc : !tirx.tile<72x64xf8E4M3FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<4, 3, 3>, #tirx.tile_layout<S[(72, 64) : (1, 128)]>>>
  %acc = tirx.alloc : !tirx.tile<128x72xf32, tensor, #acc>
  // expected-error@+1 {{MN-major B of e4m3, cta_group 1: expected N in steps of 16, found 72; nearest is 64}}
  tirx.mma %a, %b, %acc : !tirx.tile<128x64xf8E4M3FN, shared, #a>, !tirx.tile<72x64xf8E4M3FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<4, 3, 3>, #tirx.tile_layout<S[(72, 64) : (1, 128)]>>>, !tirx.tile<128x72xf32, tensor, #acc>
  tirx.return
}

// -----

// Products in registers.

#a = #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>
#c = #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>
tirx.kernel @no_instruction() target("sm_80") threads(32) {
  %a = tirx.alloc : !tirx.tile<8x4xf32, register, #a>
  %c = tirx.alloc : !tirx.tile<8x8xf32, register, #c>
  // expected-error@+1 {{expected one of f16 x f16 + f16, f16 x f16 + f32, f64 x f64 + f64, bf16 x bf16 + f32, tf32 x tf32 + f32, s8 x s8 + s32, u8 x u8 + s32, e4m3 x e4m3 + f32, e4m3 x e4m3 + f16, e5m2 x e5m2 + f32, e5m2 x e5m2 + f16, found f32 x f32 + f32}}
  tirx.mma %a, %a, %c : !tirx.tile<8x4xf32, register, #a>, !tirx.tile<8x4xf32, register, #a>, !tirx.tile<8x8xf32, register, #c>
  tirx.return
}

// -----

#a = #tirx.tile_layout<S[(8, 4) : (1@laneid, 8@laneid)]>
#c = #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>
tirx.kernel @fragment() target("sm_80") threads(32) {
  %a = tirx.alloc : !tirx.tile<8x4xf64, register, #a>
  %c = tirx.alloc : !tirx.tile<8x8xf64, register, #c>
  // expected-error@+1 {{expected element (0, 1) of A in register 0 of thread 1, found (1, 0); mma.sync on f64 with f64 accumulators has fragments for m8n8k4 (1 per warp, row.col)}}
  tirx.mma %a, %a, %c : !tirx.tile<8x4xf64, register, #a>, !tirx.tile<8x4xf64, register, #a>, !tirx.tile<8x8xf64, register, #c>
  tirx.return
}

// -----

tirx.kernel @overlapping_views(%a: memref<128x64xf16>, %i: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %next = arith.addi %i, %c1 : index
  %later = arith.addi %i, %c64 : index
  %x = tirx.view %a[%i, %c0] : memref<128x64xf16> -> !tirx.tile<64x64xf16, global>
  %y = tirx.view %a[%next, %c0] : memref<128x64xf16> -> !tirx.tile<64x64xf16, global>
  %z = tirx.view %a[%later, %c0] : memref<128x64xf16> -> !tirx.tile<64x64xf16, global>
  tirx.copy %x, %z : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, global>
  // expected-error@+1 {{expected two tiles that do not overlap, found two that share elements}}
  tirx.copy %x, %y : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, global>
  tirx.return
}

// -----

tirx.kernel @views_that_may_overlap(%a: memref<128x64xf16>, %i: index, %j: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %x = tirx.view %a[%i, %c0] : memref<128x64xf16> -> !tirx.tile<32x64xf16, global>
  %y = tirx.view %a[%j, %c0] : memref<128x64xf16> -> !tirx.tile<32x64xf16, global>
  // expected-warning@+1 {{the two views of one memref may overlap; what they share would be undefined}}
  tirx.copy %x, %y : !tirx.tile<32x64xf16, global>, !tirx.tile<32x64xf16, global>
  tirx.return
}

// -----

!s = !tirx.tile<16x8xf16, shared, #tirx.tile_layout<S[(16, 8) : (8, 1)]>>
!low = !tirx.tile<8x8xf16, shared, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>
!middle = !tirx.tile<8x8xf16, shared, #tirx.tile_layout<S[(8, 8) : (8, 1)] + 32>>
!high = !tirx.tile<8x8xf16, shared, #tirx.tile_layout<S[(8, 8) : (8, 1)] + 64>>
tirx.kernel @overlapping_parts() target("sm_80") threads(32) {
  %s = tirx.alloc : !s
  %low = tirx.subview %s[0, 0] : !s -> !low
  %middle = tirx.subview %s[4, 0] : !s -> !middle
  %high = tirx.subview %s[8, 0] : !s -> !high
  tirx.copy %low, %high : !low, !high
  // expected-error@+1 {{expected two tiles that do not overlap, found two that share elements}}
  tirx.copy %low, %middle : !low, !middle
  tirx.return
}

// -----

// Somebody has to write a tile before it is read: the fill of this accumulator was forgotten.

tirx.kernel @nothing_in_the_accumulator(%x: f16) target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x16xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  tirx.fill %a, %x : f16, !tirx.tile<128x16xf16, shared>
  // expected-error@+1 {{expected a tile that is written before it is read, found no write of !tirx.tile<128x128xf32, tensor>}}
  tirx.mma %a, %a, %acc : !tirx.tile<128x16xf16, shared>, !tirx.tile<128x16xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @nothing_in_shared_memory(%d: memref<8x8xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !tirx.tile<8x8xf32, shared>
  %g = tirx.view %d[%c0, %c0] : memref<8x8xf32> -> !tirx.tile<8x8xf32, global>
  // expected-error@+1 {{expected a tile that is written before it is read, found no write of !tirx.tile<8x8xf32, shared>}}
  tirx.copy %s, %g : !tirx.tile<8x8xf32, shared>, !tirx.tile<8x8xf32, global>
  tirx.return
}

// -----

tirx.kernel @bounds_the_wrong_way_round(%a: memref<64x64xf16>) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  // expected-warning@+1 {{the loop from 64 to 0 never runs}}
  scf.for %k = %c64 to %c0 step %c64 {
    %t = tirx.view %a[%k, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
  }
  tirx.return
}

// -----

tirx.kernel @no_step(%n: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected a positive step, found 0}}
  scf.for %k = %c0 to %n step %c0 {
  }
  tirx.return
}

// -----

// All rows of the destination are one: which of them stays is nobody's choice.

tirx.kernel @rows_in_one_place(%a: memref<8x8xf32>, %b: memref<8x8xf32, strided<[0, 1]>>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %x = tirx.view %a[%c0, %c0] : memref<8x8xf32> -> !tirx.tile<8x8xf32, global>
  %y = tirx.view %b[%c0, %c0] : memref<8x8xf32, strided<[0, 1]>> -> !tirx.tile<8x8xf32, global, #tirx.tile_layout<S[(8, 8) : (0, 1)]>>
  // expected-error@+1 {{expected a destination that has an address for every element, found S[(8, 8) : (0, 1)]}}
  tirx.copy %x, %y : !tirx.tile<8x8xf32, global>, !tirx.tile<8x8xf32, global, #tirx.tile_layout<S[(8, 8) : (0, 1)]>>
  tirx.return
}

// -----

// The codes of a sparse A are so many to the elements of K: an unsigned division of an index keeps its bounds.

tirx.kernel @divided_index(%e: memref<128x8xi4>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %c96 = arith.constant 96 : index
  scf.for %k = %c0 to %c96 step %c32 {
    %code = arith.divui %k, %c4 : index
    // expected-error@+1 {{expected dimension 1 of the view within 8 elements, found one that reaches element 23}}
    %ge = tirx.view %e[%c0, %code] : memref<128x8xi4> -> !tirx.tile<128x8xi4, global>
  }
  tirx.return
}

// -----

// Pairs of blocks.

// expected-error@+1 {{'cluster' does not exist on sm_80; supported on sm_90}}
tirx.kernel @no_clusters() target("sm_80") cluster(2) threads(128) {
  tirx.return
}

// -----

tirx.kernel @pair_m() target("sm_100a") cluster(2) threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  // expected-error@+1 {{kind::f16, cta_group 2: expected M in {128, 256}, found 64; nearest is 128}}
  tirx.mma %a, %a, %acc : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @pair_n() target("sm_100a") cluster(2) threads(128) {
  %a = tirx.alloc : !tirx.tile<256x32xsi8, shared>
  %b = tirx.alloc : !tirx.tile<48x32xsi8, shared>
  %acc = tirx.alloc : !tirx.tile<256x48xi32, tensor>
  // expected-error@+1 {{kind::i8, cta_group 2: expected N in {32, 64, ..., 256}, found 48; nearest is 32}}
  tirx.mma %a, %b, %acc : !tirx.tile<256x32xsi8, shared>, !tirx.tile<48x32xsi8, shared>, !tirx.tile<256x48xi32, tensor>
  tirx.return
}

// -----

tirx.kernel @pair_ws() target("sm_100a") cluster(2) threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // expected-error@+1 {{expected a product of a pair of blocks without weight_stationary or zero_columns, which .cta_group::2 does not have}}
  tirx.mma %a, %a, %acc zero_columns([3]) : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @pair_codes() target("sm_100a") cluster(2) threads(128) {
  %a = tirx.alloc : !tirx.tile<256x32xf16, shared>
  %b = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %e = tirx.alloc : !tirx.tile<128x16xi4, tensor>
  %acc = tirx.alloc : !tirx.tile<256x128xf32, tensor>
  // expected-error@+1 {{kind f16: expected metadata of 256x16 i4, a code of 4 bits for every 4 elements along K, found 128x16 i4}}
  tirx.mma %a, %b, %acc metadata(%e) : !tirx.tile<256x32xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<256x128xf32, tensor>, !tirx.tile<128x16xi4, tensor>
  tirx.return
}

// -----

// A of a pair with M = 128 is in both halves of the lanes, as data path B has the columns of D in both.

!a = !tirx.tile<64x32xf16, tensor, #tirx.tile_layout<S[(64, 32) : (1@TLane, 1@TCol)]>>
tirx.kernel @pair_a() target("sm_100a") cluster(2) per_cta threads(128) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !tirx.tile<64x32xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x128xf32, tensor>
  // expected-error@+1 {{expected the 64x32 A where tcgen05.mma reads it, S[(64, 32) : (1@TLane, 1@TCol)] + R[2 : 64@TLane] (plus any column offset), found S[(64, 32) : (1@TLane, 1@TCol)]}}
  tirx.mma %a, %b, %acc pair : !a, !tirx.tile<64x32xf16, shared>, !tirx.tile<64x128xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @pair_missing() target("sm_100a") cluster(2) per_cta threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // expected-error@+1 {{expected 'pair' on every product on tensor memory in a kernel with cluster(2) per_cta, and only there, found one without it: all of a kernel is of one cta_group}}
  tirx.mma %a, %a, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @pair_alone() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x256xf32, tensor>
  // expected-error@+1 {{found one with it: all of a kernel is of one cta_group}}
  tirx.mma %a, %a, %acc pair : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x256xf32, tensor>
  tirx.return
}

// -----

// The accumulator of a pair with M = 128 is in data path B.

!acc = !tirx.tile<64x128xf32, tensor, #tirx.tile_layout<S[(4, 16, 128) : (32@TLane, 1@TLane, 1@TCol)]>>
tirx.kernel @pair_path() target("sm_100a") cluster(2) per_cta threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !acc
  // expected-error@+1 {{expected the 64x128 accumulator where tcgen05.mma writes it, S[(64, 2, 64) : (1@TLane, 64@TLane, 1@TCol)] (plus any column offset), found S[(4, 16, 128) : (32@TLane, 1@TLane, 1@TCol)]}}
  tirx.mma %a, %a, %acc pair : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !acc
  tirx.return
}

// -----

tirx.kernel @axis() target("sm_100a") threads(128) {
  // expected-error@+1 {{expected a kernel with cluster(2) for a layout with axis cbx, found S[(2, 4, 8) : (1@cbx, 8, 1)]}}
  %t = tirx.alloc : !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(2, 4, 8) : (1@cbx, 8, 1)]>>
  tirx.return
}

// -----

// A write that comes too late, and a loop whose second time round reads what the first one wrote.

!acc = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!out = !tirx.tile<128x64xf32, global>

tirx.kernel @write_after_read(%d: memref<128x64xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %out = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !out
  %carried = tirx.alloc : !acc
  scf.for %i = %c0 to %c4 step %c1 {
    tirx.copy %carried, %out : !acc, !out
    tirx.fill %carried, %zero : f32, !acc
  }
  %late = tirx.alloc : !acc
  // expected-error@+1 {{expected a tile that is written before it is read, found no write of !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>}}
  tirx.copy %late, %out : !acc, !out
  tirx.fill %late, %zero : f32, !acc
  tirx.return
}
