// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s

// CHECK:      ptx.entry @cluster() target("sm_90") reqntid(128) cluster(2) {
// CHECK-NEXT:   %bar = ptx.shared_alloc @bar bytes 8 align 8
// CHECK-NEXT:   %phase = ptx.constant 0 : i32
// CHECK-NEXT:   %rank = ptx.read_special cluster_ctarank
// CHECK-NEXT:   %one = ptx.constant 1 : i32
// CHECK-NEXT:   %peer = ptx.xor %rank, %one : i32
// CHECK-NEXT:   ptx.mbarrier.init %bar, 2
// CHECK-NEXT:   ptx.fence.mbarrier_init
// CHECK-NEXT:   ptx.barrier.cluster.arrive relaxed aligned
// CHECK-NEXT:   ptx.barrier.cluster.wait aligned
// CHECK-NEXT:   %remote = ptx.mapa %bar, %peer
// CHECK-NEXT:   %first = ptx.mapa %bar, %phase
// CHECK-NEXT:   ptx.mbarrier.arrive %remote cluster
// CHECK-NEXT:   ptx.mbarrier.arrive %remote, 2 cluster
// CHECK-NEXT:   ptx.mbarrier.arrive %remote remote
// CHECK-NEXT:   ptx.mbarrier.arrive.expect_tx %first, 1024 cluster
// CHECK-NEXT:   ptx.mbarrier.expect_tx %bar, 512
// CHECK-NEXT:   ptx.mbarrier.expect_tx %remote, 512 cluster
// CHECK-NEXT:   ptx.mbarrier.complete_tx %remote, 512 cluster
// CHECK-NEXT:   ptx.mbarrier.wait_parity %bar, %phase cluster
// CHECK-NEXT:   ptx.mbarrier.wait_parity %bar, %phase hint 1000
// CHECK-NEXT:   %done = ptx.mbarrier.test_wait_parity %bar, %phase
// CHECK-NEXT:   %seen = ptx.mbarrier.test_wait_parity %bar, %phase cluster
// CHECK-NEXT:   %x = ptx.ld shared_cluster %remote offset 8 : i32 -> i32
// CHECK-NEXT:   ptx.st shared_cluster %remote, %x : i32, i32
// CHECK-NEXT:   ptx.barrier.cluster.arrive
// CHECK-NEXT:   ptx.barrier.cluster.wait
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

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
  ptx.mbarrier.arrive %remote remote
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

// CHECK:      ptx.entry @relaxed() target("sm_90a") {
// CHECK-NEXT:   %bar = ptx.shared_alloc @bar bytes 8 align 8
// CHECK-NEXT:   %phase = ptx.constant 0 : i32
// CHECK-NEXT:   ptx.setmaxnreg dec 40
// CHECK-NEXT:   ptx.setmaxnreg inc 232
// CHECK-NEXT:   ptx.griddepcontrol.wait
// CHECK-NEXT:   ptx.mbarrier.arrive %bar relaxed
// CHECK-NEXT:   ptx.mbarrier.arrive %bar cluster relaxed
// CHECK-NEXT:   ptx.mbarrier.wait_parity %bar, %phase relaxed hint 0
// CHECK-NEXT:   %done = ptx.mbarrier.test_wait_parity %bar, %phase cluster relaxed
// CHECK-NEXT:   ptx.griddepcontrol.launch_dependents
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

ptx.entry @relaxed() target("sm_90a") {
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %phase = ptx.constant 0 : i32
  ptx.setmaxnreg dec 40
  ptx.setmaxnreg inc 232
  ptx.griddepcontrol.wait
  ptx.mbarrier.arrive %bar relaxed
  ptx.mbarrier.arrive %bar cluster relaxed
  ptx.mbarrier.wait_parity %bar, %phase relaxed hint 0
  %done = ptx.mbarrier.test_wait_parity %bar, %phase cluster relaxed
  ptx.griddepcontrol.launch_dependents
  ptx.ret
}

// CHECK:      ptx.entry @tma(map : b8[128] align 64, x : s32, policy : u64) target("sm_100a") cluster(2) {
// CHECK-NEXT:   %bar = ptx.shared_alloc @bar bytes 8 align 8
// CHECK-NEXT:   %box = ptx.shared_alloc @box bytes 16384 align 1024
// CHECK-NEXT:   %map = ptx.param_address @map
// CHECK-NEXT:   %x = ptx.ld.param @x : i32
// CHECK-NEXT:   %policy = ptx.ld.param @policy : i64
// CHECK-NEXT:   %ctas = ptx.constant 3 : i16
// CHECK-NEXT:   ptx.prefetch.tensormap %map
// CHECK-NEXT:   ptx.fence.proxy.tensormap.acquire %map
// CHECK-NEXT:   ptx.cp.async.bulk.tensor.load "shared::cta" %box, %map[%x], %bar
// CHECK-NEXT:   ptx.cp.async.bulk.tensor.load "shared::cluster" %box, %map[%x, %x], %bar multicast %ctas cta_group 2 cache %policy
// CHECK-NEXT:   ptx.cp.async.bulk.tensor.load "shared::cluster" %box, %map[%x, %x, %x, %x, %x], %bar cta_group 1
// CHECK-NEXT:   ptx.cp.async.bulk.tensor.load "shared::cta" gather4 %box, %map[%x, %x, %x, %x, %x], %bar
// CHECK-NEXT:   ptx.cp.async.bulk.prefetch.tensor %map[%x, %x]
// CHECK-NEXT:   ptx.cp.async.bulk.tensor.load "shared::cluster" %box, %map[%x, %x] at %policy, %bar multicast_32b %x
// CHECK-NEXT:   ptx.cp.async.bulk.prefetch.tensor %map[%x] at %policy
// CHECK-NEXT:   ptx.cp.async.bulk.tensor.store %map[%x, %x] at %policy, %box
// CHECK-NEXT:   ptx.mbarrier.arrive %bar, 2 cluster multicast_32b %x
// CHECK-NEXT:   ptx.mbarrier.expect_tx %bar, 16 cluster multicast_32b %x
// CHECK-NEXT:   ptx.cp.async.bulk.tensor.store %map[%x, %x], %box
// CHECK-NEXT:   ptx.cp.async.bulk.tensor.store reduce "add" %map[%x, %x, %x], %box cache %policy
// CHECK-NEXT:   ptx.cp.async.bulk.tensor.store scatter4 %map[%x, %x, %x, %x, %x], %box
// CHECK-NEXT:   ptx.cp.async.bulk.commit_group
// CHECK-NEXT:   ptx.cp.async.bulk.wait_group 1 read
// CHECK-NEXT:   ptx.cp.async.bulk.wait_group 0
// CHECK-NEXT:   ptx.fence.proxy.tensormap.release
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

ptx.entry @tma(map : b8[128] align 64, x : s32, policy : u64) target("sm_100a") cluster(2) {
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %box = ptx.shared_alloc @box bytes 16384 align 1024
  %map = ptx.param_address @map
  %x = ptx.ld.param @x : i32
  %policy = ptx.ld.param @policy : i64
  %ctas = ptx.constant 3 : i16
  ptx.prefetch.tensormap %map
  ptx.fence.proxy.tensormap.acquire %map
  ptx.cp.async.bulk.tensor.load "shared::cta" %box, %map[%x], %bar
  ptx.cp.async.bulk.tensor.load "shared::cluster" %box, %map[%x, %x], %bar multicast %ctas cta_group 2 cache %policy
  ptx.cp.async.bulk.tensor.load "shared::cluster" %box, %map[%x, %x, %x, %x, %x], %bar cta_group 1
  ptx.cp.async.bulk.tensor.load "shared::cta" gather4 %box, %map[%x, %x, %x, %x, %x], %bar
  ptx.cp.async.bulk.prefetch.tensor %map[%x, %x]
  ptx.cp.async.bulk.tensor.load "shared::cluster" %box, %map[%x, %x] at %policy, %bar multicast_32b %x
  ptx.cp.async.bulk.prefetch.tensor %map[%x] at %policy
  ptx.cp.async.bulk.tensor.store %map[%x, %x] at %policy, %box
  ptx.mbarrier.arrive %bar, 2 cluster multicast_32b %x
  ptx.mbarrier.expect_tx %bar, 16 cluster multicast_32b %x
  ptx.cp.async.bulk.tensor.store %map[%x, %x], %box
  ptx.cp.async.bulk.tensor.store reduce "add" %map[%x, %x, %x], %box cache %policy
  ptx.cp.async.bulk.tensor.store scatter4 %map[%x, %x, %x, %x, %x], %box
  ptx.cp.async.bulk.commit_group
  ptx.cp.async.bulk.wait_group 1 read
  ptx.cp.async.bulk.wait_group 0
  ptx.fence.proxy.tensormap.release
  ptx.ret
}

// CHECK:      ptx.entry @launch_control() target("sm_100a") cluster(2) {
// CHECK:        ptx.mbarrier.arrive.expect_tx %bar, 16
// CHECK-NEXT:   ptx.mbarrier.arrive.expect_tx %bar, 16 cluster
// CHECK-NEXT:   ptx.mbarrier.arrive.expect_tx %bar, 16 remote
// CHECK-NEXT:   ptx.clusterlaunchcontrol.try_cancel %answer, %bar
// CHECK-NEXT:   ptx.clusterlaunchcontrol.try_cancel %answer, %bar multicast
// CHECK-NEXT:   %low, %high = ptx.ld shared %answer : i32 -> i64, i64
// CHECK-NEXT:   %more, %x, %y, %z = ptx.clusterlaunchcontrol.query_cancel %low, %high
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

ptx.entry @launch_control() target("sm_100a") cluster(2) {
  %answer = ptx.shared_alloc @answer bytes 16 align 16
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  ptx.mbarrier.arrive.expect_tx %bar, 16
  ptx.mbarrier.arrive.expect_tx %bar, 16 cluster
  ptx.mbarrier.arrive.expect_tx %bar, 16 remote
  ptx.clusterlaunchcontrol.try_cancel %answer, %bar
  ptx.clusterlaunchcontrol.try_cancel %answer, %bar multicast
  %low, %high = ptx.ld shared %answer : i32 -> i64, i64
  %more, %x, %y, %z = ptx.clusterlaunchcontrol.query_cancel %low, %high
  ptx.ret
}

// CHECK:      ptx.entry @matrices(a : u32) target("sm_100a") {
// CHECK-NEXT:   %a = ptx.ld.param @a : i32
// CHECK-NEXT:   %0 = ptx.ldmatrix "m8n8" %a -> i32
// CHECK-NEXT:   %1, %2, %3, %4 = ptx.ldmatrix "m8n8" trans %a -> i32, i32, i32, i32
// CHECK-NEXT:   %5, %6 = ptx.ldmatrix "m16n16" trans %a -> i32, i32
// CHECK-NEXT:   ptx.stmatrix "m8n8" %a, %0 : i32
// CHECK-NEXT:   ptx.stmatrix "m8n8" trans %a, %1, %2, %3, %4 : i32, i32, i32, i32
// CHECK-NEXT:   ptx.stmatrix "m16n8" trans %a, %5, %6 : i32, i32
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

ptx.entry @matrices(a : u32) target("sm_100a") {
  %a = ptx.ld.param @a : i32
  %0 = ptx.ldmatrix "m8n8" %a -> i32
  %1, %2, %3, %4 = ptx.ldmatrix "m8n8" trans %a -> i32, i32, i32, i32
  %5, %6 = ptx.ldmatrix "m16n16" trans %a -> i32, i32
  ptx.stmatrix "m8n8" %a, %0 : i32
  ptx.stmatrix "m8n8" trans %a, %1, %2, %3, %4 : i32, i32, i32, i32
  ptx.stmatrix "m16n8" trans %a, %5, %6 : i32, i32
  ptx.ret
}
