// RUN: tirx-opt %s -t ptx --split-input-file --verify-diagnostics

// An SBO of half the rows of the pattern: rows 4 to 7 of a group are read as rows 0 to 3 of the next one. The address is
// not known, the offsets are. B has one group of rows only.

ptx.entry @stride(out : u64) target("sm_90a") reqntid(128) {
  %tile = ptx.shared_alloc @tile bytes 16384 align 1024
  %desc = ptx.constant 0x4000002000010000 : i64
  %four = ptx.constant 4 : i32
  %row = ptx.shr unsigned %tile, %four : i32
  %wide = ptx.cvt unsigned %row : i32 -> i64
  %a = ptx.or %wide, %desc : i64
  // expected-warning@+1 {{descriptor of A: elements (4, 0) and (8, 0) (row, k) are both read from byte 576 of shared memory; SBO is 512 bytes, and one repeat of the pattern takes 1024}}
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  ptx.ret
}

// -----

ptx.entry @tensor(t : u32, a : u64) target("sm_100a") reqntid(32) {
  %t = ptx.ld.param @t : i32
  %a = ptx.constant 0x0000400400080000 : i64
  %idesc = ptx.constant 138412048 : i32
  %no = ptx.constant false
  %one = ptx.elect.sync
  ptx.cond_bra %one, ^issue, ^end
^issue:
  // expected-warning@+2 {{descriptor of A: elements (4, 0) and (8, 0) (row, k) are both read from byte 64 of shared memory; SBO is 64 bytes, and one repeat of the pattern takes 128}}
  // expected-warning@+1 {{descriptor of B: elements (4, 0) and (8, 0) (row, k) are both read from byte 64 of shared memory; SBO is 64 bytes, and one repeat of the pattern takes 128}}
  tcgen05.mma f16 %t, %a, %a, %idesc, %no : i32, i64
  ptx.bra ^end
^end:
  ptx.ret
}
