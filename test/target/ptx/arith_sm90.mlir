// RUN: tirx-opt %s -t ptx | filecheck %s

// CHECK:      .version 7.8
// CHECK-NEXT: .target sm_90
// CHECK-NEXT: .address_size 64

// What came after sm_70.
ptx.entry @floats(x : f32) target("sm_90") {
  %x = ptx.ld.param @x : f32
  %b = ptx.cvt %x : f32 -> bf16
  %h = ptx.cvt %x : f32 -> f16
  %0 = ptx.add %b, %b : bf16
  %1 = ptx.sub %b, %b : bf16
  %2 = ptx.mul %b, %b : bf16
  %3 = ptx.fma %b, %0, %1 : bf16
  %4 = ptx.neg %b : bf16
  %5 = ptx.min %h, %h : f16
  %6 = ptx.max nan %b, %b : bf16
  %7 = ptx.min nan %x, %x : f32
  %8 = ptx.setp lt %b, %0 : bf16
  %9 = ptx.cvt %b : bf16 -> f32
  ptx.ret
}

// CHECK:      .visible .entry floats(
// CHECK-NEXT:   .param .f32 x
// CHECK-NEXT: )
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .pred %p<1>;
// CHECK-NEXT:   .reg .b16 %h<9>;
// CHECK-NEXT:   .reg .f32 %f<3>;
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.f32 %f0, [x];
// CHECK-NEXT:   cvt.rn.bf16.f32 %h0, %f0;
// CHECK-NEXT:   cvt.rn.f16.f32 %h1, %f0;
// CHECK-NEXT:   add.rn.bf16 %h2, %h0, %h0;
// CHECK-NEXT:   sub.rn.bf16 %h3, %h0, %h0;
// CHECK-NEXT:   mul.rn.bf16 %h4, %h0, %h0;
// CHECK-NEXT:   fma.rn.bf16 %h5, %h0, %h2, %h3;
// CHECK-NEXT:   neg.bf16 %h6, %h0;
// CHECK-NEXT:   min.f16 %h7, %h1, %h1;
// CHECK-NEXT:   max.NaN.bf16 %h8, %h0, %h0;
// CHECK-NEXT:   min.NaN.f32 %f1, %f0, %f0;
// CHECK-NEXT:   setp.lt.bf16 %p0, %h0, %h2;
// CHECK-NEXT:   cvt.f32.bf16 %f2, %h0;
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
