// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-synchronization

// Operands through st.shared, accumulator by tcgen05.ld; the writers fence.

ptx.entry @stored(d : u64 ptr) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %5 = ptx.constant 5 : i32
  %4 = ptx.constant 4 : i32
  %0 = ptx.constant 0 : i32
  %warp = ptx.shr unsigned %tid, %5 : i32
  %first = ptx.setp eq %warp, %0 : i32
  %elected = ptx.elect.sync
  %leader = ptx.and %first, %elected : i1
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  ptx.cond_bra %first, ^alloc, ^allocated
^alloc:
  tcgen05.alloc %slot columns 256
  ptx.cond_bra %leader, ^init, ^allocated
^init:
  ptx.mbarrier.init %bar, 1
  ptx.fence.mbarrier_init
  ptx.bra ^allocated
^allocated:
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  ptx.st shared %mine, %0, %0, %0, %0 : i32, i32, i32, i32, i32
  ptx.fence.proxy.async "shared::cta"
  ptx.bar.sync 0
  %t = ptx.ld shared %slot : i32 -> i32
  %units = ptx.shr unsigned %tile, %4 : i32
  %mask = ptx.constant 16383 : i32
  %start = ptx.and %units, %mask : i32
  %wide = ptx.cvt unsigned %start : i32 -> i64
  %fields = ptx.constant 4611756662049538048 : i64
  %desc = ptx.or %wide, %fields : i64
  %idesc = ptx.constant 138412048 : i32
  %no = ptx.constant false
  %yes = ptx.constant true
  ptx.cond_bra %leader, ^issue, ^issued
^issue:
  // Two in a pipeline need nothing between them.
  tcgen05.mma f16 %t, %desc, %desc, %idesc, %no : i32, i64
  tcgen05.mma f16 %t, %desc, %desc, %idesc, %yes : i32, i64
  tcgen05.commit %bar
  ptx.bra ^issued
^issued:
  ptx.mbarrier.wait_parity %bar, %0
  tcgen05.fence after_thread_sync
  %96 = ptx.constant 96 : i32
  %16 = ptx.constant 16 : i32
  %row = ptx.and %tid, %96 : i32
  %lane = ptx.shl %row, %16 : i32
  %at = ptx.add %t, %lane : i32
  %v = tcgen05.ld "32x32b" num 1 %at : i32 -> f32
  tcgen05.wait ld
  %d = ptx.ld.param @d : i64
  ptx.st global %d, %v : i64, f32
  ptx.st shared %mine, %0, %0, %0, %0 : i32, i32, i32, i32, i32
  ptx.bar.sync 0
  ptx.cond_bra %first, ^free, ^end
^free:
  tcgen05.dealloc %t columns 256
  ptx.bra ^end
^end:
  ptx.ret
}

// -----

// Three warps with a role each: bulk copies, products, and the rest; who waits does so in its own part. Nobody fences
// the copies: they come through the async proxy. The one that did not wait learns of it at the last barrier.

ptx.entry @roles(map : b8[128] align 64, n : u32) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %5 = ptx.constant 5 : i32
  %4 = ptx.constant 4 : i32
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %warp = ptx.shr unsigned %tid, %5 : i32
  %first = ptx.setp eq %warp, %0 : i32
  %second = ptx.setp eq %warp, %1 : i32
  %elected = ptx.elect.sync
  %loads = ptx.and %first, %elected : i1
  %issues = ptx.and %second, %elected : i1
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  %full = ptx.shared_alloc @full bytes 8 align 8
  %empty = ptx.shared_alloc @empty bytes 8 align 8
  %done = ptx.shared_alloc @done bytes 8 align 8
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %map = ptx.param_address @map
  %n = ptx.ld.param @n : i32
  %units = ptx.shr unsigned %tile, %4 : i32
  %wide = ptx.cvt unsigned %units : i32 -> i64
  %fields = ptx.constant 4611756662049538048 : i64
  %desc = ptx.or %wide, %fields : i64
  %idesc = ptx.constant 138412048 : i32
  %yes = ptx.constant true
  ptx.cond_bra %first, ^setup, ^ready
^setup:
  tcgen05.alloc %slot columns 256
  ptx.cond_bra %elected, ^init, ^ready
^init:
  ptx.mbarrier.init %full, 1
  ptx.mbarrier.init %empty, 1
  ptx.mbarrier.init %done, 1
  ptx.fence.mbarrier_init
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  %t = ptx.ld shared %slot : i32 -> i32
  ptx.cond_bra %loads, ^load(%0 : i32), ^not_load
^load(%i: i32):
  %more = ptx.setp lt %i, %n : i32
  ptx.cond_bra %more, ^load_one, ^all
^load_one:
  %before = ptx.xor %i, %1 : i32
  ptx.mbarrier.wait_parity %empty, %before
  ptx.mbarrier.arrive.expect_tx %full, 16384
  ptx.cp.async.bulk.tensor.load "shared::cta" %tile, %map[%i, %i], %full
  %i1 = ptx.add %i, %1 : i32
  ptx.bra ^load(%i1 : i32)
^not_load:
  ptx.cond_bra %issues, ^issue(%0 : i32), ^rest
^issue(%j: i32):
  %again = ptx.setp lt %j, %n : i32
  ptx.cond_bra %again, ^issue_one, ^last
^issue_one:
  ptx.mbarrier.wait_parity %full, %j
  tcgen05.mma f16 %t, %desc, %desc, %idesc, %yes : i32, i64
  tcgen05.commit %empty
  %j1 = ptx.add %j, %1 : i32
  ptx.bra ^issue(%j1 : i32)
^last:
  tcgen05.commit %done
  ptx.bra ^all
^rest:
  ptx.mbarrier.wait_parity %done, %0
  tcgen05.fence after_thread_sync
  %v = tcgen05.ld "32x32b" num 1 %t : i32 -> f32
  tcgen05.wait ld
  ptx.bra ^all
^all:
  ptx.bar.sync 0
  ptx.cond_bra %second, ^free, ^end
^free:
  tcgen05.dealloc %t columns 256
  ptx.bra ^end
^end:
  ptx.ret
}

// -----

// A in tensor memory and scale factors: tcgen05.st by all warps, then one thread issues. Arrivals do what a barrier does.

ptx.entry @sent(t : u32, b : u64) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %t = ptx.ld.param @t : i32
  %b = ptx.ld.param @b : i64
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %yes = ptx.constant true
  %idesc = ptx.constant 138412048 : i32
  %256 = ptx.constant 256 : i32
  %d = ptx.add %t, %256 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %bar, 128
  ptx.fence.mbarrier_init
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  %96 = ptx.constant 96 : i32
  %16 = ptx.constant 16 : i32
  %row = ptx.and %tid, %96 : i32
  %lane = ptx.shl %row, %16 : i32
  %at = ptx.add %t, %lane : i32
  tcgen05.st "32x32b" num 8 %at, %0, %0, %0, %0, %0, %0, %0, %0 : i32, i32, i32, i32, i32, i32, i32, i32, i32
  tcgen05.wait st
  tcgen05.fence before_thread_sync
  ptx.mbarrier.arrive %bar relaxed
  ptx.cond_bra %leader, ^issue, ^end
^issue:
  ptx.mbarrier.wait_parity %bar, %0 relaxed
  tcgen05.fence after_thread_sync
  tcgen05.mma f16 %d, %t, %b, %idesc, %yes : i32, i32
  ptx.bra ^end
^end:
  ptx.ret
}

// -----

// tcgen05.cp and the product that reads what it writes are in a pipeline; a store and a load of one warp need its wait.

ptx.entry @pipelined(t : u32, s : u64, a : u64) target("sm_100a") {
  %t = ptx.ld.param @t : i32
  %s = ptx.ld.param @s : i64
  %a = ptx.ld.param @a : i64
  %64 = ptx.constant 64 : i32
  %d = ptx.add %t, %64 : i32
  %idesc = ptx.constant 144703488 : i32
  %yes = ptx.constant true
  tcgen05.cp "32x128b" %t, %s multicast "warpx4" : i32
  tcgen05.mma mxf8f6f4 %d, %a, %a, %idesc, %yes scales(%t, %t : i32, i32) : i32, i64
  %128 = ptx.constant 128 : i32
  %e = ptx.add %d, %128 : i32
  tcgen05.st "32x32b" num 1 %e, %t : i32, i32
  tcgen05.wait st
  %v = tcgen05.ld "32x32b" num 1 %e : i32 -> i32
  tcgen05.wait ld
  tcgen05.st "32x32b" num 1 %e, %v : i32, i32
  tcgen05.wait st
  ptx.ret
}

// -----

// The fence may also be behind the barrier, in the thread that goes on; a wait may be written as a loop.

ptx.entry @fence_of_the_reader(map : b8[128] align 64) target("sm_100a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %tile = ptx.shared_alloc @tile bytes 1024 align 128
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %map = ptx.param_address @map
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  ptx.st shared %mine, %0, %0, %0, %0 : i32, i32, i32, i32, i32
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^store, ^go
^store:
  ptx.fence.proxy.async
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.cp.async.bulk.wait_group 0 read
  ptx.mbarrier.init %bar, 1
  ptx.fence.mbarrier_init
  ptx.mbarrier.arrive.expect_tx %bar, 1024
  ptx.cp.async.bulk.tensor.load "shared::cta" %tile, %map[%0, %0], %bar
  ptx.bra ^go
^go:
  ptx.bar.sync 0
  ptx.bra ^wait
^wait:
  %ready = ptx.mbarrier.test_wait_parity %bar, %0
  ptx.cond_bra %ready, ^read, ^wait
^read:
  %v = ptx.ld shared %mine : i32 -> i32
  ptx.ret
}

// -----

// What is not known is let through: the stage that a loop is at, and addresses that are loaded.

ptx.entry @unknown(n : u32, map : b8[128] align 64) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %13 = ptx.constant 13 : i32
  %n = ptx.ld.param @n : i32
  %map = ptx.param_address @map
  %stages = ptx.shared_alloc @stages bytes 32768 align 1024
  %bars = ptx.shared_alloc @bars bytes 16 align 8
  ptx.bra ^loop(%0 : i32)
^loop(%i: i32):
  %stage = ptx.and %i, %1 : i32
  %offset = ptx.shl %stage, %13 : i32
  %at = ptx.add %stages, %offset : i32
  ptx.st shared %at, %0 : i32, i32
  %where = ptx.ld shared %at : i32 -> i32
  ptx.st shared %where, %0 : i32, i32
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %at
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^loop(%i1 : i32), ^end
^end:
  ptx.ret
}

// -----

// Each thread reads what it wrote itself, and lanes of a warp meet at bar.warp.sync.

ptx.entry @own() target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %2 = ptx.constant 2 : i32
  %1 = ptx.constant 1 : i32
  %tile = ptx.shared_alloc @tile bytes 256 align 128
  %offset = ptx.shl %tid, %2 : i32
  %mine = ptx.add %tile, %offset : i32
  ptx.st shared %mine, %0 : i32, i32
  %v = ptx.ld shared %mine : i32 -> i32
  ptx.bar.warp.sync
  %neighbour = ptx.xor %tid, %1 : i32
  %there = ptx.shl %neighbour, %2 : i32
  %theirs = ptx.add %tile, %there : i32
  %w = ptx.ld shared %theirs : i32 -> i32
  ptx.ret
}

// -----

// Without .reqntid there may be one thread.

ptx.entry @any_block() target("sm_90a") {
  %0 = ptx.constant 0 : i32
  %tile = ptx.shared_alloc @tile bytes 256 align 128
  ptx.st shared %tile, %0 : i32, i32
  %v = ptx.ld shared %tile : i32 -> i32
  ptx.ret
}

// -----

// Nor is anything known of the threads of a block of two dimensions.

ptx.entry @two_dimensions() target("sm_90a") reqntid(32, 4) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %tile = ptx.shared_alloc @tile bytes 256 align 128
  ptx.st shared %tile, %0 : i32, i32
  ptx.cond_bra %leader, ^read, ^end
^read:
  %v = ptx.ld shared %tile : i32 -> i32
  ptx.bra ^end
^end:
  ptx.ret
}

// -----

// Who issues also waits, in a later branch, and tells the others: no thread takes one of the two branches alone.

ptx.entry @same_branch_twice(t : u32, a : u64) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %t = ptx.ld.param @t : i32
  %a = ptx.ld.param @a : i64
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %done = ptx.shared_alloc @done bytes 8 align 8
  %idesc = ptx.constant 138412048 : i32
  %yes = ptx.constant true
  ptx.mbarrier.init %bar, 1
  ptx.mbarrier.init %done, 1
  ptx.fence.mbarrier_init
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^issue, ^issued
^issue:
  tcgen05.mma f16 %t, %a, %a, %idesc, %yes : i32, i64
  tcgen05.commit %bar
  ptx.bra ^issued
^issued:
  ptx.cond_bra %leader, ^wait, ^waited
^wait:
  ptx.mbarrier.wait_parity %bar, %0
  tcgen05.fence after_thread_sync
  tcgen05.fence before_thread_sync
  ptx.mbarrier.arrive %done
  ptx.bra ^waited
^waited:
  ptx.mbarrier.wait_parity %done, %0
  tcgen05.fence after_thread_sync
  %v = tcgen05.ld "32x32b" num 1 %t : i32 -> i32
  tcgen05.wait ld
  ptx.ret
}

// -----

// Two warps hand tensor memory to each other: the second waits for the product, loads the sums, and stores A of the
// next product over them. That the first product is complete, the first warp learns from the second.

ptx.entry @handed_over(t : u32, b : u64, n : u32) target("sm_100a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %32 = ptx.constant 32 : i32
  %first = ptx.setp eq %tid, %0 : i32
  %second = ptx.setp ge %tid, %32 : i32
  %t = ptx.ld.param @t : i32
  %b = ptx.ld.param @b : i64
  %n = ptx.ld.param @n : i32
  %256 = ptx.constant 256 : i32
  %d = ptx.add %t, %256 : i32
  %sums = ptx.shared_alloc @sums bytes 8 align 8
  %a = ptx.shared_alloc @a bytes 8 align 8
  %idesc = ptx.constant 138412048 : i32
  %no = ptx.constant false
  %yes = ptx.constant true
  ptx.cond_bra %first, ^init, ^ready
^init:
  ptx.mbarrier.init %sums, 1
  ptx.mbarrier.init %a, 32
  ptx.fence.mbarrier_init
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %first, ^issue(%0 : i32), ^not_first
^issue(%i: i32):
  tcgen05.mma f16 %t, %b, %b, %idesc, %no : i32, i64
  tcgen05.commit %sums
  ptx.mbarrier.wait_parity %a, %i
  tcgen05.fence after_thread_sync
  tcgen05.mma f16 %d, %t, %b, %idesc, %yes : i32, i32
  %i1 = ptx.xor %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^issue(%i1 : i32), ^end
^not_first:
  ptx.cond_bra %second, ^convert(%0 : i32), ^end
^convert(%j: i32):
  ptx.mbarrier.wait_parity %sums, %j
  tcgen05.fence after_thread_sync
  %v = tcgen05.ld "32x32b" num 1 %t : i32 -> i32
  tcgen05.wait ld
  tcgen05.st "32x32b" num 1 %t, %v : i32, i32
  tcgen05.wait st
  tcgen05.fence before_thread_sync
  ptx.mbarrier.arrive %a
  %j1 = ptx.xor %j, %1 : i32
  %again = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %again, ^convert(%j1 : i32), ^end
^end:
  ptx.ret
}

// -----

// Tensor memory is given back wherever it has been allocated.

ptx.entry @allocated_if_needed(n : u32) target("sm_100a") reqntid(32) {
  %n = ptx.ld.param @n : i32
  %0 = ptx.constant 0 : i32
  %needed = ptx.setp ne %n, %0 : i32
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  ptx.cond_bra %needed, ^alloc, ^go
^alloc:
  tcgen05.alloc %slot columns 32
  ptx.bra ^go
^go:
  ptx.cond_bra %needed, ^free, ^end
^free:
  %t = ptx.ld shared %slot : i32 -> i32
  tcgen05.dealloc %t columns 32
  ptx.bra ^end
^end:
  ptx.ret
}

// -----

// The same number is another address in each memory.

ptx.entry @memories() target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %16 = ptx.constant 16 : i32
  %wide = ptx.constant 16 : i64
  ptx.st shared %16, %tid : i32, i32
  %v = ptx.ld global %wide : i64 -> i32
  ptx.ret
}

// -----

// The fence of the initialisation releases it: the arrival may be relaxed. Another block of the cluster announces the
// bytes.

ptx.entry @cluster(map : b8[128] align 64) target("sm_100a") reqntid(64) cluster(2) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %rank = ptx.read_special cluster_ctarank
  %1 = ptx.constant 1 : i32
  %other = ptx.xor %rank, %1 : i32
  %map = ptx.param_address @map
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %tile = ptx.shared_alloc @tile bytes 1024 align 128
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %bar, 1
  ptx.fence.mbarrier_init
  ptx.bra ^ready
^ready:
  ptx.barrier.cluster.arrive relaxed
  ptx.barrier.cluster.wait
  ptx.cond_bra %leader, ^load, ^loaded
^load:
  %theirs = ptx.mapa %bar, %other
  ptx.mbarrier.arrive.expect_tx %theirs, 1024 remote
  ptx.cp.async.bulk.tensor.load "shared::cluster" %tile, %map[%0, %0], %bar
  ptx.bra ^loaded
^loaded:
  ptx.mbarrier.wait_parity %bar, %0
  %v = ptx.ld shared %tile : i32 -> i32
  ptx.ret
}

// -----

// Which threads take a branch on a loaded number is not known: another may do the rest of the work in order.

ptx.entry @writers(d : u64 ptr, e : u64 ptr) target("sm_90a") reqntid(128) {
  %0 = ptx.constant 0 : i32
  %tile = ptx.shared_alloc @tile bytes 4 align 4
  %d = ptx.ld.param @d : i64
  %e = ptx.ld.param @e : i64
  %x = ptx.ld global %d : i64 -> i32
  %p = ptx.setp eq %x, %0 : i32
  ptx.cond_bra %p, ^write, ^read
^write:
  ptx.st shared %tile, %0 : i32, i32
  ptx.bra ^read
^read:
  %y = ptx.ld shared %tile : i32 -> i32
  ptx.st global %e, %y : i64, i32
  ptx.ret
}

ptx.entry @readers(d : u64 ptr, e : u64 ptr) target("sm_90a") reqntid(128) {
  %0 = ptx.constant 0 : i32
  %tile = ptx.shared_alloc @tile bytes 4 align 4
  %d = ptx.ld.param @d : i64
  %e = ptx.ld.param @e : i64
  %x = ptx.ld global %d : i64 -> i32
  %p = ptx.setp eq %x, %0 : i32
  %tid = ptx.read_special tid.x
  %first = ptx.setp eq %tid, %0 : i32
  ptx.cond_bra %first, ^write, ^written
^write:
  ptx.st shared %tile, %0 : i32, i32
  ptx.bra ^written
^written:
  ptx.cond_bra %p, ^read, ^end
^read:
  %y = ptx.ld shared %tile : i32 -> i32
  ptx.st global %e, %y : i64, i32
  ptx.bra ^end
^end:
  ptx.ret
}

ptx.entry @initialised(d : u64 ptr, e : u64 ptr) target("sm_90a") reqntid(128) {
  %0 = ptx.constant 0 : i32
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %d = ptx.ld.param @d : i64
  %e = ptx.ld.param @e : i64
  %x = ptx.ld global %d : i64 -> i32
  %p = ptx.setp eq %x, %0 : i32
  %tid = ptx.read_special tid.x
  %first = ptx.setp eq %tid, %0 : i32
  ptx.cond_bra %first, ^maybe, ^go
^maybe:
  ptx.cond_bra %p, ^init, ^go
^init:
  ptx.mbarrier.init %bar, 1
  ptx.bra ^go
^go:
  ptx.mbarrier.arrive %bar
  ptx.ret
}
