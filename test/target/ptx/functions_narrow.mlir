// RUN: tirx-opt %s -t ptx | filecheck %s

// Registers of 8 bits live in a block of their own.
ptx.entry @nibbles(a : u64, x : f32, y : f32) target("sm_100a") {
  %a = ptx.ld.param @a : i64
  %x = ptx.ld.param @x : f32
  %y = ptx.ld.param @y : f32
  // CHECK: { .reg .b8 %byte; cvt.rn.satfinite.e2m1x2.f32 %byte, %f1, %f0; cvt.u16.u8 %h0, %byte; }
  %0 = ptx.cvt.pair e2m1x2 %x, %y -> i16
  // CHECK-NEXT: { .reg .b8 %byte; cvt.u8.u16 %byte, %h0; cvt.rn.f16x2.e2m1x2 %r0, %byte; }
  %1 = ptx.cvt.from_pair e2m1x2 %0
  ptx.st global %a, %1 : i64, i32
  ptx.ret
}
