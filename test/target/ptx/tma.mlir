// RUN: tirx-opt %s -t ptx | filecheck %s

// Boxes of tensors by the tensor memory accelerator.

// CHECK:      .version 8.6
// CHECK-NEXT: .target sm_100a
// CHECK-NEXT: .address_size 64

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
  ptx.cp.async.bulk.tensor.store %map[%x, %x], %box
  ptx.cp.async.bulk.tensor.store reduce "add" %map[%x, %x, %x], %box cache %policy
  ptx.cp.async.bulk.tensor.store scatter4 %map[%x, %x, %x, %x, %x], %box
  ptx.cp.async.bulk.commit_group
  ptx.cp.async.bulk.wait_group 1 read
  ptx.cp.async.bulk.wait_group 0
  ptx.fence.proxy.tensormap.release
  ptx.ret
}

// CHECK:      .visible .entry tma(
// CHECK-NEXT:   .param .align 64 .b8 map[128],
// CHECK-NEXT:   .param .s32 x,
// CHECK-NEXT:   .param .u64 policy
// CHECK-NEXT: )
// CHECK-NEXT: .explicitcluster
// CHECK-NEXT: .reqnctapercluster 2
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .b16 %h<1>;
// CHECK-NEXT:   .reg .b32 %r<3>;
// CHECK-NEXT:   .reg .b64 %rd<2>;
// CHECK-NEXT:   .shared .align 8 .b8 bar[8];
// CHECK-NEXT:   .shared .align 1024 .b8 box[16384];
// CHECK-EMPTY:
// CHECK-NEXT:   mov.b32 %r0, bar;
// CHECK-NEXT:   mov.b32 %r1, box;
// CHECK-NEXT:   mov.b64 %rd0, map;
// CHECK-NEXT:   cvta.param.u64 %rd0, %rd0;
// CHECK-NEXT:   ld.param.s32 %r2, [x];
// CHECK-NEXT:   ld.param.u64 %rd1, [policy];
// CHECK-NEXT:   mov.b16 %h0, 3;
// CHECK-NEXT:   prefetch.tensormap [%rd0];
// CHECK-NEXT:   fence.proxy.tensormap::generic.acquire.gpu [%rd0], 128;
// CHECK-NEXT:   cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd0, {%r2}], [%r0];
// CHECK-NEXT:   cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2.L2::cache_hint [%r1], [%rd0, {%r2, %r2}], [%r0], %h0, %rd1;
// CHECK-NEXT:   cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::1 [%r1], [%rd0, {%r2, %r2, %r2, %r2, %r2}], [%r0];
// CHECK-NEXT:   cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%rd0, {%r2, %r2, %r2, %r2, %r2}], [%r0];
// CHECK-NEXT:   cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd0, {%r2, %r2}];
// CHECK-NEXT:   cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd0, {%r2, %r2}], [%r1];
// CHECK-NEXT:   cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group.L2::cache_hint [%rd0, {%r2, %r2, %r2}], [%r1], %rd1;
// CHECK-NEXT:   cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd0, {%r2, %r2, %r2, %r2, %r2}], [%r1];
// CHECK-NEXT:   cp.async.bulk.commit_group;
// CHECK-NEXT:   cp.async.bulk.wait_group.read 1;
// CHECK-NEXT:   cp.async.bulk.wait_group 0;
// CHECK-NEXT:   fence.proxy.tensormap::generic.release.gpu;
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
