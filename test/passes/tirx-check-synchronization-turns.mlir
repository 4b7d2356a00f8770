// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-synchronization

// Every thread writes its word, and reads that of its mirror image. Which turns skip the barrier is the same for all
// threads: it may be those that have nothing to wait for.

ptx.entry @all_threads_skip(n : u32) target("sm_90") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %2 = ptx.constant 2 : i32
  %63 = ptx.constant 63 : i32
  %tile = ptx.shared_alloc @tile bytes 256 align 16
  %n = ptx.ld.param @n : i32
  %offset = ptx.shl %tid, %2 : i32
  %mine = ptx.add %tile, %offset : i32
  %mirror = ptx.xor %tid, %63 : i32
  %far = ptx.shl %mirror, %2 : i32
  %other = ptx.add %tile, %far : i32
  ptx.bra ^loop(%0 : i32)
^loop(%i: i32):
  ptx.st shared %mine, %i : i32, i32
  %skip = ptx.setp eq %i, %n : i32
  ptx.cond_bra %skip, ^read, ^meet
^meet:
  ptx.bar.sync 0
  ptx.bra ^read
^read:
  %v = ptx.ld shared %other : i32 -> i32
  ptx.bar.sync 0
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^loop(%i1 : i32), ^end
^end:
  ptx.ret
}

// -----

// Here some lanes skip it, and read what others may not have written.

ptx.entry @some_lanes_skip(n : u32) target("sm_90") reqntid(64) {
  %tid = ptx.read_special tid.x
  %lane = ptx.read_special laneid
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %2 = ptx.constant 2 : i32
  %63 = ptx.constant 63 : i32
  %tile = ptx.shared_alloc @tile bytes 256 align 16
  %n = ptx.ld.param @n : i32
  %offset = ptx.shl %tid, %2 : i32
  %mine = ptx.add %tile, %offset : i32
  %mirror = ptx.xor %tid, %63 : i32
  %far = ptx.shl %mirror, %2 : i32
  %other = ptx.add %tile, %far : i32
  ptx.bra ^loop(%0 : i32)
^loop(%i: i32):
  ptx.st shared %mine, %i : i32, i32
  %turn = ptx.add %lane, %i : i32
  %skip = ptx.setp eq %turn, %n : i32
  ptx.cond_bra %skip, ^read, ^meet
^meet:
  ptx.bar.sync 0
  ptx.bra ^read
^read:
  // expected-error@+1 {{expected a barrier between 'ptx.st' and this access to the same shared memory by another thread}}
  %v = ptx.ld shared %other : i32 -> i32
  ptx.bar.sync 0
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^loop(%i1 : i32), ^end
^end:
  ptx.ret
}

// -----

// In a block of two dimensions one row of threads gives back the tensor memory: one is enough.

ptx.entry @one_row_gives_back(n : u32) target("sm_100a") reqntid(32, 4) {
  %row = ptx.read_special tid.y
  %0 = ptx.constant 0 : i32
  %n = ptx.ld.param @n : i32
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  %first = ptx.setp eq %row, %0 : i32
  %chosen = ptx.setp eq %row, %n : i32
  ptx.cond_bra %first, ^alloc, ^work
^alloc:
  tcgen05.alloc %slot columns 64
  ptx.bra ^work
^work:
  ptx.bar.sync 0
  %t = ptx.ld shared %slot : i32 -> i32
  ptx.cond_bra %chosen, ^free, ^end
^free:
  tcgen05.dealloc %t columns 64
  ptx.bra ^end
^end:
  ptx.ret
}

// -----

// A commit arrives behind what its thread has stored before: whoever waits for it may read that.

ptx.entry @stored_before_the_commit(t : u32, b : u64) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %sums = ptx.shared_alloc @sums bytes 8 align 8
  %word = ptx.shared_alloc @word bytes 4 align 4
  %leader = ptx.setp eq %tid, %0 : i32
  %t = ptx.ld.param @t : i32
  %b = ptx.ld.param @b : i64
  %idesc = ptx.constant 138412048 : i32
  %no = ptx.constant false
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %sums, 1
  ptx.fence.mbarrier_init
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^issue, ^wait
^issue:
  ptx.st shared %word, %0 : i32, i32
  tcgen05.mma f16 %t, %b, %b, %idesc, %no : i32, i64
  tcgen05.commit %sums
  ptx.bra ^wait
^wait:
  ptx.mbarrier.wait_parity %sums, %0
  %v = ptx.ld shared %word : i32 -> i32
  ptx.ret
}

// -----

// An mbarrier whose address is a parameter is one and the same wherever it is named.

ptx.entry @mbarrier_of_a_parameter(bar : u32) target("sm_90") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %word = ptx.shared_alloc @word bytes 4 align 4
  %bar = ptx.ld.param @bar : i32
  %leader = ptx.setp eq %tid, %0 : i32
  ptx.cond_bra %leader, ^store, ^wait
^store:
  ptx.st shared %word, %0 : i32, i32
  ptx.mbarrier.arrive %bar
  ptx.bra ^wait
^wait:
  ptx.mbarrier.wait_parity %bar, %0
  %v = ptx.ld shared %word : i32 -> i32
  ptx.ret
}

// -----

// Another mbarrier says nothing about it.

ptx.entry @another_mbarrier(bar : u32) target("sm_90") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %8 = ptx.constant 8 : i32
  %word = ptx.shared_alloc @word bytes 4 align 4
  %bar = ptx.ld.param @bar : i32
  %next = ptx.add %bar, %8 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  ptx.cond_bra %leader, ^store, ^wait
^store:
  ptx.st shared %word, %0 : i32, i32
  ptx.mbarrier.arrive %next
  ptx.bra ^wait
^wait:
  ptx.mbarrier.wait_parity %bar, %0
  // expected-error@+1 {{expected a barrier between 'ptx.st' and this access to the same shared memory by another thread}}
  %v = ptx.ld shared %word : i32 -> i32
  ptx.ret
}

// -----

// An inner loop whose end is computed from a number with a fraction.

ptx.entry @fractional_end(n : u32, step : f32) target("sm_90") reqntid(64) {
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %one = ptx.constant 1.0 : f32
  %n = ptx.ld.param @n : i32
  %step = ptx.ld.param @step : f32
  %end = ptx.mul %step, %step : f32
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  ptx.mbarrier.init %bar, 64
  ptx.bar.sync 0
  ptx.bra ^outer(%0, %0 : i32, i32)
^outer(%i: i32, %begin: i32):
  ptx.bra ^inner(%one, %begin : f32, i32)
^inner(%x: f32, %parity: i32):
  ptx.mbarrier.arrive %bar
  ptx.mbarrier.wait_parity %bar, %parity
  %flipped = ptx.xor %parity, %1 : i32
  %next = ptx.add %x, %one : f32
  %more = ptx.setp lt %next, %end : f32
  ptx.cond_bra %more, ^inner(%next, %flipped : f32, i32), ^behind
^behind:
  %following = ptx.add %i, %1 : i32
  %again = ptx.setp lt %following, %n : i32
  ptx.cond_bra %again, ^outer(%following, %flipped : i32, i32), ^exit
^exit:
  ptx.ret
}
