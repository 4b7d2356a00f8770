// RUN: tirx-opt %s -t ptx | filecheck %s

// CHECK:      .version 8.8
// CHECK-NEXT: .target sm_100a
// CHECK-NEXT: .address_size 64

ptx.entry @block_scaled(d : u32, a : u64, s : u32) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %s = ptx.ld.param @s : i32
  // M = 256, N = 128: e4m3; e2m1 with ue4m3; sparse e2m1; f16.
  %mxf8f6f4 = ptx.constant 278921216 : i32
  %mxf4nvf4 = ptx.constant 270533760 : i32
  %mxf4 = ptx.constant 278922372 : i32
  %f16 = ptx.constant 270532624 : i32
  %yes = ptx.constant true
  tcgen05.mma mxf8f6f4 "block32" %d, %a, %a, %mxf8f6f4, %yes scales(%s, %s : i32, i32) cta_group 2 : i32, i64
  tcgen05.mma mxf4nvf4 "scale_vec::4X" %d, %d, %a, %mxf4nvf4, %yes scales(%s, %s : i32, i32) cta_group 2 collector fill : i32, i32
  tcgen05.mma mxf4 "scale_vec::2X" %d, %a, %a, %mxf4, %yes scales(%s, %s : i32, i32) cta_group 2 sparse(%s : i32) : i32, i64
  tcgen05.mma f16 %d, %a, %a, %f16, %yes cta_group 2 disable_lanes(%s, %s, %s, %s, %s, %s, %s, %s) : i32, i64
  ptx.ret
}

// CHECK:      .visible .entry block_scaled(
// CHECK-NEXT:   .param .u32 d,
// CHECK-NEXT:   .param .u64 a,
// CHECK-NEXT:   .param .u32 s
// CHECK-NEXT: )
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .b32 %r<2>;
// CHECK-NEXT:   .reg .b64 %rd<1>;
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.u32 %r0, [d];
// CHECK-NEXT:   ld.param.u64 %rd0, [a];
// CHECK-NEXT:   ld.param.u32 %r1, [s];
// CHECK-NEXT:   tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale.block32 [%r0], %rd0, %rd0, 0x10A00000, [%r1], [%r1], 1;
// CHECK-NEXT:   tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.scale_vec::4X.collector::a::fill [%r0], [%r0], %rd0, 0x10200480, [%r1], [%r1], 1;
// CHECK-NEXT:   tcgen05.mma.sp.cta_group::2.kind::mxf4.block_scale.scale_vec::2X [%r0], %rd0, %rd0, [%r1], 0x10A00484, [%r1], [%r1], 1;
// CHECK-NEXT:   tcgen05.mma.cta_group::2.kind::f16 [%r0], %rd0, %rd0, 0x10200010, {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1}, 1;
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
