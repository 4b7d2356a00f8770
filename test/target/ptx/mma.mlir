// RUN: tirx-opt %s -t ptx | filecheck %s

// CHECK:      .version 6.4
// CHECK-NEXT: .target sm_70
// CHECK-NEXT: .address_size 64

ptx.entry @f16_products(a : u32, b : u32) target("sm_70") {
  %a = ptx.ld.param @a : i32
  %b = ptx.ld.param @b : i32
  %z = ptx.constant 0.000000e+00 : f32
  %h = ptx.constant 0 : i32
  %d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7 = ptx.mma.m8n8k4.f16 row col a(%a, %b : i32, i32) b(%b, %a : i32, i32) c(%z, %z, %z, %z, %z, %z, %z, %z : f32, f32, f32, f32, f32, f32, f32, f32) -> f32, f32, f32, f32, f32, f32, f32, f32
  %e0, %e1, %e2, %e3 = ptx.mma.m8n8k4.f16 col row a(%a, %b : i32, i32) b(%b, %a : i32, i32) c(%h, %h, %h, %h : i32, i32, i32, i32) -> i32, i32, i32, i32
  %g0, %g1, %g2, %g3, %g4, %g5, %g6, %g7 = ptx.mma.m8n8k4.f16 row row a(%a, %b : i32, i32) b(%b, %a : i32, i32) c(%e0, %e1, %e2, %e3 : i32, i32, i32, i32) -> f32, f32, f32, f32, f32, f32, f32, f32
  ptx.ret
}

// CHECK:      .visible .entry f16_products(
// CHECK-NEXT:   .param .u32 a,
// CHECK-NEXT:   .param .u32 b
// CHECK-NEXT: )
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .b32 %r<7>;
// CHECK-NEXT:   .reg .f32 %f<17>;
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.u32 %r0, [a];
// CHECK-NEXT:   ld.param.u32 %r1, [b];
// CHECK-NEXT:   mov.f32 %f0, 0f00000000;
// CHECK-NEXT:   mov.b32 %r2, 0;
// CHECK-NEXT:   mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, {%r0, %r1}, {%r1, %r0}, {%f0, %f0, %f0, %f0, %f0, %f0, %f0, %f0};
// CHECK-NEXT:   mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16 {%r3, %r4, %r5, %r6}, {%r0, %r1}, {%r1, %r0}, {%r2, %r2, %r2, %r2};
// CHECK-NEXT:   mma.sync.aligned.m8n8k4.row.row.f32.f16.f16.f16 {%f9, %f10, %f11, %f12, %f13, %f14, %f15, %f16}, {%r0, %r1}, {%r1, %r0}, {%r3, %r4, %r5, %r6};
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
