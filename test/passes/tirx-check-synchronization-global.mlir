// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-synchronization

// Global memory, by threads and by bulk tensor copies: boxes at known coordinates of tensors of known sizes.

#map = #tirx.tensor_map<argument = 0, type = "f32", dims = [128, 8], strides = [512], box = [32, 4]>

ptx.entry @no_fence(a : u64 ptr, map : b8[128] align 64 from #map) target("sm_90a") reqntid(64) {
  %0 = ptx.constant 0 : i32
  %tile = ptx.shared_alloc @tile bytes 512 align 128
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %a = ptx.ld.param @a : i64
  %map = ptx.param_address @map
  %tid = ptx.read_special tid.x
  %first = ptx.setp eq %tid, %0 : i32
  %4 = ptx.constant 4 : i32
  %offset = ptx.mul.wide unsigned %tid, %4 : i32 -> i64
  %own = ptx.add %a, %offset : i64
  ptx.st global %own, %tid : i64, i32
  ptx.fence.proxy.async "shared::cta"
  ptx.bar.sync 0
  ptx.cond_bra %first, ^load, ^end
^load:
  ptx.mbarrier.init %bar, 1
  ptx.fence.mbarrier_init
  ptx.mbarrier.arrive.expect_tx %bar, 512
  // expected-error@+1 {{expected fence.proxy.async between 'ptx.st' and this read through the async proxy, found none; put ptx.fence.proxy.async "global" behind the write, before the barrier}}
  ptx.cp.async.bulk.tensor.load "shared::cta" %tile, %map[%0, %0], %bar
  ptx.mbarrier.wait_parity %bar, %0
  ptx.bra ^end
^end:
  ptx.ret
}


ptx.entry @no_barrier(a : u64 ptr, map : b8[128] align 64 from #map) target("sm_90a") reqntid(64) {
  %0 = ptx.constant 0 : i32
  %tile = ptx.shared_alloc @tile bytes 512 align 128
  %a = ptx.ld.param @a : i64
  %map = ptx.param_address @map
  %tid = ptx.read_special tid.x
  %first = ptx.setp eq %tid, %0 : i32
  %4 = ptx.constant 4 : i32
  %offset = ptx.mul.wide unsigned %tid, %4 : i32 -> i64
  %own = ptx.add %a, %offset : i64
  ptx.st global %own, %tid : i64, i32
  ptx.fence.proxy.async
  ptx.cond_bra %first, ^store, ^end
^store:
  // expected-error@+1 {{expected a barrier between 'ptx.st' and this access to the same global memory by another thread (0 behind 1), found none}}
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.cp.async.bulk.wait_group 0
  ptx.bra ^end
^end:
  ptx.ret
}

// -----

// Both fences do; rows of the box that nobody has stored to, and what is right of it, need none.

#map = #tirx.tensor_map<argument = 0, type = "f32", dims = [128, 8], strides = [512], box = [32, 4]>

ptx.entry @ordered(a : u64 ptr, map : b8[128] align 64 from #map) target("sm_90a") reqntid(64) {
  %0 = ptx.constant 0 : i32
  %5 = ptx.constant 5 : i32
  %64 = ptx.constant 64 : i32
  %tile = ptx.shared_alloc @tile bytes 512 align 128
  %a = ptx.ld.param @a : i64
  %map = ptx.param_address @map
  %tid = ptx.read_special tid.x
  %first = ptx.setp eq %tid, %0 : i32
  %4 = ptx.constant 4 : i32
  %offset = ptx.mul.wide unsigned %tid, %4 : i32 -> i64
  %own = ptx.add %a, %offset : i64
  ptx.st global %own, %tid : i64, i32
  ptx.cond_bra %first, ^elsewhere, ^behind
^elsewhere:
  ptx.cp.async.bulk.tensor.store %map[%0, %5], %tile
  ptx.cp.async.bulk.tensor.store %map[%64, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.bra ^behind
^behind:
  ptx.fence.proxy.async "global"
  ptx.bar.sync 0
  ptx.cond_bra %first, ^store, ^end
^store:
  ptx.cp.async.bulk.tensor.store reduce "add" %map[%0, %0], %tile
  ptx.cp.async.bulk.tensor.store reduce "add" %map[%0, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.cp.async.bulk.wait_group 0
  %v = ptx.ld global %own : i64 -> i32
  ptx.bra ^end
^end:
  ptx.bar.sync 0
  %w = ptx.ld global %own : i64 -> i32
  ptx.ret
}

// -----

// That a bulk store has read its source says nothing of what it writes.

#map = #tirx.tensor_map<argument = 0, type = "f32", dims = [128, 8], strides = [512], box = [32, 4]>

ptx.entry @only_read(a : u64 ptr, map : b8[128] align 64 from #map) target("sm_90a") reqntid(64) {
  %0 = ptx.constant 0 : i32
  %tile = ptx.shared_alloc @tile bytes 512 align 128
  %a = ptx.ld.param @a : i64
  %map = ptx.param_address @map
  %tid = ptx.read_special tid.x
  %first = ptx.setp eq %tid, %0 : i32
  %4 = ptx.constant 4 : i32
  %offset = ptx.mul.wide unsigned %tid, %4 : i32 -> i64
  %own = ptx.add %a, %offset : i64
  ptx.cond_bra %first, ^store, ^end
^store:
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.cp.async.bulk.wait_group 0 read
  ptx.bra ^end
^end:
  ptx.bar.sync 0
  // expected-error@+1 {{expected cp.async.bulk.commit_group and wait_group between 'ptx.cp.async.bulk.tensor.store' and this read of the same global memory, found none; put ptx.cp.async.bulk.wait_group 0 before this}}
  %w = ptx.ld global %own : i64 -> i32
  ptx.ret
}


ptx.entry @others_are_told(a : u64 ptr, map : b8[128] align 64 from #map) target("sm_90a") reqntid(64) {
  %0 = ptx.constant 0 : i32
  %tile = ptx.shared_alloc @tile bytes 512 align 128
  %a = ptx.ld.param @a : i64
  %map = ptx.param_address @map
  %tid = ptx.read_special tid.x
  %first = ptx.setp eq %tid, %0 : i32
  %4 = ptx.constant 4 : i32
  %offset = ptx.mul.wide unsigned %tid, %4 : i32 -> i64
  %own = ptx.add %a, %offset : i64
  ptx.cond_bra %first, ^store, ^end
^store:
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.cp.async.bulk.wait_group 0
  ptx.bra ^end
^end:
  // expected-error@+1 {{expected a barrier between 'ptx.cp.async.bulk.tensor.store' and this access to the same global memory by another thread (1 behind 0), found none}}
  ptx.st global %own, %tid : i64, i32
  ptx.ret
}

// -----

// Bulk stores have no order among each other, nor with bulk loads, whatever the tensor map.

#map = #tirx.tensor_map<argument = 0, type = "f32", dims = [128, 8], strides = [512], box = [32, 4]>
#rows = #tirx.tensor_map<argument = 0, type = "f32", dims = [1024], strides = [], box = [64]>

ptx.entry @two_stores(a : u64 ptr, map : b8[128] align 64 from #map, rows : b8[128] align 64 from #rows)
    target("sm_90a") reqntid(1) {
  %0 = ptx.constant 0 : i32
  %128 = ptx.constant 128 : i32
  %tile = ptx.shared_alloc @tile bytes 512 align 128
  %map = ptx.param_address @map
  %rows = ptx.param_address @rows
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %tile
  // expected-error@+1 {{expected cp.async.bulk.commit_group and wait_group between 'ptx.cp.async.bulk.tensor.store' and this write of the same global memory, found none}}
  ptx.cp.async.bulk.tensor.store %rows[%128], %tile
  ptx.cp.async.bulk.commit_group
  ptx.cp.async.bulk.wait_group 0
  ptx.ret
}


ptx.entry @load_behind_store(a : u64 ptr, map : b8[128] align 64 from #map) target("sm_90a") reqntid(1) {
  %0 = ptx.constant 0 : i32
  %tile = ptx.shared_alloc @tile bytes 512 align 128
  %other = ptx.shared_alloc @other bytes 512 align 128
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %map = ptx.param_address @map
  ptx.mbarrier.init %bar, 1
  ptx.fence.mbarrier_init
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.mbarrier.arrive.expect_tx %bar, 512
  // expected-error@+1 {{expected cp.async.bulk.commit_group and wait_group between 'ptx.cp.async.bulk.tensor.store' and this read of the same global memory, found none}}
  ptx.cp.async.bulk.tensor.load "shared::cta" %other, %map[%0, %0], %bar
  ptx.mbarrier.wait_parity %bar, %0
  ptx.ret
}

// -----

// What a bulk load still reads is not overwritten.

#map = #tirx.tensor_map<argument = 0, type = "f32", dims = [128, 8], strides = [512], box = [32, 4]>

ptx.entry @overwritten(a : u64 ptr, map : b8[128] align 64 from #map) target("sm_90a") reqntid(1) {
  %0 = ptx.constant 0 : i32
  %tile = ptx.shared_alloc @tile bytes 512 align 128
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %a = ptx.ld.param @a : i64
  %map = ptx.param_address @map
  ptx.mbarrier.init %bar, 1
  ptx.fence.mbarrier_init
  ptx.mbarrier.arrive.expect_tx %bar, 512
  ptx.cp.async.bulk.tensor.load "shared::cta" %tile, %map[%0, %0], %bar
  // expected-error@+1 {{expected a wait on its mbarrier between 'ptx.cp.async.bulk.tensor.load' and this write of the same global memory, found none}}
  ptx.st global %a, %0 : i64, i32
  ptx.mbarrier.wait_parity %bar, %0
  ptx.ret
}

// -----

// Not known: coordinates of the launch, sizes of the launch, a tensor map that is no parameter of its own. Outside of
// the tensor nothing is written.

#map = #tirx.tensor_map<argument = 0, type = "f32", dims = [128, 8], strides = [512], box = [32, 4]>
#dynamic = #tirx.tensor_map<argument = 0, type = "f32", dims = [size(0, 1), 8], strides = [512], box = [32, 4]>
#strides = #tirx.tensor_map<argument = 0, type = "f32", dims = [128, 8], strides = [stride(0, 0)], box = [32, 4]>

ptx.entry @unknown(a : u64 ptr, map : b8[128] align 64 from #map, other : b8[128] align 64 from #dynamic,
    steps : b8[128] align 64 from #strides, mine : b8[128] align 64) target("sm_90a") reqntid(1) {
  %0 = ptx.constant 0 : i32
  %8 = ptx.constant 8 : i32
  %tile = ptx.shared_alloc @tile bytes 512 align 128
  %a = ptx.ld.param @a : i64
  %map = ptx.param_address @map
  %other = ptx.param_address @other
  %steps = ptx.param_address @steps
  %mine = ptx.param_address @mine
  %x = ptx.read_special ctaid.x
  ptx.cp.async.bulk.tensor.store %map[%x, %0], %tile
  ptx.cp.async.bulk.tensor.store %map[%0, %8], %tile
  ptx.cp.async.bulk.tensor.store %other[%0, %0], %tile
  ptx.cp.async.bulk.tensor.store %steps[%0, %0], %tile
  ptx.cp.async.bulk.tensor.store %mine[%0, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.st global %a, %0 : i64, i32
  ptx.cp.async.bulk.wait_group 0
  ptx.ret
}

// -----

// The thread that waits may go on alone, in another branch and behind a barrier too.

#map = #tirx.tensor_map<argument = 0, type = "f32", dims = [128, 8], strides = [512], box = [32, 4]>

ptx.entry @same_thread(a : u64 ptr, map : b8[128] align 64 from #map) target("sm_90a") reqntid(64) {
  %0 = ptx.constant 0 : i32
  %tile = ptx.shared_alloc @tile bytes 512 align 128
  %a = ptx.ld.param @a : i64
  %map = ptx.param_address @map
  %tid = ptx.read_special tid.x
  %first = ptx.setp eq %tid, %0 : i32
  ptx.cond_bra %first, ^store, ^meet
^store:
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.bra ^meet
^meet:
  ptx.bar.sync 0
  ptx.cond_bra %first, ^wait, ^behind
^wait:
  ptx.cp.async.bulk.wait_group 0
  ptx.bra ^behind
^behind:
  ptx.cond_bra %first, ^write, ^end
^write:
  ptx.st global %a, %0 : i64, i32
  ptx.bra ^end
^end:
  ptx.ret
}
