// RUN: tirx-opt %s --split-input-file --verify-diagnostics

ptx.entry @columns_twice(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{ptx.tcgen05.alloc: expected one of columns and columns_in, got both}}
  ptx.tcgen05.alloc %d columns 32 columns_in %d cta_group 1
  ptx.ret
}

// -----

ptx.entry @no_columns(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{ptx.tcgen05.dealloc: expected one of columns and columns_in, got none}}
  ptx.tcgen05.dealloc %d cta_group 1
  ptx.ret
}

// -----

ptx.entry @dealloc_columns(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected number of columns to be one of 32, 64, 128, 256, 512, got 1024}}
  ptx.tcgen05.dealloc %d columns 1024 cta_group 1
  ptx.ret
}

// -----

ptx.entry @commit_group(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected cta_group to be one of 1, 2, got 3}}
  ptx.tcgen05.commit %d cta_group 3
  ptx.ret
}

// -----

ptx.entry @shift_group(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected cta_group to be one of 1, 2, got 0}}
  ptx.tcgen05.shift %d cta_group 0
  ptx.ret
}

// -----

ptx.entry @cp_shape(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected shape to be one of 128x256b, 4x256b, 128x128b, 64x128b, 32x128b, got 64x256b}}
  ptx.tcgen05.cp "64x256b" %d, %a cta_group 1
  ptx.ret
}

// -----

ptx.entry @cp_without_multicast(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected multicast to be one of warpx2::02_13, warpx2::01_23 for shape 64x128b, got none}}
  ptx.tcgen05.cp "64x128b" %d, %a cta_group 1
  ptx.ret
}

// -----

ptx.entry @cp_other_multicast(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected multicast to be one of warpx4 for shape 32x128b, got warpx2::02_13}}
  ptx.tcgen05.cp "32x128b" %d, %a multicast "warpx2::02_13" cta_group 1
  ptx.ret
}

// -----

ptx.entry @cp_no_multicast(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected multicast to be absent for shape 128x256b, got warpx4}}
  ptx.tcgen05.cp "128x256b" %d, %a multicast "warpx4" cta_group 1
  ptx.ret
}

// -----

ptx.entry @cp_format(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected decompress to be one of b6x16_p32, b4x16_p64, got b8x16}}
  ptx.tcgen05.cp "4x256b" %d, %a decompress "b8x16" cta_group 1
  ptx.ret
}

// -----

ptx.entry @ld_shape(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected shape to be one of 32x32b, 16x64b, 16x128b, 16x256b, 16x32bx2, got 64x32b}}
  %0 = ptx.tcgen05.ld "64x32b" num 1 %d -> i32
  ptx.ret
}

// -----

ptx.entry @ld_type(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{ptx.tcgen05.ld: expected registers of type i32 or f32, got i64}}
  %0 = ptx.tcgen05.ld "32x32b" num 1 %d -> i64
  ptx.ret
}

// -----

ptx.entry @split_of_another_shape(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected a half_split_offset for shape 16x32bx2 only, got one for 32x32b}}
  %0 = ptx.tcgen05.ld "32x32b" num 1 %d half_split_offset 16 -> i32
  ptx.ret
}

// -----

ptx.entry @split_range(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected half_split_offset from 0 to 511 columns, got 512}}
  %0 = ptx.tcgen05.ld "16x32bx2" num 1 %d half_split_offset 512 -> i32
  ptx.ret
}

// -----

ptx.entry @st_count(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{ptx.tcgen05.st: expected 8 registers for 16x256b.x2, got 1}}
  ptx.tcgen05.st "16x256b" num 2 %d, %d : i32
  ptx.ret
}

// -----

ptx.entry @red_shape(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected shape of a reduction to be one of 32x32b, 16x32bx2, got 16x64b}}
  %0, %1, %2 = ptx.tcgen05.ld.red max "u32" "16x64b" num 2 %d -> i32, i32, i32
  ptx.ret
}

// -----

ptx.entry @red_type(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected type to be one of f32, u32, s32, got f16}}
  %0, %1, %2 = ptx.tcgen05.ld.red max "f16" "32x32b" num 2 %d -> i32, i32, i32
  ptx.ret
}

// -----

ptx.entry @red_num(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected num of at least 2 for a reduction, got 1}}
  %0, %1 = ptx.tcgen05.ld.red max "u32" "32x32b" num 1 %d -> i32, i32
  ptx.ret
}

// -----

ptx.entry @red_abs(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected 'abs' on f32 only, got s32}}
  %0, %1, %2 = ptx.tcgen05.ld.red max "s32" "32x32b" num 2 %d abs -> i32, i32, i32
  ptx.ret
}

// -----

ptx.entry @red_nan(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected 'nan' on f32 only, got u32}}
  %0, %1, %2 = ptx.tcgen05.ld.red max "u32" "32x32b" num 2 %d nan -> i32, i32, i32
  ptx.ret
}

// -----

ptx.entry @red_register(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected the reduction of f32 in a register f32, got i32}}
  %0, %1, %2 = ptx.tcgen05.ld.red max "f32" "32x32b" num 2 %d -> i32, i32, i32
  ptx.ret
}

// -----

ptx.entry @mma_a(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{ptx.tcgen05.mma: expected a to be a descriptor (i64) or a TMEM address (i32), got i1}}
  ptx.tcgen05.mma f16 %d, %p, %a, %d, %p cta_group 1 : i1
  ptx.ret
}

// -----

ptx.entry @mma_scaled_kind(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{ptx.tcgen05.mma: expected kind to be one of f16, tf32, f8f6f4, i8, got mxf4}}
  ptx.tcgen05.mma mxf4 %d, %a, %a, %d, %p cta_group 1 : i64
  ptx.ret
}

// -----

ptx.entry @mma_group(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{expected cta_group to be one of 1, 2, got 4}}
  ptx.tcgen05.mma f16 %d, %a, %a, %d, %p cta_group 4 : i64
  ptx.ret
}

// -----

ptx.entry @mma_lanes(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{expected 4 registers of disabled lanes for cta_group::1, got 8}}
  ptx.tcgen05.mma f16 %d, %a, %a, %d, %p cta_group 1 disable_lanes(%d, %d, %d, %d, %d, %d, %d, %d) : i64
  ptx.ret
}

// -----

ptx.entry @scale_d_kind(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{ptx.tcgen05.mma: expected kind to be one of f16, tf32, got f8f6f4}}
  ptx.tcgen05.mma f8f6f4 %d, %a, %a, %d, %p cta_group 1 scale_d 1 : i64
  ptx.ret
}

// -----

ptx.entry @scale_d_range(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{expected scale_d from 0 to 15, got 16}}
  ptx.tcgen05.mma f16 %d, %a, %a, %d, %p cta_group 1 scale_d 16 : i64
  ptx.ret
}

// -----

ptx.entry @ashift_of_shared_memory(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{expected a of an mma with ashift of type i32, got i64}}
  ptx.tcgen05.mma f16 %d, %a, %a, %d, %p cta_group 1 ashift : i64
  ptx.ret
}

// -----

ptx.entry @ashift_and_collector(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{expected collector lastuse or discard with ashift, got fill}}
  ptx.tcgen05.mma f16 %d, %d, %a, %d, %p cta_group 1 ashift collector_a fill : i32
  ptx.ret
}

// -----

ptx.entry @block_scale_kind(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{ptx.tcgen05.mma.block_scale: expected kind to be one of mxf8f6f4, mxf4, mxf4nvf4, got f16}}
  ptx.tcgen05.mma.block_scale f16 %d, %a, %a, %d, %d, %d, %p cta_group 1 : i64
  ptx.ret
}

// -----

ptx.entry @no_scale_vector(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{expected scale_vector to be one of scale_vec::2X, scale_vec::4X, block16, block32 for kind mxf4nvf4, got none}}
  ptx.tcgen05.mma.block_scale mxf4nvf4 %d, %a, %a, %d, %d, %d, %p cta_group 1 : i64
  ptx.ret
}

// -----

ptx.entry @block_scale_a(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{ptx.tcgen05.mma.block_scale: expected a to be a descriptor (i64) or a TMEM address (i32), got i1}}
  ptx.tcgen05.mma.block_scale mxf4 %d, %p, %a, %d, %d, %d, %p cta_group 1 : i1
  ptx.ret
}

// -----

ptx.entry @ws_kind(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{ptx.tcgen05.mma.ws: expected kind to be one of f16, tf32, f8f6f4, i8, got mxf8f6f4}}
  ptx.tcgen05.mma.ws mxf8f6f4 %d, %a, %a, %d, %p : i64
  ptx.ret
}

// -----

ptx.entry @ws_buffer(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{expected buffer to be one of b0, b1, b2, b3, got b4}}
  ptx.tcgen05.mma.ws f16 %d, %a, %a, %d, %p buffer "b4" collector fill : i64
  ptx.ret
}

// -----

ptx.entry @ws_collector_alone(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{expected both or neither of buffer and collector, got one}}
  ptx.tcgen05.mma.ws f16 %d, %a, %a, %d, %p collector fill : i64
  ptx.ret
}
