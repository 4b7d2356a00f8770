// RUN: tirx-opt %s -t ptx | filecheck %s

// Loads that keep two of every four, which only sm_107a has.

// CHECK:      .version 9.4
// CHECK-NEXT: .target sm_107a

ptx.entry @kept(t : u32) target("sm_107a") {
  %t = ptx.ld.param @t : i32
  %m, %0, %1 = tcgen05.ld.spcompress max "32x32b" num 4 %t : i32 -> i32, f32, f32
  %n, %2, %3, %least = tcgen05.ld.spcompress min "32x32b" num 4 %t offset 16 red nan : i32 -> i32, f32, f32, f32
  %o, %4, %5 = tcgen05.ld.spcompress min "32x32b" num 4 %t abs : i32 -> i32, f32, f32
  tcgen05.wait ld
  ptx.ret
}

// CHECK:       tcgen05.ld.spcompress.sync.aligned.32x32b.x4.max.sp::2:4.f32.b2 {%r1}, {%f0, %f1}, [%r0];
// CHECK-NEXT:  tcgen05.ld.red.spcompress.sync.aligned.32x32b.x4.min.sp::2:4.NaN.f32.b2 {%r2}, {%f2, %f3}, %f4, [%r0+16];
// CHECK-NEXT:  tcgen05.ld.spcompress.sync.aligned.32x32b.x4.min.sp::2:4.abs.f32.b2 {%r3}, {%f5, %f6}, [%r0];
// CHECK-NEXT:  tcgen05.wait::ld.sync.aligned;
