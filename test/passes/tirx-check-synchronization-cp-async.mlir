// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-synchronization

// Copies by threads: a wait of each thread, then a barrier; a fence where the async proxy goes on.

ptx.entry @read_at_once(a : u64 ptr) target("sm_80") reqntid(128) {
  %tile = ptx.shared_alloc @tile bytes 2048 align 16
  %a = ptx.ld.param @a : i64
  %tid = ptx.read_special tid.x
  %4 = ptx.constant 4 : i32
  %offset = ptx.shl %tid, %4 : i32
  %own = ptx.add %tile, %offset : i32
  ptx.cp.async "cg" %own, %a bytes 16
  ptx.cp.async.commit_group
  // expected-error@+1 {{expected cp.async.commit_group and wait_group between 'ptx.cp.async' and this read of the same shared memory, found none}}
  %v = ptx.ld shared %own : i32 -> i32
  ptx.ret
}

ptx.entry @group_not_committed(a : u64 ptr) target("sm_80") reqntid(128) {
  %tile = ptx.shared_alloc @tile bytes 2048 align 16
  %a = ptx.ld.param @a : i64
  ptx.cp.async "cg" %tile, %a bytes 16
  ptx.cp.async.wait_group 0
  // expected-error@+1 {{expected cp.async.commit_group and wait_group between 'ptx.cp.async' and this read}}
  %v = ptx.ld shared %tile : i32 -> i32
  ptx.ret
}

ptx.entry @no_barrier(a : u64 ptr) target("sm_80") reqntid(128) {
  %tile = ptx.shared_alloc @tile bytes 2048 align 16
  %a = ptx.ld.param @a : i64
  %tid = ptx.read_special tid.x
  %4 = ptx.constant 4 : i32
  %offset = ptx.shl %tid, %4 : i32
  %own = ptx.add %tile, %offset : i32
  ptx.cp.async "cg" %own, %a bytes 16
  ptx.cp.async.commit_group
  ptx.cp.async.wait_group 0
  // expected-error@+1 {{expected a barrier between 'ptx.cp.async' and this access to the same shared memory by another thread}}
  %v = ptx.ld shared %tile : i32 -> i32
  ptx.ret
}

ptx.entry @overwritten(a : u64 ptr) target("sm_80") reqntid(128) {
  %tile = ptx.shared_alloc @tile bytes 2048 align 16
  %a = ptx.ld.param @a : i64
  %tid = ptx.read_special tid.x
  %4 = ptx.constant 4 : i32
  %offset = ptx.shl %tid, %4 : i32
  %own = ptx.add %tile, %offset : i32
  %v = ptx.ld shared %tile : i32 -> i32
  // expected-error@+1 {{expected a barrier between 'ptx.ld' and this access to the same shared memory by another thread}}
  ptx.cp.async "cg" %own, %a bytes 16
  ptx.ret
}

ptx.entry @fence_before_the_wait(a : u64 ptr, map : b8[128] align 64) target("sm_90") reqntid(128) {
  %tile = ptx.shared_alloc @tile bytes 2048 align 128
  %a = ptx.ld.param @a : i64
  %map = ptx.param_address @map
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %offset = ptx.shl %tid, %4 : i32
  %own = ptx.add %tile, %offset : i32
  ptx.cp.async "cg" %own, %a bytes 16
  ptx.cp.async.commit_group
  ptx.fence.proxy.async "shared::cta"
  ptx.cp.async.wait_group 0
  ptx.bar.sync 0
  // expected-error@+1 {{expected fence.proxy.async between 'ptx.cp.async' and this read through the async proxy, found none}}
  ptx.cp.async.bulk.tensor.store %map[%0], %tile
  ptx.ret
}

// -----

ptx.entry @right(a : u64 ptr, map : b8[128] align 64) target("sm_90") reqntid(128) {
  %tile = ptx.shared_alloc @tile bytes 2048 align 128
  %a = ptx.ld.param @a : i64
  %map = ptx.param_address @map
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %offset = ptx.shl %tid, %4 : i32
  %own = ptx.add %tile, %offset : i32
  ptx.cp.async "cg" %own, %a bytes 16
  ptx.cp.async.commit_group
  ptx.cp.async.wait_group 0
  ptx.fence.proxy.async "shared::cta"
  ptx.bar.sync 0
  %v = ptx.ld shared %tile : i32 -> i32
  ptx.cp.async.bulk.tensor.store %map[%0], %tile
  ptx.ret
}

ptx.entry @through_an_mbarrier(a : u64 ptr) target("sm_90") reqntid(128) {
  %tile = ptx.shared_alloc @tile bytes 2048 align 16
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %a = ptx.ld.param @a : i64
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %offset = ptx.shl %tid, %4 : i32
  %own = ptx.add %tile, %offset : i32
  ptx.mbarrier.init %bar, 128
  ptx.bar.sync 0
  ptx.cp.async "cg" %own, %a bytes 16
  ptx.cp.async.mbarrier.arrive noinc %bar
  ptx.mbarrier.wait_parity %bar, %0
  %v = ptx.ld shared %tile : i32 -> i32
  ptx.ret
}
