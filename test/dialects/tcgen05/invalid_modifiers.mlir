// RUN: tirx-opt %s --split-input-file --verify-diagnostics

func.func @commits(%i: i32, %h: i16) {
  // expected-error@+1 {{expected one mask of CTAs, of 16 or of 32 bits, found both}}
  tcgen05.commit %i multicast %h multicast_32b %i
  func.return
}

// -----

#acc = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
!acc = !tirx.tile<128x64xf32, tensor, #acc>
!shared = !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>
!half = !tirx.tile<128x16xf16, tensor, #tirx.tile_layout<S[(128, 16) : (1@TLane, 1@TCol)] + 3@TCol>>
!low = !tirx.tile<64x64xf32, tensor, #tirx.tile_layout<S[(4, 16, 64) : (32@TLane, 1@TLane, 1@TCol)] + 16@TLane>>
func.func @f(%i: i32, %acc: !acc, %a: i64, %p: i1, %s: !shared, %t: !half, %t2: !low) {
  // expected-error@+1 {{expected cta_group 1 or 2, found 4; use 1, or 2 for a pair of CTAs [alloc-cta-group]}}
  tcgen05.alloc %i columns 32 cta_group 4
  // expected-error@+1 {{expected cta_group 1 or 2, found 0}}
  tcgen05.relinquish_alloc_permit cta_group 0
  // expected-error@+1 {{expected cta_group 1 or 2, found 3; use 1, or 2 for a pair of CTAs [alloc-cta-group]}}
  tcgen05.dealloc %i columns 32 cta_group 3
  // expected-error@+1 {{expected cta_group 1 or 2, found 3}}
  tcgen05.commit %i cta_group 3
  // expected-error@+1 {{expected cta_group 1 or 2, found 3; use 1, or 2 for a pair of CTAs [cta-group]}}
  tcgen05.mma f16 %acc, %a, %a, %i, %p cta_group 3 : !acc, i64
  // expected-error@+1 {{expected a kind without scale factors (f16, tf32, f8f6f4, i8, ti16), found 'mxf4'}}
  tcgen05.mma ws mxf4 %acc, %a, %a, %i, %p : !acc, i64
  // expected-error@+1 {{expected A in tensor memory with a layout, found !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>}}
  tcgen05.mma f16 %acc, %s, %a, %i, %p : !acc, !shared
  // expected-error@+1 {{expected the sparsity metadata in tensor memory with a layout, found !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>}}
  tcgen05.mma f16 %acc, %a, %a, %i, %p sparse(%s : !shared) : !acc, i64
  // expected-error@+1 {{expected the scale factors of B in tensor memory with a layout, found !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>}}
  tcgen05.mma mxf4 %acc, %a, %a, %i, %p scales(%acc, %s : !acc, !shared) : !acc, i64
  // expected-error@+1 {{expected a tile that starts with a column of 32 bits, found one that starts at bit 16 of column 1}}
  tcgen05.mma f16 %acc, %t, %a, %i, %p : !acc, !half
  // expected-error@+1 {{expected a kind with scale factors (mxf8f6f4, mxf4, mxf4nvf4), found 'f16'}}
  tcgen05.mma f16 %acc, %a, %a, %i, %p scales(%acc, %acc : !acc, !acc) : !acc, i64
  // expected-error@+1 {{expected both or neither of buffer and collector, found one}}
  tcgen05.mma ws f16 %acc, %a, %a, %i, %p buffer "b0" : !acc, i64
  // expected-error@+1 {{expected a shape out of 128x256b, 128x128b, 4x256b, 64x128b, 32x128b, found 16x128b; use one of them [cp-shape]}}
  tcgen05.cp "16x128b" %acc, %a : !acc
  // expected-error@+1 {{expected multicast warpx4 with .32x128b, found none; 64 rows go to two warps (.warpx2::02_13 or ::01_23), 32 to four (.warpx4), others are not repeated [cp-multicast]}}
  tcgen05.cp "32x128b" %acc, %a : !acc
  // expected-error@+1 {{expected multicast warpx2::02_13 or warpx2::01_23 with .64x128b, found warpx4; 64 rows go to two warps (.warpx2::02_13 or ::01_23), 32 to four (.warpx4), others are not repeated [cp-multicast]}}
  tcgen05.cp "64x128b" %acc, %a multicast "warpx4" : !acc
  // expected-error@+1 {{expected multicast none with .4x256b, found warpx4; 64 rows go to two warps (.warpx2::02_13 or ::01_23), 32 to four (.warpx4), others are not repeated [cp-multicast]}}
  tcgen05.cp "4x256b" %acc, %a multicast "warpx4" : !acc
  // expected-error@+1 {{expected a source format out of b6x16_p32, b4x16_p64, found b8; leave it out where nothing is widened [cp-source]}}
  tcgen05.cp "4x256b" %acc, %a decompress "b8" : !acc
  // expected-error@+1 {{expected cta_group 1 or 2, found 5; use 1, or 2 for a pair of CTAs [cp-cta-group]}}
  tcgen05.cp "4x256b" %acc, %a cta_group 5 : !acc
  // expected-error@+1 {{expected an address at lane 0, 32, 64 or 96, found lane 16; rows move inside groups of 32 lanes [shift-lane]}}
  tcgen05.shift %t2 : !low
  func.return
}

// -----

#acc = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
!acc = !tirx.tile<128x64xf32, tensor, #acc>
!wrong = !tirx.tile<128x64xf32, register, #tirx.tile_layout<S[(32, 4, 64) : (1@laneid, 1@warpid, 1)]>>
!regs = !tirx.tile<128x64xf32, register, #tirx.tile_layout<S[(4, 32, 64) : (1@warpid, 1@laneid, 1)]>>
!rows = !tirx.tile<128xf32, register, #tirx.tile_layout<S[(4, 32) : (1@warpid, 1@laneid)]>>
!h = !tirx.tile<128x64xf16, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!r = !tirx.tile<128x64xf16, register, #tirx.tile_layout<S[(4, 32, 64) : (1@warpid, 1@laneid, 1)]>>
!m = !tirx.tile<128xf16, register, #tirx.tile_layout<S[(4, 32) : (1@warpid, 1@laneid)]>>
!acc2 = !tirx.tile<128x64xi32, tensor, #acc>
!regs2 = !tirx.tile<128x64xi32, register, #tirx.tile_layout<S[(4, 32, 64) : (1@warpid, 1@laneid, 1)]>>
!rows2 = !tirx.tile<128xi32, register, #tirx.tile_layout<S[(4, 32) : (1@warpid, 1@laneid)]>>
!rows3 = !tirx.tile<128xf32, register, #tirx.tile_layout<S[(32, 4) : (1@laneid, 1@warpid)]>>
#acc2 = #tirx.tile_layout<S[(128, 5) : (1@TLane, 1@TCol)]>
!acc3 = !tirx.tile<128x5xf32, tensor, #acc2>
!regs3 = !tirx.tile<128x5xf32, register, #tirx.tile_layout<S[(4, 32, 5) : (1@warpid, 1@laneid, 1)]>>
!two = !tirx.tile<128x16xf32, tensor, #tirx.tile_layout<S[(4, 2, 16, 16) : (32@TLane, 16@TLane, 1@TLane, 1@TCol)]>>
!tworegs = !tirx.tile<128x16xf32, register, #tirx.tile_layout<S[(4, 2, 16, 2, 8) : (1@warpid, 8, 1@laneid, 16@laneid, 1)]>>
func.func @f(%acc: !acc, %v2: !regs, %h: !h, %acc2: !acc2, %acc3: !acc3, %t: !two) {
  // expected-error@+1 {{expected registers as shape 32x32b moves them, S[(4, 32, 64) : (1@warpid, 1@laneid, 1)], found S[(32, 4, 64) : (1@laneid, 1@warpid, 1)]}}
  %v = tcgen05.ld "32x32b" %acc : !acc -> !wrong
  // expected-error@+1 {{expected registers as shape 16x64b moves them, }}
  tcgen05.st "16x64b" %acc, %v2 : !acc, !regs
  // expected-error@+1 {{.pack::16b and .unpack::16b: expected elements of 16 bits, found 32}}
  %v3 = tcgen05.ld "32x32b" %acc pack : !acc -> !regs
  // expected-error@+1 {{expected registers as shape 16x64b moves them, S[(4, 2, 2, 8, 32, 2) : (1@warpid, 32, 1@laneid, 4@laneid, 1, 2@laneid)], found S[(4, 32, 64) : (1@warpid, 1@laneid, 1)]}}
  %m, %v4 = tcgen05.ld.red max "16x64b" %acc : !acc -> !rows, !regs
  // expected-error@+1 {{expected a reduction of f32, u32 or s32, found f16; load first and reduce in registers [ld-reduce-type]}}
  %m2, %v5 = tcgen05.ld.red max "32x32b" %h : !h -> !m, !r
  // expected-error@+1 {{expected .abs and .NaN on a reduction of f32 only, found one with max of s32; leave it out [ld-reduce-modifier]}}
  %m3, %v6 = tcgen05.ld.red max "32x32b" %acc2 abs : !acc2 -> !rows2, !regs2
  // expected-error@+1 {{expected .abs and .NaN on a reduction of f32 only, found one with min of s32; leave it out [ld-reduce-modifier]}}
  %m4, %v7 = tcgen05.ld.red min "32x32b" %acc2 nan : !acc2 -> !rows2, !regs2
  // expected-error@+1 {{expected a reduction of f32, found i32}}
  %m5, %v8 = tcgen05.ld.red max "32x32b" %acc : !acc -> !rows2, !regs
  // expected-error@+1 {{expected one element of the reduction in each thread, S[(4, 32) : (1@warpid, 1@laneid)], found S[(32, 4) : (1@laneid, 1@warpid)]}}
  %m6, %v9 = tcgen05.ld.red max "32x32b" %acc : !acc -> !rows3, !regs
  // expected-error@+1 {{expected min or max of .32x32b or .16x32bx2, .x2 or more, not packed, found max of .32x32b.x1; load first and reduce in registers [ld-reduce]}}
  %m7, %v10 = tcgen05.ld.red max "32x32b" %acc3 : !acc3 -> !rows, !regs3
  // expected-error@+1 {{expected a tile in one half of the lanes of each warp for shape 16x32bx2, found both}}
  %m8, %v11 = tcgen05.ld.red max "16x32bx2" %t : !two -> !rows, !tworegs
  func.return
}

// -----

// What addresses say and tiles do not.

!t = !tirx.tile<128x4xf32, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>>
!r = !tirx.tile<128x4xf32, register, #tirx.tile_layout<S[(4, 32, 4) : (1@warpid, 1@laneid, 1)]>>
func.func @f(%t: !t, %r: !r, %i: i32, %b: i64, %p: i1) {
  // expected-error@+1 {{tcgen05.ld: expected num, offset and half_split_offset with an address only}}
  %0 = tcgen05.ld "32x32b" num 4 %t : !t -> !r
  // expected-error@+1 {{tcgen05.st: expected one tile in registers, found 2}}
  tcgen05.st "32x32b" %t, %r, %r : !t, !r, !r
  // expected-error@+1 {{expected 'buffer' with 'ws' only: other products keep A, in its one buffer}}
  tcgen05.mma f16 %i, %b, %b, %i, %p buffer "b0" collector fill : i32, i64
  // expected-error@+1 {{expected scale factors of A and of B, found 1}}
  tcgen05.mma mxf4 %i, %b, %b, %i, %p scales(%i : i32) : i32, i64
  func.return
}
