// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-synchronization

// One lane of each warp arrives for all of it, behind tcgen05.wait and bar.warp.sync, in a loop that all go through.

ptx.entry @lane_arrives(t : u32, b : u64, n : u32) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %32 = ptx.constant 32 : i32
  %first = ptx.setp eq %tid, %0 : i32
  %lane = ptx.read_special laneid
  %elected = ptx.setp eq %lane, %0 : i32
  %t = ptx.ld.param @t : i32
  %b = ptx.ld.param @b : i64
  %n = ptx.ld.param @n : i32
  %sums = ptx.shared_alloc @sums bytes 8 align 8
  %a = ptx.shared_alloc @a bytes 8 align 8
  %idesc = ptx.constant 138412048 : i32
  %no = ptx.constant false
  ptx.cond_bra %first, ^init, ^ready
^init:
  ptx.mbarrier.init %sums, 1
  ptx.mbarrier.init %a, 4
  ptx.fence.mbarrier_init
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.bra ^loop(%0 : i32)
^loop(%i : i32):
  ptx.cond_bra %first, ^issue, ^convert
^issue:
  %before = ptx.xor %i, %1 : i32
  ptx.mbarrier.wait_parity %a, %before
  tcgen05.fence after_thread_sync
  tcgen05.mma f16 %t, %b, %b, %idesc, %no : i32, i64
  tcgen05.commit %sums
  ptx.bra ^convert
^convert:
  ptx.mbarrier.wait_parity %sums, %i
  tcgen05.fence after_thread_sync
  %96 = ptx.constant 96 : i32
  %16 = ptx.constant 16 : i32
  %row = ptx.and %tid, %96 : i32
  %lanes = ptx.shl %row, %16 : i32
  %at = ptx.add %t, %lanes : i32
  %v = tcgen05.ld "32x32b" num 1 %at : i32 -> i32
  tcgen05.wait ld
  tcgen05.fence before_thread_sync
  ptx.bar.warp.sync
  ptx.cond_bra %elected, ^arrive, ^next
^arrive:
  ptx.mbarrier.arrive %a
  ptx.bra ^next
^next:
  %j1 = ptx.xor %i, %1 : i32
  %onward = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %onward, ^loop(%j1 : i32), ^end
^end:
  ptx.ret
}

// -----

// And one waits for all of it.

ptx.entry @lane_waits(map : b8[128] align 64, n : u32) target("sm_100a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %4 = ptx.constant 4 : i32
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %31 = ptx.constant 31 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %lane = ptx.read_special laneid
  %elected = ptx.setp eq %lane, %1 : i32
  %full = ptx.shared_alloc @full bytes 8 align 8
  %empty = ptx.shared_alloc @empty bytes 8 align 8
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %map = ptx.param_address @map
  %n = ptx.ld.param @n : i32
  %other = ptx.xor %tid, %31 : i32
  %off = ptx.shl %other, %4 : i32
  %at = ptx.add %tile, %off : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %full, 1
  ptx.mbarrier.init %empty, 2
  ptx.fence.mbarrier_init
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.bra ^loop(%0 : i32)
^loop(%i: i32):
  ptx.cond_bra %leader, ^load_one, ^loaded
^load_one:
  %before = ptx.xor %i, %1 : i32
  ptx.mbarrier.wait_parity %empty, %before
  ptx.mbarrier.arrive.expect_tx %full, 16384
  ptx.cp.async.bulk.tensor.load "shared::cta" %tile, %map[%i, %i], %full
  ptx.bra ^loaded
^loaded:
  ptx.cond_bra %elected, ^wait, ^waited
^wait:
  ptx.mbarrier.wait_parity %full, %i
  ptx.bra ^waited
^waited:
  ptx.bar.warp.sync
  %v = ptx.ld shared %at : i32 -> i32
  ptx.bar.warp.sync
  ptx.cond_bra %elected, ^arrive, ^next
^arrive:
  ptx.mbarrier.arrive %empty
  ptx.bra ^next
^next:
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^loop(%i1 : i32), ^end
^end:
  ptx.ret
}

// -----

// There is nothing to wait for in the first turn of the loop.

ptx.entry @first_turn(t : u32, a : u64 ptr, n : u32) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %4 = ptx.constant 4 : i32
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %n = ptx.ld.param @n : i32
  %t = ptx.ld.param @t : i32
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  %units = ptx.shr unsigned %tile, %4 : i32
  %wide = ptx.cvt unsigned %units : i32 -> i64
  %fields = ptx.constant 4611756662049538048 : i64
  %desc = ptx.or %wide, %fields : i64
  %idesc = ptx.constant 138412048 : i32
  %yes = ptx.constant true
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %bar, 1
  ptx.fence.mbarrier_init
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.bra ^loop(%0 : i32)
^loop(%i: i32):
  %later = ptx.setp gt %i, %0 : i32
  ptx.cond_bra %later, ^wait, ^waited
^wait:
  %before = ptx.xor %i, %1 : i32
  ptx.mbarrier.wait_parity %bar, %before
  ptx.bra ^waited
^waited:
  ptx.st shared %mine, %0, %0, %0, %0 : i32, i32, i32, i32, i32
  ptx.fence.proxy.async "shared::cta"
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^issue, ^issued
^issue:
  tcgen05.mma f16 %t, %desc, %desc, %idesc, %yes : i32, i64
  tcgen05.commit %bar
  ptx.bra ^issued
^issued:
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^loop(%i1 : i32), ^end
^end:
  ptx.ret
}

// -----

// Which way a thread came tells it what it is to do.

ptx.entry @roles_by_the_way() target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %32 = ptx.constant 32 : i32
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  %first = ptx.setp lt %tid, %32 : i32
  %yes = ptx.constant true
  %no = ptx.constant false
  ptx.cond_bra %first, ^alloc, ^go(%no : i1)
^alloc:
  tcgen05.alloc %slot columns 256
  ptx.bra ^go(%yes : i1)
^go(%p : i1):
  ptx.bar.sync 0
  %t = ptx.ld shared %slot : i32 -> i32
  ptx.bar.sync 0
  ptx.cond_bra %p, ^free, ^end
^free:
  tcgen05.dealloc %t columns 256
  ptx.bra ^end
^end:
  ptx.ret
}

// -----

// All have met behind the store, so that all know of it; that it is complete all learn when they meet the leader again.

ptx.entry @leader_waits(map : b8[128] align 64, n : u32) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %32 = ptx.constant 32 : i32
  %first = ptx.setp lt %tid, %32 : i32
  %elected = ptx.elect.sync
  %leader = ptx.and %first, %elected : i1
  %tile = ptx.shared_alloc @tile bytes 2048 align 128
  %map = ptx.param_address @map
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  %n = ptx.ld.param @n : i32
  ptx.bra ^loop(%0 : i32)
^loop(%i : i32):
  ptx.st shared %mine, %0, %0, %0, %0 : i32, i32, i32, i32, i32
  ptx.fence.proxy.async "shared::cta"
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^store, ^stored
^store:
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.bra ^stored
^stored:
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^wait, ^waited
^wait:
  ptx.cp.async.bulk.wait_group 0 read
  ptx.bra ^waited
^waited:
  ptx.bar.sync 0
  %i1 = ptx.add %i, %4 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^loop(%i1 : i32), ^end
^end:
  ptx.ret
}

// -----

// Without the wait the leader has nothing to tell.

ptx.entry @nobody_waits(map : b8[128] align 64, n : u32) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %32 = ptx.constant 32 : i32
  %first = ptx.setp lt %tid, %32 : i32
  %elected = ptx.elect.sync
  %leader = ptx.and %first, %elected : i1
  %tile = ptx.shared_alloc @tile bytes 2048 align 128
  %map = ptx.param_address @map
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  %n = ptx.ld.param @n : i32
  ptx.bra ^loop(%0 : i32)
^loop(%i : i32):
  // expected-error@+1 {{expected cp.async.bulk.commit_group and wait_group.read between 'ptx.cp.async.bulk.tensor.store' and this write of the same shared memory, found none}}
  ptx.st shared %tile, %0, %0, %0, %0 : i32, i32, i32, i32, i32
  ptx.fence.proxy.async "shared::cta"
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^store, ^stored
^store:
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.bra ^stored
^stored:
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^wait, ^waited
^wait:
  ptx.bra ^waited
^waited:
  ptx.bar.sync 0
  %i1 = ptx.add %i, %4 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^loop(%i1 : i32), ^end
^end:
  ptx.ret
}

// -----

// Without the barrier behind the wait nobody else knows of it.

ptx.entry @leader_tells_nobody(map : b8[128] align 64, n : u32) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %32 = ptx.constant 32 : i32
  %first = ptx.setp lt %tid, %32 : i32
  %elected = ptx.elect.sync
  %leader = ptx.and %first, %elected : i1
  %tile = ptx.shared_alloc @tile bytes 2048 align 128
  %map = ptx.param_address @map
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  %n = ptx.ld.param @n : i32
  ptx.bra ^loop(%0 : i32)
^loop(%i : i32):
  // expected-error@+1 {{expected cp.async.bulk.commit_group and wait_group.read between 'ptx.cp.async.bulk.tensor.store' and this write of the same shared memory, found none}}
  ptx.st shared %tile, %0, %0, %0, %0 : i32, i32, i32, i32, i32
  ptx.fence.proxy.async "shared::cta"
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^store, ^stored
^store:
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.bra ^stored
^stored:
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^wait, ^waited
^wait:
  ptx.cp.async.bulk.wait_group 0 read
  ptx.bra ^waited
^waited:
  %i1 = ptx.add %i, %4 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^loop(%i1 : i32), ^end
^end:
  ptx.ret
}

// -----

// The others meet each other before they meet the leader.

ptx.entry @meet_before_the_leader(map : b8[128] align 64, n : u32) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %32 = ptx.constant 32 : i32
  %first = ptx.setp lt %tid, %32 : i32
  %elected = ptx.elect.sync
  %leader = ptx.and %first, %elected : i1
  %tile = ptx.shared_alloc @tile bytes 2048 align 128
  %map = ptx.param_address @map
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  %n = ptx.ld.param @n : i32
  ptx.bra ^loop(%0 : i32)
^loop(%i : i32):
  ptx.st shared %mine, %0, %0, %0, %0 : i32, i32, i32, i32, i32
  ptx.fence.proxy.async "shared::cta"
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^store, ^stored
^store:
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.bra ^stored
^stored:
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^wait, ^others
^wait:
  ptx.cp.async.bulk.wait_group 0 read
  ptx.bra ^waited
^others:
  ptx.bar.sync 1
  // expected-error@+1 {{expected cp.async.bulk.commit_group and wait_group.read between 'ptx.cp.async.bulk.tensor.store' and this write of the same shared memory, found none}}
  ptx.st shared %tile, %0, %0, %0, %0 : i32, i32, i32, i32, i32
  ptx.bra ^waited
^waited:
  ptx.bar.sync 0
  %i1 = ptx.add %i, %4 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^loop(%i1 : i32), ^end
^end:
  ptx.ret
}

// -----

// The other warps meet each other behind the leader's wait, without its warp.

ptx.entry @meet_without_the_leader(map : b8[128] align 64, n : u32) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %32 = ptx.constant 32 : i32
  %first = ptx.setp lt %tid, %32 : i32
  %elected = ptx.elect.sync
  %leader = ptx.and %first, %elected : i1
  %tile = ptx.shared_alloc @tile bytes 2048 align 128
  %map = ptx.param_address @map
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  %n = ptx.ld.param @n : i32
  ptx.bra ^loop(%0 : i32)
^loop(%i : i32):
  ptx.st shared %mine, %0, %0, %0, %0 : i32, i32, i32, i32, i32
  ptx.fence.proxy.async "shared::cta"
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^store, ^stored
^store:
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.bra ^stored
^stored:
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^wait, ^waited
^wait:
  ptx.cp.async.bulk.wait_group 0 read
  ptx.bra ^waited
^waited:
  ptx.cond_bra %first, ^next, ^others
^others:
  ptx.bar.sync 1 threads 96
  // expected-error@+1 {{expected cp.async.bulk.commit_group and wait_group.read between 'ptx.cp.async.bulk.tensor.store' and this write of the same shared memory, found none}}
  ptx.st shared %tile, %0, %0, %0, %0 : i32, i32, i32, i32, i32
  ptx.bra ^next
^next:
  ptx.bar.sync 0
  %i1 = ptx.add %i, %4 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^loop(%i1 : i32), ^end
^end:
  ptx.ret
}

// -----

// The leader waits only if a value says so.

ptx.entry @leader_waits_sometimes(map : b8[128] align 64, n : u32) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %32 = ptx.constant 32 : i32
  %first = ptx.setp lt %tid, %32 : i32
  %elected = ptx.elect.sync
  %leader = ptx.and %first, %elected : i1
  %tile = ptx.shared_alloc @tile bytes 2048 align 128
  %map = ptx.param_address @map
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  %n = ptx.ld.param @n : i32
  ptx.bra ^loop(%0 : i32)
^loop(%i : i32):
  // expected-error@+1 {{expected cp.async.bulk.commit_group and wait_group.read between 'ptx.cp.async.bulk.tensor.store' and this write of the same shared memory, found none}}
  ptx.st shared %tile, %0, %0, %0, %0 : i32, i32, i32, i32, i32
  ptx.fence.proxy.async "shared::cta"
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^store, ^stored
^store:
  ptx.cp.async.bulk.tensor.store %map[%0, %0], %tile
  ptx.cp.async.bulk.commit_group
  ptx.bra ^stored
^stored:
  ptx.bar.sync 0
  %other = ptx.elect.sync
  ptx.cond_bra %leader, ^ask, ^waited
^ask:
  ptx.cond_bra %other, ^wait, ^waited
^wait:
  ptx.cp.async.bulk.wait_group 0 read
  ptx.bra ^waited
^waited:
  ptx.bar.sync 0
  %i1 = ptx.add %i, %4 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^loop(%i1 : i32), ^end
^end:
  ptx.ret
}

// -----

// No thread is in a column that the memory has not, whatever the number of rows is.

ptx.entry @columns_behind_the_end(a : u64 ptr, n : u32) target("sm_80") reqntid(32) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %15 = ptx.constant 15 : i32
  %32 = ptx.constant 32 : i32
  %a = ptx.ld.param @a : i64
  %at = ptx.cvta.to.global %a
  %n = ptx.ld.param @n : i32
  %offset = ptx.cvt unsigned %tid : i32 -> i64
  %own = ptx.add %at, %offset : i64
  %row = ptx.setp lt unsigned %0, %n : i32
  %columns = ptx.setp lt unsigned %tid, %15 : i32
  %stored = ptx.and %row, %columns : i1
  ptx.cond_bra %stored, ^first, ^behind
^first:
  ptx.st.u8 global %own offset 30, %0 : i64
  ptx.bra ^behind
^behind:
  %column = ptx.add %tid, %32 : i32
  %others = ptx.setp lt unsigned %column, %15 : i32
  %never = ptx.and %row, %others : i1
  ptx.cond_bra %never, ^second, ^end
^second:
  ptx.st.u8 global %own offset 32, %0 : i64
  ptx.bra ^end
^end:
  ptx.ret
}

// -----

// In columns that the memory has, thread 0 stores where thread 2 has.

ptx.entry @columns_before_the_end(a : u64 ptr, n : u32) target("sm_80") reqntid(32) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %15 = ptx.constant 15 : i32
  %2 = ptx.constant 2 : i32
  %a = ptx.ld.param @a : i64
  %at = ptx.cvta.to.global %a
  %n = ptx.ld.param @n : i32
  %offset = ptx.cvt unsigned %tid : i32 -> i64
  %own = ptx.add %at, %offset : i64
  %row = ptx.setp lt unsigned %0, %n : i32
  %columns = ptx.setp lt unsigned %tid, %15 : i32
  %stored = ptx.and %row, %columns : i1
  ptx.cond_bra %stored, ^first, ^behind
^first:
  ptx.st.u8 global %own offset 30, %0 : i64
  ptx.bra ^behind
^behind:
  %column = ptx.add %tid, %2 : i32
  %others = ptx.setp lt unsigned %column, %15 : i32
  %never = ptx.and %row, %others : i1
  ptx.cond_bra %never, ^second, ^end
^second:
  // expected-error@+1 {{expected a barrier between 'ptx.st.u8' and this access to the same global memory by another thread (0 behind 2), found none}}
  ptx.st.u8 global %own offset 32, %0 : i64
  ptx.bra ^end
^end:
  ptx.ret
}
