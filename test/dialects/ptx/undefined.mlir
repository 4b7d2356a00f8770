// RUN: tirx-opt %s | tirx-opt --print-op-generic | tirx-opt | filecheck %s
// RUN: tirx-opt %s -t ptx | filecheck %s --check-prefix PTX

// A register without a value takes no instruction; the product whose scale-d is false writes it.

// CHECK-LABEL: ptx.entry @start
// CHECK:         %c = ptx.undefined : f32
// PTX:           wgmma.fence
// PTX-NEXT:      wgmma.mma_async{{.*}} {%f0, %f1, %f2, %f3}, %rd0, %rd0, %p0,
ptx.entry @start(a : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %none = ptx.constant 0 : i64
  %p = ptx.setp eq %a, %none : i64
  %c = ptx.undefined : f32
  %c1 = ptx.undefined : f32
  %c2 = ptx.undefined : f32
  %c3 = ptx.undefined : f32
  wgmma.fence
  %d:4 = "wgmma.mma_async"(%a, %a, %c, %c1, %c2, %c3, %p) <{a_type = "f16", b_type = "f16", operandSegmentSizes = array<i32: 1, 1, 4, 1, 0>}> : (i64, i64, f32, f32, f32, f32, i1) -> (f32, f32, f32, f32)
  wgmma.commit_group
  wgmma.wait_group 0
  ptx.ret
}
