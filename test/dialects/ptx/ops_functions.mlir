// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s

// CHECK-LABEL: ptx.entry @functions
ptx.entry @functions(x : f32) target("sm_90") {
  %x = ptx.ld.param @x : f32
  // CHECK: ptx.function lg2 %x : f32
  %0 = ptx.function lg2 %x : f32
  // CHECK-NEXT: ptx.div.full %x, %0
  %1 = ptx.div.full %x, %0
  // CHECK-NEXT: ptx.copysign %x, %1 : f32
  %2 = ptx.copysign %x, %1 : f32
  // CHECK-NEXT: %3 = ptx.cvt.pair f16x2 %x, %2 -> i32
  %3 = ptx.cvt.pair f16x2 %x, %2 -> i32
  // CHECK-NEXT: %4 = ptx.cvt.pair e4m3x2 %x, %2 -> i16
  %4 = ptx.cvt.pair e4m3x2 %x, %2 -> i16
  // CHECK-NEXT: %5 = ptx.cvt.from_pair e4m3x2 %4
  %5 = ptx.cvt.from_pair e4m3x2 %4
  // CHECK-NEXT: ptx.pair fma f16x2 %3, %5, %5
  %6 = ptx.pair fma f16x2 %3, %5, %5
  ptx.ret
}
