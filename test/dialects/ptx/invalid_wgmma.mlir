// RUN: tirx-opt %s --split-input-file --verify-diagnostics

ptx.entry @pending() target("sm_90a") {
  // expected-error@+1 {{expected 0 to 7 pending groups, found 8}}
  ptx.wgmma.wait_group 8
  ptx.ret
}

// -----

ptx.entry @types(a : u64) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected element types f16 x f16, bf16 x bf16, tf32 x tf32, e4m3 x e4m3}}
  %0, %1, %2, %3 = ptx.wgmma.mma_async "f16" "bf16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  ptx.ret
}

// -----

ptx.entry @result_type(a : u64) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{bf16 x bf16: expected D of f32, found f16; give D a type that the product has [d-type]}}
  %0, %1 = ptx.wgmma.mma_async "bf16" "bf16" a(%a : i64) b(%a) -> i32, i32
  ptx.ret
}

// -----

ptx.entry @shape(a : u64) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{s8 x s8: expected N from 8 to 256 in steps of 8 up to 32 and of 16 beyond, found 12; nearest is 8 [shape]}}
  %0, %1, %2, %3, %4, %5 = ptx.wgmma.mma_async "s8" "s8" a(%a : i64) b(%a) -> i32, i32, i32, i32, i32, i32
  ptx.ret
}

// -----

ptx.entry @one_result_type(a : u64) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected results of one type, found (f32, i32)}}
  %0, %1 = ptx.wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, i32
  ptx.ret
}

// -----

ptx.entry @accumulators(a : u64, f : f32) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  %f = ptx.ld.param @f : f32
  // expected-error@+1 {{expected c to be 4 registers f32 as the results, found (f32, f32)}}
  %0, %1, %2, %3 = ptx.wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%f, %f : f32, f32) -> f32, f32, f32, f32
  ptx.ret
}

// -----

ptx.entry @operand_a(a : u64, t : u32) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  %t = ptx.ld.param @t : i32
  // expected-error@+1 {{expected a to be a descriptor (i64) or 4 registers i32, found (i32, i32)}}
  %0, %1, %2, %3 = ptx.wgmma.mma_async "f16" "f16" a(%t, %t : i32, i32) b(%a) -> f32, f32, f32, f32
  ptx.ret
}

// -----

ptx.entry @scale_d(a : u64) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{expected c where scale_d says whether it counts, found none}}
  %0, %1, %2, %3 = ptx.wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) scale_d %p -> f32, f32, f32, f32
  ptx.ret
}

// -----

ptx.entry @metadata(a : u64, t : u32) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  %t = ptx.ld.param @t : i32
  // expected-error@+1 {{expected both or neither of metadata and selector, found one}}
  %0, %1, %2, %3 = ptx.wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) metadata %t -> f32, f32, f32, f32
  ptx.ret
}

// -----

ptx.entry @selector(a : u64, t : u32) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  %t = ptx.ld.param @t : i32
  // expected-error@+1 {{expected a sparsity selector below 1, found 1; name threads that hold metadata [selector]}}
  %0, %1, %2, %3 = ptx.wgmma.mma_async "s8" "s8" a(%a : i64) b(%a) metadata %t selector 1 -> i32, i32, i32, i32
  ptx.ret
}

// -----

ptx.entry @transposed_registers(a : u64, t : u32) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  %t = ptx.ld.param @t : i32
  // expected-error@+1 {{expected a K-major A of f16, found imm-trans-a = 1; store A K-major}}
  %0, %1, %2, %3 = ptx.wgmma.mma_async "f16" "f16" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%a) transpose_a -> f32, f32, f32, f32
  ptx.ret
}

// -----

ptx.entry @transposed_bytes(a : u64) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected a K-major B of s8, found imm-trans-b = 1; store B K-major}}
  %0, %1, %2, %3 = ptx.wgmma.mma_async "s8" "s8" a(%a : i64) b(%a) transpose_b -> i32, i32, i32, i32
  ptx.ret
}

// -----

ptx.entry @negated_integers(a : u64) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{s8 x s8: expected no negated operand, found one}}
  %0, %1, %2, %3 = ptx.wgmma.mma_async "s8" "s8" a(%a : i64) b(%a) negate_b -> i32, i32, i32, i32
  ptx.ret
}

// -----

ptx.entry @saturated_floats(a : u64) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{f16 x f16: expected no .satfinite, found it}}
  %0, %1, %2, %3 = ptx.wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) saturate -> f32, f32, f32, f32
  ptx.ret
}

// -----

// The descriptor of tcgen05 for the same operand.

ptx.entry @descriptor_of_tcgen05(a : u64) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  %desc = ptx.constant 0x4000404000010000 : i64
  // expected-error@+1 {{descriptor of B: bits 46-48: expected 0, found 0x1; encode it with WgmmaDescriptor [b-descriptor-bits]}}
  %0, %1, %2, %3 = ptx.wgmma.mma_async "f16" "f16" a(%a : i64) b(%desc) -> f32, f32, f32, f32
  ptx.ret
}

// -----

ptx.entry @past_the_row(a : u64, r : u32) target("sm_90a") {
  %r = ptx.ld.param @r : i32
  %a = ptx.ld.param @a : i64
  %desc = ptx.constant 0x4000004000010006 : i64
  // expected-error@+1 {{descriptor of B: start address: expected 64 bytes of K within one 128-byte row of swizzle 128B}}
  %0, %1, %2, %3 = ptx.wgmma.mma_async "f16" "f16" a(%a : i64) b(%desc) metadata %r selector 0 -> f32, f32, f32, f32
  ptx.ret
}

// -----

ptx.entry @results_of_f16(a : u64) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected results of f32 or i32, found f16}}
  %0, %1 = ptx.wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f16, f16
  ptx.ret
}
