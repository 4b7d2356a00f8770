// RUN: tirx-opt %s -t ptx | filecheck %s

// CHECK:      .version 6.0
// CHECK-NEXT: .target sm_70
// CHECK-NEXT: .address_size 64

ptx.entry @memory(a : u64 ptr align 16) target("sm_70") {
  %generic = ptx.ld.param @a : i64
  %a = ptx.cvta.to.global %generic
  %s = ptx.shared_alloc @tile bytes 1024 align 16
  %0 = ptx.ld global %a : i64 -> i16
  %1, %2 = ptx.ld global %a offset 8 : i64 -> i32, i32
  %3, %4, %5, %6 = ptx.ld global %a offset -16 : i64 -> f32, f32, f32, f32
  %7, %8 = ptx.ld shared %s offset 16 : i32 -> f64, f64
  %9 = ptx.ld shared %s : i32 -> i64
  %c = ptx.constant 7 : i32
  ptx.st shared %s, %0 : i32, i16
  ptx.st shared %s offset 8, %1, %c : i32, i32, i32
  ptx.st global %a offset 32, %3, %4, %5, %6 : i64, f32, f32, f32, f32
  ptx.st global %a, %7, %8 : i64, f64, f64
  ptx.st global %a offset 64, %9 : i64, i64
  %byte = ptx.ld.u8 global %a offset 7 : i64
  ptx.st.u8 shared %s offset 9, %byte : i32
  ptx.ret
}

// CHECK:      .visible .entry memory(
// CHECK-NEXT:   .param .u64 .ptr .global .align 16 a
// CHECK-NEXT: )
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .b16 %h<1>;
// CHECK-NEXT:   .reg .b32 %r<4>;
// CHECK-NEXT:   .reg .b64 %rd<3>;
// CHECK-NEXT:   .reg .f32 %f<4>;
// CHECK-NEXT:   .reg .f64 %fd<2>;
// CHECK-NEXT:   .shared .align 16 .b8 tile[1024];
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.u64 %rd0, [a];
// CHECK-NEXT:   cvta.to.global.u64 %rd1, %rd0;
// CHECK-NEXT:   mov.b32 %r0, tile;
// CHECK-NEXT:   ld.global.b16 %h0, [%rd1];
// CHECK-NEXT:   ld.global.v2.b32 {%r1, %r2}, [%rd1+8];
// CHECK-NEXT:   ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1+-16];
// CHECK-NEXT:   ld.shared.v2.f64 {%fd0, %fd1}, [%r0+16];
// CHECK-NEXT:   ld.shared.b64 %rd2, [%r0];
// CHECK-NEXT:   st.shared.b16 [%r0], %h0;
// CHECK-NEXT:   st.shared.v2.b32 [%r0+8], {%r1, 7};
// CHECK-NEXT:   st.global.v4.f32 [%rd1+32], {%f0, %f1, %f2, %f3};
// CHECK-NEXT:   st.global.v2.f64 [%rd1], {%fd0, %fd1};
// CHECK-NEXT:   st.global.b64 [%rd1+64], %rd2;
// CHECK-NEXT:   ld.global.u8 %r3, [%rd1+7];
// CHECK-NEXT:   st.shared.u8 [%r0+9], %r3;
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
