// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-synchronization

// Operands that are read with another swizzle than they were written with.

// Threads store 16 bytes each behind each other, and the descriptor reads lines of 128 bytes with a swizzle.

ptx.entry @stored_plain(t : u32) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %5 = ptx.constant 5 : i32
  %warp = ptx.shr unsigned %tid, %5 : i32
  %first = ptx.setp eq %warp, %0 : i32
  %elected = ptx.elect.sync
  %leader = ptx.and %first, %elected : i1
  %t = ptx.ld.param @t : i32
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %units = ptx.shr unsigned %tile, %4 : i32
  %wide = ptx.cvt unsigned %units : i32 -> i64
  %fields = ptx.constant 4611756662049538048 : i64
  %desc = ptx.or %wide, %fields : i64
  %idesc = ptx.constant 138412048 : i32
  %no = ptx.constant false
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  ptx.st shared %mine, %tid, %tid, %tid, %tid : i32, i32, i32, i32, i32
  ptx.fence.proxy.async "shared::cta"
  ptx.mbarrier.init %bar, 1
  ptx.fence.mbarrier_init
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^issue, ^end
^issue:
  // expected-warning@+1 {{the operand at byte 0 of 'tile' is read with swizzle 128B, but 'ptx.st' in line 27 writes it with swizzle none; use one swizzle for both}}
  tcgen05.mma f16 %t, %desc, %desc, %idesc, %no : i32, i64
  tcgen05.commit %bar
  ptx.bra ^end
^end:
  ptx.ret
}

ptx.entry @stored_swizzled(t : u32) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %3 = ptx.constant 3 : i32
  %4 = ptx.constant 4 : i32
  %5 = ptx.constant 5 : i32
  %7 = ptx.constant 7 : i32
  %warp = ptx.shr unsigned %tid, %5 : i32
  %first = ptx.setp eq %warp, %0 : i32
  %elected = ptx.elect.sync
  %leader = ptx.and %first, %elected : i1
  %t = ptx.ld.param @t : i32
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %units = ptx.shr unsigned %tile, %4 : i32
  %wide = ptx.cvt unsigned %units : i32 -> i64
  %fields = ptx.constant 70403112304640 : i64
  %desc = ptx.or %wide, %fields : i64
  %idesc = ptx.constant 138412048 : i32
  %no = ptx.constant false
  %row = ptx.shr unsigned %tid, %3 : i32
  %phase = ptx.and %row, %7 : i32
  %chunk = ptx.xor %tid, %phase : i32
  %offset = ptx.shl %chunk, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  ptx.st shared %mine, %tid, %tid, %tid, %tid : i32, i32, i32, i32, i32
  ptx.fence.proxy.async "shared::cta"
  ptx.mbarrier.init %bar, 1
  ptx.fence.mbarrier_init
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^issue, ^end
^issue:
  // expected-warning@+1 {{the operand at byte 0 of 'tile' is read with swizzle none, but 'ptx.st' in line 67 writes it with swizzle 128B}}
  tcgen05.mma f16 %t, %desc, %desc, %idesc, %no : i32, i64
  tcgen05.commit %bar
  ptx.bra ^end
^end:
  ptx.ret
}

// -----

// A bulk tensor copy fills the slots of a ring.

ptx.entry @copied(a : u64 ptr, t : u32, n : u32, map : b8[128] align 64 from #tirx.tensor_map<argument = 0, type = "f16", dims = [64, 4096], strides = [128], box = [64, 128], swizzle = "none">) target("sm_100a") reqntid(32) {
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %2 = ptx.constant 2 : i32
  %3 = ptx.constant 3 : i32
  %4 = ptx.constant 4 : i32
  %8 = ptx.constant 8 : i32
  %14 = ptx.constant 14 : i32
  %t = ptx.ld.param @t : i32
  %n = ptx.ld.param @n : i32
  %map = ptx.param_address @map
  %bar = ptx.shared_alloc @bar bytes 16 align 8
  %done = ptx.add %bar, %8 : i32
  %tiles = ptx.shared_alloc @tiles bytes 32768 align 1024
  %fields = ptx.constant 4611756662049538048 : i64
  %idesc = ptx.constant 138412048 : i32
  %no = ptx.constant false
  %elected = ptx.elect.sync
  ptx.cond_bra %elected, ^init, ^end
^init:
  ptx.mbarrier.init %bar, 1
  ptx.mbarrier.init %done, 1
  ptx.fence.mbarrier_init
  ptx.bra ^loop(%0, %0 : i32, i32)
^loop(%i: i32, %slot: i32):
  %offset = ptx.shl %slot, %14 : i32
  %tile = ptx.add %tiles, %offset : i32
  %parity = ptx.and %i, %1 : i32
  ptx.mbarrier.arrive.expect_tx %bar, 16384
  ptx.cp.async.bulk.tensor.load "shared::cta" %tile, %map[%0, %i], %bar
  ptx.mbarrier.wait_parity %bar, %parity
  %units = ptx.shr unsigned %tile, %4 : i32
  %wide = ptx.cvt unsigned %units : i32 -> i64
  %desc = ptx.or %wide, %fields : i64
  // expected-warning@+1 {{the operand at byte 0 of 'tiles' is read with swizzle 128B, but 'ptx.cp.async.bulk.tensor.load' in line 115 writes it with swizzle none}}
  tcgen05.mma f16 %t, %desc, %desc, %idesc, %no : i32, i64
  tcgen05.commit %done
  ptx.mbarrier.wait_parity %done, %parity
  %next = ptx.add %slot, %1 : i32
  %last = ptx.setp eq %next, %2 : i32
  %wrapped = ptx.selp %last, %0, %next : i32
  %i1 = ptx.add %i, %1 : i32
  %more = ptx.setp lt %i1, %n : i32
  ptx.cond_bra %more, ^loop(%i1, %wrapped : i32, i32), ^end
^end:
  ptx.ret
}

// -----

// No thread executes the store.

ptx.entry @never(t : u32) target("sm_100a") reqntid(128) {
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %5 = ptx.constant 5 : i32
  %warp = ptx.shr unsigned %tid, %5 : i32
  %first = ptx.setp eq %warp, %0 : i32
  %elected = ptx.elect.sync
  %leader = ptx.and %first, %elected : i1
  %t = ptx.ld.param @t : i32
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %units = ptx.shr unsigned %tile, %4 : i32
  %wide = ptx.cvt unsigned %units : i32 -> i64
  %fields = ptx.constant 4611756662049538048 : i64
  %desc = ptx.or %wide, %fields : i64
  %idesc = ptx.constant 138412048 : i32
  %no = ptx.constant false
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  %none = ptx.setp lt %tid, %0 : i32
  ptx.cond_bra %none, ^never, ^behind
^never:
  ptx.st shared %mine, %tid, %tid, %tid, %tid : i32, i32, i32, i32, i32
  ptx.bra ^behind
^behind:
  ptx.fence.proxy.async "shared::cta"
  ptx.mbarrier.init %bar, 1
  ptx.fence.mbarrier_init
  ptx.bar.sync 0
  ptx.cond_bra %leader, ^issue, ^end
^issue:
  tcgen05.mma f16 %t, %desc, %desc, %idesc, %no : i32, i64
  tcgen05.commit %bar
  ptx.bra ^end
^end:
  ptx.ret
}

// -----

// Warps store matrices where a bulk tensor copy has been: the addresses of their rows tell no pattern.

ptx.entry @stored_by_warps(a : u64 ptr, t : u32, map : b8[128] align 64 from #tirx.tensor_map<argument = 0, type = "f16", dims = [64, 4096], strides = [128], box = [64, 128], swizzle = "none">) target("sm_100a") reqntid(32) {
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %8 = ptx.constant 8 : i32
  %tid = ptx.read_special tid.x
  %t = ptx.ld.param @t : i32
  %map = ptx.param_address @map
  %bar = ptx.shared_alloc @bar bytes 16 align 8
  %done = ptx.add %bar, %8 : i32
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %fields = ptx.constant 4611756662049538048 : i64
  %idesc = ptx.constant 138412048 : i32
  %no = ptx.constant false
  %offset = ptx.shl %tid, %4 : i32
  %mine = ptx.add %tile, %offset : i32
  %elected = ptx.elect.sync
  ptx.cond_bra %elected, ^copy, ^store
^copy:
  ptx.mbarrier.init %bar, 1
  ptx.mbarrier.init %done, 1
  ptx.fence.mbarrier_init
  ptx.mbarrier.arrive.expect_tx %bar, 16384
  ptx.cp.async.bulk.tensor.load "shared::cta" %tile, %map[%0, %0], %bar
  ptx.bra ^store
^store:
  ptx.bar.sync 0
  ptx.mbarrier.wait_parity %bar, %0
  ptx.stmatrix "m8n8" %mine, %tid, %tid, %tid, %tid : i32, i32, i32, i32
  ptx.fence.proxy.async "shared::cta"
  ptx.bar.sync 0
  ptx.cond_bra %elected, ^issue, ^end
^issue:
  %units = ptx.shr unsigned %tile, %4 : i32
  %wide = ptx.cvt unsigned %units : i32 -> i64
  %desc = ptx.or %wide, %fields : i64
  tcgen05.mma f16 %t, %desc, %desc, %idesc, %no : i32, i64
  tcgen05.commit %done
  ptx.bra ^end
^end:
  ptx.ret
}
