// RUN: tirx-opt %s -t ptx --split-input-file --verify-diagnostics

// Descriptors that are computed and may be right.

// Steps inside of a row.

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
  %step = ptx.constant 6 : i64
  %a = ptx.add %base, %step : i64
  tcgen05.mma f16 %d, %a, %b, %i, %p : i32, i64
  %step2 = ptx.constant 1024 : i64
  tcgen05.mma f16 %d, %a, %b, %i, %p : i32, i64
  ptx.ret
}

// -----

// The place in the pattern is not known.

ptx.entry @unaligned(d : u32, b : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %b = ptx.ld.param @b : i64
  %p = ptx.constant true
  %i = ptx.constant 136314896 : i32
  %tile = ptx.shared_alloc @tile bytes 16384 align 16
  %four = ptx.constant 4 : i32
  %units = ptx.shr unsigned %tile, %four : i32
  %field = ptx.constant 16383 : i32
  %start = ptx.and %units, %field : i32
  %wide = ptx.cvt unsigned %start : i32 -> i64
  %fields = ptx.constant 4611756662049538048 : i64
  %base = ptx.or %wide, %fields : i64
  %step = ptx.constant 7 : i64
  %a = ptx.add %base, %step : i64
  tcgen05.mma f16 %d, %a, %b, %i, %p : i32, i64
  ptx.ret
}

// -----

// Nothing says that the address leaves bits 14 and 15 alone, nor that it does not.

ptx.entry @unmasked(d : u32, b : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %b = ptx.ld.param @b : i64
  %p = ptx.constant true
  %i = ptx.constant 136314896 : i32
  %tile = ptx.shared_alloc @tile bytes 16384 align 16
  %four = ptx.constant 4 : i32
  %units = ptx.shr unsigned %tile, %four : i32
  %wide = ptx.cvt unsigned %units : i32 -> i64
  %fields = ptx.constant 4611756662049538048 : i64
  %base = ptx.or %wide, %fields : i64
  %step = ptx.constant 7 : i64
  %a = ptx.add %base, %step : i64
  tcgen05.mma f16 %d, %a, %b, %i, %p : i32, i64
  ptx.ret
}

// -----

// A slice that goes on in the chunk at the absolute LBO.

ptx.entry @crossing(d : u32, b : u64) target("sm_103a") {
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
  %fields = ptx.constant 4616260261685231616 : i64
  %base = ptx.or %wide, %fields : i64
  %step = ptx.constant 7 : i64
  %a = ptx.add %base, %step : i64
  tcgen05.mma mxf4 %d, %a, %b, %i, %p scales(%d, %d : i32, i32) : i32, i64
  ptx.ret
}

// -----

ptx.entry @either(d : u32, b : u64) target("sm_100a") {
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
  %two = ptx.constant 2 : i64
  %second = ptx.add %base, %two : i64
  %either = ptx.selp %p, %base, %second : i64
  tcgen05.mma f16 %d, %either, %b, %i, %p : i32, i64
  ptx.ret
}

// -----

// A descriptor that a loop moves on.

ptx.entry @loop(d : u32, b : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %b = ptx.ld.param @b : i64
  %p = ptx.constant true
  %i = ptx.constant 136314896 : i32
  %a = ptx.constant 4611756662049538048 : i64
  %two = ptx.constant 2 : i64
  ptx.bra ^body(%a : i64)
^body(%k : i64):
  tcgen05.mma f16 %d, %k, %b, %i, %p : i32, i64
  %next = ptx.add %k, %two : i64
  %more = ptx.setp lt %next, %b : i64
  ptx.cond_bra %more, ^body(%next : i64), ^end
^end:
  ptx.ret
}
