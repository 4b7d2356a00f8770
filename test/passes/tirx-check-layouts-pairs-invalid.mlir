// RUN: tirx-opt %s --tirx-check-layouts --split-input-file --verify-diagnostics

// Pairs of blocks.

// expected-error@+1 {{'cluster' does not exist on sm_80; supported on}}
tirx.kernel @no_clusters() target("sm_80") cluster(2) threads(128) {
  tirx.return
}

tirx.kernel @k() target("sm_100a") cluster(2) threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  // pair m: expected-error@+1 {{kind::f16, cta_group 2: expected M in {128, 256}, found 64; nearest is 128}}
  tirx.mma %a, %a, %acc : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf32, tensor>
  %a2 = tirx.alloc : !tirx.tile<256x32xsi8, shared>
  %b = tirx.alloc : !tirx.tile<48x32xsi8, shared>
  %acc2 = tirx.alloc : !tirx.tile<256x48xi32, tensor>
  // pair n: expected-error@+1 {{kind::i8, cta_group 2: expected N in {32, 64, ..., 256}, found 48; nearest is 32}}
  tirx.mma %a2, %b, %acc2 : !tirx.tile<256x32xsi8, shared>, !tirx.tile<48x32xsi8, shared>, !tirx.tile<256x48xi32, tensor>
  %a3 = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc3 = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // pair ws: expected-error@+1 {{expected a product of a pair of blocks without weight_stationary or zero_columns, which .cta_group::2 does not have}}
  tirx.mma %a3, %a3, %acc3 zero_columns([3]) : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
  %a4 = tirx.alloc : !tirx.tile<256x32xf16, shared>
  %e = tirx.alloc : !tirx.tile<128x16xi4, tensor>
  %acc4 = tirx.alloc : !tirx.tile<256x128xf32, tensor>
  // pair codes: expected-error@+1 {{kind f16: expected metadata of 256x16 i4, a code of 4 bits for every 4 elements along K, found 128x16 i4}}
  tirx.mma %a4, %a3, %acc4 metadata(%e) : !tirx.tile<256x32xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<256x128xf32, tensor>, !tirx.tile<128x16xi4, tensor>
  tirx.return
}

// -----

// A of a pair with M = 128 is in both halves of the lanes, as data path B has the columns of D in both.

!a = !tirx.tile<64x32xf16, tensor, #tirx.tile_layout<S[(64, 32) : (1@TLane, 1@TCol)]>>
tirx.kernel @k() target("sm_100a") cluster(2) per_cta threads(128) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !tirx.tile<64x32xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x128xf32, tensor>
  // pair a: expected-error@+1 {{expected the 64x32 A where tcgen05.mma reads it, S[(64, 32) : (1@TLane, 1@TCol)] + R[2 : 64@TLane] (plus any column offset), found S[(64, 32) : (1@TLane, 1@TCol)]}}
  tirx.mma %a, %b, %acc pair : !a, !tirx.tile<64x32xf16, shared>, !tirx.tile<64x128xf32, tensor>
  %a2 = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc2 = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // pair missing: expected-error@+1 {{expected 'pair' on all products on tensor memory of a kernel, or on none, found one without it behind others: all of a kernel is of one cta_group}}
  tirx.mma %a2, %a2, %acc2 : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

tirx.kernel @pair_alone() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x256xf32, tensor>
  // expected-error@+1 {{expected 'pair' only in a kernel whose clusters consist of pairs, such as cluster(2) per_cta, found it in another one}}
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

tirx.kernel @axis() target("sm_100a") threads(128) {
  // expected-error@+1 {{expected a kernel with cluster(2) for a layout with axis cbx, found S[(2, 4, 8) : (1@cbx, 8, 1)]}}
  %t = tirx.alloc : !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(2, 4, 8) : (1@cbx, 8, 1)]>>
  tirx.return
}
