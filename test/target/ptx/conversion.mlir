// RUN: tirx-opt %s -t ptx | filecheck %s

// CHECK:      .version 6.0
// CHECK-NEXT: .target sm_70
// CHECK-NEXT: .address_size 64

ptx.entry @conversions(a : u32, x : f32) target("sm_70") {
  %a = ptx.ld.param @a : i32
  %x = ptx.ld.param @x : f32
  %0 = ptx.cvt %a : i32 -> i64
  %1 = ptx.cvt unsigned %a : i32 -> i64
  %2 = ptx.cvt unsigned %0 : i64 -> i32
  %3 = ptx.cvt %a : i32 -> i16
  %4 = ptx.cvt %a : i32 -> f32
  %5 = ptx.cvt unsigned %0 : i64 -> f64
  %6 = ptx.cvt %x : f32 -> i32
  %7 = ptx.cvt unsigned %5 : f64 -> i64
  %8 = ptx.cvt %x : f32 -> f64
  %9 = ptx.cvt %8 : f64 -> f32
  %10 = ptx.cvt %x : f32 -> f16
  %11 = ptx.cvt %10 : f16 -> f64
  %12 = ptx.mov %x : f32 -> i32
  %13 = ptx.mov %12 : i32 -> f32
  %14 = ptx.mov %10 : f16 -> i16
  %15 = ptx.mov %0 : i64 -> f64
  %16 = ptx.pack %10, %10 : f16 -> i32
  %17 = ptx.pack %a, %16 : i32 -> i64
  %18, %19 = ptx.unpack %16 : i32 -> i16
  %20, %21 = ptx.unpack %17 : i64 -> f32
  ptx.ret
}

// CHECK:      .visible .entry conversions(
// CHECK-NEXT:   .param .u32 a,
// CHECK-NEXT:   .param .f32 x
// CHECK-NEXT: )
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .b16 %h<5>;
// CHECK-NEXT:   .reg .b32 %r<5>;
// CHECK-NEXT:   .reg .b64 %rd<4>;
// CHECK-NEXT:   .reg .f32 %f<6>;
// CHECK-NEXT:   .reg .f64 %fd<4>;
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.u32 %r0, [a];
// CHECK-NEXT:   ld.param.f32 %f0, [x];
// CHECK-NEXT:   cvt.s64.s32 %rd0, %r0;
// CHECK-NEXT:   cvt.u64.u32 %rd1, %r0;
// CHECK-NEXT:   cvt.u32.u64 %r1, %rd0;
// CHECK-NEXT:   cvt.s16.s32 %h0, %r0;
// CHECK-NEXT:   cvt.rn.f32.s32 %f1, %r0;
// CHECK-NEXT:   cvt.rn.f64.u64 %fd0, %rd0;
// CHECK-NEXT:   cvt.rzi.s32.f32 %r2, %f0;
// CHECK-NEXT:   cvt.rzi.u64.f64 %rd2, %fd0;
// CHECK-NEXT:   cvt.f64.f32 %fd1, %f0;
// CHECK-NEXT:   cvt.rn.f32.f64 %f2, %fd1;
// CHECK-NEXT:   cvt.rn.f16.f32 %h1, %f0;
// CHECK-NEXT:   cvt.f64.f16 %fd2, %h1;
// CHECK-NEXT:   mov.b32 %r3, %f0;
// CHECK-NEXT:   mov.b32 %f3, %r3;
// CHECK-NEXT:   mov.b16 %h2, %h1;
// CHECK-NEXT:   mov.b64 %fd3, %rd0;
// CHECK-NEXT:   mov.b32 %r4, {%h1, %h1};
// CHECK-NEXT:   mov.b64 %rd3, {%r0, %r4};
// CHECK-NEXT:   mov.b32 {%h3, %h4}, %r4;
// CHECK-NEXT:   mov.b64 {%f4, %f5}, %rd3;
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
