// RUN: tirx-opt %s --convert-math-to-ptx --split-input-file --verify-diagnostics

ptx.entry @none(x : s32) target("sm_80") {
  %x = ptx.ld.param @x : i32
  // expected-error@+1 {{no PTX form for 'math.absi'; convert-math-to-ptx lowers math.absf, math.acos, math.acosh,}}
  %0 = math.absi %x : i32
  ptx.ret
}

// -----

ptx.entry @wide(x : f64) target("sm_80") {
  %x = ptx.ld.param @x : f64
  // expected-error@+1 {{no PTX form for 'math.erf' on f64; expected math.absf, math.ceil, math.copysign, math.cos, math.exp, math.exp2, math.expm1, math.floor, math.fma, math.log, math.log10, math.log2, math.roundeven, math.rsqrt, math.sin, math.sqrt, math.tanh, math.trunc, or f32 and less}}
  %0 = math.erf %x : f64
  ptx.ret
}

// -----

ptx.entry @bits(x : s64) target("sm_80") {
  %y = ptx.ld.param @x : i64
  %x = arith.trunci %y : i64 to i16
  // expected-error@+1 {{expected 'math.ctpop' on i32 or i64, found i16}}
  %0 = math.ctpop %x : i16
  ptx.ret
}
