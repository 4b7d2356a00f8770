// RUN: tirx-opt %s -t ptx --split-input-file --verify-diagnostics

// Descriptors that are computed: every bit that is known is looked at, whatever the others are.

ptx.entry @k(d : u32, b : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %b = ptx.ld.param @b : i64
  %p = ptx.constant true
  %i = ptx.constant 136314896 : i32
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %four = ptx.constant 4 : i32
  %units = ptx.shr unsigned %tile, %four : i32
  %field = ptx.constant 16383 : i32
  %start = ptx.and %units, %field : i32
  %wide = ptx.cvt unsigned %start : i32 -> i64
  %fields = ptx.constant 4611686293305360384 : i64
  %base = ptx.or %wide, %fields : i64
  // constant bits: expected-error@+1 {{descriptor of A: bits 46-48: expected 0b001, found 0b000; encode it with SmemDescriptor [a-descriptor-bits]}}
  tcgen05.mma f16 %d, %base, %b, %i, %p : i32, i64
  %fields5 = ptx.constant 4613445511909801984 : i64
  %base5 = ptx.or %wide, %fields5 : i64
  // base offset: expected-error@+1 {{descriptor of A: matrix base offset: expected 0, found 3; align the tile to 1024 bytes; give A a canonical layout of its type and major-ness [a-descriptor]}}
  tcgen05.mma f16 %d, %base5, %b, %i, %p : i32, i64
  ptx.ret
}

// -----

// The tile is aligned, so that the place in its swizzle pattern is known.

ptx.entry @k(d : u32, b : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %b = ptx.ld.param @b : i64
  %p = ptx.constant true
  %i = ptx.constant 136314896 : i32
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %four = ptx.constant 4 : i32
  %units = ptx.shr unsigned %tile, %four : i32
  %field = ptx.constant 16383 : i32
  %start = ptx.and %units, %field : i32
  %wide = ptx.cvt unsigned %start : i32 -> i64
  %fields = ptx.constant 4611756662049538048 : i64
  %base = ptx.or %wide, %fields : i64
  %step = ptx.constant 7 : i64
  %a = ptx.add %base, %step : i64
  // past the row: expected-error@+1 {{descriptor of A: start address: expected 32 bytes of K within one 128-byte row of swizzle 128B, found byte 112 of a row; nearest is byte 96; give A a canonical layout of its type and major-ness [a-descriptor]}}
  tcgen05.mma f16 %d, %a, %b, %i, %p : i32, i64
  %i2 = ptx.constant 136347664 : i32
  %fields2 = ptx.constant 4611756662083026944 : i64
  %base2 = ptx.or %wide, %fields2 : i64
  %step3 = ptx.constant 2 : i64
  %a3 = ptx.add %base2, %step3 : i64
  // inside an mn major atom: expected-error@+1 {{descriptor of A: start address: expected the start (MN-major) of a 1024-byte pattern of swizzle 128B, found 32; nearest is 0; give A a canonical layout of its type and major-ness [a-descriptor]}}
  tcgen05.mma f16 %d, %a3, %b, %i2, %p : i32, i64
  ptx.ret
}

// -----

// A sparse product reads 64 bytes of a row of B.

ptx.entry @k(d : u32, b : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %b = ptx.ld.param @b : i64
  %p = ptx.constant true
  %i = ptx.constant 136314900 : i32
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %four = ptx.constant 4 : i32
  %units = ptx.shr unsigned %tile, %four : i32
  %field = ptx.constant 16383 : i32
  %start = ptx.and %units, %field : i32
  %wide = ptx.cvt unsigned %start : i32 -> i64
  %fields = ptx.constant -4611615580963667968 : i64
  %base = ptx.or %wide, %fields : i64
  // narrow swizzle: expected-error@+1 {{descriptor of B: swizzle 32B: expected at most 32 bytes of K, found 64; a wider swizzle reads more; give B a canonical layout of its type and major-ness [b-descriptor]}}
  tcgen05.mma f16 %d, %b, %base, %i, %p sparse(%d : i32) : i32, i64
  %i2 = ptx.constant 136349968 : i32
  %fields2 = ptx.constant 2305913515413602304 : i64
  %base2 = ptx.or %wide, %fields2 : i64
  %step = ptx.constant 1 : i64
  %a = ptx.add %base2, %step : i64
  // half an atom: expected-error@+1 {{descriptor of A: start address: expected a multiple of the 32-byte atom of swizzle 128B_base32B, found 16; nearest is 0; give A a canonical layout of its type and major-ness [a-descriptor]}}
  tcgen05.mma tf32 %d, %a, %b, %i2, %p : i32, i64
  ptx.ret
}

// -----

// The absolute LBO mode, bit 52: 128-byte swizzle, K-major, base offset 0, the 48 bytes of K = 96, sm_103a only.

ptx.entry @k(d : u32, b : u64) target("sm_103a") {
  %d = ptx.ld.param @d : i32
  %b = ptx.ld.param @b : i64
  %p = ptx.constant true
  %i = ptx.constant -2002779008 : i32
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %four = ptx.constant 4 : i32
  %units = ptx.shr unsigned %tile, %four : i32
  %field = ptx.constant 16383 : i32
  %start = ptx.and %units, %field : i32
  %wide = ptx.cvt unsigned %start : i32 -> i64
  %fields = ptx.constant -9218797793596932096 : i64
  %base = ptx.or %wide, %fields : i64
  // absolute lbo of another swizzle: expected-error@+1 {{descriptor of A: absolute LBO: expected swizzle 128B (16-byte atoms), found 64B; give A a canonical layout of its type and major-ness [a-descriptor]}}
  tcgen05.mma mxf4 %d, %base, %b, %i, %p scales(%d, %d : i32, i32) : i32, i64
  %fields4 = ptx.constant 4616260261685297152 : i64
  %base4 = ptx.or %wide, %fields4 : i64
  // absolute lbo off its pattern: expected-error@+1 {{descriptor of A: absolute LBO: expected the second data chunk aligned to 1024 bytes, found 2064; nearest is 2048; give A a canonical layout of its type and major-ness [a-descriptor]}}
  tcgen05.mma mxf4 %d, %base4, %b, %i, %p scales(%d, %d : i32, i32) : i32, i64
  ptx.ret
}

// -----

ptx.entry @copied_rows(d : u32, b : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %four = ptx.constant 4 : i32
  %units = ptx.shr unsigned %tile, %four : i32
  %field = ptx.constant 16383 : i32
  %start = ptx.and %units, %field : i32
  %wide = ptx.cvt unsigned %start : i32 -> i64
  %fields = ptx.constant 4611756662049538048 : i64
  %base = ptx.or %wide, %fields : i64
  %step = ptx.constant 7 : i64
  %a = ptx.add %base, %step : i64
  // expected-error@+1 {{descriptor: start address: expected 32 bytes of K within one 128-byte row of swizzle 128B, found byte 112 of a row; nearest is byte 96; start at the first byte of a row of a K-major layout [cp-descriptor]}}
  tcgen05.cp "128x256b" %d, %a : i32
  ptx.ret
}

// -----

// An add that leaves its field.

ptx.entry @k(d : u32, b : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %b = ptx.ld.param @b : i64
  %p = ptx.constant true
  %i = ptx.constant 136314896 : i32
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %four = ptx.constant 4 : i32
  %units = ptx.shr unsigned %tile, %four : i32
  %field = ptx.constant 16383 : i32
  %start = ptx.and %units, %field : i32
  %wide = ptx.cvt unsigned %start : i32 -> i64
  %fields = ptx.constant 4611756662049538048 : i64
  %base = ptx.or %wide, %fields : i64
  %step = ptx.constant 70368744177664 : i64
  %a = ptx.add %base, %step : i64
  // unmasked address: expected-error@+1 {{descriptor of A: bits 46-48: expected 0b001, found 0b010; encode it with SmemDescriptor [a-descriptor-bits]}}
  tcgen05.mma f16 %d, %a, %b, %i, %p : i32, i64
  %fields2 = ptx.constant 4620763861304279040 : i64
  %base2 = ptx.or %wide, %fields2 : i64
  %two = ptx.constant 2 : i64
  %second = ptx.add %base2, %two : i64
  %either = ptx.selp %p, %base2, %second : i64
  // either is wrong: expected-error@+1 {{descriptor of A: segment of K: expected byte 0 on sm_100a, found 24; give A a canonical layout of its type and major-ness [a-descriptor]}}
  tcgen05.mma f16 %d, %either, %b, %i, %p : i32, i64
  ptx.ret
}

// -----

// Halves that are put together.

ptx.entry @halves(d : u32, b : u64, s : u32) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %b = ptx.ld.param @b : i64
  %low = ptx.ld.param @s : i32
  %p = ptx.constant true
  %i = ptx.constant 136314896 : i32
  %high = ptx.constant 1073742080 : i32
  %a = ptx.pack %low, %high : i32 -> i64
  // expected-error@+1 {{descriptor of A: bits 46-48: expected 0b001, found 0b000; encode it with SmemDescriptor [a-descriptor-bits]}}
  tcgen05.mma f16 %d, %a, %b, %i, %p : i32, i64
  ptx.ret
}

// -----

// The instruction descriptor is not known, and no operand of the kind has this descriptor.

ptx.entry @k(d : u32, b : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %b = ptx.ld.param @b : i64
  %p = ptx.constant true
  %a = ptx.constant 4613445511909801984 : i64
  // any operand: expected-error@+1 {{descriptor of A: matrix base offset: expected 0, found 3; align the tile to 1024 bytes; give A a canonical layout of its type and major-ness [a-descriptor]}}
  tcgen05.mma f16 %d, %a, %b, %d, %p : i32, i64
  %a2 = ptx.constant 2305913515413602304 : i64
  // swizzle of no operand: expected-error@+1 {{descriptor of A: K-major bf16: expected swizzle none, 32B, 64B, 128B, found 128B_base32B; give A a canonical layout of its type and major-ness [a-descriptor]}}
  tcgen05.mma f16 %d, %a2, %b, %d, %p : i32, i64
  ptx.ret
}
