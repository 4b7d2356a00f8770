// RUN: tirx-opt %s | tirx-opt | filecheck %s

// CHECK-LABEL: ptx.entry @copy
ptx.entry @copy() target("sm_80") {
  %dst = ptx.constant 0 : i32
  %n = ptx.constant 8 : i32
  %src = ptx.constant 0 : i64
  // CHECK: ptx.cp.async "cg" %dst, %src bytes 16
  ptx.cp.async "cg" %dst, %src bytes 16
  // CHECK-NEXT: ptx.cp.async "ca" %dst offset 64, %src source_offset 128 bytes 8 source_bytes %n
  ptx.cp.async "ca" %dst offset 64, %src source_offset 128 bytes 8 source_bytes %n
  // CHECK-NEXT: ptx.cp.async.commit_group
  ptx.cp.async.commit_group
  // CHECK-NEXT: ptx.cp.async.wait_group 1
  ptx.cp.async.wait_group 1
  // CHECK-NEXT: ptx.cp.async.mbarrier.arrive noinc %dst
  ptx.cp.async.mbarrier.arrive noinc %dst
  // CHECK-NEXT: ptx.cp.async.mbarrier.arrive %dst
  ptx.cp.async.mbarrier.arrive %dst
  ptx.ret
}
