// RUN: tirx-opt %s -t ptx | filecheck %s

// Shared to tensor memory, with the warps that get a copy and the packings of 6-bit and 4-bit elements.

// CHECK:      .version 8.6
// CHECK-NEXT: .target sm_100a
// CHECK-NEXT: .address_size 64

ptx.entry @copies(t : u32, s : u64, n : u32) target("sm_100a") cluster(2) {
  %t = ptx.ld.param @t : i32
  %s = ptx.ld.param @s : i64
  %n = ptx.ld.param @n : i32
  tcgen05.alloc %t columns_in %n cta_group 2
  tcgen05.cp "128x256b" %t, %s cta_group 2 : i32
  tcgen05.cp "4x256b" %t, %s decompress "b6x16_p32" cta_group 2 : i32
  tcgen05.cp "128x128b" %t, %s decompress "b4x16_p64" cta_group 2 : i32
  tcgen05.cp "64x128b" %t, %s multicast "warpx2::02_13" cta_group 2 : i32
  tcgen05.cp "64x128b" %t, %s multicast "warpx2::01_23" cta_group 2 : i32
  tcgen05.cp "32x128b" %t, %s multicast "warpx4" decompress "b4x16_p64" cta_group 2 : i32
  tcgen05.shift %t cta_group 2 : i32
  tcgen05.dealloc %t columns_in %n cta_group 2
  ptx.ret
}

// CHECK:      .visible .entry copies(
// CHECK-NEXT:   .param .u32 t,
// CHECK-NEXT:   .param .u64 s,
// CHECK-NEXT:   .param .u32 n
// CHECK-NEXT: )
// CHECK-NEXT: .explicitcluster
// CHECK-NEXT: .reqnctapercluster 2
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .b32 %r<2>;
// CHECK-NEXT:   .reg .b64 %rd<1>;
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.u32 %r0, [t];
// CHECK-NEXT:   ld.param.u64 %rd0, [s];
// CHECK-NEXT:   ld.param.u32 %r1, [n];
// CHECK-NEXT:   tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r0], %r1;
// CHECK-NEXT:   tcgen05.cp.cta_group::2.128x256b [%r0], %rd0;
// CHECK-NEXT:   tcgen05.cp.cta_group::2.4x256b.b8x16.b6x16_p32 [%r0], %rd0;
// CHECK-NEXT:   tcgen05.cp.cta_group::2.128x128b.b8x16.b4x16_p64 [%r0], %rd0;
// CHECK-NEXT:   tcgen05.cp.cta_group::2.64x128b.warpx2::02_13 [%r0], %rd0;
// CHECK-NEXT:   tcgen05.cp.cta_group::2.64x128b.warpx2::01_23 [%r0], %rd0;
// CHECK-NEXT:   tcgen05.cp.cta_group::2.32x128b.warpx4.b8x16.b4x16_p64 [%r0], %rd0;
// CHECK-NEXT:   tcgen05.shift.cta_group::2.down [%r0];
// CHECK-NEXT:   tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r0, %r1;
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
