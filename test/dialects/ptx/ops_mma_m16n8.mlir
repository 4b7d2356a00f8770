// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s

// CHECK:      ptx.entry @products(x : f64, t : u32, f : f32) target("sm_90a") {
// CHECK:        %0, %1, %2, %3 = ptx.mma.m16n8 "m16n8k16.row.col.f32.f16" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %t : i32, i32) c(%f, %f, %f, %f : f32, f32, f32, f32) -> f32, f32, f32, f32
// CHECK-NEXT:   %4, %5 = ptx.mma.m16n8 "m16n8k8.row.col.f16" a(%t, %t : i32, i32) b(%t : i32) c(%t, %t : i32, i32) {tag} -> i32, i32
// CHECK-NEXT:   %6, %7, %8, %9 = ptx.mma.m16n8 "m16n8k4.row.col.f64" a(%x, %x : f64, f64) b(%x : f64) c(%x, %x, %x, %x : f64, f64, f64, f64) -> f64, f64, f64, f64
// CHECK-NEXT:   %10, %11, %12, %13 = ptx.mma.m16n8 "m16n8k32.row.col.s32.u8" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %t : i32, i32) c(%t, %t, %t, %t : i32, i32, i32, i32) -> i32, i32, i32, i32
// CHECK-NEXT:   %14, %15, %16, %17 = ptx.mma.m16n8 "m16n8k64.mxf4.e2m1.ue8m0.2X" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %t : i32, i32) c(%f, %f, %f, %f : f32, f32, f32, f32) scales(%t, %t) bytes(0, 2) -> f32, f32, f32, f32
// CHECK-NEXT:   %18, %19, %20, %21 = ptx.mma.m16n8 "m16n8k32.sp.row.col.f32.f16" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %t, %t, %t : i32, i32, i32, i32) c(%f, %f, %f, %f : f32, f32, f32, f32) metadata(%t) selector 1 -> f32, f32, f32, f32
// CHECK-NEXT:   ptx.ret
ptx.entry @products(x : f64, t : u32, f : f32) target("sm_90a") {
  %x = ptx.ld.param @x : f64
  %t = ptx.ld.param @t : i32
  %f = ptx.ld.param @f : f32
  %0, %1, %2, %3 = ptx.mma.m16n8 "m16n8k16.row.col.f32.f16" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %t : i32, i32) c(%f, %f, %f, %f : f32, f32, f32, f32) -> f32, f32, f32, f32
  %4, %5 = ptx.mma.m16n8 "m16n8k8.row.col.f16" a(%t, %t : i32, i32) b(%t : i32) c(%t, %t : i32, i32) {tag} -> i32, i32
  %6, %7, %8, %9 = ptx.mma.m16n8 "m16n8k4.row.col.f64" a(%x, %x : f64, f64) b(%x : f64) c(%x, %x, %x, %x : f64, f64, f64, f64) -> f64, f64, f64, f64
  %10, %11, %12, %13 = ptx.mma.m16n8 "m16n8k32.row.col.s32.u8" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %t : i32, i32) c(%t, %t, %t, %t : i32, i32, i32, i32) -> i32, i32, i32, i32
  %20, %21, %22, %23 = ptx.mma.m16n8 "m16n8k64.mxf4.e2m1.ue8m0.2X" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %t : i32, i32) c(%f, %f, %f, %f : f32, f32, f32, f32) scales(%t, %t) bytes(0, 2) -> f32, f32, f32, f32
  %24, %25, %26, %27 = ptx.mma.m16n8 "m16n8k32.sp.row.col.f32.f16" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %t, %t, %t : i32, i32, i32, i32) c(%f, %f, %f, %f : f32, f32, f32, f32) metadata(%t) selector 1 -> f32, f32, f32, f32
  ptx.ret
}
