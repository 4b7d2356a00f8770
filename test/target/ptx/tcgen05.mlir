// RUN: tirx-opt %s -t ptx | filecheck %s

// CHECK:      .version 8.6
// CHECK-NEXT: .target sm_100a
// CHECK-NEXT: .address_size 64

ptx.entry @tensor_memory() target("sm_100a") {
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  tcgen05.alloc %slot columns 128
  tcgen05.relinquish_alloc_permit
  tcgen05.fence before_thread_sync
  ptx.bar.sync 0
  tcgen05.fence after_thread_sync
  %t = ptx.ld shared %slot : i32 -> i32
  %0, %1, %2, %3 = tcgen05.ld "32x32b" num 4 %t : i32 -> i32, i32, i32, i32
  %4, %5 = tcgen05.ld "16x128b" num 1 %t offset 32 pack : i32 -> f32, f32
  %6 = tcgen05.ld "16x32bx2" num 1 %t half_split_offset 16 : i32 -> i32
  tcgen05.wait ld
  tcgen05.st "32x32b" num 2 %t offset 64, %0, %1 : i32, i32, i32
  tcgen05.st "16x64b" num 1 %t unpack, %4 : i32, f32
  tcgen05.st "16x32bx2" num 1 %t half_split_offset 16, %6 : i32, i32
  tcgen05.wait st
  %ctas = ptx.constant 3 : i16
  tcgen05.commit %bar
  tcgen05.commit %bar multicast %ctas
  tcgen05.dealloc %t columns 128
  ptx.ret
}

// CHECK:      .visible .entry tensor_memory()
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .b16 %h<1>;
// CHECK-NEXT:   .reg .b32 %r<8>;
// CHECK-NEXT:   .reg .f32 %f<2>;
// CHECK-NEXT:   .shared .align 4 .b8 slot[4];
// CHECK-NEXT:   .shared .align 8 .b8 bar[8];
// CHECK-EMPTY:
// CHECK-NEXT:   mov.b32 %r0, slot;
// CHECK-NEXT:   mov.b32 %r1, bar;
// CHECK-NEXT:   tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 128;
// CHECK-NEXT:   tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
// CHECK-NEXT:   tcgen05.fence::before_thread_sync;
// CHECK-NEXT:   bar.sync 0;
// CHECK-NEXT:   tcgen05.fence::after_thread_sync;
// CHECK-NEXT:   ld.shared.b32 %r2, [%r0];
// CHECK-NEXT:   tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r3, %r4, %r5, %r6}, [%r2];
// CHECK-NEXT:   tcgen05.ld.sync.aligned.16x128b.x1.pack::16b.b32 {%f0, %f1}, [%r2+32];
// CHECK-NEXT:   tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r7}, [%r2], 16;
// CHECK-NEXT:   tcgen05.wait::ld.sync.aligned;
// CHECK-NEXT:   tcgen05.st.sync.aligned.32x32b.x2.b32 [%r2+64], {%r3, %r4};
// CHECK-NEXT:   tcgen05.st.sync.aligned.16x64b.x1.unpack::16b.b32 [%r2], {%f0};
// CHECK-NEXT:   tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%r2], 16, {%r7};
// CHECK-NEXT:   tcgen05.wait::st.sync.aligned;
// CHECK-NEXT:   mov.b16 %h0, 3;
// CHECK-NEXT:   tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];
// CHECK-NEXT:   tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r1], %h0;
// CHECK-NEXT:   tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 128;
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
