// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s

// CHECK:      ptx.entry @products(a : u64, t : u32, p : u32, f : f32) target("sm_90a") {
// CHECK:        wgmma.fence
// CHECK-NEXT:   %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
// CHECK-NEXT:   %4, %5, %6, %7 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%0, %1, %2, %3 : f32, f32, f32, f32) scale_d %p transpose_a transpose_b negate_a negate_b -> f32, f32, f32, f32
// CHECK-NEXT:   %8, %9 = wgmma.mma_async "e4m3" "e5m2" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%a) {tag} -> i32, i32
// CHECK-NEXT:   %10, %11, %12, %13 = wgmma.mma_async "s8" "u8" a(%a : i64) b(%a) metadata(%t : i32) selector 0 saturate -> i32, i32, i32, i32
// CHECK-NEXT:   wgmma.commit_group {tag}
// CHECK-NEXT:   wgmma.wait_group 7
// CHECK-NEXT:   wgmma.wait_group 0
// CHECK-NEXT:   ptx.ret
ptx.entry @products(a : u64, t : u32, p : u32, f : f32) target("sm_90a") {
  %a = ptx.ld.param @a : i64
  %t = ptx.ld.param @t : i32
  %zero = ptx.constant 0 : i32
  %p = ptx.setp eq %t, %zero : i32
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) -> f32, f32, f32, f32
  %4, %5, %6, %7 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%a) c(%0, %1, %2, %3 : f32, f32, f32, f32) scale_d %p transpose_a transpose_b negate_a negate_b -> f32, f32, f32, f32
  %8, %9 = wgmma.mma_async "e4m3" "e5m2" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%a) {tag} -> i32, i32
  %10, %11, %12, %13 = wgmma.mma_async "s8" "u8" a(%a : i64) b(%a) metadata(%t : i32) selector 0 saturate -> i32, i32, i32, i32
  wgmma.commit_group {tag}
  wgmma.wait_group 7
  wgmma.wait_group 0
  ptx.ret
}
