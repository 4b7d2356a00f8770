// RUN: tirx-opt %s -t ptx | filecheck %s

// CHECK:      .version 8.0
// CHECK-NEXT: .target sm_90a
// CHECK-NEXT: .address_size 64

ptx.entry @core(a : u64 ptr align 16, n : u32, x : f32, y : f64, map : b8[128] align 64) target("sm_90a") reqntid(128) cluster(2, 1, 1) {
  %n = ptx.ld.param @n : i32
  %a = ptx.ld.param @a : i64
  %x = ptx.ld.param @x : f32
  %y = ptx.ld.param @y : f64
  %tid = ptx.read_special tid.x
  %lane = ptx.read_special laneid
  %rank = ptx.read_special cluster_ctarank
  %tile = ptx.shared_alloc @tile bytes 65536 align 1024
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  // A constant is a literal where the instruction takes one, and a register elsewhere.
  %c16 = ptx.constant 16 : i32
  %mask = ptx.constant -65536 : i32
  %half = ptx.constant 5.000000e-01 : f32
  %h = ptx.constant 1.500000e+00 : f16
  %b = ptx.constant 1.500000e+00 : bf16
  %s = ptx.add %tile, %c16 : i32
  %m = ptx.and %s, %mask : i32
  %z = ptx.add %x, %half : f32
  ptx.st shared %c16, %h : i32, f16
  ptx.st shared %m, %b : i32, bf16
  ptx.st shared %bar, %z : i32, f32
  ptx.ret
}

// CHECK:      .visible .entry core(
// CHECK-NEXT:   .param .u64 .ptr .global .align 16 a,
// CHECK-NEXT:   .param .u32 n,
// CHECK-NEXT:   .param .f32 x,
// CHECK-NEXT:   .param .f64 y,
// CHECK-NEXT:   .param .align 64 .b8 map[128]
// CHECK-NEXT: )
// CHECK-NEXT: .reqntid 128
// CHECK-NEXT: .explicitcluster
// CHECK-NEXT: .reqnctapercluster 2, 1, 1
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .b16 %h<2>;
// CHECK-NEXT:   .reg .b32 %r<9>;
// CHECK-NEXT:   .reg .b64 %rd<1>;
// CHECK-NEXT:   .reg .f32 %f<2>;
// CHECK-NEXT:   .reg .f64 %fd<1>;
// CHECK-NEXT:   .shared .align 1024 .b8 tile[65536];
// CHECK-NEXT:   .shared .align 8 .b8 bar[8];
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.u32 %r0, [n];
// CHECK-NEXT:   ld.param.u64 %rd0, [a];
// CHECK-NEXT:   ld.param.f32 %f0, [x];
// CHECK-NEXT:   ld.param.f64 %fd0, [y];
// CHECK-NEXT:   mov.u32 %r1, %tid.x;
// CHECK-NEXT:   mov.u32 %r2, %laneid;
// CHECK-NEXT:   mov.u32 %r3, %cluster_ctarank;
// CHECK-NEXT:   mov.b32 %r4, tile;
// CHECK-NEXT:   mov.b32 %r5, bar;
// CHECK-NEXT:   mov.b32 %r6, 16;
// CHECK-NEXT:   mov.b16 %h0, 0x3E00;
// CHECK-NEXT:   mov.b16 %h1, 0x3FC0;
// CHECK-NEXT:   add.s32 %r7, %r4, 16;
// CHECK-NEXT:   and.b32 %r8, %r7, 0xFFFF0000;
// CHECK-NEXT:   add.rn.f32 %f1, %f0, 0f3F000000;
// CHECK-NEXT:   st.shared.b16 [%r6], %h0;
// CHECK-NEXT:   st.shared.b16 [%r8], %h1;
// CHECK-NEXT:   st.shared.f32 [%r5], %f1;
// CHECK-NEXT:   ret;
// CHECK-NEXT: }

ptx.entry @empty() target("sm_90a") {
  ptx.ret
}

// CHECK:      .visible .entry empty()
// CHECK-NEXT: {
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
