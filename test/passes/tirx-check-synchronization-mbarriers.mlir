// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-synchronization

// What is used as an mbarrier has to be initialised.

ptx.entry @not_initialised() target("sm_90a") reqntid(64) {
  %0 = ptx.constant 0 : i32
  %8 = ptx.constant 8 : i32
  %bars = ptx.shared_alloc @bars bytes 16 align 8
  %second = ptx.add %bars, %8 : i32
  ptx.mbarrier.init %bars, 64
  ptx.bar.sync 0
  ptx.mbarrier.arrive %bars
  ptx.mbarrier.wait_parity %bars, %0
  // expected-error@+1 {{expected mbarrier.init of the mbarrier at byte 8 of 'bars', found none; put ptx.mbarrier.init at the start of the kernel, and ptx.bar.sync 0 behind it}}
  ptx.mbarrier.arrive %second
  ptx.ret
}

// -----

// The slots of a ring: a counter that goes from 0 to 3 and begins again, through two loops.

ptx.entry @slot_not_initialised(n : u32) target("sm_90a") reqntid(64) {
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %3 = ptx.constant 3 : i32
  %4 = ptx.constant 4 : i32
  %8 = ptx.constant 8 : i32
  %16 = ptx.constant 16 : i32
  %n = ptx.ld.param @n : i32
  %bars = ptx.shared_alloc @bars bytes 32 align 8
  %bar1 = ptx.add %bars, %8 : i32
  %bar2 = ptx.add %bars, %16 : i32
  ptx.mbarrier.init %bars, 64
  ptx.mbarrier.init %bar1, 64
  ptx.mbarrier.init %bar2, 64
  ptx.bar.sync 0
  ptx.bra ^outer(%0, %0 : i32, i32)
^outer(%i: i32, %begin: i32):
  ptx.bra ^inner(%0, %begin : i32, i32)
^inner(%j: i32, %slot: i32):
  %offset = ptx.shl %slot, %3 : i32
  %bar = ptx.add %bars, %offset : i32
  // expected-error@+1 {{expected mbarrier.init of the mbarrier at byte 24 of 'bars', found none}}
  ptx.mbarrier.arrive %bar
  %next = ptx.add %slot, %1 : i32
  %last = ptx.setp eq %next, %4 : i32
  %wrapped = ptx.selp %last, %0, %next : i32
  %j1 = ptx.add %j, %1 : i32
  %more = ptx.setp lt %j1, %n : i32
  ptx.cond_bra %more, ^inner(%j1, %wrapped : i32, i32), ^end
^end:
  %i1 = ptx.add %i, %1 : i32
  %again = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %again, ^outer(%i1, %wrapped : i32, i32), ^exit
^exit:
  ptx.ret
}

// -----

// Dynamic shared memory begins at one address, whatever it is called; slots that are counted without end are not known.

ptx.entry @known_by_another_name(n : u32) target("sm_90a") reqntid(64) dynamic_shared(32) {
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %3 = ptx.constant 3 : i32
  %n = ptx.ld.param @n : i32
  %memory = ptx.shared_alloc @memory bytes 32 align 8 dynamic
  %bars = ptx.shared_alloc @bars bytes 32 align 8 dynamic
  ptx.mbarrier.init %memory, 64
  ptx.bar.sync 0
  ptx.mbarrier.arrive %bars
  ptx.bra ^loop(%0 : i32)
^loop(%i: i32):
  %offset = ptx.shl %i, %3 : i32
  %bar = ptx.add %bars, %offset : i32
  ptx.mbarrier.arrive %bar
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^loop(%i1 : i32), ^exit
^exit:
  ptx.ret
}
