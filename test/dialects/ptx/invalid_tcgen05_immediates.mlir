// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// Descriptors, masks and addresses that are immediates: ptxas takes them all.

ptx.entry @idesc(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  %i = ptx.constant -1 : i32
  // expected-error@+1 {{instruction descriptor: kind::f16: expected 0 in the reserved bit 6, found 0b1; encode it with InstructionDescriptor [descriptor-bits]}}
  tcgen05.mma f16 %d, %a, %a, %i, %p : i32, i64
  ptx.ret
}

// -----

// M = 256 of one CTA.

ptx.entry @k(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  %i = ptx.constant 270532624 : i32
  // expected-error@+1 {{kind::f16, cta_group 1: expected M in {64, 128}, found 256; nearest is 128; use a shape of the ISA's table [shape]}}
  tcgen05.mma f16 %d, %a, %a, %i, %p : i32, i64
  %b = ptx.constant 42 : i64
  // smem: expected-error@+1 {{descriptor of B: bits 46-48: expected 0b001, found 0b000; encode it with SmemDescriptor [b-descriptor-bits]}}
  tcgen05.mma f16 %d, %a, %b, %d, %p : i32, i64
  ptx.ret
}

// -----

// The descriptor of an MN-major tf32 layout (128B_base32B) for K-major f16.

ptx.entry @k(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %b = ptx.constant 2305913515396890624 : i64
  %p = ptx.constant true
  %i = ptx.constant 136314896 : i32
  // swizzle: expected-error@+1 {{descriptor of B: K-major f16: expected swizzle }}
  tcgen05.mma f16 %d, %a, %b, %i, %p : i32, i64
  %i2 = ptx.constant 34603024 : i32
  %z = ptx.constant 144962374686867712 : i64
  // mask: expected-error@+1 {{expected a column shift up to 0, max_shift of the instruction descriptor, found 2; write smallest_max_shift(2) into the instruction descriptor [mask-max-shift]}}
  tcgen05.mma ws f16 %d, %a, %a, %i2, %p zero_column_mask %z : i32, i64
  ptx.ret
}

// -----

// D at column 448, 128 columns.

ptx.entry @k(a : u64, d : u32) target("sm_100a") {
  %d = ptx.constant 448 : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  %i = ptx.constant 136314896 : i32
  // columns: expected-error@+1 {{expected D inside its allocation, found 128 columns from column 448 on, of 512 of tensor memory; allocate more columns, start further left, or make N smaller [d-columns]}}
  tcgen05.mma f16 %d, %a, %a, %i, %p : i32, i64
  %t = ptx.constant 1048576 : i32
  // lane: expected-error@+1 {{expected an address at lane 0 or 32 or 64 or 96 for .32x32b of any warp, found 16; a warp reaches the 32 lanes from 32 * (warp % 4) on [ld-lane]}}
  %0 = tcgen05.ld "32x32b" num 1 %t : i32 -> i32
  %t2 = ptx.constant 480 : i32
  // last columns: expected-error@+1 {{expected 2 columns from column 511 on, of 512, to be inside; allocate more columns, start further left, or use fewer repeats [ld-columns]}}
  %100, %1 = tcgen05.ld "32x32b" num 2 %t2 offset 31 : i32 -> i32, i32
  %d2 = ptx.ld.param @d : i32
  %a2 = ptx.constant 0 : i64
  // cp: expected-error@+1 {{descriptor: bits 46-48: expected 0b001, found 0b000; encode it with SmemDescriptor [cp-descriptor-bits]}}
  tcgen05.cp "128x256b" %d2, %a2 : i32
  %t3 = ptx.constant 1114112 : i32
  // shift: expected-error@+1 {{expected an address at lane 0, 32, 64 or 96, found lane 17; rows move inside groups of 32 lanes [shift-lane]}}
  tcgen05.shift %t3 : i32
  %n = ptx.constant 96 : i32
  // columns in: expected-error@+1 {{expected a power of two of columns from 32 to 512, found 96; round up with allocation_columns [alloc-columns]}}
  tcgen05.dealloc %d2 columns_in %n
  ptx.ret
}
