// RUN: tirx-opt %s -t ptx --split-input-file --verify-diagnostics

// What ptxas lets through of whole instructions: descriptors, shapes, scale factors, masks, places in tensor memory.

// Fields of the instruction descriptor that do not go together.

ptx.entry @k(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  %i = ptx.constant 136316032 : i32
  // accumulator type: expected-error@+1 {{kind::f16: D = f16 is expected with A and B of f16, found bf16 and bf16; nearest is D = f32; use a legal value [descriptor-fields]}}
  tcgen05.mma f16 %d, %a, %a, %i, %p : i32, i64
  ptx.ret
}

// -----

// Shapes.

ptx.entry @k(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  %i = ptx.constant 134676496 : i32
  // transposed bytes: expected-error@+1 {{MN-major B of e4m3, cta_group 1: expected N in steps of 16, found 24; nearest is 32; use a shape of the ISA's table [shape]}}
  tcgen05.mma f8f6f4 %d, %a, %a, %i, %p : i32, i64
  %i3 = ptx.constant 71303188 : i32
  // sparse weight stationary n: expected-error@+1 {{kind::f16, cta_group 1, .ws, sparse: expected N in {64, 128}, found 256; nearest is 128; use a shape of the ISA's table [shape]}}
  tcgen05.mma ws f16 %d, %a, %a, %i3, %p sparse(%d : i32) : i32, i64
  %i4 = ptx.constant 69206032 : i32
  // pair m: expected-error@+1 {{kind::f16, cta_group 2: expected M in {128, 256}, found 64; nearest is 128; use a shape of the ISA's table [shape]}}
  tcgen05.mma f16 %d, %a, %a, %i4, %p cta_group 2 : i32, i64
  ptx.ret
}

// -----

// Scale factors.

ptx.entry @k(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  %i = ptx.constant -2002779008 : i32
  // factors of k96: expected-error@+1 {{expected block16 or block32 with K = 96, found scale_vec::2X; name the size of a block: no layout of scale factors is defined for another [wide-k-scale-vector]}}
  tcgen05.mma mxf4 "scale_vec::2X" %d, %a, %a, %i, %p scales(%d, %d : i32, i32) : i32, i64
  %s = ptx.constant 2097152 : i32
  // scales at lane 32: expected-error@+1 {{expected the scale factors of A from lane 0 on, found 32; all lanes hold them, four times the same [scale-a-lane]}}
  tcgen05.mma mxf4 %d, %a, %a, %d, %p scales(%s, %d : i32, i32) : i32, i64
  %s2 = ptx.constant 1048576 : i32
  // scales at lane 16: expected-error@+1 {{expected the scale factors of B from lane 0 on, found 16; all lanes hold them, four times the same [scale-b-lane]}}
  tcgen05.mma mxf4 %d, %a, %a, %d, %p scales(%d, %s2 : i32, i32) : i32, i64
  %i4 = ptx.constant 144704640 : i32
  %s3 = ptx.constant 509 : i32
  // last scales of a: expected-error@+1 {{expected the scale factors of A inside their allocation, found 4 columns from column 509 on, of 512 of tensor memory; allocate more columns or start further left [scale-a-columns]}}
  tcgen05.mma mxf4 %d, %a, %a, %i4, %p scales(%s3, %d : i32, i32) : i32, i64
  ptx.ret
}

// -----

// Zero-column masks.

ptx.entry @k(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  %i2 = ptx.constant 34603024 : i32
  %z3 = ptx.constant 68719476736 : i64
  // reserved mask bits: expected-error@+1 {{zero-column mask: reserved bits 36-38: expected 0, found 0b1; encode it with ZeroColumnMask [mask-bits]}}
  tcgen05.mma ws f16 %d, %a, %a, %i2, %p zero_column_mask %z3 : i32, i64
  ptx.ret
}

// -----

// Operands in tensor memory.

ptx.entry @k(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  %i = ptx.constant 136347664 : i32
  // mn major in tensor memory: expected-error@+1 {{expected K-major A in tensor memory, found MN-major; write A to tensor memory with K along the columns [a-tmem-major]}}
  tcgen05.mma f16 %d, %d, %a, %i, %p : i32, i32
  %i2 = ptx.constant 136314896 : i32
  %t = ptx.constant 1048576 : i32
  // accumulator lane: expected-error@+1 {{data path D: expected D from lane 0 on, found 16; start D at lane 0 [d-lane]}}
  tcgen05.mma f16 %t, %a, %a, %i2, %p : i32, i64
  %t3 = ptx.constant 505 : i32
  // last columns of a: expected-error@+1 {{expected A inside its allocation, found 8 columns from column 505 on, of 512 of tensor memory; allocate more columns or start further left [a-tmem-columns]}}
  tcgen05.mma f16 %d, %t3, %a, %i2, %p : i32, i32
  %i4 = ptx.constant 69206036 : i32
  %t4 = ptx.constant 0 : i32
  %e = ptx.constant 1048704 : i32
  // metadata lane: expected-error@+1 {{data path F: expected sparsity metadata in the lanes of D, from lane 0 or 16 on, found 16 with D at 0; put the metadata where D starts [metadata-lane]}}
  tcgen05.mma f16 %t4, %a, %a, %i4, %p sparse(%e : i32) : i32, i64
  %i6 = ptx.constant 136316068 : i32
  %e3 = ptx.constant 511 : i32
  // last metadata: expected-error@+1 {{expected the sparsity metadata inside its allocation, found 2 columns from column 511 on, of 512 of tensor memory; allocate more columns or start further left [metadata-columns]}}
  tcgen05.mma i8 %d, %a, %a, %i6, %p sparse(%e3 : i32) : i32, i64
  ptx.ret
}

// -----

// Modifiers.

ptx.entry @k(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  %i = ptx.constant 69206032 : i32
  // shifted half: expected-error@+1 {{expected M = 128 or 256 with .ashift, found 64; use M = 128 or 256, or leave out .ashift [ashift-m]}}
  tcgen05.mma f16 %d, %d, %a, %i, %p ashift : i32, i32
  %i2 = ptx.constant 136316064 : i32
  // scaled integers: expected-error@+1 {{expected no scale-input-d on tcgen05.mma.cta_group::1.kind::i8, found 0; only kinds f16 and tf32 without .ws have it [scale-input-d-kind]}}
  tcgen05.mma i8 %d, %a, %a, %i2, %p scale_d 0 : i32, i64
  ptx.ret
}

// -----

// Copies and shifts.

ptx.entry @k(d : u32, a : u64) target("sm_100a") {
  %a = ptx.ld.param @a : i64
  %t = ptx.constant 2097152 : i32
  // copied to lane 32: expected-error@+1 {{expected an address from lane 0 to 0 with .128x256b, found lane 32; the shape says which lanes are written [cp-lane]}}
  tcgen05.cp "128x256b" %t, %a : i32
  %t2 = ptx.constant 508 : i32
  // shifted columns: expected-error@+1 {{expected 8 columns from column 508 on, of 512, to be inside; allocate more columns or start further left [shift-columns]}}
  tcgen05.shift %t2 : i32
  ptx.ret
}

// -----

// Columns count from the start of an allocation.

ptx.entry @k(a : u64) target("sm_100a") {
  %a = ptx.ld.param @a : i64
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  tcgen05.alloc %slot columns 128
  %base = ptx.ld shared %slot : i32 -> i32
  %c64 = ptx.constant 64 : i32
  %d = ptx.add %base, %c64 : i32
  %p = ptx.constant true
  %i = ptx.constant 136314896 : i32
  // past an allocation: expected-error@+1 {{expected D inside its allocation, found 128 columns from column 64 on, of 128 allocated; allocate more columns, start further left, or make N smaller [d-columns]}}
  tcgen05.mma f16 %d, %a, %a, %i, %p : i32, i64
  %slot2 = ptx.shared_alloc @slot bytes 4 align 4
  tcgen05.alloc %slot2 columns 32
  %base2 = ptx.ld shared %slot2 : i32 -> i32
  %tid = ptx.read_special tid.x
  %warps = ptx.constant 96 : i32
  %c16 = ptx.constant 16 : i32
  %warp = ptx.and %tid, %warps : i32
  %lane = ptx.shl %warp, %c16 : i32
  %t = ptx.add %base2, %lane : i32
  // loaded past an allocation: expected-error@+1 {{expected 2 columns from column 31 on, of 32, to be inside; allocate more columns, start further left, or use fewer repeats [ld-columns]}}
  %0, %1 = tcgen05.ld "32x32b" num 2 %t offset 31 : i32 -> i32, i32
  ptx.ret
}

// -----

// D is written where A is read; both count from one allocation, whose address is loaded twice.

ptx.entry @accumulator_over_a(b : u64) target("sm_100a") {
  %b = ptx.ld.param @b : i64
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  tcgen05.alloc %slot columns 256
  %d = ptx.ld shared %slot : i32 -> i32
  %base = ptx.ld shared %slot : i32 -> i32
  %c120 = ptx.constant 120 : i32
  %a = ptx.add %base, %c120 : i32
  %p = ptx.constant true
  %i = ptx.constant 136314896 : i32
  // expected-error@+1 {{expected A beside D, found columns 120 to 127 and D in 0 to 127; the columns are read while D is written: move one of them [d-overlap]}}
  tcgen05.mma f16 %d, %a, %b, %i, %p : i32, i32
  ptx.ret
}
