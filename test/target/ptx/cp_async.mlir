// RUN: tirx-opt %s -t ptx | filecheck %s

ptx.entry @copies(a : u64, n : u32) target("sm_80") {
  %a = ptx.ld.param @a : i64
  %n = ptx.ld.param @n : i32
  %s = ptx.shared_alloc @tile bytes 256 align 16
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  // CHECK: cp.async.cg.shared.global [%r1], [%rd0], 16;
  ptx.cp.async "cg" %s, %a bytes 16
  // CHECK-NEXT: cp.async.ca.shared.global [%r1+64], [%rd0+128], 4, %r0;
  ptx.cp.async "ca" %s offset 64, %a source_offset 128 bytes 4 source_bytes %n
  // CHECK-NEXT: cp.async.commit_group;
  ptx.cp.async.commit_group
  // CHECK-NEXT: cp.async.wait_group 0;
  ptx.cp.async.wait_group 0
  // CHECK-NEXT: cp.async.mbarrier.arrive.noinc.shared.b64 [%r2];
  ptx.cp.async.mbarrier.arrive noinc %bar
  ptx.ret
}
