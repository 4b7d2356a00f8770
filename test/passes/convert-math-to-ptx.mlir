// RUN: tirx-opt %s --convert-math-to-ptx | filecheck %s

// CHECK-LABEL: ptx.entry @functions
ptx.entry @functions(x : f32) target("sm_80") {
  %x = ptx.ld.param @x : f32
  // CHECK: ptx.ex2.approx %x : f32
  %0 = math.exp2 %x : f32
  // CHECK: [[P:%.*]] = ptx.mul %x
  // CHECK-NEXT: ptx.ex2.approx ftz [[P]] : f32
  // CHECK-NEXT: ptx.function sqrt_approx
  %1 = math.exp %x fastmath<afn> : f32
  %2 = math.sqrt %1 fastmath<afn> : f32
  // CHECK-NEXT: ptx.function sqrt
  %3 = math.sqrt %2 : f32
  // CHECK-NEXT: ptx.function rsqrt
  %4 = math.rsqrt %3 : f32
  // CHECK: ptx.function lg2
  // CHECK: ptx.mul
  %5 = math.log %4 : f32
  // CHECK: ptx.fma %x, %x,
  %6 = math.fma %x, %x, %5 : f32
  // CHECK: [[N:%.*]] = ptx.function rint
  // CHECK: [[K:%.*]] = ptx.add [[N]]
  // CHECK-COUNT-3: ptx.fma [[K]]
  // CHECK: ptx.function sin
  %7 = math.sin %6 : f32
  // CHECK: ptx.function abs
  %8 = math.absf %7 : f32
  ptx.ret
}

// Halves go through f32, but for approximations of their own.

// CHECK-LABEL: ptx.entry @halves
ptx.entry @halves(x : f32) target("sm_80") {
  %f = ptx.ld.param @x : f32
  %x = ptx.cvt %f : f32 -> f16
  // CHECK: ptx.cvt {{.*}} : f16 -> f32
  // CHECK-NEXT: ptx.ex2.approx {{.*}} : f32
  // CHECK-NEXT: ptx.cvt {{.*}} : f32 -> f16
  %0 = math.exp2 %x : f16
  // CHECK-NEXT: ptx.ex2.approx {{.*}} : f16
  %1 = math.exp2 %0 fastmath<afn> : f16
  // CHECK-NEXT: ptx.function tanh {{.*}} : f16
  %2 = math.tanh %1 fastmath<afn> : f16
  ptx.ret
}
