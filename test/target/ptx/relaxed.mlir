// RUN: tirx-opt %s -t ptx | filecheck %s

// Without order, which needs PTX 8.6; registers of a warpgroup and dependent launches.

// CHECK:      .version 8.6
// CHECK-NEXT: .target sm_90a
// CHECK-NEXT: .address_size 64

ptx.entry @relaxed() target("sm_90a") {
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %phase = ptx.constant 0 : i32
  ptx.setmaxnreg dec 40
  ptx.setmaxnreg inc 232
  ptx.griddepcontrol.wait
  ptx.mbarrier.arrive %bar relaxed
  ptx.mbarrier.arrive %bar cluster relaxed
  ptx.mbarrier.wait_parity %bar, %phase relaxed hint 20
  %done = ptx.mbarrier.test_wait_parity %bar, %phase cluster relaxed
  ptx.griddepcontrol.launch_dependents
  ptx.ret
}

// CHECK:      .visible .entry relaxed()
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .pred %p<2>;
// CHECK-NEXT:   .reg .b32 %r<1>;
// CHECK-NEXT:   .shared .align 8 .b8 bar[8];
// CHECK-EMPTY:
// CHECK-NEXT:   mov.b32 %r0, bar;
// CHECK-NEXT:   setmaxnreg.dec.sync.aligned.u32 40;
// CHECK-NEXT:   setmaxnreg.inc.sync.aligned.u32 232;
// CHECK-NEXT:   griddepcontrol.wait;
// CHECK-NEXT:   mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r0];
// CHECK-NEXT:   mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r0];
// CHECK-NEXT: $wait0:
// CHECK-NEXT:   mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p0, [%r0], 0, 20;
// CHECK-NEXT:   @!%p0 bra $wait0;
// CHECK-NEXT:   mbarrier.test_wait.parity.relaxed.cluster.shared::cta.b64 %p1, [%r0], 0;
// CHECK-NEXT:   griddepcontrol.launch_dependents;
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
