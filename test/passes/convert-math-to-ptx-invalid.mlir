// RUN: tirx-opt %s --convert-math-to-ptx --split-input-file --verify-diagnostics

ptx.entry @none(x : f32) target("sm_80") {
  %x = ptx.ld.param @x : f32
  // expected-error@+1 {{no PTX form for 'math.atan'; convert-math-to-ptx lowers math.absf, math.ceil, math.cos, math.erf, math.exp, math.exp2, math.floor, math.fma, math.log, math.log2, math.roundeven, math.rsqrt, math.sin, math.sqrt, math.tanh, math.trunc}}
  %0 = math.atan %x : f32
  ptx.ret
}

// -----

ptx.entry @wide(x : f64) target("sm_80") {
  %x = ptx.ld.param @x : f64
  // expected-error@+1 {{no PTX form for 'math.exp' on f64; expected math.absf, math.ceil, math.floor, math.fma, math.roundeven, math.sqrt, math.trunc, or f32 and less}}
  %0 = math.exp %x : f64
  ptx.ret
}
