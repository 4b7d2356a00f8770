// RUN: tirx-opt %s -t ptx | filecheck %s

// Approximations, pairs of numbers in one register, and sums in memory.
ptx.entry @functions(a : u64, x : f32, y : f32) target("sm_90") {
  %a = ptx.ld.param @a : i64
  %x = ptx.ld.param @x : f32
  %y = ptx.ld.param @y : f32
  // CHECK: lg2.approx.f32 %f2, %f0;
  %0 = ptx.function lg2 %x : f32
  // CHECK-NEXT: div.full.f32 %f3, %f2, %f1;
  %1 = ptx.div.full %0, %y
  // CHECK-NEXT: copysign.f32 %f4, %f1, %f3;
  %2 = ptx.copysign %y, %1 : f32
  // CHECK-NEXT: cvt.rn.f16x2.f32 %r0, %f4, %f3;
  %3 = ptx.cvt.pair f16x2 %1, %2 -> i32
  // CHECK-NEXT: cvt.rn.satfinite.e4m3x2.f32 %h0, %f4, %f3;
  %4 = ptx.cvt.pair e4m3x2 %1, %2 -> i16
  // CHECK-NEXT: cvt.rn.f16x2.e4m3x2 %r1, %h0;
  %5 = ptx.cvt.from_pair e4m3x2 %4
  // CHECK-NEXT: add.rn.f16x2 %r2, %r0, %r1;
  %6 = ptx.pair add f16x2 %3, %5
  // No instruction: whoever reads it does not mind.
  // CHECK-NEXT: st.global.v2.b32 [%rd0], {%r2, %r3};
  %7 = ptx.undefined : i32
  ptx.st global %a, %6, %7 : i64, i32, i32
  // CHECK-NEXT: red.global.add.v2.f32 [%rd0+16], {%f3, %f4};
  ptx.red add %a offset 16, %1, %2 : f32, f32
  // CHECK-NEXT: red.global.add.noftz.f16x2 [%rd0+24], %r2;
  ptx.red add of f16x2 %a offset 24, %6 : i32
  // CHECK-NEXT: red.global.max.u32 [%rd0+28], %r1;
  ptx.red max unsigned %a offset 28, %5 : i32
  // CHECK-NEXT: popc.b32 [[N:%r[0-9]+]], %r1;
  %8 = ptx.popc %5
  // CHECK-NEXT: clz.b32 [[Z:%r[0-9]+]], [[N]];
  %9 = ptx.clz %8
  // CHECK-NEXT: brev.b32 [[B:%r[0-9]+]], [[Z]];
  %10 = ptx.brev %9 : i32
  // CHECK-NEXT: prmt.b32 [[P:%r[0-9]+]], [[B]], [[Z]], [[N]];
  %12 = ptx.prmt %10, %9, %8
  // CHECK-NEXT: lop3.b32 {{%r[0-9]+}}, [[P]], [[B]], [[Z]], 0x6a;
  %13 = ptx.lop3.and.xor %12, %10, %9
  // CHECK-NEXT: mov.b32 [[S:%r[0-9]+]], s;
  %11 = ptx.shared_alloc @s bytes 16 align 16
  // CHECK-NEXT: red.shared.add.u32 {{.}}[[S]]], [[B]];
  ptx.red.shared add %11, %10 : i32
  ptx.ret
}
