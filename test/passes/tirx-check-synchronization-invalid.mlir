// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-synchronization

ptx.entry @registers(t : u32, d : u64 ptr) target("sm_100a") {
  %t = ptx.ld.param @t : i32
  %d = ptx.ld.param @d : i64
  %v = tcgen05.ld "32x32b" num 1 %t : i32 -> i32
  // expected-error@+1 {{expected tcgen05.wait::ld between 'tcgen05.ld' and the use of its registers, found none; put tcgen05.wait ld before it ('tcgen05.ld' in line 6; PTX ISA, "tcgen05 Memory Consistency Model")}}
  ptx.st global %d, %v : i64, i32
  ptx.ret
}

ptx.entry @registers_on_one_way(t : u32, d : u64 ptr, n : u32) target("sm_100a") {
  %t = ptx.ld.param @t : i32
  %d = ptx.ld.param @d : i64
  %n = ptx.ld.param @n : i32
  %0 = ptx.constant 0 : i32
  %p = ptx.setp eq %n, %0 : i32
  %v = tcgen05.ld "32x32b" num 1 %t : i32 -> i32
  ptx.cond_bra %p, ^wait, ^use
^wait:
  tcgen05.wait ld
  ptx.bra ^use
^use:
  // expected-error@+1 {{expected tcgen05.wait::ld between 'tcgen05.ld' and the use of its registers, found none}}
  ptx.st global %d, %v : i64, i32
  ptx.ret
}

ptx.entry @overwritten_by_store(t : u32) target("sm_100a") {
  %t = ptx.ld.param @t : i32
  %v, %w, %x, %y = tcgen05.ld "32x32b" num 4 %t : i32 -> i32, i32, i32, i32
  // expected-error@+1 {{expected tcgen05.wait::ld between 'tcgen05.ld' and the access to the same tensor memory, found none; put tcgen05.wait ld before it}}
  tcgen05.st "32x32b" num 1 %t offset 2, %t : i32, i32
  ptx.ret
}

ptx.entry @store_then_load(t : u32) target("sm_100a") {
  %t = ptx.ld.param @t : i32
  tcgen05.st "32x32b" num 1 %t, %t : i32, i32
  // expected-error@+1 {{expected tcgen05.wait::st between 'tcgen05.st' and the access to the same tensor memory, found none; put tcgen05.wait st before it}}
  %v = tcgen05.ld "32x32b" num 1 %t : i32 -> i32
  ptx.ret
}

ptx.entry @store_then_product(t : u32, a : u64) target("sm_100a") {
  %t = ptx.ld.param @t : i32
  %a = ptx.ld.param @a : i64
  %idesc = ptx.constant 138412048 : i32
  %yes = ptx.constant true
  tcgen05.st "32x32b" num 1 %t, %t : i32, i32
  // expected-error@+1 {{expected tcgen05.wait::st between 'tcgen05.st' and the access to the same tensor memory, found none}}
  tcgen05.mma f16 %t, %a, %a, %idesc, %yes : i32, i64
  ptx.ret
}

ptx.entry @metadata(t : u32, a : u64) target("sm_100a") {
  %t = ptx.ld.param @t : i32
  %a = ptx.ld.param @a : i64
  %idesc = ptx.constant 138412052 : i32
  %yes = ptx.constant true
  %64 = ptx.constant 64 : i32
  %e = ptx.add %t, %64 : i32
  tcgen05.st "32x32b" num 1 %e, %t : i32, i32
  // expected-error@+1 {{expected tcgen05.wait::st between 'tcgen05.st' and the access to the same tensor memory, found none}}
  tcgen05.mma f16 %t, %a, %a, %idesc, %yes sparse(%e : i32) : i32, i64
  ptx.ret
}

ptx.entry @not_committed(t : u32, a : u64, d : u64 ptr) target("sm_100a") {
  %t = ptx.ld.param @t : i32
  %a = ptx.ld.param @a : i64
  %idesc = ptx.constant 138412048 : i32
  %yes = ptx.constant true
  tcgen05.mma f16 %t, %a, %a, %idesc, %yes : i32, i64
  // expected-error@+1 {{expected a tcgen05.commit and a wait on its mbarrier between 'tcgen05.mma' and the access to the same tensor memory, found none; put tcgen05.commit behind it and ptx.mbarrier.wait_parity before this}}
  %v = tcgen05.ld "32x32b" num 1 %t : i32 -> i32
  ptx.ret
}

// -----

// The wait is for another mbarrier.

ptx.entry @another_mbarrier(t : u32, a : u64) target("sm_100a") {
  %t = ptx.ld.param @t : i32
  %a = ptx.ld.param @a : i64
  %0 = ptx.constant 0 : i32
  %bars = ptx.shared_alloc @bars bytes 16 align 8
  %8 = ptx.constant 8 : i32
  %other = ptx.add %bars, %8 : i32
  %idesc = ptx.constant 138412048 : i32
  %yes = ptx.constant true
  tcgen05.mma f16 %t, %a, %a, %idesc, %yes : i32, i64
  tcgen05.commit %bars
  ptx.mbarrier.wait_parity %other, %0
  tcgen05.fence after_thread_sync
  // expected-error@+1 {{expected a tcgen05.commit and a wait on its mbarrier between 'tcgen05.mma' and the access to the same tensor memory, found none}}
  tcgen05.st "32x32b" num 1 %t, %t : i32, i32
  ptx.ret
}

// -----

// A commit tracks what comes before it.

ptx.entry @committed_too_early(t : u32, s : u64) target("sm_100a") {
  %t = ptx.ld.param @t : i32
  %s = ptx.ld.param @s : i64
  %0 = ptx.constant 0 : i32
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  tcgen05.commit %bar
  tcgen05.cp "128x256b" %t, %s : i32
  ptx.mbarrier.wait_parity %bar, %0
  tcgen05.fence after_thread_sync
  // expected-error@+1 {{expected a tcgen05.commit and a wait on its mbarrier between 'tcgen05.cp' and the access to the same tensor memory, found none}}
  %v = tcgen05.ld "32x32b" num 1 %t : i32 -> i32
  ptx.ret
}

ptx.entry @not_ordered_behind_the_wait(t : u32, a : u64) target("sm_100a") {
  %t = ptx.ld.param @t : i32
  %a = ptx.ld.param @a : i64
  %0 = ptx.constant 0 : i32
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %idesc = ptx.constant 138412048 : i32
  %yes = ptx.constant true
  tcgen05.mma f16 %t, %a, %a, %idesc, %yes : i32, i64
  tcgen05.commit %bar
  ptx.mbarrier.wait_parity %bar, %0
  // expected-error@+1 {{expected tcgen05.fence::after_thread_sync between 'tcgen05.mma' and the access to the same tensor memory, found none; put tcgen05.fence after_thread_sync behind the barrier or wait before it}}
  %v = tcgen05.ld "32x32b" num 1 %t : i32 -> i32
  ptx.ret
}

// -----

// Two phases of one mbarrier: parity 0 is complete before the second product is.

ptx.entry @phases(t : u32, a : u64) target("sm_100a") {
  %t = ptx.ld.param @t : i32
  %a = ptx.ld.param @a : i64
  %0 = ptx.constant 0 : i32
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %idesc = ptx.constant 138412048 : i32
  %yes = ptx.constant true
  ptx.mbarrier.init %bar, 1
  ptx.fence.mbarrier_init
  tcgen05.mma f16 %t, %a, %a, %idesc, %yes : i32, i64
  tcgen05.commit %bar
  tcgen05.mma f16 %t, %a, %a, %idesc, %yes : i32, i64
  // expected-error@+1 {{expected a wait on the mbarrier of its commit between 'tcgen05.mma' and the next commit to that mbarrier, found none; put ptx.mbarrier.wait_parity before this}}
  tcgen05.commit %bar
  ptx.mbarrier.wait_parity %bar, %0
  ptx.ret
}

// -----

// Not a pipeline: the accumulator of one shape by products of two.

ptx.entry @shapes(t : u32, a : u64) target("sm_100a") {
  %t = ptx.ld.param @t : i32
  %a = ptx.ld.param @a : i64
  %n128 = ptx.constant 136314896 : i32
  %n256 = ptx.constant 138412048 : i32
  %yes = ptx.constant true
  tcgen05.mma f16 %t, %a, %a, %n128, %yes : i32, i64
  // expected-error@+1 {{expected a tcgen05.commit and a wait on its mbarrier between 'tcgen05.mma' and the access to the same tensor memory, found none}}
  tcgen05.mma f16 %t, %a, %a, %n256, %yes : i32, i64
  ptx.ret
}

// -----

// Nor is it one where a sum becomes A.

ptx.entry @sum_as_a(t : u32, b : u64) target("sm_100a") {
  %t = ptx.ld.param @t : i32
  %b = ptx.ld.param @b : i64
  %256 = ptx.constant 256 : i32
  %d = ptx.add %t, %256 : i32
  %idesc = ptx.constant 138412048 : i32
  %yes = ptx.constant true
  tcgen05.mma f16 %t, %b, %b, %idesc, %yes : i32, i64
  // expected-error@+1 {{expected a tcgen05.commit and a wait on its mbarrier between 'tcgen05.mma' and the access to the same tensor memory, found none}}
  tcgen05.mma f16 %d, %t, %b, %idesc, %yes : i32, i32
  ptx.ret
}

// -----

// tcgen05.st of all warps, a product of one thread: no fence before the barrier.

ptx.entry @before(t : u32, a : u64) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %t = ptx.ld.param @t : i32
  %a = ptx.ld.param @a : i64
  %96 = ptx.constant 96 : i32
  %16 = ptx.constant 16 : i32
  %row = ptx.and %tid, %96 : i32
  %lane = ptx.shl %row, %16 : i32
  %at = ptx.add %t, %lane : i32
  %idesc = ptx.constant 138412048 : i32
  %yes = ptx.constant true
  tcgen05.st "32x32b" num 1 %at, %0 : i32, i32
  tcgen05.wait st
  ptx.bar.sync 0
  tcgen05.fence after_thread_sync
  ptx.cond_bra %leader, ^issue, ^end
^issue:
  // expected-error@+1 {{expected tcgen05.fence::before_thread_sync between 'tcgen05.st' and the access to the same tensor memory by another thread, found none; put tcgen05.fence before_thread_sync before the barrier between them}}
  tcgen05.mma f16 %t, %a, %a, %idesc, %yes : i32, i64
  ptx.bra ^end
^end:
  ptx.ret
}

ptx.entry @no_barrier(t : u32, a : u64) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %t = ptx.ld.param @t : i32
  %a = ptx.ld.param @a : i64
  %96 = ptx.constant 96 : i32
  %16 = ptx.constant 16 : i32
  %row = ptx.and %tid, %96 : i32
  %lane = ptx.shl %row, %16 : i32
  %at = ptx.add %t, %lane : i32
  %idesc = ptx.constant 138412048 : i32
  %yes = ptx.constant true
  %v = tcgen05.ld "32x32b" num 1 %at : i32 -> i32
  tcgen05.wait ld
  tcgen05.fence before_thread_sync
  tcgen05.fence after_thread_sync
  ptx.cond_bra %leader, ^issue, ^end
^issue:
  // expected-error@+1 {{expected a barrier between 'tcgen05.ld' and the access to the same tensor memory by another thread, found none; put ptx.bar.sync 0 before it, behind tcgen05.fence before_thread_sync}}
  tcgen05.mma f16 %t, %a, %a, %idesc, %yes : i32, i64
  ptx.bra ^end
^end:
  ptx.ret
}

// -----

// A store through the generic proxy, a read through the async proxy.

ptx.entry @proxy(map : b8[128] align 64) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %map = ptx.param_address @map
  %tile = ptx.shared_alloc @tile bytes 2048 align 128
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  ptx.st shared %mine, %0, %0, %0, %0 : i32, i32, i32, i32, i32
  ptx.fence.proxy.async "global"
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^store, ^end
^store:
  // expected-error@+1 {{expected fence.proxy.async between 'ptx.st' and this read through the async proxy, found none; put ptx.fence.proxy.async "shared::cta" behind the write, before the barrier}}
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %tile
  ptx.bra ^end
^end:
  ptx.ret
}

// -----

// The fence of one thread is not that of the others.

ptx.entry @fence_of_one_thread(map : b8[128] align 64) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %map = ptx.param_address @map
  %tile = ptx.shared_alloc @tile bytes 2048 align 128
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  ptx.stmatrix "m8n8" %mine, %0, %0, %0, %0 : i32, i32, i32, i32
  ptx.cond_bra %leader, ^fence, ^meet
^fence:
  ptx.fence.proxy.async
  ptx.bra ^meet
^meet:
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^store, ^end
^store:
  // expected-error@+1 {{expected fence.proxy.async between 'ptx.stmatrix' and this read through the async proxy, found none}}
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %tile
  ptx.bra ^end
^end:
  ptx.ret
}

ptx.entry @operand_race(t : u32) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %t = ptx.ld.param @t : i32
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  %units = ptx.shr unsigned %tile, %4 : i32
  %wide = ptx.cvt unsigned %units : i32 -> i64
  %fields = ptx.constant 4611756662049538048 : i64
  %desc = ptx.or %wide, %fields : i64
  %idesc = ptx.constant 136314896 : i32
  %yes = ptx.constant true
  ptx.st shared %mine offset 512, %0, %0, %0, %0 : i32, i32, i32, i32, i32
  ptx.fence.proxy.async "shared::cta"
  ptx.cond_bra %leader, ^issue, ^end
^issue:
  // expected-error@+1 {{expected a barrier between 'ptx.st' and this access to the same shared memory by another thread (0 behind 4), found none; put ptx.bar.sync 0 before it}}
  tcgen05.mma f16 %t, %desc, %desc, %idesc, %yes : i32, i64
  ptx.bra ^end
^end:
  ptx.ret
}

ptx.entry @operand_overwritten(t : u32) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %t = ptx.ld.param @t : i32
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  %units = ptx.shr unsigned %tile, %4 : i32
  %wide = ptx.cvt unsigned %units : i32 -> i64
  %fields = ptx.constant 4611756662049538048 : i64
  %desc = ptx.or %wide, %fields : i64
  %idesc = ptx.constant 136314896 : i32
  %yes = ptx.constant true
  ptx.cond_bra %leader, ^issue, ^go
^issue:
  tcgen05.mma f16 %t, %desc, %desc, %idesc, %yes : i32, i64
  tcgen05.commit %bar
  ptx.bra ^go
^go:
  ptx.bar.sync 0
  // expected-error@+1 {{expected a tcgen05.commit and a wait on its mbarrier between 'tcgen05.mma' and this write of the same shared memory, found none}}
  ptx.st shared %mine, %0, %0, %0, %0 : i32, i32, i32, i32, i32
  ptx.ret
}

ptx.entry @race() target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %2 = ptx.constant 2 : i32
  %1 = ptx.constant 1 : i32
  %tile = ptx.shared_alloc @tile bytes 256 align 128
  %offset = ptx.shl %tid, %2 : i32
  %mine = ptx.add %tile, %offset : i32
  %neighbour = ptx.xor %tid, %1 : i32
  %there = ptx.shl %neighbour, %2 : i32
  %theirs = ptx.add %tile, %there : i32
  ptx.st shared %mine, %tid : i32, i32
  // expected-error@+1 {{expected a barrier between 'ptx.st' and this access to the same shared memory by another thread (1 behind 0), found none; put ptx.bar.sync 0 before it}}
  %v = ptx.ld shared %theirs : i32 -> i32
  ptx.ret
}

// -----

// Lanes of a warp have met, warps have not.

ptx.entry @race_of_warps(g : u64 ptr) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %2 = ptx.constant 2 : i32
  %32 = ptx.constant 32 : i32
  %g = ptx.ld.param @g : i64
  %offset = ptx.mul.wide %tid, %2 : i32 -> i64
  %mine = ptx.add %g, %offset : i64
  %neighbour = ptx.xor %tid, %32 : i32
  %there = ptx.mul.wide %neighbour, %2 : i32 -> i64
  %theirs = ptx.add %g, %there : i64
  %x = ptx.ld.u8 global %theirs : i64
  ptx.bar.warp.sync
  // expected-error@+1 {{expected a barrier between 'ptx.ld.u8' and this access to the same global memory by another thread (32 behind 0), found none}}
  ptx.st.u8 global %mine, %x : i64
  ptx.ret
}

ptx.entry @copy_not_waited_for(map : b8[128] align 64) target("sm_100a") {
  %0 = ptx.constant 0 : i32
  %map = ptx.param_address @map
  %tile = ptx.shared_alloc @tile bytes 1024 align 128
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  ptx.mbarrier.arrive.expect_tx %bar, 1024
  ptx.cp.async.bulk.tensor.load "shared::cta" %tile, %map[%0], %bar
  // expected-error@+1 {{expected a wait on its mbarrier between 'ptx.cp.async.bulk.tensor.load' and this read of the same shared memory, found none; put ptx.mbarrier.wait_parity before this}}
  %v = ptx.ld shared %tile : i32 -> i32
  ptx.ret
}

ptx.entry @bytes_not_announced(map : b8[128] align 64) target("sm_100a") {
  %0 = ptx.constant 0 : i32
  %map = ptx.param_address @map
  %tile = ptx.shared_alloc @tile bytes 1024 align 128
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  ptx.mbarrier.arrive %bar
  // expected-error@+1 {{expected mbarrier.expect_tx of the bytes of this copy on its mbarrier, found none: its phase may complete before the bytes arrive; put ptx.mbarrier.arrive.expect_tx before it}}
  ptx.cp.async.bulk.tensor.load "shared::cta" %tile, %map[%0], %bar
  ptx.mbarrier.wait_parity %bar, %0
  ptx.ret
}

ptx.entry @source_overwritten(map : b8[128] align 64) target("sm_100a") {
  %0 = ptx.constant 0 : i32
  %map = ptx.param_address @map
  %tile = ptx.shared_alloc @tile bytes 1024 align 128
  ptx.cp.async.bulk.tensor.store %map[%0], %tile
  // Of no group that was made of it.
  ptx.cp.async.bulk.wait_group 0 read
  // expected-error@+1 {{expected cp.async.bulk.commit_group and wait_group.read between 'ptx.cp.async.bulk.tensor.store' and this write of the same shared memory, found none; put ptx.cp.async.bulk.wait_group 0 read before this}}
  ptx.st shared %tile, %0 : i32, i32
  ptx.ret
}

ptx.entry @mbarrier_not_fenced(map : b8[128] align 64) target("sm_100a") {
  %0 = ptx.constant 0 : i32
  %map = ptx.param_address @map
  %tile = ptx.shared_alloc @tile bytes 1024 align 128
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  ptx.mbarrier.init %bar, 1
  ptx.mbarrier.arrive.expect_tx %bar, 1024
  // expected-error@+1 {{expected fence.mbarrier_init between 'ptx.mbarrier.init' and the use of the mbarrier by the async proxy, found none; put ptx.fence.mbarrier_init behind the initialisation}}
  ptx.cp.async.bulk.tensor.load "shared::cta" %tile, %map[%0], %bar
  ptx.ret
}

ptx.entry @mbarrier_of_another_thread() target("sm_100a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %leader = ptx.setp eq %tid, %0 : i32
  ptx.cond_bra %leader, ^init, ^go
^init:
  ptx.mbarrier.init %bar, 1
  ptx.fence.mbarrier_init
  ptx.mbarrier.arrive %bar
  ptx.bra ^go
^go:
  ptx.bar.warp.sync
  // expected-error@+1 {{expected a barrier between 'ptx.mbarrier.init' and the use of the mbarrier by other threads, found none; put ptx.bar.sync 0 behind the initialisation}}
  ptx.mbarrier.wait_parity %bar, %0
  ptx.ret
}

ptx.entry @address_not_there() target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %32 = ptx.constant 32 : i32
  %first = ptx.setp lt %tid, %32 : i32
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  ptx.cond_bra %first, ^alloc, ^go
^alloc:
  tcgen05.alloc %slot columns 32
  ptx.bra ^go
^go:
  // expected-error@+1 {{expected a barrier between 'tcgen05.alloc' and this access to the same shared memory by another thread (32 behind 0), found none}}
  %t = ptx.ld shared %slot : i32 -> i32
  tcgen05.dealloc %t columns 32
  ptx.ret
}

ptx.entry @freed_too_early() target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %32 = ptx.constant 32 : i32
  %first = ptx.setp lt %tid, %32 : i32
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  ptx.cond_bra %first, ^alloc, ^go
^alloc:
  tcgen05.alloc %slot columns 32
  ptx.bra ^go
^go:
  ptx.bar.sync 0
  %t = ptx.ld shared %slot : i32 -> i32
  %v = tcgen05.ld "32x32b" num 1 %t : i32 -> i32
  tcgen05.wait ld
  ptx.cond_bra %first, ^free, ^end
^free:
  // expected-error@+1 {{expected a barrier between 'tcgen05.ld' and the deallocation of its tensor memory, found none; put ptx.bar.sync 0 before it, for all warps}}
  tcgen05.dealloc %t columns 32
  ptx.bra ^end
^end:
  ptx.ret
}

ptx.entry @freed_in_use() target("sm_100a") {
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  tcgen05.alloc %slot columns 32
  %t = ptx.ld shared %slot : i32 -> i32
  tcgen05.st "32x32b" num 1 %t, %t : i32, i32
  // expected-error@+1 {{expected tcgen05.wait::st between 'tcgen05.st' and the deallocation of its tensor memory, found none}}
  tcgen05.dealloc %t columns 32
  ptx.ret
}

ptx.entry @freed_on_one_way(n : u32) target("sm_100a") {
  %n = ptx.ld.param @n : i32
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  // expected-error@+1 {{expected a tcgen05.dealloc of what is allocated on every path to the end of the kernel, found a path without; the columns would stay taken on the multiprocessor}}
  tcgen05.alloc %slot columns 32
  %t = ptx.ld shared %slot : i32 -> i32
  %some = ptx.setp gt %n, %t : i32
  %0 = ptx.constant 0 : i32
  %any = ptx.setp gt %n, %0 : i32
  ptx.cond_bra %any, ^free, ^end
^free:
  tcgen05.dealloc %t columns 32
  ptx.bra ^end
^end:
  ptx.ret
}

// -----

// A loop that each thread leaves in its own time keeps them apart no longer than that.

ptx.entry @behind_a_loop() target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %tile = ptx.shared_alloc @tile bytes 256 align 128
  ptx.bra ^wait
^wait:
  %ready = ptx.mbarrier.test_wait_parity %bar, %0
  ptx.cond_bra %ready, ^go, ^wait
^go:
  ptx.st shared %tile, %tid : i32, i32
  // expected-error@+1 {{expected a barrier between 'ptx.st' and this access to the same shared memory by another thread (1 behind 0), found none}}
  %v = ptx.ld shared %tile : i32 -> i32
  ptx.ret
}

// -----

// A commit of reads of A says nothing of B.

ptx.entry @commit_of_reads_of_a(t : u32) target("sm_107a") reqntid(32) {
  %t = ptx.ld.param @t : i32
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %a = ptx.shared_alloc @a bytes 16384 align 1024
  %b = ptx.shared_alloc @b bytes 16384 align 1024
  %fields = ptx.constant 4611756662049538048 : i64
  %a_units = ptx.shr unsigned %a, %4 : i32
  %a_wide = ptx.cvt unsigned %a_units : i32 -> i64
  %a_desc = ptx.or %a_wide, %fields : i64
  %b_units = ptx.shr unsigned %b, %4 : i32
  %b_wide = ptx.cvt unsigned %b_units : i32 -> i64
  %b_desc = ptx.or %b_wide, %fields : i64
  %idesc = ptx.constant 138412048 : i32
  %no = ptx.constant false
  %leader = ptx.elect.sync
  ptx.mbarrier.init %bar, 1
  ptx.fence.mbarrier_init
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^issue, ^wait
^issue:
  tcgen05.mma f16 %t, %a_desc, %b_desc, %idesc, %no : i32, i64
  tcgen05.commit %bar reads_a
  ptx.bra ^wait
^wait:
  ptx.mbarrier.wait_parity %bar, %0
  tcgen05.fence after_thread_sync
  ptx.st shared %a, %0 : i32, i32
  // expected-error@+1 {{expected a tcgen05.commit and a wait on its mbarrier between 'tcgen05.mma' and this write of the same shared memory, found none}}
  ptx.st shared %b, %0 : i32, i32
  ptx.ret
}

// -----

#rows = #tirx.tensor_map<argument = 0, type = "f32", dims = [1024], strides = [], box = [64]>

ptx.entry @other_rank(a : u64 ptr, rows : b8[128] align 64 from #rows) target("sm_90a") reqntid(1) {
  %0 = ptx.constant 0 : i32
  %tile = ptx.shared_alloc @tile bytes 512 align 128
  %rows = ptx.param_address @rows
  // expected-error@+1 {{expected as many coordinates as tensor map 'rows' has dimensions (1), found 2}}
  ptx.cp.async.bulk.tensor.store %rows[%0, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.cp.async.bulk.wait_group 0
  ptx.ret
}
