// RUN: tirx-opt %s -t ptx | filecheck %s

// The mbarriers of the other CTA, its shared memory, and the barrier of the cluster.

// CHECK:      .version 8.0
// CHECK-NEXT: .target sm_90
// CHECK-NEXT: .address_size 64

ptx.entry @cluster() target("sm_90") reqntid(128) cluster(2) {
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %phase = ptx.constant 0 : i32
  %rank = ptx.read_special cluster_ctarank
  %one = ptx.constant 1 : i32
  %peer = ptx.xor %rank, %one : i32
  ptx.mbarrier.init %bar, 2
  ptx.fence.mbarrier_init
  ptx.barrier.cluster.arrive relaxed aligned
  ptx.barrier.cluster.wait aligned
  %remote = ptx.mapa %bar, %peer
  %first = ptx.mapa %bar, %phase
  ptx.mbarrier.arrive %remote cluster
  ptx.mbarrier.arrive %remote, 2 cluster
  ptx.mbarrier.arrive.expect_tx %first, 1024 cluster
  ptx.mbarrier.expect_tx %bar, 512
  ptx.mbarrier.expect_tx %remote, 512 cluster
  ptx.mbarrier.complete_tx %remote, 512 cluster
  ptx.mbarrier.wait_parity %bar, %phase cluster
  ptx.mbarrier.wait_parity %bar, %phase hint 1000
  %done = ptx.mbarrier.test_wait_parity %bar, %phase
  %seen = ptx.mbarrier.test_wait_parity %bar, %phase cluster
  %x = ptx.ld shared_cluster %remote offset 8 : i32 -> i32
  ptx.st shared_cluster %remote, %x : i32, i32
  ptx.barrier.cluster.arrive
  ptx.barrier.cluster.wait
  ptx.ret
}

// CHECK:      .visible .entry cluster()
// CHECK-NEXT: .reqntid 128
// CHECK-NEXT: .explicitcluster
// CHECK-NEXT: .reqnctapercluster 2
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .pred %p<4>;
// CHECK-NEXT:   .reg .b32 %r<6>;
// CHECK-NEXT:   .shared .align 8 .b8 bar[8];
// CHECK-EMPTY:
// CHECK-NEXT:   mov.b32 %r0, bar;
// CHECK-NEXT:   mov.u32 %r1, %cluster_ctarank;
// CHECK-NEXT:   xor.b32 %r2, %r1, 1;
// CHECK-NEXT:   mbarrier.init.shared::cta.b64 [%r0], 2;
// CHECK-NEXT:   fence.mbarrier_init.release.cluster;
// CHECK-NEXT:   barrier.cluster.arrive.relaxed.aligned;
// CHECK-NEXT:   barrier.cluster.wait.acquire.aligned;
// CHECK-NEXT:   mapa.shared::cluster.u32 %r3, %r0, %r2;
// CHECK-NEXT:   mapa.shared::cluster.u32 %r4, %r0, 0;
// CHECK-NEXT:   mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
// CHECK-NEXT:   mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3], 2;
// CHECK-NEXT:   mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r4], 1024;
// CHECK-NEXT:   mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r0], 512;
// CHECK-NEXT:   mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r3], 512;
// CHECK-NEXT:   mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r3], 512;
// CHECK-NEXT: $wait0:
// CHECK-NEXT:   mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p0, [%r0], 0;
// CHECK-NEXT:   @!%p0 bra $wait0;
// CHECK-NEXT: $wait1:
// CHECK-NEXT:   mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r0], 0, 1000;
// CHECK-NEXT:   @!%p1 bra $wait1;
// CHECK-NEXT:   mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r0], 0;
// CHECK-NEXT:   mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r0], 0;
// CHECK-NEXT:   ld.shared::cluster.b32 %r5, [%r3+8];
// CHECK-NEXT:   st.shared::cluster.b32 [%r3], %r5;
// CHECK-NEXT:   barrier.cluster.arrive.release;
// CHECK-NEXT:   barrier.cluster.wait.acquire;
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
