// RUN: tirx-opt %s -t ptx | filecheck %s

// CHECK:      .version 6.0
// CHECK-NEXT: .target sm_70
// CHECK-NEXT: .address_size 64

ptx.entry @integers(a : u32, b : u64) target("sm_70") {
  %a = ptx.ld.param @a : i32
  %b = ptx.ld.param @b : i64
  %s = ptx.cvt %a : i32 -> i16
  %c = ptx.constant 3 : i32
  %0 = ptx.add %a, %c : i32
  %1 = ptx.sub %b, %b : i64
  %2 = ptx.mul.lo %s, %s : i16
  %3 = ptx.mul.wide %a, %c : i32 -> i64
  %4 = ptx.mul.wide unsigned %s, %s : i16 -> i32
  %5 = ptx.mad.lo %a, %c, %0 : i32
  %6 = ptx.div %a, %c : i32
  %7 = ptx.div unsigned %b, %1 : i64
  %8 = ptx.rem %a, %c : i32
  %9 = ptx.rem unsigned %b, %1 : i64
  %10 = ptx.min %a, %c : i32
  %11 = ptx.max unsigned %b, %1 : i64
  %12 = ptx.and %a, %c : i32
  %13 = ptx.or %b, %1 : i64
  %14 = ptx.xor %s, %s : i16
  %15 = ptx.not %a : i32
  %16 = ptx.neg %b : i64
  %17 = ptx.shl %b, %c : i64
  %18 = ptx.shr %a, %c : i32
  %19 = ptx.shr unsigned %s, %c : i16
  %20 = ptx.setp lt %a, %c : i32
  %21 = ptx.setp ge unsigned %b, %1 : i64
  %22 = ptx.and %20, %21 : i1
  %23 = ptx.or %20, %22 : i1
  %24 = ptx.xor %20, %23 : i1
  %25 = ptx.not %24 : i1
  %26 = ptx.selp %25, %a, %c : i32
  %27 = ptx.selp %25, %s, %14 : i16
  ptx.ret
}

// CHECK:      .visible .entry integers(
// CHECK-NEXT:   .param .u32 a,
// CHECK-NEXT:   .param .u64 b
// CHECK-NEXT: )
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .pred %p<6>;
// CHECK-NEXT:   .reg .b16 %h<5>;
// CHECK-NEXT:   .reg .b32 %r<11>;
// CHECK-NEXT:   .reg .b64 %rd<9>;
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.u32 %r0, [a];
// CHECK-NEXT:   ld.param.u64 %rd0, [b];
// CHECK-NEXT:   cvt.s16.s32 %h0, %r0;
// CHECK-NEXT:   add.s32 %r1, %r0, 3;
// CHECK-NEXT:   sub.s64 %rd1, %rd0, %rd0;
// CHECK-NEXT:   mul.lo.s16 %h1, %h0, %h0;
// CHECK-NEXT:   mul.wide.s32 %rd2, %r0, 3;
// CHECK-NEXT:   mul.wide.u16 %r2, %h0, %h0;
// CHECK-NEXT:   mad.lo.s32 %r3, %r0, 3, %r1;
// CHECK-NEXT:   div.s32 %r4, %r0, 3;
// CHECK-NEXT:   div.u64 %rd3, %rd0, %rd1;
// CHECK-NEXT:   rem.s32 %r5, %r0, 3;
// CHECK-NEXT:   rem.u64 %rd4, %rd0, %rd1;
// CHECK-NEXT:   min.s32 %r6, %r0, 3;
// CHECK-NEXT:   max.u64 %rd5, %rd0, %rd1;
// CHECK-NEXT:   and.b32 %r7, %r0, 3;
// CHECK-NEXT:   or.b64 %rd6, %rd0, %rd1;
// CHECK-NEXT:   xor.b16 %h2, %h0, %h0;
// CHECK-NEXT:   not.b32 %r8, %r0;
// CHECK-NEXT:   neg.s64 %rd7, %rd0;
// CHECK-NEXT:   shl.b64 %rd8, %rd0, 3;
// CHECK-NEXT:   shr.s32 %r9, %r0, 3;
// CHECK-NEXT:   shr.u16 %h3, %h0, 3;
// CHECK-NEXT:   setp.lt.s32 %p0, %r0, 3;
// CHECK-NEXT:   setp.ge.u64 %p1, %rd0, %rd1;
// CHECK-NEXT:   and.pred %p2, %p0, %p1;
// CHECK-NEXT:   or.pred %p3, %p0, %p2;
// CHECK-NEXT:   xor.pred %p4, %p0, %p3;
// CHECK-NEXT:   not.pred %p5, %p4;
// CHECK-NEXT:   selp.b32 %r10, %r0, 3, %p5;
// CHECK-NEXT:   selp.b16 %h4, %h0, %h2, %p5;
// CHECK-NEXT:   ret;
// CHECK-NEXT: }

ptx.entry @floats(x : f32, y : f64) target("sm_70") {
  %x = ptx.ld.param @x : f32
  %y = ptx.ld.param @y : f64
  %h = ptx.cvt %x : f32 -> f16
  %c = ptx.constant 1.000000e+00 : f32
  %0 = ptx.add %x, %c : f32
  %1 = ptx.sub %y, %y : f64
  %2 = ptx.mul %h, %h : f16
  %3 = ptx.fma %x, %c, %0 : f32
  %4 = ptx.div %x, %c : f32
  %5 = ptx.div %y, %1 : f64
  %6 = ptx.neg %h : f16
  %7 = ptx.min %x, %c : f32
  %8 = ptx.max %y, %1 : f64
  %9 = ptx.setp ltu %x, %c : f32
  %10 = ptx.setp nan %y, %1 : f64
  %11 = ptx.setp eq %h, %2 : f16
  %12 = ptx.selp %9, %x, %c : f32
  %13 = ptx.selp %10, %h, %2 : f16
  %14 = ptx.fma rm %x, %c, %0 : f32
  %15 = ptx.fma rp %y, %1, %5 : f64
  ptx.ret
}

// CHECK:      .visible .entry floats(
// CHECK-NEXT:   .param .f32 x,
// CHECK-NEXT:   .param .f64 y
// CHECK-NEXT: )
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .pred %p<3>;
// CHECK-NEXT:   .reg .b16 %h<4>;
// CHECK-NEXT:   .reg .f32 %f<7>;
// CHECK-NEXT:   .reg .f64 %fd<5>;
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.f32 %f0, [x];
// CHECK-NEXT:   ld.param.f64 %fd0, [y];
// CHECK-NEXT:   cvt.rn.f16.f32 %h0, %f0;
// CHECK-NEXT:   add.rn.f32 %f1, %f0, 0f3F800000;
// CHECK-NEXT:   sub.rn.f64 %fd1, %fd0, %fd0;
// CHECK-NEXT:   mul.rn.f16 %h1, %h0, %h0;
// CHECK-NEXT:   fma.rn.f32 %f2, %f0, 0f3F800000, %f1;
// CHECK-NEXT:   div.rn.f32 %f3, %f0, 0f3F800000;
// CHECK-NEXT:   div.rn.f64 %fd2, %fd0, %fd1;
// CHECK-NEXT:   neg.f16 %h2, %h0;
// CHECK-NEXT:   min.f32 %f4, %f0, 0f3F800000;
// CHECK-NEXT:   max.f64 %fd3, %fd0, %fd1;
// CHECK-NEXT:   setp.ltu.f32 %p0, %f0, 0f3F800000;
// CHECK-NEXT:   setp.nan.f64 %p1, %fd0, %fd1;
// CHECK-NEXT:   setp.eq.f16 %p2, %h0, %h1;
// CHECK-NEXT:   selp.f32 %f5, %f0, 0f3F800000, %p0;
// CHECK-NEXT:   selp.b16 %h3, %h0, %h1, %p1;
// CHECK-NEXT:   fma.rm.f32 %f6, %f0, 0f3F800000, %f1;
// CHECK-NEXT:   fma.rp.f64 %fd4, %fd0, %fd1, %fd2;
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
