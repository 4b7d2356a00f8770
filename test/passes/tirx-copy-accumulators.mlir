// RUN: tirx-opt %s --tirx-copy-accumulators | filecheck %s

// Constants, accumulators that are read again and those from outside of a loop are copied in front of the fence; block
// arguments that nothing else reads are overwritten.

// CHECK-LABEL: ptx.entry @copies
// CHECK:         %[[C0:.*]] = ptx.mov %zero : f32 -> f32
// CHECK-NEXT:    %[[C1:.*]] = ptx.mov %zero : f32 -> f32
// CHECK-NEXT:    %[[C2:.*]] = ptx.mov %x : f32 -> f32
// CHECK-NEXT:    wgmma.fence
// CHECK-NEXT:    %d0, %d1, %d2, %d3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%b) c(%[[C0]], %[[C1]], %[[C2]], %y : f32, f32, f32, f32)
// CHECK:       ^{{.*}}(%e0: f32, %e1: f32):
// CHECK-NEXT:    %[[X:.*]] = ptx.mov %x : f32 -> f32
// CHECK-NEXT:    %[[Y:.*]] = ptx.mov %d3 : f32 -> f32
// CHECK-NEXT:    wgmma.fence
// CHECK-NEXT:    %f0, %f1, %f2, %f3 = wgmma.mma_async {{.*}} c(%e0, %e1, %[[X]], %[[Y]] :
ptx.entry @copies(a : u64, b : u64, x : f32, y : f32) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %b = ptx.ld.param @b : i64
  %x = ptx.ld.param @x : f32
  %y = ptx.ld.param @y : f32
  %zero = ptx.constant 0.0 : f32
  %more = ptx.setp lt %x, %y : f32
  wgmma.fence
  %d0, %d1, %d2, %d3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%b) c(%zero, %zero, %x, %y : f32, f32, f32, f32) -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 0
  ptx.bra ^turn(%d0, %d1 : f32, f32)
^turn(%e0: f32, %e1: f32):
  wgmma.fence
  %f0, %f1, %f2, %f3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%b) c(%e0, %e1, %x, %d3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 0
  ptx.cond_bra %more, ^turn(%f0, %f1 : f32, f32), ^exit
^exit:
  ptx.ret
}

// An accumulator that is computed behind the fence is copied behind it, too.

// CHECK-LABEL: ptx.entry @behind_the_fence
// CHECK:         wgmma.fence
// CHECK-NEXT:    %u = ptx.add %x, %x : f32
// CHECK-NEXT:    %[[C0:.*]] = ptx.mov %u : f32 -> f32
// CHECK-NEXT:    %[[C1:.*]] = ptx.mov %u : f32 -> f32
// CHECK-NEXT:    %[[C2:.*]] = ptx.mov %u : f32 -> f32
// CHECK-NEXT:    %[[C3:.*]] = ptx.mov %u : f32 -> f32
// CHECK-NEXT:    %{{.*}} = wgmma.mma_async {{.*}} c(%[[C0]], %[[C1]], %[[C2]], %[[C3]]
ptx.entry @behind_the_fence(a : u64, x : f32) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %x = ptx.ld.param @x : f32
  wgmma.fence
  %u = ptx.add %x, %x : f32
  %d0, %d1, %d2, %d3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%u, %u, %u, %u : f32, f32, f32, f32) -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 0
  ptx.ret
}
