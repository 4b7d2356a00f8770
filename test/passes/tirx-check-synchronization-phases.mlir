// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-synchronization

// A ring of two slots: one warp fills them, the other one takes what is there.

ptx.entry @ring(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %3 = ptx.constant 3 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %full = ptx.shared_alloc @bars bytes 32 align 8
  %full1 = ptx.add %full, %8 : i32
  %empty = ptx.add %full, %16 : i32
  %empty1 = ptx.add %full, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %full, 32
  ptx.mbarrier.init %full1, 32
  ptx.mbarrier.init %empty, 32
  ptx.mbarrier.init %empty1, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0, %1 : i32, i32, i32), ^take(%0, %0, %0 : i32, i32, i32)
^put(%i: i32, %slot: i32, %parity: i32):
  %shift = ptx.shl %slot, %3 : i32
  %mine = ptx.add %full, %shift : i32
  %theirs = ptx.add %empty, %shift : i32
  ptx.mbarrier.wait_parity %theirs, %parity
  ptx.mbarrier.arrive %mine
  %next = ptx.xor %slot, %1 : i32
  %flip = ptx.xor %parity, %slot : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %next, %flip : i32, i32, i32), ^end
^take(%j: i32, %tslot: i32, %tparity: i32):
  %tshift = ptx.shl %tslot, %3 : i32
  %tfull = ptx.add %full, %tshift : i32
  %tempty = ptx.add %empty, %tshift : i32
  ptx.mbarrier.wait_parity %tfull, %tparity
  ptx.mbarrier.arrive %tempty
  %tnext = ptx.xor %tslot, %1 : i32
  %tflip = ptx.xor %tparity, %tslot : i32
  %j1 = ptx.add %j, %1 : i32
  %tmore = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %tmore, ^take(%j1, %tnext, %tflip : i32, i32, i32), ^end
^end:
  ptx.ret
}

// -----

// The warp that fills does not wait for empty slots: it may come round twice while the other one waits.

ptx.entry @filled_again(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %3 = ptx.constant 3 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %full = ptx.shared_alloc @bars bytes 32 align 8
  %full1 = ptx.add %full, %8 : i32
  %empty = ptx.add %full, %16 : i32
  %empty1 = ptx.add %full, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %full, 32
  ptx.mbarrier.init %full1, 32
  ptx.mbarrier.init %empty, 32
  ptx.mbarrier.init %empty1, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0, %1 : i32, i32, i32), ^take(%0, %0, %0 : i32, i32, i32)
^put(%i: i32, %slot: i32, %parity: i32):
  %shift = ptx.shl %slot, %3 : i32
  %mine = ptx.add %full, %shift : i32
  %theirs = ptx.add %empty, %shift : i32
  // expected-error@+1 {{expected a wait in the loop around 'ptx.mbarrier.arrive' for the threads that wait for its mbarrier at 'ptx.mbarrier.wait_parity' in line 102, found none: it may arrive for the next phase but one while they still wait; put ptx.mbarrier.wait_parity before the slot is used again}}
  ptx.mbarrier.arrive %mine
  %next = ptx.xor %slot, %1 : i32
  %flip = ptx.xor %parity, %slot : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %next, %flip : i32, i32, i32), ^end
^take(%j: i32, %tslot: i32, %tparity: i32):
  %tshift = ptx.shl %tslot, %3 : i32
  %tfull = ptx.add %full, %tshift : i32
  %tempty = ptx.add %empty, %tshift : i32
  ptx.mbarrier.wait_parity %tfull, %tparity
  ptx.mbarrier.arrive %tempty
  %tnext = ptx.xor %tslot, %1 : i32
  %tflip = ptx.xor %tparity, %tslot : i32
  %j1 = ptx.add %j, %1 : i32
  %tmore = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %tmore, ^take(%j1, %tnext, %tflip : i32, i32, i32), ^end
^end:
  ptx.ret
}

// -----

// The warp that takes does not wait for full slots.

ptx.entry @taken_empty(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %3 = ptx.constant 3 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %full = ptx.shared_alloc @bars bytes 32 align 8
  %full1 = ptx.add %full, %8 : i32
  %empty = ptx.add %full, %16 : i32
  %empty1 = ptx.add %full, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %full, 32
  ptx.mbarrier.init %full1, 32
  ptx.mbarrier.init %empty, 32
  ptx.mbarrier.init %empty1, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0, %1 : i32, i32, i32), ^take(%0, %0, %0 : i32, i32, i32)
^put(%i: i32, %slot: i32, %parity: i32):
  %shift = ptx.shl %slot, %3 : i32
  %mine = ptx.add %full, %shift : i32
  %theirs = ptx.add %empty, %shift : i32
  ptx.mbarrier.wait_parity %theirs, %parity
  ptx.mbarrier.arrive %mine
  %next = ptx.xor %slot, %1 : i32
  %flip = ptx.xor %parity, %slot : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %next, %flip : i32, i32, i32), ^end
^take(%j: i32, %tslot: i32, %tparity: i32):
  %tshift = ptx.shl %tslot, %3 : i32
  %tfull = ptx.add %full, %tshift : i32
  %tempty = ptx.add %empty, %tshift : i32
  // expected-error@+1 {{expected a wait in the loop around 'ptx.mbarrier.arrive' for the threads that wait for its mbarrier at 'ptx.mbarrier.wait_parity' in line 147, found none: it may arrive for the next phase but one while they still wait; put ptx.mbarrier.wait_parity before the slot is used again}}
  ptx.mbarrier.arrive %tempty
  %tnext = ptx.xor %tslot, %1 : i32
  %tflip = ptx.xor %tparity, %tslot : i32
  %j1 = ptx.add %j, %1 : i32
  %tmore = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %tmore, ^take(%j1, %tnext, %tflip : i32, i32, i32), ^end
^end:
  ptx.ret
}

// -----

// Nobody says that a slot is full, or that it is empty.

ptx.entry @never_full(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %3 = ptx.constant 3 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %full = ptx.shared_alloc @bars bytes 32 align 8
  %full1 = ptx.add %full, %8 : i32
  %empty = ptx.add %full, %16 : i32
  %empty1 = ptx.add %full, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %full, 32
  ptx.mbarrier.init %full1, 32
  ptx.mbarrier.init %empty, 32
  ptx.mbarrier.init %empty1, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0, %1 : i32, i32, i32), ^take(%0, %0, %0 : i32, i32, i32)
^put(%i: i32, %slot: i32, %parity: i32):
  %shift = ptx.shl %slot, %3 : i32
  %mine = ptx.add %full, %shift : i32
  %theirs = ptx.add %empty, %shift : i32
  ptx.mbarrier.wait_parity %theirs, %parity
  %next = ptx.xor %slot, %1 : i32
  %flip = ptx.xor %parity, %slot : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %next, %flip : i32, i32, i32), ^end
^take(%j: i32, %tslot: i32, %tparity: i32):
  %tshift = ptx.shl %tslot, %3 : i32
  %tfull = ptx.add %full, %tshift : i32
  %tempty = ptx.add %empty, %tshift : i32
  // expected-error@+1 {{expected an arrival at the mbarrier that 'ptx.mbarrier.wait_parity' waits for, found none; put ptx.mbarrier.arrive or a commit where the threads behind it may go on}}
  ptx.mbarrier.wait_parity %tfull, %tparity
  ptx.mbarrier.arrive %tempty
  %tnext = ptx.xor %tslot, %1 : i32
  %tflip = ptx.xor %tparity, %tslot : i32
  %j1 = ptx.add %j, %1 : i32
  %tmore = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %tmore, ^take(%j1, %tnext, %tflip : i32, i32, i32), ^end
^end:
  ptx.ret
}

ptx.entry @never_empty(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %3 = ptx.constant 3 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %full = ptx.shared_alloc @bars bytes 32 align 8
  %full1 = ptx.add %full, %8 : i32
  %empty = ptx.add %full, %16 : i32
  %empty1 = ptx.add %full, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %full, 32
  ptx.mbarrier.init %full1, 32
  ptx.mbarrier.init %empty, 32
  ptx.mbarrier.init %empty1, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0, %1 : i32, i32, i32), ^take(%0, %0, %0 : i32, i32, i32)
^put(%i: i32, %slot: i32, %parity: i32):
  %shift = ptx.shl %slot, %3 : i32
  %mine = ptx.add %full, %shift : i32
  %theirs = ptx.add %empty, %shift : i32
  // expected-error@+1 {{expected an arrival at the mbarrier that 'ptx.mbarrier.wait_parity' waits for, found none; put ptx.mbarrier.arrive or a commit where the threads behind it may go on}}
  ptx.mbarrier.wait_parity %theirs, %parity
  ptx.mbarrier.arrive %mine
  %next = ptx.xor %slot, %1 : i32
  %flip = ptx.xor %parity, %slot : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %next, %flip : i32, i32, i32), ^end
^take(%j: i32, %tslot: i32, %tparity: i32):
  %tshift = ptx.shl %tslot, %3 : i32
  %tfull = ptx.add %full, %tshift : i32
  %tempty = ptx.add %empty, %tshift : i32
  ptx.mbarrier.wait_parity %tfull, %tparity
  %tnext = ptx.xor %tslot, %1 : i32
  %tflip = ptx.xor %tparity, %tslot : i32
  %j1 = ptx.add %j, %1 : i32
  %tmore = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %tmore, ^take(%j1, %tnext, %tflip : i32, i32, i32), ^end
^end:
  ptx.ret
}

// -----

// A barrier of those who take says nothing about who fills.

ptx.entry @taken_by_two_warps(n : u32) target("sm_90a") reqntid(96) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %3 = ptx.constant 3 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %full = ptx.shared_alloc @bars bytes 32 align 8
  %full1 = ptx.add %full, %8 : i32
  %empty = ptx.add %full, %16 : i32
  %empty1 = ptx.add %full, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %full, 32
  ptx.mbarrier.init %full1, 32
  ptx.mbarrier.init %empty, 64
  ptx.mbarrier.init %empty1, 64
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0, %1 : i32, i32, i32), ^take(%0, %0, %0 : i32, i32, i32)
^put(%i: i32, %slot: i32, %parity: i32):
  %shift = ptx.shl %slot, %3 : i32
  %mine = ptx.add %full, %shift : i32
  %theirs = ptx.add %empty, %shift : i32
  ptx.mbarrier.wait_parity %theirs, %parity
  ptx.mbarrier.arrive %mine
  %next = ptx.xor %slot, %1 : i32
  %flip = ptx.xor %parity, %slot : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %next, %flip : i32, i32, i32), ^end
^take(%j: i32, %tslot: i32, %tparity: i32):
  %tshift = ptx.shl %tslot, %3 : i32
  %tfull = ptx.add %full, %tshift : i32
  %tempty = ptx.add %empty, %tshift : i32
  ptx.mbarrier.wait_parity %tfull, %tparity
  ptx.bar.sync 1 threads 64
  ptx.mbarrier.arrive %tempty
  %tnext = ptx.xor %tslot, %1 : i32
  %tflip = ptx.xor %tparity, %tslot : i32
  %j1 = ptx.add %j, %1 : i32
  %tmore = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %tmore, ^take(%j1, %tnext, %tflip : i32, i32, i32), ^end
^end:
  ptx.ret
}

// -----

ptx.entry @taken_empty_by_two_warps(n : u32) target("sm_90a") reqntid(96) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %3 = ptx.constant 3 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %full = ptx.shared_alloc @bars bytes 32 align 8
  %full1 = ptx.add %full, %8 : i32
  %empty = ptx.add %full, %16 : i32
  %empty1 = ptx.add %full, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %full, 32
  ptx.mbarrier.init %full1, 32
  ptx.mbarrier.init %empty, 64
  ptx.mbarrier.init %empty1, 64
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0, %1 : i32, i32, i32), ^take(%0, %0, %0 : i32, i32, i32)
^put(%i: i32, %slot: i32, %parity: i32):
  %shift = ptx.shl %slot, %3 : i32
  %mine = ptx.add %full, %shift : i32
  %theirs = ptx.add %empty, %shift : i32
  ptx.mbarrier.wait_parity %theirs, %parity
  ptx.mbarrier.arrive %mine
  %next = ptx.xor %slot, %1 : i32
  %flip = ptx.xor %parity, %slot : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %next, %flip : i32, i32, i32), ^end
^take(%j: i32, %tslot: i32, %tparity: i32):
  %tshift = ptx.shl %tslot, %3 : i32
  %tfull = ptx.add %full, %tshift : i32
  %tempty = ptx.add %empty, %tshift : i32
  ptx.bar.sync 1 threads 64
  // expected-error@+1 {{expected a wait in the loop around 'ptx.mbarrier.arrive' for the threads that wait for its mbarrier at 'ptx.mbarrier.wait_parity' in line 366, found none: it may arrive for the next phase but one while they still wait; put ptx.mbarrier.wait_parity before the slot is used again}}
  ptx.mbarrier.arrive %tempty
  %tnext = ptx.xor %tslot, %1 : i32
  %tflip = ptx.xor %tparity, %tslot : i32
  %j1 = ptx.add %j, %1 : i32
  %tmore = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %tmore, ^take(%j1, %tnext, %tflip : i32, i32, i32), ^end
^end:
  ptx.ret
}

// -----

// The first turn through the slots waits for nobody.

ptx.entry @filled_first(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %3 = ptx.constant 3 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %full = ptx.shared_alloc @bars bytes 32 align 8
  %full1 = ptx.add %full, %8 : i32
  %empty = ptx.add %full, %16 : i32
  %empty1 = ptx.add %full, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %full, 32
  ptx.mbarrier.init %full1, 32
  ptx.mbarrier.init %empty, 32
  ptx.mbarrier.init %empty1, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^fill(%0, %0 : i32, i32), ^take(%0, %0, %0 : i32, i32, i32)
^fill(%f: i32, %fslot: i32):
  %fshift = ptx.shl %fslot, %3 : i32
  %fbar = ptx.add %full, %fshift : i32
  ptx.mbarrier.arrive %fbar
  %fnext = ptx.xor %fslot, %1 : i32
  %f1 = ptx.add %f, %1 : i32
  %ffirst = ptx.setp lt %f, %1 : i32
  ptx.cond_bra %ffirst, ^fill(%f1, %fnext : i32, i32), ^put(%0, %0, %0 : i32, i32, i32)
^put(%i: i32, %slot: i32, %parity: i32):
  %shift = ptx.shl %slot, %3 : i32
  %mine = ptx.add %full, %shift : i32
  %theirs = ptx.add %empty, %shift : i32
  ptx.mbarrier.wait_parity %theirs, %parity
  ptx.mbarrier.arrive %mine
  %next = ptx.xor %slot, %1 : i32
  %flip = ptx.xor %parity, %slot : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %next, %flip : i32, i32, i32), ^end
^take(%j: i32, %tslot: i32, %tparity: i32):
  %tshift = ptx.shl %tslot, %3 : i32
  %tfull = ptx.add %full, %tshift : i32
  %tempty = ptx.add %empty, %tshift : i32
  ptx.mbarrier.wait_parity %tfull, %tparity
  ptx.mbarrier.arrive %tempty
  %tnext = ptx.xor %tslot, %1 : i32
  %tflip = ptx.xor %tparity, %tslot : i32
  %j1 = ptx.add %j, %1 : i32
  %tmore = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %tmore, ^take(%j1, %tnext, %tflip : i32, i32, i32), ^end
^end:
  ptx.ret
}

// -----

ptx.entry @filled_first_and_again(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %3 = ptx.constant 3 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %full = ptx.shared_alloc @bars bytes 32 align 8
  %full1 = ptx.add %full, %8 : i32
  %empty = ptx.add %full, %16 : i32
  %empty1 = ptx.add %full, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %full, 32
  ptx.mbarrier.init %full1, 32
  ptx.mbarrier.init %empty, 32
  ptx.mbarrier.init %empty1, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^fill(%0, %0 : i32, i32), ^take(%0, %0, %0 : i32, i32, i32)
^fill(%f: i32, %fslot: i32):
  %fshift = ptx.shl %fslot, %3 : i32
  %fbar = ptx.add %full, %fshift : i32
  // expected-error@+1 {{expected a wait in the loop around}}
  ptx.mbarrier.arrive %fbar
  %fnext = ptx.xor %fslot, %1 : i32
  %f1 = ptx.add %f, %1 : i32
  %ffirst = ptx.setp lt %f, %1 : i32
  ptx.cond_bra %ffirst, ^fill(%f1, %fnext : i32, i32), ^put(%0, %0, %0 : i32, i32, i32)
^put(%i: i32, %slot: i32, %parity: i32):
  %shift = ptx.shl %slot, %3 : i32
  %mine = ptx.add %full, %shift : i32
  %theirs = ptx.add %empty, %shift : i32
  ptx.mbarrier.arrive %mine
  %next = ptx.xor %slot, %1 : i32
  %flip = ptx.xor %parity, %slot : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %next, %flip : i32, i32, i32), ^end
^take(%j: i32, %tslot: i32, %tparity: i32):
  %tshift = ptx.shl %tslot, %3 : i32
  %tfull = ptx.add %full, %tshift : i32
  %tempty = ptx.add %empty, %tshift : i32
  ptx.mbarrier.wait_parity %tfull, %tparity
  ptx.mbarrier.arrive %tempty
  %tnext = ptx.xor %tslot, %1 : i32
  %tflip = ptx.xor %tparity, %tslot : i32
  %j1 = ptx.add %j, %1 : i32
  %tmore = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %tmore, ^take(%j1, %tnext, %tflip : i32, i32, i32), ^end
^end:
  ptx.ret
}

// -----

// Without a loop: a wait for the first phase, and one for the phase before it, which is complete.

ptx.entry @once() target("sm_90a") reqntid(64) {
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  ptx.mbarrier.init %bar, 64
  ptx.bar.sync 0
  ptx.mbarrier.wait_parity %bar, %1
  // expected-error@+1 {{expected an arrival at the mbarrier that 'ptx.mbarrier.wait_parity' waits for, found none; put ptx.mbarrier.arrive or a commit where the threads behind it may go on}}
  ptx.mbarrier.wait_parity %bar, %0
  ptx.ret
}

// -----

// A loop of one turn passes the slots on: it is as often as the wait in the loop around it. One of three turns comes to a
// slot again.

ptx.entry @released_in_a_loop(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %2 = ptx.constant 2 : i32
  %3 = ptx.constant 3 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %full = ptx.shared_alloc @bars bytes 32 align 8
  %full1 = ptx.add %full, %8 : i32
  %empty = ptx.add %full, %16 : i32
  %empty1 = ptx.add %full, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %full, 32
  ptx.mbarrier.init %full1, 32
  ptx.mbarrier.init %empty, 32
  ptx.mbarrier.init %empty1, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0, %1 : i32, i32, i32), ^take(%0, %0, %0, %0 : i32, i32, i32, i32)
^put(%i: i32, %slot: i32, %parity: i32):
  %shift = ptx.shl %slot, %3 : i32
  %mine = ptx.add %full, %shift : i32
  %theirs = ptx.add %empty, %shift : i32
  ptx.mbarrier.wait_parity %theirs, %parity
  ptx.mbarrier.arrive %mine
  %next = ptx.xor %slot, %1 : i32
  %flip = ptx.xor %parity, %slot : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %next, %flip : i32, i32, i32), ^end
^take(%j: i32, %tslot: i32, %tparity: i32, %rslot: i32):
  %tshift = ptx.shl %tslot, %3 : i32
  %tfull = ptx.add %full, %tshift : i32
  ptx.mbarrier.wait_parity %tfull, %tparity
  ptx.bra ^release(%0, %rslot : i32, i32)
^release(%r: i32, %rs: i32):
  %again = ptx.setp lt %r, %1 : i32
  ptx.cond_bra %again, ^pass, ^taken
^pass:
  %rshift = ptx.shl %rs, %3 : i32
  %tempty = ptx.add %empty, %rshift : i32
  ptx.mbarrier.arrive %tempty
  %rnext = ptx.xor %rs, %1 : i32
  %r1 = ptx.add %r, %1 : i32
  ptx.bra ^release(%r1, %rnext : i32, i32)
^taken:
  %tnext = ptx.xor %tslot, %1 : i32
  %tflip = ptx.xor %tparity, %tslot : i32
  %j1 = ptx.add %j, %1 : i32
  %tmore = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %tmore, ^take(%j1, %tnext, %tflip, %rs : i32, i32, i32, i32), ^end
^end:
  ptx.ret
}

// -----

ptx.entry @released_again_in_a_loop(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %2 = ptx.constant 2 : i32
  %3 = ptx.constant 3 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %full = ptx.shared_alloc @bars bytes 32 align 8
  %full1 = ptx.add %full, %8 : i32
  %empty = ptx.add %full, %16 : i32
  %empty1 = ptx.add %full, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %full, 32
  ptx.mbarrier.init %full1, 32
  ptx.mbarrier.init %empty, 32
  ptx.mbarrier.init %empty1, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0, %1 : i32, i32, i32), ^take(%0, %0, %0, %0 : i32, i32, i32, i32)
^put(%i: i32, %slot: i32, %parity: i32):
  %shift = ptx.shl %slot, %3 : i32
  %mine = ptx.add %full, %shift : i32
  %theirs = ptx.add %empty, %shift : i32
  ptx.mbarrier.wait_parity %theirs, %parity
  ptx.mbarrier.arrive %mine
  %next = ptx.xor %slot, %1 : i32
  %flip = ptx.xor %parity, %slot : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %next, %flip : i32, i32, i32), ^end
^take(%j: i32, %tslot: i32, %tparity: i32, %rslot: i32):
  %tshift = ptx.shl %tslot, %3 : i32
  %tfull = ptx.add %full, %tshift : i32
  ptx.mbarrier.wait_parity %tfull, %tparity
  ptx.bra ^release(%0, %rslot : i32, i32)
^release(%r: i32, %rs: i32):
  %again = ptx.setp lt %r, %3 : i32
  ptx.cond_bra %again, ^pass, ^taken
^pass:
  %rshift = ptx.shl %rs, %3 : i32
  %tempty = ptx.add %empty, %rshift : i32
  // expected-error@+1 {{expected a wait in the loop around 'ptx.mbarrier.arrive'}}
  ptx.mbarrier.arrive %tempty
  %rnext = ptx.xor %rs, %1 : i32
  %r1 = ptx.add %r, %1 : i32
  ptx.bra ^release(%r1, %rnext : i32, i32)
^taken:
  %tnext = ptx.xor %tslot, %1 : i32
  %tflip = ptx.xor %tparity, %tslot : i32
  %j1 = ptx.add %j, %1 : i32
  %tmore = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %tmore, ^take(%j1, %tnext, %tflip, %rs : i32, i32, i32, i32), ^end
^end:
  ptx.ret
}

// -----

// Whoever takes arrives twice for each slot, as the mbarriers of empty slots count.

ptx.entry @two_arrivals(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %3 = ptx.constant 3 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %full = ptx.shared_alloc @bars bytes 32 align 8
  %full1 = ptx.add %full, %8 : i32
  %empty = ptx.add %full, %16 : i32
  %empty1 = ptx.add %full, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %full, 32
  ptx.mbarrier.init %full1, 32
  ptx.mbarrier.init %empty, 64
  ptx.mbarrier.init %empty1, 64
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0, %1 : i32, i32, i32), ^take(%0, %0, %0 : i32, i32, i32)
^put(%i: i32, %slot: i32, %parity: i32):
  %shift = ptx.shl %slot, %3 : i32
  %mine = ptx.add %full, %shift : i32
  %theirs = ptx.add %empty, %shift : i32
  ptx.mbarrier.wait_parity %theirs, %parity
  ptx.mbarrier.arrive %mine
  %next = ptx.xor %slot, %1 : i32
  %flip = ptx.xor %parity, %slot : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %next, %flip : i32, i32, i32), ^end
^take(%j: i32, %tslot: i32, %tparity: i32):
  %tshift = ptx.shl %tslot, %3 : i32
  %tfull = ptx.add %full, %tshift : i32
  %tempty = ptx.add %empty, %tshift : i32
  ptx.mbarrier.wait_parity %tfull, %tparity
  ptx.mbarrier.arrive %tempty
  ptx.mbarrier.arrive %tempty
  %tnext = ptx.xor %tslot, %1 : i32
  %tflip = ptx.xor %tparity, %tslot : i32
  %j1 = ptx.add %j, %1 : i32
  %tmore = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %tmore, ^take(%j1, %tnext, %tflip : i32, i32, i32), ^end
^end:
  ptx.ret
}

// -----

// Only once: no slot ever gets empty.

ptx.entry @one_of_two_arrivals(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %3 = ptx.constant 3 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %full = ptx.shared_alloc @bars bytes 32 align 8
  %full1 = ptx.add %full, %8 : i32
  %empty = ptx.add %full, %16 : i32
  %empty1 = ptx.add %full, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %full, 32
  ptx.mbarrier.init %full1, 32
  ptx.mbarrier.init %empty, 64
  ptx.mbarrier.init %empty1, 64
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0, %1 : i32, i32, i32), ^take(%0, %0, %0 : i32, i32, i32)
^put(%i: i32, %slot: i32, %parity: i32):
  %shift = ptx.shl %slot, %3 : i32
  %mine = ptx.add %full, %shift : i32
  %theirs = ptx.add %empty, %shift : i32
  // expected-error@+1 {{expected 64 arrivals in each phase of the mbarrier that 'ptx.mbarrier.wait_parity' waits for}}
  ptx.mbarrier.wait_parity %theirs, %parity
  ptx.mbarrier.arrive %mine
  %next = ptx.xor %slot, %1 : i32
  %flip = ptx.xor %parity, %slot : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %next, %flip : i32, i32, i32), ^end
^take(%j: i32, %tslot: i32, %tparity: i32):
  %tshift = ptx.shl %tslot, %3 : i32
  %tfull = ptx.add %full, %tshift : i32
  %tempty = ptx.add %empty, %tshift : i32
  ptx.mbarrier.wait_parity %tfull, %tparity
  ptx.mbarrier.arrive %tempty
  %tnext = ptx.xor %tslot, %1 : i32
  %tflip = ptx.xor %tparity, %tslot : i32
  %j1 = ptx.add %j, %1 : i32
  %tmore = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %tmore, ^take(%j1, %tnext, %tflip : i32, i32, i32), ^end
^end:
  ptx.ret
}

// -----

// Two rings of one slot, such as those of K and V, with one producer and one consumer.

ptx.entry @two_rings(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %kfull = ptx.shared_alloc @bars bytes 32 align 8
  %kempty = ptx.add %kfull, %8 : i32
  %vfull = ptx.add %kfull, %16 : i32
  %vempty = ptx.add %kfull, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %kfull, 32
  ptx.mbarrier.init %kempty, 32
  ptx.mbarrier.init %vfull, 32
  ptx.mbarrier.init %vempty, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0 : i32, i32), ^take(%0, %0 : i32, i32)
^put(%i: i32, %pp: i32):
  %before = ptx.xor %pp, %1 : i32
  ptx.mbarrier.wait_parity %kempty, %before
  ptx.mbarrier.arrive %kfull
  ptx.mbarrier.wait_parity %vempty, %before
  ptx.mbarrier.arrive %vfull
  %pp1 = ptx.xor %pp, %1 : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %pp1 : i32, i32), ^end
^take(%j: i32, %tp: i32):
  ptx.mbarrier.wait_parity %kfull, %tp
  ptx.mbarrier.arrive %kempty
  ptx.mbarrier.wait_parity %vfull, %tp
  ptx.mbarrier.arrive %vempty
  %tp1 = ptx.xor %tp, %1 : i32
  %j1 = ptx.add %j, %1 : i32
  %again = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %again, ^take(%j1, %tp1 : i32, i32), ^end
^end:
  ptx.ret
}

// -----

// K does not wait for its slot, and the wait for that of V comes too late.

ptx.entry @refilled(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %kfull = ptx.shared_alloc @bars bytes 32 align 8
  %kempty = ptx.add %kfull, %8 : i32
  %vfull = ptx.add %kfull, %16 : i32
  %vempty = ptx.add %kfull, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %kfull, 32
  ptx.mbarrier.init %kempty, 32
  ptx.mbarrier.init %vfull, 32
  ptx.mbarrier.init %vempty, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0 : i32, i32), ^take(%0, %0 : i32, i32)
^put(%i: i32, %pp: i32):
  %before = ptx.xor %pp, %1 : i32
  // expected-error@+1 {{expected that 'ptx.mbarrier.arrive' waits for the threads that wait for its mbarrier at 'ptx.mbarrier.wait_parity' in line 871, found that it may arrive for the next phase but one while they still wait; put ptx.mbarrier.wait_parity before the slot is used again}}
  ptx.mbarrier.arrive %kfull
  ptx.mbarrier.wait_parity %vempty, %before
  ptx.mbarrier.arrive %vfull
  %pp1 = ptx.xor %pp, %1 : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %pp1 : i32, i32), ^end
^take(%j: i32, %tp: i32):
  ptx.mbarrier.wait_parity %kfull, %tp
  ptx.mbarrier.arrive %kempty
  ptx.mbarrier.wait_parity %vfull, %tp
  ptx.mbarrier.arrive %vempty
  %tp1 = ptx.xor %tp, %1 : i32
  %j1 = ptx.add %j, %1 : i32
  %again = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %again, ^take(%j1, %tp1 : i32, i32), ^end
^end:
  ptx.ret
}

// -----

// V in front: its wait comes before K is filled again, and nothing is wrong.

ptx.entry @covered(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %kfull = ptx.shared_alloc @bars bytes 32 align 8
  %kempty = ptx.add %kfull, %8 : i32
  %vfull = ptx.add %kfull, %16 : i32
  %vempty = ptx.add %kfull, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %kfull, 32
  ptx.mbarrier.init %kempty, 32
  ptx.mbarrier.init %vfull, 32
  ptx.mbarrier.init %vempty, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0 : i32, i32), ^take(%0, %0 : i32, i32)
^put(%i: i32, %pp: i32):
  %before = ptx.xor %pp, %1 : i32
  ptx.mbarrier.wait_parity %vempty, %before
  ptx.mbarrier.arrive %vfull
  ptx.mbarrier.arrive %kfull
  %pp1 = ptx.xor %pp, %1 : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %pp1 : i32, i32), ^end
^take(%j: i32, %tp: i32):
  ptx.mbarrier.wait_parity %kfull, %tp
  ptx.mbarrier.arrive %kempty
  ptx.mbarrier.wait_parity %vfull, %tp
  ptx.mbarrier.arrive %vempty
  %tp1 = ptx.xor %tp, %1 : i32
  %j1 = ptx.add %j, %1 : i32
  %again = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %again, ^take(%j1, %tp1 : i32, i32), ^end
^end:
  ptx.ret
}

// -----

// The consumer does not wait for K: it gives the slot back before it was filled.

ptx.entry @taken_early(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %kfull = ptx.shared_alloc @bars bytes 32 align 8
  %kempty = ptx.add %kfull, %8 : i32
  %vfull = ptx.add %kfull, %16 : i32
  %vempty = ptx.add %kfull, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %kfull, 32
  ptx.mbarrier.init %kempty, 32
  ptx.mbarrier.init %vfull, 32
  ptx.mbarrier.init %vempty, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0 : i32, i32), ^take(%0, %0 : i32, i32)
^put(%i: i32, %pp: i32):
  %before = ptx.xor %pp, %1 : i32
  ptx.mbarrier.wait_parity %kempty, %before
  ptx.mbarrier.arrive %kfull
  ptx.mbarrier.wait_parity %vempty, %before
  ptx.mbarrier.arrive %vfull
  %pp1 = ptx.xor %pp, %1 : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %pp1 : i32, i32), ^end
^take(%j: i32, %tp: i32):
  // expected-error@+1 {{expected that 'ptx.mbarrier.arrive' waits for the threads that wait for its mbarrier at 'ptx.mbarrier.wait_parity' in line 965, found that it may arrive for the next phase but one while they still wait; put ptx.mbarrier.wait_parity before the slot is used again}}
  ptx.mbarrier.arrive %kempty
  ptx.mbarrier.wait_parity %vfull, %tp
  ptx.mbarrier.arrive %vempty
  %tp1 = ptx.xor %tp, %1 : i32
  %j1 = ptx.add %j, %1 : i32
  %again = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %again, ^take(%j1, %tp1 : i32, i32), ^end
^end:
  ptx.ret
}

// -----

// The slot of K is given back every second time only.

ptx.entry @every_second(n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %n = ptx.ld.param @n : i32
  %kfull = ptx.shared_alloc @bars bytes 32 align 8
  %kempty = ptx.add %kfull, %8 : i32
  %vfull = ptx.add %kfull, %16 : i32
  %vempty = ptx.add %kfull, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %kfull, 32
  ptx.mbarrier.init %kempty, 32
  ptx.mbarrier.init %vfull, 32
  ptx.mbarrier.init %vempty, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^put(%0, %0 : i32, i32), ^take(%0, %0 : i32, i32)
^put(%i: i32, %pp: i32):
  %before = ptx.xor %pp, %1 : i32
  // expected-error@+1 {{expected an arrival for each phase that 'ptx.mbarrier.wait_parity' waits for, found fewer: all threads come to wait for each other}}
  ptx.mbarrier.wait_parity %kempty, %before
  ptx.mbarrier.arrive %kfull
  ptx.mbarrier.wait_parity %vempty, %before
  ptx.mbarrier.arrive %vfull
  %pp1 = ptx.xor %pp, %1 : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^put(%i1, %pp1 : i32, i32), ^end
^take(%j: i32, %tp: i32):
  ptx.mbarrier.wait_parity %kfull, %tp
  %even = ptx.setp eq %tp, %0 : i32
  ptx.cond_bra %even, ^give, ^given
^give:
  ptx.mbarrier.arrive %kempty
  ptx.bra ^given
^given:
  ptx.mbarrier.wait_parity %vfull, %tp
  ptx.mbarrier.arrive %vempty
  %tp1 = ptx.xor %tp, %1 : i32
  %j1 = ptx.add %j, %1 : i32
  %again = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %again, ^take(%j1, %tp1 : i32, i32), ^end
^end:
  ptx.ret
}

// -----

// Tiles with several turns of the inner loop are held up at K, those with one are not: Q has to wait for its slot.

ptx.entry @tiles_of_one_turn(m : u32, n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %m = ptx.ld.param @m : i32
  %length = ptx.ld.param @n : i32
  %positive = ptx.max %length, %0 : i32
  %more = ptx.add %positive, %32 : i32
  %n = ptx.div unsigned %more, %32 : i32
  %qfull = ptx.shared_alloc @bars bytes 32 align 8
  %qempty = ptx.add %qfull, %8 : i32
  %kfull = ptx.add %qfull, %16 : i32
  %kempty = ptx.add %qfull, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %qfull, 32
  ptx.mbarrier.init %qempty, 32
  ptx.mbarrier.init %kfull, 32
  ptx.mbarrier.init %kempty, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^tile(%0, %0, %1 : i32, i32, i32), ^own(%0, %0, %0 : i32, i32, i32)
^tile(%t: i32, %qp: i32, %kp: i32):
  // expected-error@+1 {{expected that 'ptx.mbarrier.arrive' waits for the threads that wait for its mbarrier at 'ptx.mbarrier.wait_parity' in line 1096, found that it may arrive for the next phase but one while they still wait}}
  ptx.mbarrier.arrive %qfull
  ptx.bra ^put(%0, %kp : i32, i32)
^put(%i: i32, %pp: i32):
  %fills = ptx.setp lt %i, %n : i32
  ptx.cond_bra %fills, ^fill, ^filled
^fill:
  ptx.mbarrier.wait_parity %kempty, %pp
  ptx.mbarrier.arrive %kfull
  %pp1 = ptx.xor %pp, %1 : i32
  %i1 = ptx.add %i, %1 : i32
  ptx.bra ^put(%i1, %pp1 : i32, i32)
^filled:
  %qp1 = ptx.xor %qp, %1 : i32
  %t1 = ptx.add %t, %1 : i32
  %next = ptx.setp lt %t1, %m : i32
  ptx.cond_bra %next, ^tile(%t1, %qp1, %pp : i32, i32, i32), ^end
^own(%u: i32, %up: i32, %cp: i32):
  ptx.mbarrier.wait_parity %qfull, %up
  ptx.bra ^take(%0, %cp : i32, i32)
^take(%j: i32, %tp: i32):
  %takes = ptx.setp lt %j, %n : i32
  ptx.cond_bra %takes, ^use, ^used
^use:
  ptx.mbarrier.wait_parity %kfull, %tp
  ptx.mbarrier.arrive %kempty
  %tp1 = ptx.xor %tp, %1 : i32
  %j1 = ptx.add %j, %1 : i32
  ptx.bra ^take(%j1, %tp1 : i32, i32)
^used:
  ptx.mbarrier.arrive %qempty
  %up1 = ptx.xor %up, %1 : i32
  %u1 = ptx.add %u, %1 : i32
  %again = ptx.setp lt %u1, %m : i32
  ptx.cond_bra %again, ^own(%u1, %up1, %tp : i32, i32, i32), ^end
^end:
  ptx.ret
}

// -----

// How many turns there are depends on the tile, too, as of causal attention: with few keys all tiles have one.

ptx.entry @tiles_that_see_some(m : u32, n : u32) target("sm_90a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %24 = ptx.constant 24 : i32
  %32 = ptx.constant 32 : i32
  %m = ptx.ld.param @m : i32
  %length = ptx.ld.param @n : i32
  %4 = ptx.constant 4 : i32
  %qfull = ptx.shared_alloc @bars bytes 32 align 8
  %qempty = ptx.add %qfull, %8 : i32
  %kfull = ptx.add %qfull, %16 : i32
  %kempty = ptx.add %qfull, %24 : i32
  %leader = ptx.setp eq %tid, %0 : i32
  %producer = ptx.setp lt %tid, %32 : i32
  ptx.cond_bra %leader, ^init, ^ready
^init:
  ptx.mbarrier.init %qfull, 32
  ptx.mbarrier.init %qempty, 32
  ptx.mbarrier.init %kfull, 32
  ptx.mbarrier.init %kempty, 32
  ptx.bra ^ready
^ready:
  ptx.bar.sync 0
  ptx.cond_bra %producer, ^tile(%0, %0, %1 : i32, i32, i32), ^own(%0, %0, %0 : i32, i32, i32)
^tile(%t: i32, %qp: i32, %kp: i32):
  %as = ptx.shl %t, %4 : i32
  %a = ptx.add %as, %32 : i32
  %aseen = ptx.min %a, %length : i32
  %apositive = ptx.max %aseen, %0 : i32
  %amore = ptx.add %apositive, %32 : i32
  %an = ptx.div unsigned %amore, %32 : i32
  // expected-error@+1 {{expected that 'ptx.mbarrier.arrive' waits for the threads that wait for its mbarrier at 'ptx.mbarrier.wait_parity' in line 1179, found that it may arrive for the next phase but one while they still wait}}
  ptx.mbarrier.arrive %qfull
  ptx.bra ^put(%0, %kp : i32, i32)
^put(%i: i32, %pp: i32):
  %fills = ptx.setp lt %i, %an : i32
  ptx.cond_bra %fills, ^fill, ^filled
^fill:
  ptx.mbarrier.wait_parity %kempty, %pp
  ptx.mbarrier.arrive %kfull
  %pp1 = ptx.xor %pp, %1 : i32
  %i1 = ptx.add %i, %1 : i32
  ptx.bra ^put(%i1, %pp1 : i32, i32)
^filled:
  %qp1 = ptx.xor %qp, %1 : i32
  %t1 = ptx.add %t, %1 : i32
  %next = ptx.setp lt %t1, %m : i32
  ptx.cond_bra %next, ^tile(%t1, %qp1, %pp : i32, i32, i32), ^end
^own(%u: i32, %up: i32, %cp: i32):
  %bs = ptx.shl %u, %4 : i32
  %b = ptx.add %bs, %32 : i32
  %bseen = ptx.min %b, %length : i32
  %bpositive = ptx.max %bseen, %0 : i32
  %bmore = ptx.add %bpositive, %32 : i32
  %bn = ptx.div unsigned %bmore, %32 : i32
  ptx.mbarrier.wait_parity %qfull, %up
  ptx.bra ^take(%0, %cp : i32, i32)
^take(%j: i32, %tp: i32):
  %takes = ptx.setp lt %j, %bn : i32
  ptx.cond_bra %takes, ^use, ^used
^use:
  ptx.mbarrier.wait_parity %kfull, %tp
  ptx.mbarrier.arrive %kempty
  %tp1 = ptx.xor %tp, %1 : i32
  %j1 = ptx.add %j, %1 : i32
  ptx.bra ^take(%j1, %tp1 : i32, i32)
^used:
  ptx.mbarrier.arrive %qempty
  %up1 = ptx.xor %up, %1 : i32
  %u1 = ptx.add %u, %1 : i32
  %again = ptx.setp lt %u1, %m : i32
  ptx.cond_bra %again, ^own(%u1, %up1, %tp : i32, i32, i32), ^end
^end:
  ptx.ret
}
