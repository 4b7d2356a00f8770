// RUN: tirx-opt %s -t ptx --split-input-file --verify-diagnostics

// What must hold between the tcgen05 instructions of an entry, and who executes them.

ptx.entry @every_thread_multiplies(d : u32, a : u64) target("sm_100a") reqntid(128) {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{expected one thread to execute 'tcgen05.mma', found all 128 of the CTA; elect one of a warp}}
  tcgen05.mma f16 %d, %a, %a, %d, %p : i32, i64
  ptx.ret
}

// -----

// No way to the end leaves out the commit.

ptx.entry @every_thread_commits(m : u32) target("sm_100a") reqntid(8, 4) {
  %m = ptx.ld.param @m : i32
  %one = ptx.elect.sync
  ptx.cond_bra %one, ^then, ^join
^then:
  ptx.bra ^join
^join:
  // expected-error@+1 {{expected one thread to execute 'tcgen05.commit', found all 32 of the CTA; elect one of a warp}}
  tcgen05.commit %m
  ptx.ret
}

ptx.entry @every_warp_allocates() target("sm_100a") reqntid(128) {
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  // expected-error@+1 {{expected one warp to execute 'tcgen05.alloc', found all 4 of the CTA; choose one}}
  tcgen05.alloc %slot columns 32
  %t = ptx.ld shared %slot : i32 -> i32
  tcgen05.dealloc %t columns 32
  ptx.ret
}

ptx.entry @one_thread_loads(t : u32) target("sm_100a") reqntid(128) {
  %t = ptx.ld.param @t : i32
  %c = ptx.setp eq %t, %t : i32
  %one = ptx.elect.sync
  %both = ptx.and %c, %one : i1
  ptx.cond_bra %both, ^then, ^join
^then:
  ptx.bra ^next
^next:
  // expected-error@+1 {{expected all threads of a warp to execute 'tcgen05.ld', found the one that elect.sync chose; leave its branch first}}
  %0 = tcgen05.ld "32x32b" num 1 %t : i32 -> i32
  ptx.bra ^join
^join:
  ptx.ret
}

// -----

ptx.entry @one_thread_multiplies(d : u32, a : u64) target("sm_100a") reqntid(128) {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  %one = ptx.elect.sync
  ptx.cond_bra %one, ^then, ^join
^then:
  tcgen05.mma f16 %d, %a, %a, %d, %p : i32, i64
  ptx.bra ^join
^join:
  ptx.ret
}

// -----

// Each of the four warps reaches lanes of its own, and this address is one for all.

ptx.entry @lanes_of_warp_0() target("sm_100a") reqntid(128) {
  %t = ptx.constant 0 : i32
  // expected-error@+1 {{expected an address at lane 32 for .32x32b of warp 1, found 0; a warp reaches the 32 lanes from 32 * (warp % 4) on [ld-lane]}}
  %0 = tcgen05.ld "32x32b" num 1 %t : i32 -> i32
  ptx.ret
}

ptx.entry @lanes_of_warp_2(v : u32) target("sm_100a") reqntid(128) {
  %v = ptx.ld.param @v : i32
  %t = ptx.constant 4194304 : i32
  // expected-error@+1 {{expected an address at lane 0 for .32x32b of warp 0, found 64; a warp reaches the 32 lanes from 32 * (warp % 4) on [ld-lane]}}
  tcgen05.st "32x32b" num 1 %t, %v : i32, i32
  ptx.ret
}

ptx.entry @allocation_in_a_later_block(s : u32) target("sm_100a") {
  %s = ptx.ld.param @s : i32
  ptx.bra ^loop
^loop:
  // expected-error@+1 {{expected no allocation after tcgen05.relinquish_alloc_permit, found one; allocate first}}
  tcgen05.alloc %s columns 32
  %t = ptx.ld shared %s : i32 -> i32
  tcgen05.dealloc %t columns 32
  tcgen05.relinquish_alloc_permit
  %c = ptx.setp eq %t, %s : i32
  ptx.cond_bra %c, ^loop, ^end
^end:
  ptx.ret
}

ptx.entry @larger_after_smaller() target("sm_100a") {
  %first = ptx.shared_alloc @first bytes 4 align 4
  %second = ptx.shared_alloc @second bytes 4 align 4
  tcgen05.alloc %first columns 32
  %s = ptx.ld shared %first : i32 -> i32
  ptx.bra ^next
^next:
  // expected-error@+1 {{expected at most the 32 columns of the allocation before, found 64; allocate more first}}
  tcgen05.alloc %second columns 64
  %t = ptx.ld shared %second : i32 -> i32
  tcgen05.dealloc %s columns 32
  tcgen05.dealloc %t columns 64
  ptx.ret
}

ptx.entry @more_than_there_is() target("sm_100a") {
  %first = ptx.shared_alloc @first bytes 4 align 4
  %second = ptx.shared_alloc @second bytes 4 align 4
  tcgen05.alloc %first columns 512
  // expected-error@+1 {{expected at most 512 columns to be allocated at a time, found 544; give some back first}}
  tcgen05.alloc %second columns 32
  %s = ptx.ld shared %first : i32 -> i32
  %t = ptx.ld shared %second : i32 -> i32
  tcgen05.dealloc %s columns 512
  tcgen05.dealloc %t columns 32
  ptx.ret
}

ptx.entry @only_the_other_is_freed() target("sm_100a") {
  %first = ptx.shared_alloc @first bytes 4 align 4
  %second = ptx.shared_alloc @second bytes 4 align 4
  tcgen05.alloc %first columns 32
  // expected-error@+1 {{expected a tcgen05.dealloc of what is allocated before the kernel ends, found none; the columns would stay taken on the multiprocessor}}
  tcgen05.alloc %second columns 32
  %s = ptx.ld shared %first : i32 -> i32
  tcgen05.dealloc %s columns 32
  ptx.ret
}

ptx.entry @freed_from_the_middle() target("sm_100a") {
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  tcgen05.alloc %slot columns 64
  %t = ptx.ld shared %slot : i32 -> i32
  %c32 = ptx.constant 32 : i32
  %u = ptx.add %t, %c32 : i32
  // expected-error@+1 {{expected the address that tcgen05.alloc wrote, found column 32 of the 64 allocated there; give back all of them}}
  tcgen05.dealloc %u columns 32
  ptx.ret
}

ptx.entry @collector_not_filled(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  tcgen05.mma ws f16 %d, %a, %a, %d, %p buffer "b0" collector fill : i32, i64
  tcgen05.mma ws f16 %d, %a, %a, %d, %p buffer "b0" collector use : i32, i64
  // expected-error@+1 {{expected .collector::b1::fill before .collector::b1::use, found none; fill the buffer with the first product}}
  tcgen05.mma ws f16 %d, %a, %a, %d, %p buffer "b1" collector use : i32, i64
  ptx.ret
}

ptx.entry @collector_filled_too_late(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{expected .collector::a::fill before .collector::a::lastuse, found none; fill the buffer with the first product}}
  tcgen05.mma f16 %d, %a, %a, %d, %p collector lastuse : i32, i64
  tcgen05.mma f16 %d, %a, %a, %d, %p collector fill : i32, i64
  ptx.ret
}

// -----

ptx.entry @freed_in_between() target("sm_100a") {
  %first = ptx.shared_alloc @first bytes 4 align 4
  %second = ptx.shared_alloc @second bytes 4 align 4
  tcgen05.alloc %first columns 512
  %s = ptx.ld shared %first : i32 -> i32
  tcgen05.dealloc %s columns 512
  tcgen05.alloc %second columns 512
  %t = ptx.ld shared %second : i32 -> i32
  tcgen05.dealloc %t columns 512
  ptx.ret
}

// -----

// The cta_group of TMA says where the mbarrier is, so that it may differ from that of tcgen05; it needs a pair, too.

ptx.entry @load_of_a_pair(d : u32, map : b8[128] align 64) target("sm_100a") cluster(2) {
  %d = ptx.ld.param @d : i32
  %map = ptx.param_address @map
  tcgen05.commit %d
  ptx.cp.async.bulk.tensor.load "shared::cluster" %d, %map[%d, %d], %d cta_group 2
  ptx.ret
}

// -----

ptx.entry @load_of_no_pair(d : u32, map : b8[128] align 64) target("sm_100a") cluster(1) {
  %d = ptx.ld.param @d : i32
  %map = ptx.param_address @map
  // expected-error@+1 {{expected a cluster of pairs of CTAs for cta_group::2, found 1 CTA in a cluster of @load_of_no_pair}}
  ptx.cp.async.bulk.tensor.load "shared::cluster" %d, %map[%d, %d], %d cta_group 2
  ptx.ret
}

// -----

// Bit 52 of a descriptor, whatever the instruction descriptor is.

ptx.entry @absolute_lbo(d : u32, b : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %b = ptx.ld.param @b : i64
  %yes = ptx.constant true
  %a = ptx.constant 4616260261685231616 : i64
  // expected-error@+1 {{descriptor of A: absolute LBO: expected target}}
  tcgen05.mma f16 %d, %a, %b, %d, %yes : i32, i64
  ptx.ret
}

// -----

ptx.entry @beside_an_exclusive_one() target("sm_107a") reqntid(32) {
  %first = ptx.shared_alloc @first bytes 4 align 4
  %second = ptx.shared_alloc @second bytes 4 align 4
  tcgen05.alloc %first columns 32
  // expected-error@+1 {{expected nothing beside an exclusive allocation, found 32 columns}}
  tcgen05.alloc %second exclusive columns 32
  %a = ptx.ld shared %first : i32 -> i32
  %b = ptx.ld shared %second : i32 -> i32
  tcgen05.dealloc %a columns 32
  tcgen05.dealloc %b exclusive columns 32
  ptx.ret
}

// -----

ptx.entry @given_back_otherwise() target("sm_107a") reqntid(32) {
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  tcgen05.alloc %slot exclusive columns 512
  %base = ptx.ld shared %slot : i32 -> i32
  // expected-error@+1 {{expected 'exclusive' on both tcgen05.alloc and tcgen05.dealloc, found it on one}}
  tcgen05.dealloc %base columns 512
  ptx.ret
}

// -----

ptx.entry @too_many_columns() target("sm_100a") reqntid(32) {
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  // expected-error@+1 {{'tensor_memory.576_columns' does not exist on sm_100a; supported on sm_107a; use at most 512 columns [alloc-exclusive-target]}}
  tcgen05.alloc %slot exclusive columns 576
  %base = ptx.ld shared %slot : i32 -> i32
  // expected-error@+1 {{'tensor_memory.576_columns' does not exist on sm_100a}}
  tcgen05.dealloc %base exclusive columns 576
  ptx.ret
}
