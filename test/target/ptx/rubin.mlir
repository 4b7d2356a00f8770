// RUN: tirx-opt %s -t ptx | filecheck %s

// What registers of sm_107a have: two of four elements, saturating sums, bytes, pairs of f32 with one of narrower numbers.

// CHECK-LABEL: .visible .entry registers(
// CHECK:       spcompress
// CHECK:       spdecompress
// CHECK:       add.sat.s32
// CHECK-NEXT:  add.sat.u32
// CHECK-NEXT:  add.sat.s16x2
// CHECK-NEXT:  neg.s8x4
// CHECK-NEXT:  set.lt.u8x4
// CHECK-NEXT:  set.ge.s16x2
// CHECK-NEXT:  add.rz.ftz.f16x2.f32x2.f32x2
// CHECK-NEXT:  mul.bf16x2.bf16x2.f16x2
// CHECK-NEXT:  fma.rz.f32x2.f16x2.f32x2.f32x2
ptx.entry @registers(x : u32, y : u32, w : u64, d : u64 ptr) target("sm_107a") {
  %x = ptx.ld.param @x : i32
  %y = ptx.ld.param @y : i32
  %w = ptx.ld.param @w : i64
  %d = ptx.ld.param @d : i64
  %m, %c0, %c1 = ptx.spcompress "b16" "b4" %x, %y, %x, %y by %y -> i32, i32, i32
  %e:4 = ptx.spdecompress "b16" "b4" "2:4" 2 metadata(%m) %c0, %c1 -> i32, i32, i32, i32
  %0 = ptx.add.sat %e#0, %e#1
  %1 = ptx.add.sat unsigned %0, %e#2
  %2 = ptx.add.sat.x2 %1, %e#3
  %3 = ptx.neg.x4 %2
  %s4 = ptx.set.x4 lt unsigned %3, %x
  %s5 = ptx.set.x2 ge %s4, %x
  %s6 = ptx.narrow.pair add f16x2 %w, %w
  %s7 = ptx.mul.pair bf16x2 %s5, %s6
  %4 = ptx.mixed.pair fma f16x2 "rz" %s7, %w, %w
  ptx.st global %d, %4 : i64, i64
  ptx.ret
}
