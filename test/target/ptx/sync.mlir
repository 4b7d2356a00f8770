// RUN: tirx-opt %s -t ptx | filecheck %s

// CHECK:      .version 8.0
// CHECK-NEXT: .target sm_90
// CHECK-NEXT: .address_size 64

ptx.entry @sync() target("sm_90") reqntid(128) {
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %phase = ptx.constant 0 : i32
  ptx.mbarrier.init %bar, 1
  ptx.fence.mbarrier_init
  ptx.fence.proxy.async
  ptx.fence.proxy.async "shared::cta"
  ptx.bar.sync 0
  ptx.bar.sync 1 threads 64
  ptx.bar.warp.sync
  ptx.bar.warp.sync mask 65535
  %leader = ptx.elect.sync
  ptx.cond_bra %leader, ^arrive, ^wait
^arrive:
  ptx.mbarrier.arrive %bar
  ptx.mbarrier.arrive %bar, 2
  ptx.mbarrier.arrive.expect_tx %bar, 32768
  ptx.bra ^wait
^wait:
  ptx.mbarrier.wait_parity %bar, %phase
  %tid = ptx.read_special tid.x
  ptx.mbarrier.wait_parity %bar, %tid
  ptx.mbarrier.inval %bar
  ptx.ret
}

// CHECK:      .visible .entry sync()
// CHECK-NEXT: .reqntid 128
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .pred %p<3>;
// CHECK-NEXT:   .reg .b32 %r<2>;
// CHECK-NEXT:   .shared .align 8 .b8 bar[8];
// CHECK-EMPTY:
// CHECK-NEXT:   mov.b32 %r0, bar;
// CHECK-NEXT:   mbarrier.init.shared::cta.b64 [%r0], 1;
// CHECK-NEXT:   fence.mbarrier_init.release.cluster;
// CHECK-NEXT:   fence.proxy.async;
// CHECK-NEXT:   fence.proxy.async.shared::cta;
// CHECK-NEXT:   bar.sync 0;
// CHECK-NEXT:   bar.sync 1, 64;
// CHECK-NEXT:   bar.warp.sync 0xffffffff;
// CHECK-NEXT:   bar.warp.sync 0xffff;
// CHECK-NEXT:   elect.sync _|%p0, 0xffffffff;
// CHECK-NEXT:   @!%p0 bra $wait0;
// CHECK-NEXT:   mbarrier.arrive.shared::cta.b64 _, [%r0];
// CHECK-NEXT:   mbarrier.arrive.shared::cta.b64 _, [%r0], 2;
// CHECK-NEXT:   mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r0], 32768;
// CHECK-NEXT: $wait0:
// CHECK-NEXT: $wait1:
// CHECK-NEXT:   mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r0], 0;
// CHECK-NEXT:   @!%p1 bra $wait1;
// CHECK-NEXT:   mov.u32 %r1, %tid.x;
// CHECK-NEXT: $wait2:
// CHECK-NEXT:   mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r0], %r1;
// CHECK-NEXT:   @!%p2 bra $wait2;
// CHECK-NEXT:   mbarrier.inval.shared::cta.b64 [%r0];
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
