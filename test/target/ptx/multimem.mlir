// RUN: tirx-opt %s -t ptx | filecheck %s

// Memory of several GPUs, and endpoints of a fabric.

// CHECK-LABEL: .visible .entry several(
// CHECK:       multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%f0, %f1, %f2, %f3}, [%rd0];
// CHECK-NEXT:  multimem.st.release.gpu.global.v4.f32 [%rd0], {%f0, %f1, %f2, %f3};
// CHECK-NEXT:  multimem.red.relaxed.sys.global.max.s64 [%rd0], %rd0;
// CHECK-NEXT:  multimem.st.async.release.sys.global.f32 [%rd0], %f0;
// CHECK-NEXT:  multimem.red.async.release.gpu.global.add.u64 [%rd0], %rd0;
// CHECK-NEXT:  multimem.cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd0], [%r0], %r1, %h0;
// CHECK-NEXT:  multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%rd0], [%r0], %r1;
// CHECK:       fabric.try_get.async.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric.relaxed.sys.b128
// CHECK-SAME:    [%r0], [%r1, %rd0], %r1, [%r2];
// CHECK-NEXT:  fabric.try_put.async.multimem.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric
// CHECK-SAME:    .counted::bytes.relaxed.sys.b128 [%r1, %rd0, %rd0], [%r0], %r1, [%r2];
// CHECK-NEXT:  fabric.try_red.async.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.relaxed.sys.add.u32
// CHECK-SAME:    [%r1, %rd0], [%r0], %r1, [%r2];
// CHECK-NEXT:  fabric.submit.op_restrict::fetching;
// CHECK-NEXT:  fabric.submit.commit_group;
// CHECK-NEXT:  fabric.wait.sync_restrict::read 1;
ptx.entry @several(a : u64, n : u32) target("sm_100a") {
  %a = ptx.ld.param @a : i64
  %s = ptx.shared_alloc @tile bytes 4096 align 128
  %n = ptx.ld.param @n : i32
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %m = ptx.cvt %n : i32 -> i16
  %x:4 = ptx.multimem.ld_reduce "add" "f32" relaxed sys %a -> f32, f32, f32, f32
  ptx.multimem.st "f32" release gpu %a, %x#0, %x#1, %x#2, %x#3 : f32, f32, f32, f32
  ptx.multimem.red "max" "s64" relaxed sys %a, %a : i64
  ptx.multimem.st async "f32" release sys %a, %x#0 : f32
  ptx.multimem.red async "add" "u64" release gpu %a, %a : i64
  ptx.multimem.cp.async.bulk %a, %s, %n mask %m
  ptx.multimem.cp.async.bulk reduce "add" "f16" %a, %s, %n
  ptx.cp.async.bulk.commit_group
  ptx.cp.async.bulk.wait_group 0
  ptx.fabric.try_get %s, %n[%a], %n, %bar
  ptx.fabric.try_put multimem %n[%a], %s, %n, %bar counted %a
  ptx.fabric.try_put reduce "add" "u32" %n[%a], %s, %n, %bar
  ptx.fabric.submit fetching
  ptx.fabric.submit group
  ptx.fabric.wait group 1
  ptx.ret
}
