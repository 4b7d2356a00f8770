// RUN: tirx-opt %s --convert-arith-to-ptx --split-input-file --verify-diagnostics

ptx.entry @no_rule(a : u32) target("sm_80") {
  %a = ptx.ld.param @a : i32
  // expected-error@+1 {{no PTX form for 'arith.mului_extended'; convert-arith-to-ptx lowers arith.addf, arith.addi, }}
  %0, %1 = arith.mului_extended %a, %a : i32
  ptx.ret
}

// -----

ptx.entry @no_register() target("sm_80") {
  // expected-error@+1 {{'arith.constant': no PTX register holds i3}}
  %0 = arith.constant 1 : i3
  ptx.ret
}

// -----

ptx.entry @predicate_division(a : u32) target("sm_80") {
  %a = ptx.ld.param @a : i32
  %p = ptx.setp eq %a, %a : i32
  // expected-error@+1 {{no PTX form for 'arith.divsi' on i1}}
  %0 = arith.divsi %p, %p : i1
  ptx.ret
}

// -----

ptx.entry @predicate_shift(a : u32) target("sm_80") {
  %a = ptx.ld.param @a : i32
  %p = ptx.setp eq %a, %a : i32
  // expected-error@+1 {{no PTX form for 'arith.shli' on i1}}
  %0 = arith.shli %p, %p : i1
  ptx.ret
}

// -----

ptx.entry @predicate_shift_right(a : u32) target("sm_80") {
  %a = ptx.ld.param @a : i32
  %p = ptx.setp eq %a, %a : i32
  // expected-error@+1 {{no PTX form for 'arith.shrui' on i1}}
  %0 = arith.shrui %p, %p : i1
  ptx.ret
}

// -----

ptx.entry @double_rounding(y : f64) target("sm_90") {
  %y = ptx.ld.param @y : f64
  // expected-error@+1 {{no PTX form for 'arith.truncf' on f64 -> bf16}}
  %0 = arith.truncf %y : f64 to bf16
  ptx.ret
}

// -----

// Index values of other dialects cannot become registers.

ptx.entry @affine() target("sm_80") {
  %i = arith.constant 1 : index
  // expected-error@+1 {{no PTX form for 'affine.apply'; kernels may use tirx, arith, scf.for and scf.if}}
  %m = affine.apply affine_map<(d0) -> (d0 * 64)>(%i)
  ptx.ret
}

// -----

// Floats of a byte are converted only.

ptx.entry @narrow_sum(a : f32) target("sm_100a") {
  %a = ptx.ld.param @a : f32
  %n = arith.truncf %a : f32 to f8E5M2
  // expected-error@+1 {{expected arith.truncf to f8E5M2 of f16, bf16 or f32, arith.extf of it to f16, bf16, f32 or f64, arith.select, arith.bitcast or a constant, found 'arith.addf'}}
  %sum = arith.addf %n, %n : f8E5M2
  ptx.ret
}

// -----

ptx.entry @narrow_from_f64(a : f64) target("sm_100a") {
  %a = ptx.ld.param @a : f64
  // expected-error@+1 {{expected arith.truncf to f8E4M3FN of f16, bf16 or f32}}
  %n = arith.truncf %a : f64 to f8E4M3FN
  %w = arith.extf %n : f8E4M3FN to f32
  ptx.ret
}
