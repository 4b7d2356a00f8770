// RUN: tirx-opt %s --tirx-check-layouts --split-input-file --verify-diagnostics

#a = #tirx.tile_layout<S[(128, 32) : (1@TLane, 2@TCol)]>
#a0 = #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>

tirx.kernel @a_is_packed(%x: f16) target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x32xf16, tensor, #a>
  %b = tirx.alloc : !tirx.tile<64x32xf16, shared>
  %d = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  // expected-error@+1 {{expected the 128x32 A where tcgen05.mma reads it, S[(128, 32) : (1@TLane, 1@TCol)] (plus any column offset), found S[(128, 32) : (1@TLane, 2@TCol)]}}
  tirx.mma %a, %b, %d : !tirx.tile<128x32xf16, tensor, #a>, !tirx.tile<64x32xf16, shared>, !tirx.tile<128x64xf32, tensor>
  tirx.return
}

#a2 = #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)] + 1@TCol>

tirx.kernel @a_starts_with_a_column(%x: f16) target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x32xf16, tensor, #a2>
  %b = tirx.alloc : !tirx.tile<64x32xf16, shared>
  %d = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  // expected-error@+1 {{expected the 128x32 A to start at a whole column, in steps of 2 elements, found a TCol offset of 1}}
  tirx.mma %a, %b, %d : !tirx.tile<128x32xf16, tensor, #a2>, !tirx.tile<64x32xf16, shared>, !tirx.tile<128x64xf32, tensor>
  tirx.return
}

// -----

// A of tcgen05.mma.ws with M = 32 is in every group of 32 lanes.

#a = #tirx.tile_layout<S[(32, 32) : (1@TLane, 1@TCol)]>

tirx.kernel @copies_of_a() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<32x32xf16, tensor, #a>
  %b = tirx.alloc : !tirx.tile<64x32xf16, shared>
  %d = tirx.alloc : !tirx.tile<32x64xf32, tensor>
  // expected-error@+1 {{expected the 32x32 A where tcgen05.mma.ws reads it, S[(32, 32) : (1@TLane, 1@TCol)] + R[4 : 32@TLane] (plus any column offset), found S[(32, 32) : (1@TLane, 1@TCol)]}}
  tirx.mma %a, %b, %d weight_stationary : !tirx.tile<32x32xf16, tensor, #a>, !tirx.tile<64x32xf16, shared>, !tirx.tile<32x64xf32, tensor>
  tirx.return
}

#d = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>

tirx.kernel @f16_accumulators_have_columns_of_their_own() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x32xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x32xf16, shared>
  %d = tirx.alloc : !tirx.tile<128x64xf16, tensor, #d>
  // expected-error@+1 {{expected the 128x64 accumulator where tcgen05.mma writes it, S[(128, 64) : (1@TLane, 2@TCol)] (plus any column offset), found S[(128, 64) : (1@TLane, 1@TCol)]}}
  tirx.mma %a, %b, %d : !tirx.tile<128x32xf16, shared>, !tirx.tile<64x32xf16, shared>, !tirx.tile<128x64xf16, tensor, #d>
  tirx.return
}

tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x32xf16, shared>
  %b = tirx.alloc : !tirx.tile<96x32xf16, shared>
  %d = tirx.alloc : !tirx.tile<128x96xf32, tensor>
  // weight stationary n: expected-error@+1 {{kind::f16, cta_group 1, .ws: expected N in {64, 128, 256}, found 96; nearest is 64}}
  tirx.mma %a, %b, %d weight_stationary : !tirx.tile<128x32xf16, shared>, !tirx.tile<96x32xf16, shared>, !tirx.tile<128x96xf32, tensor>
  %b2 = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %e = tirx.alloc : !tirx.tile<128x8xi4, tensor>
  %d2 = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  // number of codes: expected-error@+1 {{kind f16: expected metadata of 128x16 i4, a code of 4 bits for every 4 elements along K, found 128x8 i4}}
  tirx.mma %a, %b2, %d2 metadata(%e) : !tirx.tile<128x32xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x8xi4, tensor>
  %a2 = tirx.alloc : !tirx.tile<128x16xtf32, shared>
  %b3 = tirx.alloc : !tirx.tile<64x32xtf32, shared>
  %e2 = tirx.alloc : !tirx.tile<128x16xsi8, tensor>
  // type of codes: expected-error@+1 {{kind tf32: expected metadata of 128x16 i4, a code of 4 bits for every 2 elements along K, found 128x16 si8}}
  tirx.mma %a2, %b3, %d2 metadata(%e2) : !tirx.tile<128x16xtf32, shared>, !tirx.tile<64x32xtf32, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x16xsi8, tensor>
  %a3 = tirx.alloc : !tirx.tile<128x24xf16, shared>
  %b4 = tirx.alloc : !tirx.tile<64x48xf16, shared>
  %e3 = tirx.alloc : !tirx.tile<128x12xi4, tensor>
  // sparse k: expected-error@+1 {{kind f16: expected K in multiples of 32, found 48; the nearest is 64}}
  tirx.mma %a3, %b4, %d2 metadata(%e3) : !tirx.tile<128x24xf16, shared>, !tirx.tile<64x48xf16, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x12xi4, tensor>
  tirx.return
}

// -----

// 8-bit types have a lane for every row, 16-bit types do not.

#e = #tirx.tile_layout<S[(128, 16) : (1@TLane, 1@TCol)]>

tirx.kernel @place_of_codes() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x32xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %e = tirx.alloc : !tirx.tile<128x16xi4, tensor, #e>
  %d = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  // expected-error@+1 {{expected the 128x16 tile of sparsity metadata where tcgen05.mma reads it, S[(8, 2, 8, 2, 2, 4) : (16@TLane, 4@TCol, 1@TLane, 8@TCol, 8@TLane, 1@TCol)] (plus any column offset), found S[(128, 16)}}
  tirx.mma %a, %b, %d metadata(%e) : !tirx.tile<128x32xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x16xi4, tensor, #e>
  tirx.return
}

// -----

// The sparsity selector chooses one of two columns from an even one on.

#e = #tirx.tile_layout<S[(8, 2, 8, 2, 2, 4) : (16@TLane, 4@TCol, 1@TLane, 8@TCol, 8@TLane, 1@TCol)] + 8@TCol>

tirx.kernel @odd_column() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x32xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %e = tirx.alloc : !tirx.tile<128x16xi4, tensor, #e>
  %d = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  // expected-error@+1 {{expected the 128x16 tile of sparsity metadata to start at an even column, in steps of 16 elements, found a TCol offset of 8}}
  tirx.mma %a, %b, %d metadata(%e) : !tirx.tile<128x32xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x16xi4, tensor, #e>
  tirx.return
}

// -----

// A product reads all of A for every instruction, and has overwritten a part of it after the first one.

!whole = !tirx.tile<128x128xf16, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!a = !tirx.tile<128x16xf16, tensor, #tirx.tile_layout<S[(128, 16) : (1@TLane, 1@TCol)]>>
!b = !tirx.tile<64x16xf16, shared>
!pairs = !tirx.tile<128x64x2xf16, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!low = !tirx.tile<128x64x1xf16, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 2@TCol)]>>
!acc = !tirx.tile<128x64xf16, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 2@TCol)]>>

tirx.kernel @a_in_the_accumulator() target("sm_100a") threads(128) {
  %whole = tirx.alloc : !whole
  %b = tirx.alloc : !b
  %a = tirx.subview %whole[0, 0] : !whole -> !a
  %pairs = tirx.reshape %whole : !whole -> !pairs
  %low = tirx.subview %pairs[0, 0, 0] : !pairs -> !low
  %acc = tirx.reshape %low : !low -> !acc
  // expected-error@+1 {{expected A in other columns than the accumulator, found two tiles that share columns}}
  tirx.mma %a, %b, %acc : !a, !b, !acc
  tirx.return
}

// -----

// One tile has one layout, and an f16 accumulator has another one than A.

!t = !tirx.tile<128x16xf16, tensor, #tirx.tile_layout<S[(128, 16) : (1@TLane, 2@TCol)]>>
!b = !tirx.tile<16x16xf16, shared>

tirx.kernel @a_is_the_accumulator() target("sm_100a") threads(128) {
  %t = tirx.alloc : !t
  %b = tirx.alloc : !b
  // expected-error@+1 {{expected A in other columns than the accumulator, found two tiles that share columns}}
  tirx.mma %t, %b, %t : !t, !b, !t
  tirx.return
}
