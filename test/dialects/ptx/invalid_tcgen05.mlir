// RUN: tirx-opt %s --split-input-file --verify-diagnostics

ptx.entry @k(d : u32) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // columns twice: expected-error@+1 {{tcgen05.alloc: expected one of columns and columns_in, found both}}
  tcgen05.alloc %d columns 32 columns_in %d
  // no columns: expected-error@+1 {{tcgen05.dealloc: expected one of columns and columns_in, found none}}
  tcgen05.dealloc %d
  // ld shape: expected-error@+1 {{expected a shape out of 32x32b, 16x64b, 16x128b, 16x256b, 16x32bx2, found 64x32b; use one of them [ld-shape]}}
  %0 = tcgen05.ld "64x32b" num 1 %d : i32 -> i32
  // ld type: expected-error@+1 {{tcgen05.ld: expected registers of type i32 or f32, found i64}}
  %100 = tcgen05.ld "32x32b" num 1 %d : i32 -> i64
  // split of another shape: expected-error@+1 {{expected immHalfSplitoff with .16x32bx2 and only there, found 16 with .32x32b; say where the upper threads read, for .16x32bx2 [ld-split]}}
  %200 = tcgen05.ld "32x32b" num 1 %d half_split_offset 16 : i32 -> i32
  // split range: expected-error@+1 {{expected immHalfSplitoff from 0 to 511 columns, found 512; both halves are columns of tensor memory [ld-split-range]}}
  %300 = tcgen05.ld "16x32bx2" num 1 %d half_split_offset 512 : i32 -> i32
  // st count: expected-error@+1 {{expected 8 registers for .16x256b.x2, found 1; pass as many as the shape moves [ld-registers]}}
  tcgen05.st "16x256b" num 2 %d, %d : i32, i32
  // red shape: expected-error@+1 {{expected min or max of .32x32b or .16x32bx2, .x2 or more, not packed, found max of .16x64b.x2; load first and reduce in registers [ld-reduce]}}
  %400, %1, %2 = tcgen05.ld.red max "16x64b" num 2 %d as "u32" : i32 -> i32, i32, i32
  // red type: expected-error@+1 {{expected a reduction of f32, u32 or s32, found f16; load first and reduce in registers [ld-reduce-type]}}
  %500, %101, %102 = tcgen05.ld.red max "32x32b" num 2 %d as "f16" : i32 -> i32, i32, i32
  ptx.ret
}

// -----

ptx.entry @k(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // red nan: expected-error@+1 {{expected .abs and .NaN on a reduction of f32 only, found one with max of u32; leave it out [ld-reduce-modifier]}}
  %0, %1, %2 = tcgen05.ld.red max "32x32b" num 2 %d as "u32" nan : i32 -> i32, i32, i32
  // red register: expected-error@+1 {{expected the reduction of f32 in a register f32, found i32}}
  %100, %101, %102 = tcgen05.ld.red max "32x32b" num 2 %d as "f32" : i32 -> i32, i32, i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // mma a: expected-error@+1 {{expected A as a descriptor (i64), an address (i32) or a tile, found i1}}
  tcgen05.mma f16 %d, %p, %a, %d, %p : i32, i1
  // scale d kind: expected-error@+1 {{expected no scale-input-d on tcgen05.mma.cta_group::1.kind::f8f6f4, found 1; only kinds f16 and tf32 without .ws have it [scale-input-d-kind]}}
  tcgen05.mma f8f6f4 %d, %a, %a, %d, %p scale_d 1 : i32, i64
  // block scale a: expected-error@+1 {{expected A as a descriptor (i64), an address (i32) or a tile, found i1}}
  tcgen05.mma mxf4 %d, %p, %a, %d, %p scales(%d, %d : i32, i32) : i32, i1
  ptx.ret
}

// -----

// Constant descriptors are looked into.

ptx.entry @k(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  %i = ptx.constant 136314896 : i32
  // descriptor of another kind: expected-error@+1 {{instruction descriptor: kind::tf32: A type (bits 7-9): expected a code of 2 (tf32), found 0; encode it with InstructionDescriptor [descriptor-bits]}}
  tcgen05.mma tf32 %d, %a, %a, %i, %p : i32, i64
  %b = ptx.constant 7000000000000000000 : i64
  // swizzle that does not exist: expected-error@+1 {{descriptor of B: bits 46-48: expected 0b001, found 0b011; encode it with SmemDescriptor [b-descriptor-bits]}}
  tcgen05.mma f16 %d, %a, %b, %d, %p : i32, i64
  ptx.ret
}

// -----

// What tiles say and addresses do not.

func.func @f(%t: i32) {
  // num: expected-error@+1 {{tcgen05.ld: expected num with an address, found none}}
  %0 = tcgen05.ld "32x32b" %t : i32 -> i32
  // type: expected-error@+1 {{tcgen05.ld.red: expected the type that is compared, 'as', with an address}}
  %m, %1, %2 = tcgen05.ld.red max "32x32b" num 2 %t : i32 -> i32, i32, i32
  func.return
}

// -----

ptx.entry @compressed(t : u32) target("sm_107a") {
  %t = ptx.ld.param @t : i32
  // expected-error@+1 {{expected shape 32x32b and num of 4 or more, found 32x32b and 2}}
  %0:2 = tcgen05.ld.spcompress max "32x32b" num 2 %t : i32 -> i32, f32
  // expected-error@+1 {{expected nan with red, found it without}}
  %1:3 = tcgen05.ld.spcompress max "32x32b" num 4 %t nan : i32 -> i32, f32, f32
  // expected-error@+1 {{expected registers i32, f32, f32, f32, found i32, f32, f32}}
  %2:3 = tcgen05.ld.spcompress max "32x32b" num 4 %t red : i32 -> i32, f32, f32
  %tile = "test.op"() : () -> !tirx.tile<128x4xf32, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>>
  // expected-error@+1 {{expected an address, found a tile}}
  %3:3 = tcgen05.ld.spcompress max "32x32b" %tile : !tirx.tile<128x4xf32, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>> -> i32, f32, f32
  ptx.ret
}
