// RUN: tirx-opt %s -t ptx | filecheck %s

// CHECK:      .version 8.4
// CHECK-NEXT: .target sm_90a

ptx.entry @products(x : f64, t : u32, f : f32) target("sm_90a") {
  %x = ptx.ld.param @x : f64
  %t = ptx.ld.param @t : i32
  %f = ptx.ld.param @f : f32
  %0, %1, %2, %3 = ptx.mma.m16n8 "m16n8k16.row.col.f32.f16" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %t : i32, i32) c(%f, %f, %f, %f : f32, f32, f32, f32) -> f32, f32, f32, f32
  %4, %5 = ptx.mma.m16n8 "m16n8k8.row.col.f16" a(%t, %t : i32, i32) b(%t : i32) c(%t, %t : i32, i32) -> i32, i32
  %6, %7, %8, %9 = ptx.mma.m16n8 "m16n8k4.row.col.f64" a(%x, %x : f64, f64) b(%x : f64) c(%x, %x, %x, %x : f64, f64, f64, f64) -> f64, f64, f64, f64
  %10, %11, %12, %13 = ptx.mma.m16n8 "m16n8k32.row.col.f32.e4m3" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %t : i32, i32) c(%f, %f, %f, %f : f32, f32, f32, f32) -> f32, f32, f32, f32
  ptx.ret
}

// CHECK:        ld.param.f32 %f0, [f];
// CHECK-NEXT:   mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r0, %r0, %r0, %r0}, {%r0, %r0}, {%f0, %f0, %f0, %f0};
// CHECK-NEXT:   mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r0, %r0}, {%r0}, {%r0, %r0};
// CHECK-NEXT:   mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%fd1, %fd2, %fd3, %fd4}, {%fd0, %fd0}, {%fd0}, {%fd0, %fd0, %fd0, %fd0};
// CHECK-NEXT:   mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f5, %f6, %f7, %f8}, {%r0, %r0, %r0, %r0}, {%r0, %r0}, {%f0, %f0, %f0, %f0};
// CHECK-NEXT:   ret;
