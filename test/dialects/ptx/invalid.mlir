// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{unknown target 'sm100a'; did you mean 'sm_100a'?}}
ptx.entry @target() target("sm100a") {
  ptx.ret
}

// expected-error@+1 {{expected parameter names to differ, found 'a' twice}}
ptx.entry @param_names(a : u64, a : u32) target("sm_80") {
  ptx.ret
}

// expected-error@+1 {{expected maxnreg from 1 to 255, found 256}}
ptx.entry @registers() target("sm_80") maxnreg(256) {
  ptx.ret
}

// expected-error@+1 {{expected reqntid to be one to three positive extents, found (1, 1, 1, 1)}}
ptx.entry @dimensions() target("sm_80") reqntid(1, 1, 1, 1) {
  ptx.ret
}

// expected-error@+1 {{expected reqntid to be one to three positive extents, found (0)}}
ptx.entry @threads() target("sm_80") reqntid(0) {
  ptx.ret
}

// expected-error@+1 {{expected at most 1024 threads in a block, found 1056}}
ptx.entry @too_many_threads() target("sm_80") reqntid(32, 33) {
  ptx.ret
}

ptx.entry @k(a : u64) target("sm_80") {
  // alignment: expected-error@+1 {{expected alignment to at most 1073741824 bytes, found 2147483648}}
  %s = ptx.shared_alloc @s bytes 8 align 2147483648
  // unknown param: expected-error@+1 {{expected one of the entry's parameters (a), found 'b'}}
  %0 = ptx.ld.param @b : i64
  // param width: expected-error@+1 {{expected a result of 64 bits for parameter 'a', found i32}}
  %100 = ptx.ld.param @a : i32
  // index: expected-error@+1 {{expected a register type (i1, i16, f16, bf16, i32, i64, f32, f64), found index}}
  %200 = ptx.constant 1 : index
  %300 = ptx.constant 1 : i32
  // mul: expected-error@+1 {{ptx.mul: expected type to be one of f16, bf16, f32, f64, found i32}}
  %1 = ptx.mul %300, %300 : i32
  %400 = ptx.constant 1.0 : f32
  // unsigned float: expected-error@+1 {{ptx.div: expected 'unsigned' on integers only, found f32}}
  %101 = ptx.div unsigned %400, %400 : f32
  // unordered integers: expected-error@+1 {{ptx.setp: expected 'ltu' on f16, bf16, f32 or f64, found i32}}
  %201 = ptx.setp ltu %300, %300 : i32
  %500 = ptx.constant true
  // select predicates: expected-error@+1 {{expected integer or float registers, found i1: PTX selects no predicates}}
  %301 = ptx.selp %500, %500, %500 : i1
  // mov width: expected-error@+1 {{expected an operand of 64 bits, found i32}}
  %401 = ptx.mov %300 : i32 -> f64
  %600 = ptx.constant 1 : i64
  // shared address: expected-error@+1 {{expected shared address of type i32, found i64}}
  %501 = ptx.ld shared %600 : i64 -> i32
  ptx.ret
}

// expected-error@+1 {{expected blocks to end in a branch or ptx.ret, found one without operations}}
ptx.entry @no_end() target("sm_80") {
  ptx.bra ^end
^end:
}

// expected-error@+1 {{expected at most 16 CTAs in a cluster, found 32}}
ptx.entry @cluster() target("sm_90") cluster(4, 8) {
  ptx.ret
}

ptx.entry @edge(a : u32) target("sm_80") {
  %0 = ptx.ld.param @a : i32
  // expected-error@+1 {{ptx.bra: expected block arguments of types (i64), found (i32)}}
  ptx.bra ^b(%0 : i32)
^b(%1 : i64):
  ptx.ret
}

// -----

// expected-error@+1 {{expected type of parameter 'a' to be one of u32, s32, u64, s64, f32, f64, b8, found i32}}
ptx.entry @param_type(a : i32) target("sm_80") {
}

// -----

ptx.entry @literal() target("sm_80") {
  // expected-error@+1 {{expected an integer or float literal}}
  %0 = ptx.constant "one"
}

// -----

// expected-error@+1 {{expected alignment of parameter 'a' to be a power of two, found 12}}
ptx.entry @param_align(a : u64 ptr align 12) target("sm_80") {
}

// -----

ptx.entry @k() target("sm_80") {
  %0 = ptx.constant 1 : i32
  // three registers: expected-error@+1 {{expected number of registers to be one of 1, 2, 4, found 3}}
  ptx.st shared %0, %0, %0, %0 : i32, i32, i32, i32
  // wide vector: expected-error@+1 {{expected at most 128 bits in one access, found 256}}
  %1, %2, %3, %4 = ptx.ld shared %0 : i32 -> i64, i64, i64, i64
  // barrier: expected-error@+1 {{expected a barrier from 0 to 15, found 16}}
  ptx.bar.sync 16
  ptx.ret
}

ptx.entry @k2() target("sm_90") {
  // fence: expected-error@+1 {{expected space to be one of shared::cta, global, found shared}}
  ptx.fence.proxy.async "shared"
  %0 = ptx.constant 1 : i32
  // arrivals: expected-error@+1 {{expected an arrival count from 1 to 2^20 - 1, found 0}}
  ptx.mbarrier.init %0, 0
  ptx.ret
}

ptx.entry @k3(d : u32, a : u64, p : u32) target("sm_100a") {
  %0 = ptx.constant 1 : i32
  // columns: expected-error@+1 {{expected a power of two of columns from 32 to 512, found 48; round up with allocation_columns [alloc-columns]}}
  tcgen05.alloc %0 columns 48
  // group: expected-error@+1 {{expected cta_group 1 or 2, found 4}}
  tcgen05.relinquish_alloc_permit cta_group 4
  // ld count: expected-error@+1 {{expected 4 registers for .16x128b.x2, found 2; pass as many as the shape moves [ld-registers]}}
  %1, %2 = tcgen05.ld "16x128b" num 2 %0 : i32 -> i32, i32
  // ld num: expected-error@+1 {{expected the repeats of .16x256b to be a power of two up to 32, found 3; split the access [ld-num]}}
  %101 = tcgen05.ld "16x256b" num 3 %0 : i32 -> i32
  // split offset: expected-error@+1 {{expected immHalfSplitoff with .16x32bx2 and only there, found none with .16x32bx2; say where the upper threads read, for .16x32bx2 [ld-split]}}
  tcgen05.st "16x32bx2" num 1 %0, %0 : i32, i32
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // lanes: expected-error@+1 {{expected 4 registers of disabled lanes with cta_group 1, 8 with 2, found 4; pass one bit for each lane of each CTA [disable-output-lane-size]}}
  tcgen05.mma f16 %d, %a, %a, %d, %p cta_group 2 disable_lanes(%d, %d, %d, %d) : i32, i64
  // scaled i8: expected-error@+1 {{expected no scale-input-d on tcgen05.mma.cta_group::1.kind::i8, found 1; only kinds f16 and tf32 without .ws have it [scale-input-d-kind]}}
  tcgen05.mma i8 %d, %a, %a, %d, %p scale_d 1 : i32, i64
  // scale vector: expected-error@+1 {{kind::mxf4: expected one of scale_vec::2X, block32, found block16; name a scale vector of this kind [scale-vector]}}
  tcgen05.mma mxf4 "block16" %d, %a, %a, %d, %p scales(%d, %d : i32, i32) : i32, i64
  // half a collector: expected-error@+1 {{expected both or neither of buffer and collector, found one}}
  tcgen05.mma ws f16 %d, %a, %a, %d, %p buffer "b0" : i32, i64
  ptx.ret
}

ptx.entry @k4(a : u32, x : f32) target("sm_80") {
  %a = ptx.ld.param @a : i32
  // accumulator: expected-error@+1 {{expected c to be 4 registers i32 (f16) or 8 registers f32, found (i32, i32)}}
  %0, %1, %2, %3 = ptx.mma.m8n8k4.f16 row col a(%a, %a : i32, i32) b(%a, %a : i32, i32) c(%a, %a : i32, i32) -> i32, i32, i32, i32
  %x = ptx.ld.param @x : f32
  // narrowing accumulator: expected-error@+1 {{expected d to be f32 since c is, found f16}}
  %100, %101, %102, %103 = ptx.mma.m8n8k4.f16 row col a(%a, %a : i32, i32) b(%a, %a : i32, i32) c(%x, %x, %x, %x, %x, %x, %x, %x : f32, f32, f32, f32, f32, f32, f32, f32) -> i32, i32, i32, i32
  ptx.ret
}
