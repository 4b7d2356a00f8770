// RUN: tirx-opt %s --split-input-file --verify-diagnostics

#acc = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
!acc = !tirx.tile<128x64xf32, tensor, #acc>
!shared = !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>
!half = !tirx.tile<128x16xf16, tensor, #tirx.tile_layout<S[(128, 16) : (1@TLane, 1@TCol)] + 3@TCol>>
!low = !tirx.tile<64x64xf32, tensor, #tirx.tile_layout<S[(4, 16, 64) : (32@TLane, 1@TLane, 1@TCol)] + 16@TLane>>
func.func @f(%i: i32, %acc: !acc, %a: i64, %p: i1, %s: !shared, %t: !half, %t2: !low) {
  // expected-error@+1 {{expected cta_group 1 or 2, found 4; use 1, or 2 for a pair of CTAs [alloc-cta-group]}}
  tcgen05.alloc %i, 32 cta_group 4 : i32
  // expected-error@+1 {{expected cta_group 1 or 2, found 0}}
  tcgen05.relinquish_alloc_permit cta_group 0
  // expected-error@+1 {{expected cta_group 1 or 2, found 3; use 1, or 2 for a pair of CTAs [alloc-cta-group]}}
  tcgen05.dealloc %i, 32 cta_group 3 : i32
  // expected-error@+1 {{expected cta_group 1 or 2, found 3}}
  tcgen05.commit %i cta_group 3 : i32
  // expected-error@+1 {{expected cta_group 1 or 2, found 3; use 1, or 2 for a pair of CTAs [cta-group]}}
  tcgen05.mma f16 %acc, %a, %a, %i, %p cta_group 3 : !acc, i64
  // expected-error@+1 {{expected a kind without scale factors (f16, tf32, f8f6f4, i8), found 'mxf4'}}
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
  tcgen05.cp "16x128b" %a, %acc : !acc
  // expected-error@+1 {{expected multicast warpx4 with .32x128b, found none; 64 rows go to two warps (.warpx2::02_13 or ::01_23), 32 to four (.warpx4), others are not repeated [cp-multicast]}}
  tcgen05.cp "32x128b" %a, %acc : !acc
  // expected-error@+1 {{expected multicast warpx2::02_13 or warpx2::01_23 with .64x128b, found warpx4; 64 rows go to two warps (.warpx2::02_13 or ::01_23), 32 to four (.warpx4), others are not repeated [cp-multicast]}}
  tcgen05.cp "64x128b" %a, %acc multicast "warpx4" : !acc
  // expected-error@+1 {{expected multicast none with .4x256b, found warpx4; 64 rows go to two warps (.warpx2::02_13 or ::01_23), 32 to four (.warpx4), others are not repeated [cp-multicast]}}
  tcgen05.cp "4x256b" %a, %acc multicast "warpx4" : !acc
  // expected-error@+1 {{expected a source format out of b6x16_p32, b4x16_p64, found b8; leave it out where nothing is widened [cp-source]}}
  tcgen05.cp "4x256b" %a, %acc decompress "b8" : !acc
  // expected-error@+1 {{expected cta_group 1 or 2, found 5; use 1, or 2 for a pair of CTAs [cp-cta-group]}}
  tcgen05.cp "4x256b" %a, %acc cta_group 5 : !acc
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
  tcgen05.st "16x64b" %v2, %acc : !regs, !acc
  // expected-error@+1 {{.pack::16b and .unpack::16b: expected elements of 16 bits, found 32}}
  %v3 = tcgen05.ld "32x32b" %acc pack : !acc -> !regs
  // expected-error@+1 {{expected registers as shape 16x64b moves them, S[(4, 2, 2, 8, 32, 2) : (1@warpid, 32, 1@laneid, 4@laneid, 1, 2@laneid)], found S[(4, 32, 64) : (1@warpid, 1@laneid, 1)]}}
  %v4, %m = tcgen05.ld.red max "16x64b" %acc : !acc -> !regs, !rows
  // expected-error@+1 {{expected a reduction of f32, u32 or s32, found f16; load first and reduce in registers [ld-reduce-type]}}
  %v5, %m2 = tcgen05.ld.red max "32x32b" %h : !h -> !r, !m
  // expected-error@+1 {{expected .abs and .NaN on a reduction of f32 only, found one with max of s32; leave it out [ld-reduce-modifier]}}
  %v6, %m3 = tcgen05.ld.red max "32x32b" %acc2 abs : !acc2 -> !regs2, !rows2
  // expected-error@+1 {{expected .abs and .NaN on a reduction of f32 only, found one with min of s32; leave it out [ld-reduce-modifier]}}
  %v7, %m4 = tcgen05.ld.red min "32x32b" %acc2 nan : !acc2 -> !regs2, !rows2
  // expected-error@+1 {{expected a reduction of f32, found i32}}
  %v8, %m5 = tcgen05.ld.red max "32x32b" %acc : !acc -> !regs, !rows2
  // expected-error@+1 {{expected one element of the reduction in each thread, S[(4, 32) : (1@warpid, 1@laneid)], found S[(32, 4) : (1@laneid, 1@warpid)]}}
  %v9, %m6 = tcgen05.ld.red max "32x32b" %acc : !acc -> !regs, !rows3
  // expected-error@+1 {{expected min or max of .32x32b or .16x32bx2, .x2 or more, not packed, found max of .32x32b.x1; load first and reduce in registers [ld-reduce]}}
  %v10, %m7 = tcgen05.ld.red max "32x32b" %acc3 : !acc3 -> !regs3, !rows
  // expected-error@+1 {{expected a tile in one half of the lanes of each warp for shape 16x32bx2, found both}}
  %v11, %m8 = tcgen05.ld.red max "16x32bx2" %t : !two -> !tworegs, !rows
  func.return
}
