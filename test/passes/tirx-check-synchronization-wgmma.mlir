// RUN: tirx-opt %s --tirx-check-synchronization --split-input-file --verify-diagnostics

// Written, fenced, met, multiplied, waited for, read and overwritten: nothing is missing.

ptx.entry @legal(out : u64) target("sm_90a") reqntid(128) {
  %out = ptx.ld.param @out : i64
  %tile = ptx.shared_alloc @tile bytes 4096 align 1024
  %zero = ptx.constant 0 : i32
  %desc = ptx.constant 0x4000004000010000 : i64
  ptx.st shared %tile, %zero : i32, i32
  ptx.fence.proxy.async "shared::cta"
  ptx.bar.sync 0
  %four = ptx.constant 4 : i32
  %row = ptx.shr unsigned %tile, %four : i32
  %wide = ptx.cvt unsigned %row : i32 -> i64
  %a = ptx.or %wide, %desc : i64
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  %4, %5, %6, %7 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%0, %1, %2, %3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 0
  ptx.st global %out, %4 : i64, f32
  ptx.st shared %tile, %zero : i32, i32
  ptx.ret
}

// -----

ptx.entry @not_fenced() target("sm_90a") reqntid(128) {
  %tile = ptx.shared_alloc @tile bytes 4096 align 1024
  %zero = ptx.constant 0 : i32
  %desc = ptx.constant 0x4000004000010000 : i64
  ptx.st shared %tile, %zero : i32, i32
  ptx.bar.sync 0
  %four = ptx.constant 4 : i32
  %row = ptx.shr unsigned %tile, %four : i32
  %wide = ptx.cvt unsigned %row : i32 -> i64
  %a = ptx.or %wide, %desc : i64
  wgmma.fence
  // expected-error@+1 {{expected fence.proxy.async between 'ptx.st' and this read through the async proxy, found none}}
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  ptx.ret
}

// -----

// Another warp of the warpgroup writes the rows.

ptx.entry @not_met() target("sm_90a") reqntid(128) {
  %tile = ptx.shared_alloc @tile bytes 8192 align 1024
  %zero = ptx.constant 0 : i32
  %desc = ptx.constant 0x4000004000010000 : i64
  %tid = ptx.read_special tid.x
  %four = ptx.constant 4 : i32
  %offset = ptx.shl %tid, %four : i32
  %to = ptx.add %tile, %offset : i32
  ptx.st shared %to, %zero : i32, i32
  ptx.fence.proxy.async "shared::cta"
  %row = ptx.shr unsigned %tile, %four : i32
  %wide = ptx.cvt unsigned %row : i32 -> i64
  %a = ptx.or %wide, %desc : i64
  wgmma.fence
  // expected-error@+1 {{expected a barrier between 'ptx.st' and this access to the same shared memory by another thread}}
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  ptx.ret
}

ptx.entry @read_too_early(a : u64, out : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %out = ptx.ld.param @out : i64
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  wgmma.commit_group
  // expected-error@+1 {{expected wgmma.commit_group and wait_group between 'wgmma.mma_async' and the use of its registers, found none; put wgmma.commit_group behind it and wgmma.wait_group 0 before this}}
  ptx.st global %out, %0 : i64, f32
  ptx.ret
}

ptx.entry @overwritten_too_early() target("sm_90a") reqntid(128) {
  %tile = ptx.shared_alloc @tile bytes 4096 align 1024
  %zero = ptx.constant 0 : i32
  %desc = ptx.constant 0x4000004000010000 : i64
  %four = ptx.constant 4 : i32
  %row = ptx.shr unsigned %tile, %four : i32
  %wide = ptx.cvt unsigned %row : i32 -> i64
  %a = ptx.or %wide, %desc : i64
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  wgmma.commit_group
  // expected-error@+1 {{expected wgmma.commit_group and wait_group between 'wgmma.mma_async' and this write of the same shared memory, found none}}
  ptx.st shared %tile, %zero : i32, i32
  ptx.ret
}

// -----

// A wait without a commit waits for nothing.

ptx.entry @no_group() target("sm_90a") reqntid(128) {
  %tile = ptx.shared_alloc @tile bytes 4096 align 1024
  %zero = ptx.constant 0 : i32
  %desc = ptx.constant 0x4000004000010000 : i64
  %four = ptx.constant 4 : i32
  %row = ptx.shr unsigned %tile, %four : i32
  %wide = ptx.cvt unsigned %row : i32 -> i64
  %a = ptx.or %wide, %desc : i64
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  wgmma.wait_group 0
  // expected-error@+1 {{expected wgmma.commit_group and wait_group between 'wgmma.mma_async' and this write of the same shared memory}}
  ptx.st shared %tile, %zero : i32, i32
  ptx.ret
}

ptx.entry @first_product(a : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  // expected-error@+1 {{expected wgmma.fence between the start of the kernel, which comes before or writes registers of this product, and 'wgmma.mma_async', found none; put wgmma.fence before it (PTX ISA, "wgmma.fence")}}
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  ptx.ret
}

ptx.entry @registers_of_a(a : u64, t : u32) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  wgmma.fence
  %t = ptx.ld.param @t : i32
  // expected-error@+1 {{expected wgmma.fence between 'ptx.ld.param'}}
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%a) -> f32, f32, f32, f32
  ptx.ret
}

// -----

// Products of another shape.

ptx.entry @another_shape(a : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  // expected-error@+1 {{expected wgmma.fence between 'wgmma.mma_async'}}
  %4, %5, %6, %7 = wgmma.mma_async "tf32" "tf32" a(%a : i64) b(%a) c(%0, %1, %2, %3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  ptx.ret
}

// -----

// The branch sets the accumulators, behind the fence; the second turn would need none.

ptx.entry @before_the_loop(a : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %zero = ptx.constant 0.0 : f32
  %none = ptx.constant 0 : i64
  wgmma.fence
  ptx.bra ^loop(%zero, %zero, %zero, %zero : f32, f32, f32, f32)
^loop(%c0 : f32, %c1 : f32, %c2 : f32, %c3 : f32):
  // expected-error@+1 {{expected wgmma.fence between 'ptx.bra'}}
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%c0, %c1, %c2, %c3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %p = ptx.setp eq %a, %none : i64
  ptx.cond_bra %p, ^loop(%0, %1, %2, %3 : f32, f32, f32, f32), ^exit
^exit:
  ptx.ret
}

// -----

// The accumulators are read again: the branch copies them to the registers of the loop.

ptx.entry @peeled(a : u64, out : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %out = ptx.ld.param @out : i64
  %none = ptx.constant 0 : i64
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 0
  ptx.bra ^loop(%0, %1, %2, %3 : f32, f32, f32, f32)
^loop(%c0 : f32, %c1 : f32, %c2 : f32, %c3 : f32):
  // expected-error@+1 {{expected wgmma.fence between 'ptx.bra'}}
  %4, %5, %6, %7 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%c0, %c1, %c2, %c3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %p = ptx.setp eq %a, %none : i64
  ptx.cond_bra %p, ^loop(%4, %5, %6, %7 : f32, f32, f32, f32), ^exit
^exit:
  ptx.st global %out, %0 : i64, f32
  ptx.st global %out, %1 : i64, f32
  ptx.st global %out, %2 : i64, f32
  ptx.st global %out, %3 : i64, f32
  ptx.ret
}

// -----

// So it may not come before the wait.

ptx.entry @copied_too_early(a : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  wgmma.commit_group
  // expected-error@+1 {{expected wgmma.commit_group and wait_group between 'wgmma.mma_async' and the use of its registers}}
  ptx.bra ^next(%0 : f32)
^next(%c0 : f32):
  ptx.ret
}

// -----

// Products that stay pending round a loop, on registers that stay where they are.

ptx.entry @pending_round_a_loop(a : u64, out : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %out = ptx.ld.param @out : i64
  %zero = ptx.constant 0.0 : f32
  %none = ptx.constant 0 : i64
  ptx.bra ^loop(%zero, %zero, %zero, %zero : f32, f32, f32, f32)
^loop(%c0 : f32, %c1 : f32, %c2 : f32, %c3 : f32):
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%c0, %c1, %c2, %c3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %4, %5, %6, %7 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%0, %1, %2, %3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  wgmma.commit_group
  %p = ptx.setp eq %a, %none : i64
  ptx.cond_bra %p, ^loop(%4, %5, %6, %7 : f32, f32, f32, f32), ^exit
^exit:
  wgmma.wait_group 0
  ptx.st global %out, %4 : i64, f32
  ptx.ret
}

// -----

// Pending from one loop to the next, in the same registers, since nothing else reads them.

ptx.entry @pending_from_loop_to_loop(a : u64, out : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %out = ptx.ld.param @out : i64
  %zero = ptx.constant 0.0 : f32
  %none = ptx.constant 0 : i64
  wgmma.fence
  ptx.bra ^first(%zero, %zero, %zero, %zero : f32, f32, f32, f32)
^first(%c0 : f32, %c1 : f32, %c2 : f32, %c3 : f32):
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%c0, %c1, %c2, %c3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 1
  %p = ptx.setp eq %a, %none : i64
  ptx.cond_bra %p, ^first(%0, %1, %2, %3 : f32, f32, f32, f32), ^second(%0, %1, %2, %3 : f32, f32, f32, f32)
^second(%d0 : f32, %d1 : f32, %d2 : f32, %d3 : f32):
  %4, %5, %6, %7 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%d0, %d1, %d2, %d3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 1
  ptx.cond_bra %p, ^second(%4, %5, %6, %7 : f32, f32, f32, f32), ^exit
^exit:
  wgmma.wait_group 0
  ptx.st global %out, %4 : i64, f32
  ptx.ret
}

// -----

// A wait with one group pending is for all but the last group. A group may be empty.

ptx.entry @the_one_before(a : u64, out : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %out = ptx.ld.param @out : i64
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  wgmma.commit_group
  %4, %5, %6, %7 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 1
  %early = ptx.add %0, %0 : f32
  wgmma.commit_group
  wgmma.wait_group 1
  ptx.st global %out, %4 : i64, f32
  ptx.ret
}

// -----

ptx.entry @the_last(a : u64, out : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %out = ptx.ld.param @out : i64
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 1
  // expected-error@+1 {{expected wgmma.commit_group and wait_group between 'wgmma.mma_async' and the use of its registers}}
  ptx.st global %out, %0 : i64, f32
  ptx.ret
}

// -----

// One of the paths commits no other group.

ptx.entry @on_every_path(a : u64, out : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %out = ptx.ld.param @out : i64
  %none = ptx.constant 0 : i64
  %p = ptx.setp eq %a, %none : i64
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  wgmma.commit_group
  ptx.cond_bra %p, ^more, ^wait
^more:
  wgmma.commit_group
  ptx.bra ^wait
^wait:
  wgmma.wait_group 1
  // expected-error@+1 {{expected wgmma.commit_group and wait_group between 'wgmma.mma_async' and the use of its registers}}
  ptx.st global %out, %0 : i64, f32
  ptx.ret
}

// -----

// So it is for shared memory.

ptx.entry @read_while_written() target("sm_90a") reqntid(128) {
  %tile = ptx.shared_alloc @tile bytes 4096 align 1024
  %zero = ptx.constant 0 : i32
  %desc = ptx.constant 0x4000004000010000 : i64
  %four = ptx.constant 4 : i32
  %row = ptx.shr unsigned %tile, %four : i32
  %wide = ptx.cvt unsigned %row : i32 -> i64
  %a = ptx.or %wide, %desc : i64
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 1
  // expected-error@+1 {{expected wgmma.commit_group and wait_group between 'wgmma.mma_async' and this write of the same shared memory}}
  ptx.st shared %tile, %zero : i32, i32
  ptx.ret
}

// -----

// A in registers is read until the wait: the next turn may not write it while the product of the last one is pending.

ptx.entry @a_written_again(a : u64, out : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %out = ptx.ld.param @out : i64
  %zero = ptx.constant 0.0 : f32
  %none = ptx.constant 0 : i64
  ptx.bra ^loop(%zero, %zero, %zero, %zero : f32, f32, f32, f32)
^loop(%c0 : f32, %c1 : f32, %c2 : f32, %c3 : f32):
  // expected-error@+1 {{expected wgmma.commit_group and wait_group between 'wgmma.mma_async' and the next value in its registers}}
  %t = ptx.ld global %out : i64 -> i32
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%a) c(%c0, %c1, %c2, %c3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 1
  %p = ptx.setp eq %a, %none : i64
  ptx.cond_bra %p, ^loop(%0, %1, %2, %3 : f32, f32, f32, f32), ^exit
^exit:
  ptx.ret
}

// -----

// The next value of A goes into its registers when the product that reads them is complete.

ptx.entry @a_passed_on(a : u64, out : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %out = ptx.ld.param @out : i64
  %zero = ptx.constant 0.0 : f32
  %none = ptx.constant 0 : i64
  %p = ptx.setp eq %a, %none : i64
  %first = ptx.ld global %out : i64 -> i32
  ptx.bra ^loop(%zero, %zero, %zero, %zero, %first : f32, f32, f32, f32, i32)
^loop(%c0 : f32, %c1 : f32, %c2 : f32, %c3 : f32, %t : i32):
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%a) c(%c0, %c1, %c2, %c3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  wgmma.commit_group
  %next = ptx.ld global %out : i64 -> i32
  ptx.cond_bra %p, ^exit, ^wait
^wait:
  wgmma.wait_group 0
  ptx.bra ^loop(%0, %1, %2, %3, %next : f32, f32, f32, f32, i32)
^exit:
  ptx.ret
}

// -----

// The accumulators start again, from zeros in the same registers.

ptx.entry @started_again(a : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %zero = ptx.constant 0.0 : f32
  %none = ptx.constant 0 : i64
  %p = ptx.setp eq %a, %none : i64
  ptx.bra ^tile
^tile:
  ptx.bra ^loop(%zero, %zero, %zero, %zero : f32, f32, f32, f32)
^loop(%c0 : f32, %c1 : f32, %c2 : f32, %c3 : f32):
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%c0, %c1, %c2, %c3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  wgmma.commit_group
  ptx.cond_bra %p, ^loop(%0, %1, %2, %3 : f32, f32, f32, f32), ^again
^again:
  // expected-error@-7 {{expected wgmma.commit_group and wait_group between 'wgmma.mma_async' and the next value in its registers}}
  ptx.cond_bra %p, ^tile, ^exit
^exit:
  ptx.ret
}
