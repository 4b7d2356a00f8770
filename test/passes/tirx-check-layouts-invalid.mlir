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
  // expected-error@+1 {{'tcgen05' does not exist on sm_100; supported on}}
  tirx.mma %a, %a, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

tirx.kernel @no_i8() target("sm_103a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xsi8, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xi32, tensor>
  // expected-error@+1 {{'tcgen05.kind::i8' does not exist on sm_103a; supported on}}
  tirx.mma %a, %a, %acc : !tirx.tile<128x64xsi8, shared>, !tirx.tile<128x64xsi8, shared>, !tirx.tile<128x128xi32, tensor>
  tirx.return
}

#a = #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>
#c = #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>
tirx.kernel @no_f64() target("sm_75") threads(32) {
  %a = tirx.alloc : !tirx.tile<8x4xf64, register, #a>
  %c = tirx.alloc : !tirx.tile<8x8xf64, register, #c>
  // expected-error@+1 {{'mma.m8n8k4.f64' does not exist on sm_75; supported on}}
  tirx.mma %a, %a, %c : !tirx.tile<8x4xf64, register, #a>, !tirx.tile<8x4xf64, register, #a>, !tirx.tile<8x8xf64, register, #c>
  tirx.return
}

// -----

// Types and shapes of products on tensor memory.

tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<128x64xsi8, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // kind: expected-error@+1 {{expected operand types of one kind of tcgen05.mma, found f16 and s8; f16, bf16 (kind f16); tf32 (kind tf32); }}
  tirx.mma %a, %b, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xsi8, shared>, !tirx.tile<128x128xf32, tensor>
  %b2 = tirx.alloc : !tirx.tile<128x64xbf16, shared>
  // mixed halves: expected-error@+1 {{kind f16: expected A and B of one type, found f16 and bf16}}
  tirx.mma %a, %b2, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xbf16, shared>, !tirx.tile<128x128xf32, tensor>
  %acc2 = tirx.alloc : !tirx.tile<128x128xi32, tensor>
  // accumulator type: expected-error@+1 {{kind f16: expected an accumulator of f16 or f32, found s32}}
  tirx.mma %a, %a, %acc2 : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xi32, tensor>
  %a2 = tirx.alloc : !tirx.tile<2x128x64xf16, shared>
  %acc3 = tirx.alloc : !tirx.tile<2x128x128xf32, tensor>
  // rank: expected-error@+1 {{expected tiles of rank 2 for tcgen05.mma, found rank 3}}
  tirx.mma %a2, %a2, %acc3 : !tirx.tile<2x128x64xf16, shared>, !tirx.tile<2x128x64xf16, shared>, !tirx.tile<2x128x128xf32, tensor>
  %a3 = tirx.alloc : !tirx.tile<96x64xf16, shared>
  %acc4 = tirx.alloc : !tirx.tile<96x128xf32, tensor>
  // expected-error@+1 {{kind::f16, cta_group 1: expected M in {64, 128}, found 96; nearest is 64}}
  tirx.mma %a3, %a, %acc4 : !tirx.tile<96x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<96x128xf32, tensor>
  // M = 32 exists only with a zero-column mask (.ws), which in turn has fewer N.
  %a4 = tirx.alloc : !tirx.tile<32x64xf16, shared>
  %acc5 = tirx.alloc : !tirx.tile<32x96xf32, tensor>
  // m 32: expected-error@+1 {{kind::f16, cta_group 1: expected M in {64, 128}, found 32; nearest is 64}}
  tirx.mma %a4, %a3, %acc5 : !tirx.tile<32x64xf16, shared>, !tirx.tile<96x64xf16, shared>, !tirx.tile<32x96xf32, tensor>
  %b3 = tirx.alloc : !tirx.tile<300x64xf16, shared>
  %acc6 = tirx.alloc : !tirx.tile<128x300xf32, tensor>
  // expected-error@+1 {{kind::f16, cta_group 1: expected N in {8, 16, ..., 256}, found 300; nearest is 256}}
  tirx.mma %a, %b3, %acc6 : !tirx.tile<128x64xf16, shared>, !tirx.tile<300x64xf16, shared>, !tirx.tile<128x300xf32, tensor>
  // n ws: expected-error@+1 {{kind::f16, cta_group 1, .ws: expected N in {64, 128, 256}, found 96; nearest is 64}}
  tirx.mma %a4, %a3, %acc5 zero_columns([0]) : !tirx.tile<32x64xf16, shared>, !tirx.tile<96x64xf16, shared>, !tirx.tile<32x96xf32, tensor>
  %a5 = tirx.alloc : !tirx.tile<128x30xf16, shared>
  // expected-error@+1 {{kind f16: expected K in multiples of 16, found 30; the nearest is 32}}
  tirx.mma %a5, %a5, %acc : !tirx.tile<128x30xf16, shared>, !tirx.tile<128x30xf16, shared>, !tirx.tile<128x128xf32, tensor>
  %a6 = tirx.alloc : !tirx.tile<128x16xf8E5M2, shared>
  // k 8bit: expected-error@+1 {{kind f8f6f4: expected K in multiples of 32, found 16; the nearest is 32}}
  tirx.mma %a6, %a6, %acc : !tirx.tile<128x16xf8E5M2, shared>, !tirx.tile<128x16xf8E5M2, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

// -----

// Zero columns.

tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  // column out of range: expected-error@+1 {{expected zero columns within [0, 64), found column 64}}
  tirx.mma %a, %a, %acc zero_columns([3, 64]) : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf32, tensor>
  %a2 = tirx.alloc : !tirx.tile<32x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<81x64xf16, shared>
  %acc2 = tirx.alloc : !tirx.tile<32x64xf32, tensor>
  // shift of 32 rows: expected-error@+1 {{shift: expected at most 16 for M = 32, found 17}}
  tirx.mma %a2, %b, %acc2 zero_columns([3], shift = 17) : !tirx.tile<32x64xf16, shared>, !tirx.tile<81x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
  // One column, then two in a row: no descriptor has runs of both lengths.
  %a3 = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc3 = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  // not periodic: expected-error@+1 {{no zero-column mask descriptor has these columns: column 7 is expected used and is zeroed, because columns 3 to 3 make a run of 1 zeroed columns and all such runs must have that length; the run at column 6 has 2}}
  tirx.mma %a3, %a, %acc3 zero_columns([3, 6, 7]) : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, tensor>
  // runs: expected-error@+1 {{start within [0, 64), found start = 64, zero = 1, use = 1}}
  tirx.mma %a, %a, %acc zero_columns(start = 64, zero = 1, use = 1) : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf32, tensor>
  // shift: expected-error@+1 {{shift: expected at most 16 for M = 32, found 17}}
  tirx.mma %a2, %b, %acc2 zero_columns([0], shift = 17) : !tirx.tile<32x64xf16, shared>, !tirx.tile<81x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
  tirx.return
}

// -----

// Layouts of operands, each checked as soon as it is written.

#plain = #tirx.tile_layout<S[(128, 64) : (64, 1)]>
#broken = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 4, 16) : (64, 4160, 1)]>>
#twice = #tirx.tile_layout<S[(8, 8, 8, 8) : (64, 8, 512, 1)] + R[2 : 4096]>
tirx.kernel @k() target("sm_100a") threads(128) {
  // not swizzled: expected-error@+1 {{the layout of K elements [0, 16) is not canonical: element (1, 0) is expected at byte 144 of the tile and is at byte 128; nearest canonical layout is K-major, swizzle 128B, LBO None, SBO 1024 bytes, }}
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared, #plain>
  %b = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  tirx.mma %a, %b, %acc : !tirx.tile<128x64xf16, shared, #plain>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
  // The second step of K starts one row too far: in the middle of the swizzle pattern.
  %a2 = tirx.alloc : !tirx.tile<64x64xf16, shared>
  // k steps: expected-error@+1 {{the layout of K elements [16, 32) is not canonical: element (0, 16) is expected at byte }}
  %b2 = tirx.alloc : !tirx.tile<64x64xf16, shared, #broken>
  %acc2 = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  tirx.mma %a2, %b2, %acc2 : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared, #broken>, !tirx.tile<64x64xf32, tensor>
  // replicas: expected-error@+1 {{expected one copy of every element in shared memory, found a layout with replicas}}
  %a3 = tirx.alloc : !tirx.tile<64x64xf16, shared, #twice>
  tirx.mma %a3, %a3, %acc2 : !tirx.tile<64x64xf16, shared, #twice>, !tirx.tile<64x64xf16, shared, #twice>, !tirx.tile<64x64xf32, tensor>
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
#acc2 = #tirx.tile_layout<S[(128, 72) : (1@TLane, 1@TCol)]>
tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xsi8, shared, #a>
  %acc = tirx.alloc : !tirx.tile<128x128xi32, tensor, #acc>
  // negate i8: expected-error@+1 {{negat}}
  tirx.mma %a, %a, %acc negate_a : !tirx.tile<128x64xsi8, shared, #a>, !tirx.tile<128x64xsi8, shared, #a>, !tirx.tile<128x128xi32, tensor, #acc>
  %a2 = tirx.alloc : !tirx.tile<128x64xf8E4M3FN, shared, #a>
  %b = tirx.alloc : !tirx.tile<72x64xf8E4M3FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<4, 3, 3>, #tirx.tile_layout<S[(72, 64) : (1, 128)]>>>
  %acc2 = tirx.alloc : !tirx.tile<128x72xf32, tensor, #acc2>
  // transposed n: expected-error@+1 {{MN-major B of e4m3, cta_group 1: expected N in steps of 16, found 72; nearest is 64}}
  tirx.mma %a2, %b, %acc2 : !tirx.tile<128x64xf8E4M3FN, shared, #a>, !tirx.tile<72x64xf8E4M3FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<4, 3, 3>, #tirx.tile_layout<S[(72, 64) : (1, 128)]>>>, !tirx.tile<128x72xf32, tensor, #acc2>
  tirx.return
}

// -----

// Products in registers.

#a = #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>
#c = #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>
#a2 = #tirx.tile_layout<S[(8, 4) : (1@laneid, 8@laneid)]>
tirx.kernel @k() target("sm_80") threads(32) {
  %a = tirx.alloc : !tirx.tile<8x4xf32, register, #a>
  %c = tirx.alloc : !tirx.tile<8x8xf32, register, #c>
  // no instruction: expected-error@+1 {{expected one of f16 x f16 + f16, f16 x f16 + f32, f64 x f64 + f64, bf16 x bf16 + f32, tf32 x tf32 + f32, s8 x s8 + s32, u8 x u8 + s32, e4m3 x e4m3 + f32, e4m3 x e4m3 + f16, e5m2 x e5m2 + f32, e5m2 x e5m2 + f16, found f32 x f32 + f32}}
  tirx.mma %a, %a, %c : !tirx.tile<8x4xf32, register, #a>, !tirx.tile<8x4xf32, register, #a>, !tirx.tile<8x8xf32, register, #c>
  %a2 = tirx.alloc : !tirx.tile<8x4xf64, register, #a2>
  %c2 = tirx.alloc : !tirx.tile<8x8xf64, register, #c>
  // fragment: expected-error@+1 {{expected element (0, 1) of A in register 0 of thread 1, found (1, 0); mma.sync on f64 with f64 accumulators has fragments for m8n8k4 (1 per warp, row.col)}}
  tirx.mma %a2, %a2, %c2 : !tirx.tile<8x4xf64, register, #a2>, !tirx.tile<8x4xf64, register, #a2>, !tirx.tile<8x8xf64, register, #c>
  tirx.return
}
