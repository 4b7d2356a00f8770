// RUN: tirx-opt %s -t ptx --split-input-file --verify-diagnostics

ptx.entry @older_target(a : u64) target("sm_90") {
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{'wgmma.fence' needs wgmma, which sm_90 lacks; supported on}}
  wgmma.fence
  ptx.ret
}

// -----

// Each accumulator needs a register of its own.

ptx.entry @constants(a : u64) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  %zero = ptx.constant 0.0 : f32
  // expected-error@+1 {{expected accumulators that 'wgmma.mma_async' can overwrite, found a constant; tirx-copy-accumulators copies it}}
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%zero, %zero, %zero, %zero : f32, f32, f32, f32) -> f32, f32, f32, f32
  ptx.ret
}

// -----

// What the second product overwrites is stored behind it.

ptx.entry @other_uses(a : u64) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  // expected-error@+1 {{expected accumulators that 'wgmma.mma_async' can overwrite, found one that is used again}}
  %4, %5, %6, %7 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%0, %1, %2, %3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  ptx.st global %a, %2 : i64, f32
  ptx.ret
}

// -----

// Each turn of the loop would start with the sum of the one before.

ptx.entry @from_outside_of_a_loop(a : u64) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  %zero = ptx.constant 0 : i64
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  ptx.bra ^loop
^loop:
  // expected-error@+1 {{expected accumulators that 'wgmma.mma_async' can overwrite, found one from outside of a loop}}
  %4, %5, %6, %7 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%0, %1, %2, %3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %p = ptx.setp eq %a, %zero : i64
  ptx.cond_bra %p, ^loop, ^exit
^exit:
  ptx.ret
}
