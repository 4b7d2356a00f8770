// RUN: tirx-opt %s --tirx-check-layouts --split-input-file --verify-diagnostics

!a = !tirx.tile<128x128xf4E2M1FN, shared>
!d = !tirx.tile<128x128xf32, tensor>
!s = !tirx.tile<128x8xf16, tensor>
!s2 = !tirx.tile<128x4xf8E4M3FN, tensor>
!a2 = !tirx.tile<128x128xf8E4M3FN, shared>
!s3 = !tirx.tile<128x8xf8E8M0FNU, tensor>
!a3 = !tirx.tile<128x128xf16, shared>
!s4 = !tirx.tile<128x4xf8E8M0FNU, tensor>
!a4 = !tirx.tile<64x128xf8E4M3FN, shared>
!d2 = !tirx.tile<64x128xf32, tensor>
!sa = !tirx.tile<64x4xf8E8M0FNU, tensor>
!d3 = !tirx.tile<128x64xf32, tensor>
!a5 = !tirx.tile<128x64xf8E4M3FN, shared>
!s5 = !tirx.tile<128x2xf8E8M0FNU, tensor>
tirx.kernel @k(%a: !a, %d: !d, %s: !s) target("sm_100a") threads(128) {
  // scale type: expected-error@+1 {{expected scale factors of one type, f8E8M0FNU or f8E4M3FN (as ue4m3), found f16 and f16}}
  tirx.mma %a, %a, %d scales(%s, %s) : !a, !a, !d, !s, !s
  %a2 = tirx.alloc : !a
  %d2 = tirx.alloc : !d
  %s2 = tirx.alloc : !s2
  // blocks of 32 of ue4m3: expected-error@+1 {{expected scale factors for blocks of as many elements of K as e2m1 and e2m1 can have, 32 of ue8m0 (kind mxf8f6f4); 32 of ue8m0 (kind mxf4); 32 of ue8m0 (kind mxf4nvf4); 16 of ue8m0 or ue4m3 or ue5m3 (kind mxf4nvf4), found blocks of 32 of ue4m3 (K = 128, 4 factors)}}
  tirx.mma %a2, %a2, %d2 scales(%s2, %s2) : !a, !a, !d, !s2, !s2
  %a3 = tirx.alloc : !a2
  %s3 = tirx.alloc : !s3
  // blocks of 16 of bytes: expected-error@+1 {{expected scale factors for blocks of as many elements of K as e4m3 and e4m3 can have, 32 of ue8m0 (kind mxf8f6f4), found blocks of 16 of ue8m0 (K = 128, 8 factors)}}
  tirx.mma %a3, %a3, %d2 scales(%s3, %s3) : !a2, !a2, !d, !s3, !s3
  %a4 = tirx.alloc : !a3
  %s4 = tirx.alloc : !s4
  // expected-error@+1 {{expected operands of types that have scale factors (e4m3, e5m2, e2m3, e3m2, e2m1), found f16 and f16}}
  tirx.mma %a4, %a4, %d2 scales(%s4, %s4) : !a3, !a3, !d, !s4, !s4
  %a5 = tirx.alloc : !a4
  %d3 = tirx.alloc : !d2
  %sa = tirx.alloc : !sa
  // rows of a: expected-error@+1 {{kind::mxf8f6f4, cta_group 1: expected M in {128}, found 64; nearest is 128}}
  tirx.mma %a5, %a3, %d3 scales(%sa, %s4) : !a4, !a2, !d2, !sa, !s4
  %d4 = tirx.alloc : !d3
  // rows of b: expected-error@+1 {{expected SFB of 128 rows, 64 rounded up to whole blocks of 128, which tcgen05.cp copies, found 64}}
  tirx.mma %a3, %a5, %d4 scales(%s4, %sa) : !a2, !a4, !d3, !s4, !sa
  %a6 = tirx.alloc : !a5
  %s5 = tirx.alloc : !s5
  // half a column: expected-error@+1 {{expected SFA with scale factors along K in steps of 4, whole columns of tensor memory, found 2; the nearest above is 4}}
  tirx.mma %a6, %a6, %d2 scales(%s5, %s5) : !a5, !a5, !d, !s5, !s5
  // weight stationary: expected-error@+1 {{kind::mxf8f6f4: expected one of cta_group 1, cta_group 2, found cta_group 1 .ws}}
  tirx.mma %a3, %a3, %d2 scales(%s4, %s4) zero_columns([0]) : !a2, !a2, !d, !s4, !s4
  tirx.return
}

tirx.kernel @target() target("sm_100") threads(128) {
  %a = tirx.alloc : !a2
  %d = tirx.alloc : !d
  %s = tirx.alloc : !s4
  // expected-error@+1 {{'tcgen05' does not exist on sm_100; supported on}}
  tirx.mma %a, %a, %d scales(%s, %s) : !a2, !a2, !d, !s4, !s4
  tirx.return
}

// -----

// With a sparse A the blocks are twice as long.

!a = !tirx.tile<128x128xf8E4M3FN, shared>
!b = !tirx.tile<128x256xf8E4M3FN, shared>
!d = !tirx.tile<128x128xf32, tensor>
!s = !tirx.tile<128x8xf8E8M0FNU, tensor>
!e = !tirx.tile<128x64xi4, tensor>
tirx.kernel @sparse_blocks() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %d = tirx.alloc : !d
  %s = tirx.alloc : !s
  %e = tirx.alloc : !e
  // expected-error@+1 {{expected scale factors for blocks of as many elements of K as e4m3 and e4m3 can have where A is sparse, 64 of ue8m0 (kind mxf8f6f4), found blocks of 32 of ue8m0 (K = 256, 8 factors)}}
  tirx.mma %a, %b, %d scales(%s, %s) metadata(%e) : !a, !b, !d, !s, !s, !e
  tirx.return
}

// -----

// A code of a packed 4-bit kind stands for four pairs of elements.

!a = !tirx.tile<128x128xf4E2M1FN, shared>
!b = !tirx.tile<128x256xf4E2M1FN, shared>
!d = !tirx.tile<128x128xf32, tensor>
!s = !tirx.tile<128x8xf8E4M3FN, tensor>
!e = !tirx.tile<128x64xi4, tensor>
tirx.kernel @sparse_codes() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %d = tirx.alloc : !d
  %s = tirx.alloc : !s
  %e = tirx.alloc : !e
  // expected-error@+1 {{kind mxf4nvf4: expected metadata of 128x32 i4, a code of 4 bits for every 8 elements along K, found 128x64 i4}}
  tirx.mma %a, %b, %d scales(%s, %s) metadata(%e) : !a, !b, !d, !s, !s, !e
  tirx.return
}

!e2 = !tirx.tile<128x32xi4, tensor>
tirx.kernel @sparse_target() target("sm_100f") threads(128) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %d = tirx.alloc : !d
  %s = tirx.alloc : !s
  %e = tirx.alloc : !e2
  // expected-error@+1 {{'tcgen05.sparse_mxf4' does not exist on sm_100f; supported on}}
  tirx.mma %a, %b, %d scales(%s, %s) metadata(%e) : !a, !b, !d, !s, !s, !e2
  tirx.return
}

// -----

// Pairs of blocks.

// With M = 128 each block has 64 rows of A, and each half of the lanes one half of N: blocks have more factors along K.

!a = !tirx.tile<128x128xf8E4M3FN, shared>
!d = !tirx.tile<128x128xf32, tensor>
!s = !tirx.tile<128x4xf8E8M0FNU, tensor>
!a2 = !tirx.tile<128x256xf8E4M3FN, shared>
!b = !tirx.tile<192x256xf8E4M3FN, shared>
!d2 = !tirx.tile<128x192xf32, tensor>
!s2 = !tirx.tile<128x8xf8E8M0FNU, tensor>
!q = !tirx.tile<256x8xf8E8M0FNU, tensor>
!b2 = !tirx.tile<64x256xf8E4M3FN, shared>
!d3 = !tirx.tile<128x64xf32, tensor>
!e = !tirx.tile<128x64xi4, tensor>
!a3 = !tirx.tile<256x128xf8E4M3FN, shared>
!b3 = !tirx.tile<64x128xf8E4M3FN, shared>
!d4 = !tirx.tile<256x64xf32, tensor>
!sa = !tirx.tile<256x4xf8E8M0FNU, tensor>
!sb = !tirx.tile<64x4xf8E8M0FNU, tensor>
tirx.kernel @k() target("sm_100a") cluster(2) threads(128) {
  %a = tirx.alloc : !a
  %d = tirx.alloc : !d
  %s = tirx.alloc : !s
  // pair of 64 rows: expected-error@+1 {{expected SFA with scale factors along K in steps of 8, whole columns of tensor memory in blocks of 2 for these rows, found 4; the nearest above is 8}}
  tirx.mma %a, %a, %d scales(%s, %s) : !a, !a, !d, !s, !s
  %a2 = tirx.alloc : !a2
  %b = tirx.alloc : !b
  %d2 = tirx.alloc : !d2
  %s2 = tirx.alloc : !s2
  %q = tirx.alloc : !q
  // pair of halves: expected-error@+1 {{expected N of 64, 128, 256, and SFB of as many rows, for a pair with M = 128, where tcgen05.cp copies whole blocks for each half of N to one half of the lanes; found N = 192 and SFB of 256 rows}}
  tirx.mma %a2, %b, %d2 scales(%s2, %q) : !a2, !b, !d2, !s2, !q
  %b2 = tirx.alloc : !b2
  %d3 = tirx.alloc : !d3
  // pair of rounded rows: expected-error@+1 {{found N = 64 and SFB of 128 rows}}
  tirx.mma %a2, %b2, %d3 scales(%s2, %s2) : !a2, !b2, !d3, !s2, !s2
  %e = tirx.alloc : !e
  // sparse pair of 64 rows: expected-error@+1 {{kind::mxf8f6f4, cta_group 2, sparse: expected M in {256}, found 128; nearest is 256}}
  tirx.mma %a, %a2, %d scales(%s, %s) metadata(%e) : !a, !a2, !d, !s, !s, !e
  %a3 = tirx.alloc : !a3
  %b3 = tirx.alloc : !b3
  %d4 = tirx.alloc : !d4
  %sa = tirx.alloc : !sa
  %sb = tirx.alloc : !sb
  // pair rows of b: expected-error@+1 {{expected SFB of 128 rows, 64 rounded up to whole blocks of 128, which tcgen05.cp copies, found 64}}
  tirx.mma %a3, %b3, %d4 scales(%sa, %sb) : !a3, !b3, !d4, !sa, !sb
  tirx.return
}

// -----

// K = 96.

!a = !tirx.tile<128x192xf4E2M1FN, shared>
!d = !tirx.tile<128x128xf32, tensor>
!s = !tirx.tile<128x12xf8E4M3FN, tensor>
tirx.kernel @k96_target() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %d = tirx.alloc : !d
  %s = tirx.alloc : !s
  // expected-error@+1 {{K = 96: expected target}}
  tirx.mma %a, %a, %d scales(%s, %s) instruction("k96") : !a, !a, !d, !s, !s
  tirx.return
}

!a2 = !tirx.tile<128x128xf4E2M1FN, shared>
!s2 = !tirx.tile<128x8xf8E4M3FN, tensor>
!a22 = !tirx.tile<128x192xf16, shared>
!b = !tirx.tile<128x384xf4E2M1FN, shared>
!e = !tirx.tile<128x48xi4, tensor>
!a4 = !tirx.tile<128x192xf4E2M1FN, tensor>
!b2 = !tirx.tile<64x192xf4E2M1FN, shared>
!d2 = !tirx.tile<128x64xf32, tensor>
tirx.kernel @k() target("sm_103a") threads(128) {
  %a = tirx.alloc : !a2
  %d = tirx.alloc : !d
  %s = tirx.alloc : !s2
  // k96 k: expected-error@+1 {{kind mxf4nvf4: expected K in multiples of 96, found 128; the nearest is 96}}
  tirx.mma %a, %a, %d scales(%s, %s) instruction("k96") : !a2, !a2, !d, !s2, !s2
  %a2 = tirx.alloc : !a22
  // k96 kind: expected-error@+1 {{kind::f16: expected a code of K of 0, found 1}}
  tirx.mma %a2, %a2, %d instruction("k96") : !a22, !a22, !d
  %a3 = tirx.alloc : !a
  %b = tirx.alloc : !b
  %s2 = tirx.alloc : !s
  %e = tirx.alloc : !e
  // k96 sparse: expected-error@+1 {{expected a dense product for K = 96}}
  tirx.mma %a3, %b, %d scales(%s2, %s2) metadata(%e) instruction("k96") : !a, !b, !d, !s, !s, !e
  %a4 = tirx.alloc : !a4
  %b2 = tirx.alloc : !b2
  %d2 = tirx.alloc : !d2
  // k96 a: expected-error@+1 {{expected A in shared memory for K = 96, found it in tensor memory, for which no source has that K}}
  tirx.mma %a4, %b2, %d2 scales(%s2, %s2) instruction("k96") : !a4, !b2, !d2, !s, !s
  tirx.return
}

!a3 = !tirx.tile<256x192xf4E2M1FN, shared>
!d3 = !tirx.tile<256x64xf32, tensor>
!s3 = !tirx.tile<256x6xf8E8M0FNU, tensor>
!q = !tirx.tile<128x6xf8E8M0FNU, tensor>
tirx.kernel @k96_columns() target("sm_103a") cluster(2) threads(128) {
  %a = tirx.alloc : !a3
  %b = tirx.alloc : !b2
  %d = tirx.alloc : !d3
  %s = tirx.alloc : !s3
  %q = tirx.alloc : !q
  // expected-error@+1 {{expected SFA with scale factors along K in steps of 4, whole columns of tensor memory, found 6; the nearest above is 8}}
  tirx.mma %a, %b, %d scales(%s, %q) instruction("k96") : !a3, !b2, !d3, !s3, !q
  tirx.return
}

// -----

// The factors of an instruction go on in the next column of K, which has to be behind those of all rows.

#a = #tirx.compose_layout<#tirx.swizzle_layout<5, 3, 3>, #tirx.tile_layout<S[(128, 192) : (256, 1)]>>
#d = #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>
!a = !tirx.tile<128x192xf4E2M1FN, shared, #a>
!d = !tirx.tile<128x128xf32, tensor, #d>
!s = !tirx.tile<128x12xf8E4M3FN, tensor, #tirx.tile_layout<S[(4, 32, 3, 4) : (4@TCol, 1@TLane, 32@TCol, 1@TCol)] + R[4 : 32@TLane]>>
tirx.kernel @k96_apart() target("sm_103a") threads(128) {
  %a = tirx.alloc : !a
  %d = tirx.alloc : !d
  %s = tirx.alloc : !s
  // expected-error@+1 {{expected SFA where the hardware reads it, in whole columns, such as S[(4, 32, 3, 4) : (4@TCol, 1@TLane, 16@TCol, 1@TCol)] + R[4 : 32@TLane], found S[(4, 32, 3, 4) : (4@TCol, 1@TLane, 32@TCol, 1@TCol)] + R[4 : 32@TLane]}}
  tirx.mma %a, %a, %d scales(%s, %s) instruction("k96") : !a, !a, !d, !s, !s
  tirx.return
}

// -----

// Only the absolute LBO mode reads across rows of 128 bytes, and only the 128-byte swizzle has it.

#a = #tirx.compose_layout<#tirx.swizzle_layout<5, 2, 3>, #tirx.tile_layout<S[(128, 3, 128) : (128, 16384, 1)]>>
#d = #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>
!a = !tirx.tile<128x384xf4E2M1FN, shared, #a>
!d = !tirx.tile<128x128xf32, tensor, #d>
!s = !tirx.tile<128x24xf8E4M3FN, tensor>
tirx.kernel @k96_swizzle() target("sm_103a") threads(128) {
  // expected-error@+1 {{operand A: the layout of K elements [96, 192) is not canonical}}
  %a = tirx.alloc : !a
  %d = tirx.alloc : !d
  %s = tirx.alloc : !s
  tirx.mma %a, %a, %d scales(%s, %s) instruction("k96") : !a, !a, !d, !s, !s
  tirx.return
}

// -----

// Layouts: every row in a lane of its own is where the accumulator has its rows, not where scale factors are.

#a = #tirx.tile_layout<S[(16, 8, 8, 16) : (128, 16, 2048, 1)]>
#d = #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>
!a = !tirx.tile<128x128xf8E4M3FN, shared, #a>
!d = !tirx.tile<128x128xf32, tensor, #d>
!s = !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>>
!s2 = !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane] + 2@TCol>>
tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %d = tirx.alloc : !d
  %s = tirx.alloc : !s
  // rows in lanes: expected-error@+1 {{expected SFA where the hardware reads it, in whole columns, such as S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane], found S[(128, 4) : (1@TLane, 1@TCol)]}}
  tirx.mma %a, %a, %d scales(%s, %s) : !a, !a, !d, !s, !s
  %s2 = tirx.alloc : !s2
  // from the middle of a column: expected-error@+1 {{expected SFA where the hardware reads it, in whole columns, such as S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane], found S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane] + 2@TCol}}
  tirx.mma %a, %a, %d scales(%s2, %s2) : !a, !a, !d, !s2, !s2
  tirx.return
}

// -----

// Copies.

#a = #tirx.tile_layout<S[(16, 8, 8, 16) : (128, 16, 2048, 1)]>
#d = #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>
!a = !tirx.tile<128x128xf8E4M3FN, shared, #a>
!d = !tirx.tile<128x128xf32, tensor, #d>
!s = !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]>>
!rows = !tirx.tile<128x4xf8E8M0FNU, shared, #tirx.tile_layout<S[(128, 4) : (4, 1)]>>
!a2 = !tirx.tile<128x128xf8E4M3FN, shared>
!d2 = !tirx.tile<128x128xf32, tensor>
!s2 = !tirx.tile<128x4xf8E8M0FNU, tensor>
!g = !tirx.tile<128x4xf8E8M0FNU, global>
tirx.kernel @k(%m: memref<128x4xf8E8M0FNU>) target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %d = tirx.alloc : !d
  %s = tirx.alloc : !s
  %rows = tirx.alloc : !rows
  // row major in shared memory: expected-error@+1 {{expected scale factors in blocks of 512 bytes, 16 for each lane of 4 columns: element (1, 0) is expected at byte 16 of the shared tile and is at byte 4; write #tirx.tile_layout<S[(4, 32, 4) : (4, 16, 1)]>}}
  tirx.copy %rows, %s : !rows, !s
  tirx.mma %a, %a, %d scales(%s, %s) : !a, !a, !d, !s, !s
  %c0 = arith.constant 0 : index
  %a2 = tirx.alloc : !a2
  %d2 = tirx.alloc : !d2
  %s2 = tirx.alloc : !s2
  %g = tirx.view %m[%c0, %c0] : memref<128x4xf8E8M0FNU> -> !g
  // from global memory: expected-error@+1 {{expected scale factors from a shared tile, which tcgen05.cp copies to all four partitions of lanes, found one in global memory}}
  tirx.copy %g, %s2 : !g, !s2
  tirx.mma %a2, %a2, %d2 scales(%s2, %s2) : !a2, !a2, !d2, !s2, !s2
  tirx.return
}
