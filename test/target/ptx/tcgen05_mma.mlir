// RUN: tirx-opt %s -t ptx | filecheck %s

// CHECK:      .version 8.6
// CHECK-NEXT: .target sm_100a
// CHECK-NEXT: .address_size 64

ptx.entry @one_cta(d : u32, a : u64, b : u64, idesc : u32, n : u32) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %b = ptx.ld.param @b : i64
  %n = ptx.ld.param @n : i32
  %zero = ptx.constant 0 : i32
  // M = N = 128: f16; sparse f16; s8; sparse e4m3.
  %f16 = ptx.constant 136314896 : i32
  %sparse_f16 = ptx.constant 136314900 : i32
  %i8 = ptx.constant 136316064 : i32
  %f8f6f4 = ptx.constant 136314900 : i32
  %step = ptx.constant 4611756662049538048 : i64
  %mask = ptx.constant 3302829850624 : i64
  %more = ptx.setp ne %n, %zero : i32
  %no = ptx.constant false
  %yes = ptx.constant true
  tcgen05.mma f16 %d, %a, %b, %f16, %no : i32, i64
  tcgen05.mma tf32 %d, %a, %step, %n, %more collector fill scale_d 3 : i32, i64
  tcgen05.mma i8 %d, %d, %b, %i8, %yes ashift collector lastuse : i32, i32
  tcgen05.mma f8f6f4 %d, %a, %b, %f8f6f4, %more sparse(%d : i32) disable_lanes(%n, %n, %zero, %n) : i32, i64
  tcgen05.mma ws f16 %d, %a, %b, %f16, %more : i32, i64
  tcgen05.mma ws f16 %d, %a, %b, %f16, %no zero_column_mask %mask buffer "b0" collector discard : i32, i64
  tcgen05.mma ws f16 %d, %d, %b, %sparse_f16, %yes zero_column_mask %a sparse(%n : i32) : i32, i32
  ptx.ret
}

// CHECK:      .visible .entry one_cta(
// CHECK-NEXT:   .param .u32 d,
// CHECK-NEXT:   .param .u64 a,
// CHECK-NEXT:   .param .u64 b,
// CHECK-NEXT:   .param .u32 idesc,
// CHECK-NEXT:   .param .u32 n
// CHECK-NEXT: )
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .pred %p<1>;
// CHECK-NEXT:   .reg .b32 %r<3>;
// CHECK-NEXT:   .reg .b64 %rd<2>;
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.u32 %r0, [d];
// CHECK-NEXT:   ld.param.u64 %rd0, [a];
// CHECK-NEXT:   ld.param.u64 %rd1, [b];
// CHECK-NEXT:   ld.param.u32 %r1, [n];
// CHECK-NEXT:   mov.b32 %r2, 0;
// CHECK-NEXT:   setp.ne.s32 %p0, %r1, 0;
// CHECK-NEXT:   tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd0, %rd1, 0x08200010, 0;
// CHECK-NEXT:   tcgen05.mma.cta_group::1.kind::tf32.collector::a::fill [%r0], %rd0, 0x4000404000010000, %r1, %p0, 3;
// CHECK-NEXT:   tcgen05.mma.cta_group::1.kind::i8.ashift.collector::a::lastuse [%r0], [%r0], %rd1, 0x082004A0, 1;
// CHECK-NEXT:   tcgen05.mma.sp.cta_group::1.kind::f8f6f4 [%r0], %rd0, %rd1, [%r0], 0x08200014, {%r1, %r1, %r2, %r1}, %p0;
// CHECK-NEXT:   tcgen05.mma.ws.cta_group::1.kind::f16 [%r0], %rd0, %rd1, 0x08200010, %p0;
// CHECK-NEXT:   tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::discard [%r0], %rd0, %rd1, 0x08200010, 0, 0x0000030100000000;
// CHECK-NEXT:   tcgen05.mma.ws.sp.cta_group::1.kind::f16 [%r0], [%r0], %rd1, [%r1], 0x08200014, 1, %rd0;
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
