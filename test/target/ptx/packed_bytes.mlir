// RUN: tirx-opt %s -t ptx | filecheck %s

// Four integers of 8 bits in a register, never a literal.

// CHECK-LABEL: .visible .entry bytes(
// CHECK:       mov.b32 %r2, 127;
// CHECK-NEXT:  add.s8x4 %r3, %r0, %r1;
// CHECK-NEXT:  sub.sat.u8x4 %r4, %r3, %r1;
// CHECK-NEXT:  min.s8x4 %r5, %r4, %r1;
// CHECK-NEXT:  max.u8x4 %r6, %r5, %r2;
ptx.entry @bytes(x : u32, y : u32, d : u64 ptr) target("sm_107a") {
  %x = ptx.ld.param @x : i32
  %y = ptx.ld.param @y : i32
  %d = ptx.ld.param @d : i64
  %most = ptx.constant 127 : i32
  %0 = ptx.add.x4 %x, %y
  %1 = ptx.sub.x4 unsigned sat %0, %y
  %2 = ptx.min.x4 %1, %y
  %3 = ptx.max.x4 unsigned %2, %most
  ptx.st global %d, %3 : i64, i32
  ptx.ret
}
