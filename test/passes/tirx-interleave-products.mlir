// RUN: tirx-opt %s --tirx-interleave-products | filecheck %s

// Products begin in groups of four, behind what only their A needs. The third group waits for the first, whose registers
// its A may take. What something else needs stays in front of all.

// CHECK-LABEL: ptx.entry @interleaved
// CHECK:         %s = ptx.add %w, %w : i32
// CHECK-NEXT:    %e0 = ptx.add %w, %s : i32
// CHECK-NEXT:    %a0 = ptx.add %e0, %w : i32
// CHECK-NEXT:    %e1 = ptx.add %a0, %s : i32
// CHECK-NEXT:    %a1 = ptx.add %e1, %w : i32
// CHECK-NEXT:    %e2 = ptx.add %a1, %s : i32
// CHECK-NEXT:    %a2 = ptx.add %e2, %w : i32
// CHECK-NEXT:    %e3 = ptx.add %a2, %s : i32
// CHECK-NEXT:    %a3 = ptx.add %e3, %w : i32
// CHECK-NEXT:    ptx.st global %p, %s : i64, i32
// CHECK-NEXT:    wgmma.fence
// CHECK-COUNT-4: wgmma.mma_async
// CHECK-NEXT:    wgmma.commit_group
// CHECK-NEXT:    %e4 = ptx.add %a3, %s : i32
// CHECK-NEXT:    %a4 = ptx.add %e4, %w : i32
// CHECK-NEXT:    %e5 = ptx.add %a4, %s : i32
// CHECK-NEXT:    %a5 = ptx.add %e5, %w : i32
// CHECK-NEXT:    %e6 = ptx.add %a5, %s : i32
// CHECK-NEXT:    %a6 = ptx.add %e6, %w : i32
// CHECK-NEXT:    %e7 = ptx.add %a6, %s : i32
// CHECK-NEXT:    %a7 = ptx.add %e7, %w : i32
// CHECK-NEXT:    wgmma.fence
// CHECK-COUNT-4: wgmma.mma_async
// CHECK-NEXT:    wgmma.commit_group
// CHECK-NEXT:    wgmma.wait_group 1
// CHECK-NEXT:    %e8 = ptx.add %a7, %s : i32
// CHECK-NEXT:    %a8 = ptx.add %e8, %w : i32
// CHECK-NEXT:    %e9 = ptx.add %a8, %s : i32
// CHECK-NEXT:    %a9 = ptx.add %e9, %w : i32
// CHECK-NEXT:    %e10 = ptx.add %a9, %s : i32
// CHECK-NEXT:    %a10 = ptx.add %e10, %w : i32
// CHECK-NEXT:    %e11 = ptx.add %a10, %s : i32
// CHECK-NEXT:    %a11 = ptx.add %e11, %w : i32
// CHECK-NEXT:    wgmma.fence
// CHECK-COUNT-4: wgmma.mma_async
// CHECK-NEXT:    wgmma.commit_group
// CHECK-NEXT:    wgmma.wait_group 0
// CHECK-NEXT:    ptx.ret
ptx.entry @interleaved(b : u64, w : u32, p : u64) target("sm_90a") reqntid(128) {
  %b = ptx.ld.param @b : i64
  %w = ptx.ld.param @w : i32
  %p = ptx.ld.param @p : i64
  %zero = ptx.constant 0.0 : f32
  %s = ptx.add %w, %w : i32
  %e0 = ptx.add %w, %s : i32
  %a0 = ptx.add %e0, %w : i32
  %e1 = ptx.add %a0, %s : i32
  %a1 = ptx.add %e1, %w : i32
  %e2 = ptx.add %a1, %s : i32
  %a2 = ptx.add %e2, %w : i32
  %e3 = ptx.add %a2, %s : i32
  %a3 = ptx.add %e3, %w : i32
  %e4 = ptx.add %a3, %s : i32
  %a4 = ptx.add %e4, %w : i32
  %e5 = ptx.add %a4, %s : i32
  %a5 = ptx.add %e5, %w : i32
  %e6 = ptx.add %a5, %s : i32
  %a6 = ptx.add %e6, %w : i32
  %e7 = ptx.add %a6, %s : i32
  %a7 = ptx.add %e7, %w : i32
  %e8 = ptx.add %a7, %s : i32
  %a8 = ptx.add %e8, %w : i32
  %e9 = ptx.add %a8, %s : i32
  %a9 = ptx.add %e9, %w : i32
  %e10 = ptx.add %a9, %s : i32
  %a10 = ptx.add %e10, %w : i32
  %e11 = ptx.add %a10, %s : i32
  %a11 = ptx.add %e11, %w : i32
  ptx.st global %p, %s : i64, i32
  wgmma.fence
  %d0_0, %d0_1, %d0_2, %d0_3 = wgmma.mma_async "f16" "f16" a(%a0, %a0, %a0, %a0 : i32, i32, i32, i32) b(%b) c(%zero, %zero, %zero, %zero : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d1_0, %d1_1, %d1_2, %d1_3 = wgmma.mma_async "f16" "f16" a(%a1, %a1, %a1, %a1 : i32, i32, i32, i32) b(%b) c(%d0_0, %d0_1, %d0_2, %d0_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d2_0, %d2_1, %d2_2, %d2_3 = wgmma.mma_async "f16" "f16" a(%a2, %a2, %a2, %a2 : i32, i32, i32, i32) b(%b) c(%d1_0, %d1_1, %d1_2, %d1_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d3_0, %d3_1, %d3_2, %d3_3 = wgmma.mma_async "f16" "f16" a(%a3, %a3, %a3, %a3 : i32, i32, i32, i32) b(%b) c(%d2_0, %d2_1, %d2_2, %d2_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d4_0, %d4_1, %d4_2, %d4_3 = wgmma.mma_async "f16" "f16" a(%a4, %a4, %a4, %a4 : i32, i32, i32, i32) b(%b) c(%d3_0, %d3_1, %d3_2, %d3_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d5_0, %d5_1, %d5_2, %d5_3 = wgmma.mma_async "f16" "f16" a(%a5, %a5, %a5, %a5 : i32, i32, i32, i32) b(%b) c(%d4_0, %d4_1, %d4_2, %d4_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d6_0, %d6_1, %d6_2, %d6_3 = wgmma.mma_async "f16" "f16" a(%a6, %a6, %a6, %a6 : i32, i32, i32, i32) b(%b) c(%d5_0, %d5_1, %d5_2, %d5_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d7_0, %d7_1, %d7_2, %d7_3 = wgmma.mma_async "f16" "f16" a(%a7, %a7, %a7, %a7 : i32, i32, i32, i32) b(%b) c(%d6_0, %d6_1, %d6_2, %d6_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d8_0, %d8_1, %d8_2, %d8_3 = wgmma.mma_async "f16" "f16" a(%a8, %a8, %a8, %a8 : i32, i32, i32, i32) b(%b) c(%d7_0, %d7_1, %d7_2, %d7_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d9_0, %d9_1, %d9_2, %d9_3 = wgmma.mma_async "f16" "f16" a(%a9, %a9, %a9, %a9 : i32, i32, i32, i32) b(%b) c(%d8_0, %d8_1, %d8_2, %d8_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d10_0, %d10_1, %d10_2, %d10_3 = wgmma.mma_async "f16" "f16" a(%a10, %a10, %a10, %a10 : i32, i32, i32, i32) b(%b) c(%d9_0, %d9_1, %d9_2, %d9_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d11_0, %d11_1, %d11_2, %d11_3 = wgmma.mma_async "f16" "f16" a(%a11, %a11, %a11, %a11 : i32, i32, i32, i32) b(%b) c(%d10_0, %d10_1, %d10_2, %d10_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 0
  ptx.ret
}

// Making A takes less time than the products.

// CHECK-LABEL: ptx.entry @as_they_are
// CHECK:         wgmma.fence
// CHECK-COUNT-8: wgmma.mma_async
// CHECK-NEXT:    wgmma.commit_group
// CHECK-NEXT:    wgmma.wait_group 0
ptx.entry @as_they_are(b : u64, w : u32, p : u64) target("sm_90a") reqntid(128) {
  %b = ptx.ld.param @b : i64
  %w = ptx.ld.param @w : i32
  %p = ptx.ld.param @p : i64
  %zero = ptx.constant 0.0 : f32
  %a4 = ptx.add %w, %w : i32
  wgmma.fence
  %d0_0, %d0_1, %d0_2, %d0_3 = wgmma.mma_async "f16" "f16" a(%a4, %a4, %a4, %a4 : i32, i32, i32, i32) b(%b) c(%zero, %zero, %zero, %zero : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d1_0, %d1_1, %d1_2, %d1_3 = wgmma.mma_async "f16" "f16" a(%a4, %a4, %a4, %a4 : i32, i32, i32, i32) b(%b) c(%d0_0, %d0_1, %d0_2, %d0_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d2_0, %d2_1, %d2_2, %d2_3 = wgmma.mma_async "f16" "f16" a(%a4, %a4, %a4, %a4 : i32, i32, i32, i32) b(%b) c(%d1_0, %d1_1, %d1_2, %d1_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d3_0, %d3_1, %d3_2, %d3_3 = wgmma.mma_async "f16" "f16" a(%a4, %a4, %a4, %a4 : i32, i32, i32, i32) b(%b) c(%d2_0, %d2_1, %d2_2, %d2_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d4_0, %d4_1, %d4_2, %d4_3 = wgmma.mma_async "f16" "f16" a(%a4, %a4, %a4, %a4 : i32, i32, i32, i32) b(%b) c(%d3_0, %d3_1, %d3_2, %d3_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d5_0, %d5_1, %d5_2, %d5_3 = wgmma.mma_async "f16" "f16" a(%a4, %a4, %a4, %a4 : i32, i32, i32, i32) b(%b) c(%d4_0, %d4_1, %d4_2, %d4_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d6_0, %d6_1, %d6_2, %d6_3 = wgmma.mma_async "f16" "f16" a(%a4, %a4, %a4, %a4 : i32, i32, i32, i32) b(%b) c(%d5_0, %d5_1, %d5_2, %d5_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d7_0, %d7_1, %d7_2, %d7_3 = wgmma.mma_async "f16" "f16" a(%a4, %a4, %a4, %a4 : i32, i32, i32, i32) b(%b) c(%d6_0, %d6_1, %d6_2, %d6_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 0
  ptx.ret
}

// Four products are one group.

// CHECK-LABEL: ptx.entry @one_group
// CHECK:         wgmma.fence
// CHECK-COUNT-4: wgmma.mma_async
// CHECK-NEXT:    wgmma.commit_group
// CHECK-NEXT:    wgmma.wait_group 0
ptx.entry @one_group(b : u64, w : u32, p : u64) target("sm_90a") reqntid(128) {
  %b = ptx.ld.param @b : i64
  %w = ptx.ld.param @w : i32
  %p = ptx.ld.param @p : i64
  %zero = ptx.constant 0.0 : f32
  %s = ptx.add %w, %w : i32
  %e0 = ptx.add %w, %s : i32
  %a0 = ptx.add %e0, %w : i32
  %e1 = ptx.add %a0, %s : i32
  %a1 = ptx.add %e1, %w : i32
  %e2 = ptx.add %a1, %s : i32
  %a2 = ptx.add %e2, %w : i32
  %e3 = ptx.add %a2, %s : i32
  %a3 = ptx.add %e3, %w : i32
  wgmma.fence
  %d0_0, %d0_1, %d0_2, %d0_3 = wgmma.mma_async "f16" "f16" a(%a0, %a0, %a0, %a0 : i32, i32, i32, i32) b(%b) c(%zero, %zero, %zero, %zero : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d1_0, %d1_1, %d1_2, %d1_3 = wgmma.mma_async "f16" "f16" a(%a1, %a1, %a1, %a1 : i32, i32, i32, i32) b(%b) c(%d0_0, %d0_1, %d0_2, %d0_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d2_0, %d2_1, %d2_2, %d2_3 = wgmma.mma_async "f16" "f16" a(%a2, %a2, %a2, %a2 : i32, i32, i32, i32) b(%b) c(%d1_0, %d1_1, %d1_2, %d1_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d3_0, %d3_1, %d3_2, %d3_3 = wgmma.mma_async "f16" "f16" a(%a3, %a3, %a3, %a3 : i32, i32, i32, i32) b(%b) c(%d2_0, %d2_1, %d2_2, %d2_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 0
  ptx.ret
}

// A is in shared memory.

// CHECK-LABEL: ptx.entry @descriptors
// CHECK:         wgmma.fence
// CHECK-COUNT-8: wgmma.mma_async
// CHECK-NEXT:    wgmma.commit_group
// CHECK-NEXT:    wgmma.wait_group 0
ptx.entry @descriptors(b : u64, w : u32, p : u64) target("sm_90a") reqntid(128) {
  %b = ptx.ld.param @b : i64
  %w = ptx.ld.param @w : i32
  %p = ptx.ld.param @p : i64
  %zero = ptx.constant 0.0 : f32
  %a0 = ptx.add %b, %b : i64
  %a1 = ptx.add %a0, %b : i64
  %a2 = ptx.add %a1, %b : i64
  %a3 = ptx.add %a2, %b : i64
  %a4 = ptx.add %a3, %b : i64
  %a5 = ptx.add %a4, %b : i64
  %a6 = ptx.add %a5, %b : i64
  %a7 = ptx.add %a6, %b : i64
  %a8 = ptx.add %a7, %b : i64
  %a9 = ptx.add %a8, %b : i64
  %a10 = ptx.add %a9, %b : i64
  %a11 = ptx.add %a10, %b : i64
  %a12 = ptx.add %a11, %b : i64
  %a13 = ptx.add %a12, %b : i64
  %a14 = ptx.add %a13, %b : i64
  %a15 = ptx.add %a14, %b : i64
  %a16 = ptx.add %a15, %b : i64
  %a17 = ptx.add %a16, %b : i64
  %a18 = ptx.add %a17, %b : i64
  %a19 = ptx.add %a18, %b : i64
  %a20 = ptx.add %a19, %b : i64
  %a21 = ptx.add %a20, %b : i64
  %a22 = ptx.add %a21, %b : i64
  %a23 = ptx.add %a22, %b : i64
  wgmma.fence
  %d0_0, %d0_1, %d0_2, %d0_3 = wgmma.mma_async "f16" "f16" a(%a0 : i64) b(%b) c(%zero, %zero, %zero, %zero : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d1_0, %d1_1, %d1_2, %d1_3 = wgmma.mma_async "f16" "f16" a(%a3 : i64) b(%b) c(%d0_0, %d0_1, %d0_2, %d0_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d2_0, %d2_1, %d2_2, %d2_3 = wgmma.mma_async "f16" "f16" a(%a6 : i64) b(%b) c(%d1_0, %d1_1, %d1_2, %d1_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d3_0, %d3_1, %d3_2, %d3_3 = wgmma.mma_async "f16" "f16" a(%a9 : i64) b(%b) c(%d2_0, %d2_1, %d2_2, %d2_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d4_0, %d4_1, %d4_2, %d4_3 = wgmma.mma_async "f16" "f16" a(%a12 : i64) b(%b) c(%d3_0, %d3_1, %d3_2, %d3_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d5_0, %d5_1, %d5_2, %d5_3 = wgmma.mma_async "f16" "f16" a(%a15 : i64) b(%b) c(%d4_0, %d4_1, %d4_2, %d4_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d6_0, %d6_1, %d6_2, %d6_3 = wgmma.mma_async "f16" "f16" a(%a18 : i64) b(%b) c(%d5_0, %d5_1, %d5_2, %d5_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %d7_0, %d7_1, %d7_2, %d7_3 = wgmma.mma_async "f16" "f16" a(%a21 : i64) b(%b) c(%d6_0, %d6_1, %d6_2, %d6_3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 0
  ptx.ret
}
