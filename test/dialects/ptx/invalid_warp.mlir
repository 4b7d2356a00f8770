// RUN: tirx-opt %s --split-input-file --verify-diagnostics

ptx.entry @wide(x : u64) target("sm_100a") {
  %x = ptx.ld.param @x : i64
  %c = ptx.constant 1 : i32
  // expected-error@+1 {{expected a register of type i32 or f32, found i64}}
  %0 = ptx.shfl.sync idx %x, %c : i64
  ptx.ret
}

ptx.entry @clamp(x : u32) target("sm_100a") {
  %x = ptx.ld.param @x : i32
  // expected-error@+1 {{expected a clamp with bits 0-4 and 8-12 only, found 0x20}}
  %0 = ptx.shfl.sync idx %x, %x clamp 32 : i32
  ptx.ret
}

ptx.entry @sum_of_floats(x : f32) target("sm_100a") {
  %x = ptx.ld.param @x : f32
  // expected-error@+1 {{expected reduction of f32 to be one of min, max, found add}}
  %0 = ptx.redux.sync add %x : f32
  ptx.ret
}

ptx.entry @k(x : u32) target("sm_100a") {
  %x = ptx.ld.param @x : i32
  // nan of integers: expected-error@+1 {{expected 'abs' and 'nan' on f32 only, found i32}}
  %0 = ptx.redux.sync max nan %x : i32
  // expected-error@+1 {{expected 'abs' and 'nan' on f32 only, found i32}}
  %1 = ptx.redux.sync max abs %x : i32
  // unsigned bits: expected-error@+1 {{expected 'unsigned' on integers with add, min or max only}}
  %100 = ptx.redux.sync xor unsigned %x : i32
  // no lanes: expected-error@+1 {{expected a non-zero mask of 32 lanes, found 0x0}}
  %200 = ptx.redux.sync add %x mask 0 : i32
  %x2 = ptx.constant 1.0 : bf16
  // bf16: expected-error@+1 {{expected 'ftz' on bf16, found none}}
  %300 = ptx.ex2.approx %x2 : bf16
  %x3 = ptx.constant 1.0 : f16
  // expected-error@+1 {{expected 'ftz' on bf16 or f32, found f16}}
  %400 = ptx.ex2.approx ftz %x3 : f16
  ptx.ret
}
