// RUN: tirx-opt %s -t ptx | filecheck %s

// Four products of numbers of 8, 6 and 4 bits.

// CHECK:       mul.rn.e4m3x4.e5m2x4.e3m2x4 %r2, %r0, %r1;
// CHECK:       mul.rn.satfinite.e5m2x4.e4m3x4.e2m1x4 %r3, %r2, %h0;
ptx.entry @products(x : u32, y : u32, d : u64 ptr) target("sm_100a") {
  %x = ptx.ld.param @x : i32
  %y = ptx.ld.param @y : i32
  %d = ptx.ld.param @d : i64
  %0 = ptx.mul.x4 "e4m3" "e5m2" %x, "e3m2" %y : i32, i32
  %low = ptx.cvt %y : i32 -> i16
  %1 = ptx.mul.x4 satfinite "e5m2" "e4m3" %0, "e2m1" %low : i32, i16
  ptx.st global %d, %1 : i64, i32
  ptx.ret
}
