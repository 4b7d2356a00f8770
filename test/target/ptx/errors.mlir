// RUN: tirx-opt %s -t ptx --split-input-file --verify-diagnostics

ptx.entry @old_target() target("sm_80") {
  // expected-error@+1 {{'ptx.elect.sync' needs elect.sync, which sm_80 lacks; supported on}}
  %0 = ptx.elect.sync
  ptx.ret
}

// -----

ptx.entry @family_target(d : u32, a : u64) target("sm_100f") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %yes = ptx.constant true
  // expected-error@+1 {{'tcgen05.mma' needs tcgen05.kind::i8, which sm_100f lacks; supported on}}
  tcgen05.mma i8 %d, %a, %a, %d, %yes : i32, i64
  ptx.ret
}

// -----

// expected-error@+1 {{'ptx.entry' needs cluster, which sm_89 lacks}}
ptx.entry @no_clusters() target("sm_89") cluster(2) {
  ptx.ret
}

// -----

ptx.entry @mixed_groups() target("sm_100a") {
  tcgen05.relinquish_alloc_permit
  // expected-error@+1 {{expected cta_group::1 as in 'tcgen05.relinquish_alloc_permit', found cta_group::2: a kernel uses one cta_group}}
  tcgen05.relinquish_alloc_permit cta_group 2
  ptx.ret
}

ptx.entry @weight_stationary_is_one_cta(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  tcgen05.alloc %d columns 32 cta_group 2
  // expected-error@+1 {{expected cta_group::2 as in 'tcgen05.alloc', found cta_group::1: a kernel uses one cta_group}}
  tcgen05.mma ws f16 %d, %a, %a, %d, %p : i32, i64
  ptx.ret
}

ptx.entry @odd_cluster(d : u32) target("sm_100a") cluster(3) {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{expected a cluster of pairs of CTAs for cta_group::2, found 3 CTAs in a cluster of @odd_cluster}}
  tcgen05.alloc %d columns 32 cta_group 2
  ptx.ret
}

// -----

ptx.entry @hopper() target("sm_90a") {
  // expected-error@+1 {{'tcgen05.wait' needs tcgen05, which sm_90a lacks; supported on}}
  tcgen05.wait ld
  ptx.ret
}

// -----

ptx.entry @consumer_blackwell(d : u32) target("sm_120a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{'tcgen05.alloc' needs tcgen05, which sm_120a lacks}}
  tcgen05.alloc %d columns 32
  ptx.ret
}

// -----

ptx.entry @shift(d : u32) target("sm_100f") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{'tcgen05.shift' needs tcgen05.shift, which sm_100f lacks; supported on}}
  tcgen05.shift %d : i32
  ptx.ret
}

// -----

ptx.entry @reduction(d : u32) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  // expected-error@+1 {{'tcgen05.ld.red' needs tcgen05.ld.red, which sm_100a lacks; supported on}}
  %0, %1, %2 = tcgen05.ld.red max "32x32b" num 2 %d as "u32" : i32 -> i32, i32, i32
  ptx.ret
}

// -----

ptx.entry @scale_d(d : u32, a : u64) target("sm_110a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{'tcgen05.mma' needs tcgen05.scale_input_d, which sm_110a lacks; supported on}}
  tcgen05.mma f16 %d, %a, %a, %d, %p scale_d 1 : i32, i64
  ptx.ret
}

// -----

ptx.entry @sparse_mxf4(d : u32, a : u64) target("sm_100f") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{'tcgen05.mma' needs tcgen05.sparse_mxf4, which sm_100f lacks; supported on}}
  tcgen05.mma mxf4 "block32" %d, %a, %a, %d, %p scales(%d, %d : i32, i32) sparse(%d : i32) : i32, i64
  ptx.ret
}

// -----

ptx.entry @scale_vec(d : u32, a : u64) target("sm_100f") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  // expected-error@+1 {{'tcgen05.mma' needs tcgen05.scale_vec::1X, which sm_100f lacks}}
  tcgen05.mma mxf8f6f4 "scale_vec::1X" %d, %a, %a, %d, %p scales(%d, %d : i32, i32) : i32, i64
  ptx.ret
}

// -----

ptx.entry @pair_copy(d : u32, map : b8[128] align 64) target("sm_90a") {
  %d = ptx.ld.param @d : i32
  %map = ptx.param_address @map
  // expected-error@+1 {{'ptx.cp.async.bulk.tensor.load' needs cp.async.bulk.tensor.cta_group, which sm_90a lacks}}
  ptx.cp.async.bulk.tensor.load "shared::cluster" %d, %map[%d, %d], %d cta_group 2
  ptx.ret
}

// -----

ptx.entry @first() target("sm_80") {
  ptx.ret
}

// expected-error@+1 {{expected target sm_80 as of @first, found sm_90 for @second: entries of one module share their target}}
ptx.entry @second() target("sm_90") {
  ptx.ret
}

// -----

// expected-error@+1 {{@big declares 65536 bytes of shared memory, sm_80 allows 49152 bytes of static shared memory}}
ptx.entry @big() target("sm_80") {
  %0 = ptx.shared_alloc @a bytes 1 align 16
  %1 = ptx.shared_alloc @b bytes 65520 align 16
  ptx.ret
}

// expected-error@+1 {{@gaps declares 65576 bytes of shared memory, sm_80 allows 49152 bytes of static shared memory}}
ptx.entry @gaps() target("sm_80") {
  %a = ptx.shared_alloc @a bytes 1 align 1
  %b = ptx.shared_alloc @b bytes 65536 align 32
  %c = ptx.shared_alloc @c bytes 8 align 32
  ptx.ret
}

// expected-error@+1 {{@behind declares 65536 bytes of shared memory, sm_80 allows 49152 bytes of static shared memory}}
ptx.entry @behind() target("sm_80") dynamic_shared(16) {
  %a = ptx.shared_alloc @a bytes 49000 align 8
  %b = ptx.shared_alloc @b bytes 16 align 32768 dynamic
  ptx.ret
}

ptx.entry @same_name(a : u32) target("sm_80") {
  // expected-error@+1 {{expected a new name for shared memory, found 'a', which is a parameter}}
  %0 = ptx.shared_alloc @a bytes 16 align 16
  ptx.ret
}

ptx.entry @arith() target("sm_80") {
  // expected-error@+1 {{no PTX form for 'arith.constant'; run convert-arith-to-ptx first}}
  %0 = arith.constant 0 : i32
  ptx.ret
}

// -----

ptx.entry @as_much_as_there_is() target("sm_80") dynamic_shared(166896) {
  %a = ptx.shared_alloc @a bytes 16 align 16
  %b = ptx.shared_alloc @b bytes 166896 align 16 dynamic
  ptx.ret
}

// -----

// Host code alone.
// expected-error@+1 {{expected at least one kernel in the module, found none}}
func.func @f() {
  func.return
}

// -----

ptx.entry @late_allocation(s : u32) target("sm_100a") {
  %s = ptx.ld.param @s : i32
  tcgen05.relinquish_alloc_permit
  // expected-error@+1 {{expected no allocation after tcgen05.relinquish_alloc_permit, found one; allocate first}}
  tcgen05.alloc %s columns 32
  tcgen05.dealloc %s columns 32
  ptx.ret
}

ptx.entry @never_freed(s : u32) target("sm_100a") {
  %s = ptx.ld.param @s : i32
  // expected-error@+1 {{expected a tcgen05.dealloc of what is allocated before the kernel ends, found none}}
  tcgen05.alloc %s columns 32
  ptx.ret
}

ptx.entry @freed_in_part(s : u32) target("sm_100a") {
  %s = ptx.ld.param @s : i32
  tcgen05.alloc %s columns 64
  %t = ptx.ld shared %s : i32 -> i32
  // expected-error@+1 {{expected the 64 columns that were allocated there, found 32; give back all of them}}
  tcgen05.dealloc %t columns 32
  ptx.ret
}

ptx.entry @k96(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %i = ptx.constant -2002779008 : i32
  %yes = ptx.constant true
  // expected-error@+1 {{instruction descriptor: K = 96: expected target sm_103a, sm_107a, found sm_100a}}
  tcgen05.mma mxf4 %d, %a, %a, %i, %yes scales(%d, %d : i32, i32) : i32, i64
  ptx.ret
}

// -----

// Dynamic shared memory.

// expected-error@+1 {{expected dynamic_shared(1024), the bytes of the dynamic allocation}}
ptx.entry @unsaid() target("sm_80") {
  %0 = ptx.shared_alloc @a bytes 1024 align 16 dynamic
  ptx.ret
}

// expected-error@+1 {{expected dynamic_shared(0), the bytes of the dynamic allocation}}
ptx.entry @unused() target("sm_80") dynamic_shared(1024) {
  ptx.ret
}

ptx.entry @twice() target("sm_80") dynamic_shared(1024) {
  %0 = ptx.shared_alloc @a bytes 1024 align 16 dynamic
  // expected-error@+1 {{expected one dynamic allocation in an entry: all of them start at one address}}
  %1 = ptx.shared_alloc @b bytes 1024 align 16 dynamic
  ptx.ret
}

// expected-error@+1 {{@together takes 167936 bytes of shared memory, sm_80 allows 166912}}
ptx.entry @together() target("sm_80") dynamic_shared(163840) {
  %0 = ptx.shared_alloc @a bytes 163840 align 16 dynamic
  %1 = ptx.shared_alloc @b bytes 4096 align 16
  ptx.ret
}

// -----

ptx.entry @name() target("sm_80") dynamic_shared(1024) {
  // expected-error@+1 {{expected a new name for shared memory, found that of the entry 'name'}}
  %0 = ptx.shared_alloc @name bytes 1024 align 16 dynamic
  ptx.ret
}

// -----

ptx.entry @fewer_by_more() target("sm_90a") maxnreg(128) {
  // expected-error@+1 {{expected at most 32 registers, the most of any thread by setmaxnreg inc, found 40}}
  ptx.setmaxnreg dec 40
  ptx.setmaxnreg inc 32
  ptx.setmaxnreg inc 24
  ptx.ret
}

ptx.entry @fewer_than_at_first() target("sm_90a") maxnreg(64) {
  ptx.setmaxnreg dec 64
  // expected-error@+1 {{expected at most 64 registers, the most of any thread by maxnreg, found 72}}
  ptx.setmaxnreg dec 72
  ptx.ret
}

// -----

// expected-error@+1 {{expected no arguments of the first block, as ptx.ld.param reads parameters, found 1}}
ptx.entry @argument() target("sm_90a") {
^first(%x: i32):
  ptx.ret
}

ptx.entry @endless() target("sm_90a") {
^first:
  // expected-error@+1 {{expected 'ptx.bra' to branch to other blocks than the first one of a region, found a branch to it}}
  ptx.bra ^first
}

// -----

// expected-error@+1 {{expected parameters of other names than the entries of the module, found 'second'}}
ptx.entry @first(second : u64) target("sm_80") {
  ptx.ret
}
ptx.entry @second(third : u64) target("sm_80") {
  ptx.ret
}

// -----

ptx.entry @inline() target("sm_80") {
  // expected-error@+1 {{'ptx.inline_volatile' needs elect.sync, which sm_80 lacks}}
  %e = ptx.inline_volatile "elect.sync _|$0, 0xffffffff" () needs ["elect.sync"] : () -> i1
  ptx.ret
}

// -----

ptx.entry @memory_of_a_block() target("sm_80") {
  // expected-error@+1 {{expected per_cta_memory on the entry of ptx.per_cta_memory, found none}}
  %offset, %size = ptx.per_cta_memory
  ptx.ret
}

// -----

// expected-error@+1 {{'ptx.entry' needs per_cta_memory, which sm_75 lacks; supported on sm_80}}
ptx.entry @memory_of_an_old_block() target("sm_75") per_cta_memory(64) {
  ptx.ret
}
