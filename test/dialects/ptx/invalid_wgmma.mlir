// RUN: tirx-opt %s --split-input-file --verify-diagnostics

ptx.entry @k(a : u64, f : f32, t : u32) target("sm_90a") {
  // pending: expected-error@+1 {{expected 0 to 7 pending groups, found 8}}
  wgmma.wait_group 8
  %a = ptx.ld.param @a : i64
  // types: expected-error@+1 {{expected element types f16 x f16, bf16 x bf16, tf32 x tf32, e4m3 x e4m3}}
  %0, %1, %2, %3 = wgmma.mma_async "f16" "bf16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  // result type: expected-error@+1 {{bf16 x bf16: expected D of f32, found f16; give D a type that the product has [d-type]}}
  %100, %101 = wgmma.mma_async "bf16" "bf16" a(%a : i64) b(%a) -> i32, i32
  // shape: expected-error@+1 {{s8 x s8: expected N from 8 to 256 in steps of 8 up to 32 and of 16 beyond, found 12; nearest is 8 [shape]}}
  %200, %201, %102, %103, %4, %5 = wgmma.mma_async "s8" "s8" a(%a : i64) b(%a) -> i32, i32, i32, i32, i32, i32
  // one result type: expected-error@+1 {{expected results of one type, found (f32, i32)}}
  %300, %301 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, i32
  %f = ptx.ld.param @f : f32
  // accumulators: expected-error@+1 {{expected c to be 4 registers f32 as the results, found (f32, f32)}}
  %400, %401, %202, %203 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%f, %f : f32, f32) -> f32, f32, f32, f32
  %t = ptx.ld.param @t : i32
  // operand a: expected-error@+1 {{expected a to be a descriptor (i64) or 4 registers i32, found (i32, i32)}}
  %500, %501, %302, %303 = wgmma.mma_async "f16" "f16" a(%t, %t : i32, i32) b(%a) -> f32, f32, f32, f32
  %p = ptx.constant true
  // scale d: expected-error@+1 {{expected c where scale_d says whether it counts, found none}}
  %600, %601, %402, %403 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) scale_d %p -> f32, f32, f32, f32
  // metadata: expected-error@+1 {{expected both or neither of metadata and selector, found one}}
  %700, %701, %502, %503 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) metadata(%t : i32) -> f32, f32, f32, f32
  // selector: expected-error@+1 {{expected a sparsity selector below 1, found 1; name threads that hold metadata [selector]}}
  %800, %801, %602, %603 = wgmma.mma_async "s8" "s8" a(%a : i64) b(%a) metadata(%t : i32) selector 1 -> i32, i32, i32, i32
  // transposed registers: expected-error@+1 {{expected a K-major A of f16, found imm-trans-a = 1; store A K-major}}
  %900, %901, %702, %703 = wgmma.mma_async "f16" "f16" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%a) transpose_a -> f32, f32, f32, f32
  // transposed bytes: expected-error@+1 {{expected a K-major B of s8, found imm-trans-b = 1; store B K-major}}
  %1000, %1001, %802, %803 = wgmma.mma_async "s8" "s8" a(%a : i64) b(%a) transpose_b -> i32, i32, i32, i32
  // negated integers: expected-error@+1 {{s8 x s8: expected no negated operand, found one}}
  %1100, %1101, %902, %903 = wgmma.mma_async "s8" "s8" a(%a : i64) b(%a) negate_b -> i32, i32, i32, i32
  // saturated floats: expected-error@+1 {{f16 x f16: expected no .satfinite, found it}}
  %1200, %1201, %1002, %1003 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) saturate -> f32, f32, f32, f32
  ptx.ret
}

// -----

// The descriptor of tcgen05 for the same operand.

ptx.entry @k(a : u64, r : u32) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  %desc = ptx.constant 0x4000404000010000 : i64
  // descriptor of tcgen05: expected-error@+1 {{descriptor of B: bits 46-48: expected 0, found 0x1; encode it with WgmmaDescriptor [b-descriptor-bits]}}
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%desc) -> f32, f32, f32, f32
  %r = ptx.ld.param @r : i32
  %desc2 = ptx.constant 0x4000004000010006 : i64
  // past the row: expected-error@+1 {{descriptor of B: start address: expected 64 bytes of K within one 128-byte row of swizzle 128B}}
  %100, %101, %102, %103 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%desc2) metadata(%r : i32) selector 0 -> f32, f32, f32, f32
  // results of f16: expected-error@+1 {{expected results of f32 or i32, found f16}}
  %200, %201 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f16, f16
  ptx.ret
}
