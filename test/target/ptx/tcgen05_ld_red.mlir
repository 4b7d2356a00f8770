// RUN: tirx-opt %s -t ptx | filecheck %s

// Loads with a reduction, which sm_100a lacks.

// CHECK:      .version 8.8
// CHECK-NEXT: .target sm_103a
// CHECK-NEXT: .address_size 64

ptx.entry @reductions(t : u32) target("sm_103a") {
  %t = ptx.ld.param @t : i32
  %max, %0, %1 = tcgen05.ld.red max "32x32b" num 2 %t as "f32" : i32 -> f32, f32, f32
  %min, %2, %3 = tcgen05.ld.red min "32x32b" num 2 %t offset 16 as "f32" abs nan : i32 -> f32, i32, i32
  %umax, %4, %5 = tcgen05.ld.red max "16x32bx2" num 2 %t as "u32" half_split_offset 16 : i32 -> i32, i32, i32
  %smin, %6, %7 = tcgen05.ld.red min "32x32b" num 2 %t as "s32" : i32 -> i32, i32, i32
  tcgen05.wait ld
  ptx.ret
}

// CHECK:      .visible .entry reductions(
// CHECK-NEXT:   .param .u32 t
// CHECK-NEXT: )
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .b32 %r<9>;
// CHECK-NEXT:   .reg .f32 %f<4>;
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.u32 %r0, [t];
// CHECK-NEXT:   tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32 {%f0, %f1}, %f2, [%r0];
// CHECK-NEXT:   tcgen05.ld.red.sync.aligned.32x32b.x2.min.abs.NaN.f32 {%r1, %r2}, %f3, [%r0+16];
// CHECK-NEXT:   tcgen05.ld.red.sync.aligned.16x32bx2.x2.max.u32 {%r3, %r4}, %r5, [%r0], 16;
// CHECK-NEXT:   tcgen05.ld.red.sync.aligned.32x32b.x2.min.s32 {%r6, %r7}, %r8, [%r0];
// CHECK-NEXT:   tcgen05.wait::ld.sync.aligned;
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
