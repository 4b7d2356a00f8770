// RUN: tirx-opt %s -t ptx | filecheck %s

ptx.entry @launch_control() target("sm_100a") cluster(2) {
  %answer = ptx.shared_alloc @answer bytes 16 align 16
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  ptx.mbarrier.arrive.expect_tx %bar, 16
  ptx.clusterlaunchcontrol.try_cancel %answer, %bar
  ptx.clusterlaunchcontrol.try_cancel %answer, %bar multicast
  %low, %high = ptx.ld shared %answer : i32 -> i64, i64
  %more, %x, %y, %z = ptx.clusterlaunchcontrol.query_cancel %low, %high
  ptx.trap %more
  ptx.ret
}

// CHECK:      .version 8.6
// CHECK:        .reg .b128 %rq<1>;
// CHECK:        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 16;
// CHECK-NEXT:   clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r0], [%r1];
// CHECK-NEXT:   clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%r0], [%r1];
// CHECK-NEXT:   ld.shared.v2.b64 {%rd0, %rd1}, [%r0];
// CHECK-NEXT:   mov.b128 %rq0, {%rd0, %rd1};
// CHECK-NEXT:   clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p0, %rq0;
// CHECK-NEXT:   clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r2, %r3, %r4, _}, %rq0;
// CHECK-NEXT:   @%p0 trap;
// CHECK-NEXT:   ret;
