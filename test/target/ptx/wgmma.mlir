// RUN: tirx-opt %s -t ptx | filecheck %s

// CHECK:      .version 8.4
// CHECK-NEXT: .target sm_90a

// Accumulators stay in their registers: results take those of c, round a loop as well.

// CHECK:      .visible .entry loop(
// CHECK:        mov.f32 %f0, 0f00000000;
// CHECK-NEXT:   mov.f32 %f1, 0f00000000;
// CHECK-NEXT:   mov.f32 %f2, 0f00000000;
// CHECK-NEXT:   mov.f32 %f3, 0f00000000;
// CHECK-NEXT: $loop0:
// CHECK-NEXT:   wgmma.fence.sync.aligned;
// CHECK-NEXT:   wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, [[A:%rd[0-9]+]], [[B:%rd[0-9]+]], 1, 1, 1, 0, 0;
// CHECK-NEXT:   add.s64 [[NEXT:%rd[0-9]+]], [[A]], 2;
// CHECK-NEXT:   wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, [[NEXT]], [[B]], 1, 1, 1, 0, 1;
// CHECK-NEXT:   wgmma.commit_group.sync.aligned;
// CHECK-NEXT:   wgmma.wait_group.sync.aligned 0;
// CHECK-NEXT:   add.s32 [[I:%r[0-9]+]], [[K:%r[0-9]+]], 1;
// CHECK-NEXT:   setp.lt.s32 [[P:%p[0-9]+]], [[I]],
// CHECK-NEXT:   @![[P]] bra $exit0;
// CHECK-NEXT:   mov.b32 [[K]], [[I]];
// CHECK-NEXT:   bra $loop0;
// CHECK:        st.global.f32 [{{%rd[0-9]+}}], %f0;
ptx.entry @loop(a : u64, b : u64, n : u32, out : u64) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %b = ptx.ld.param @b : i64
  %n = ptx.ld.param @n : i32
  %out = ptx.ld.param @out : i64
  %zero = ptx.constant 0.0 : f32
  %start = ptx.constant 0 : i32
  %one = ptx.constant 1 : i32
  %two = ptx.constant 2 : i64
  ptx.bra ^loop(%start, %zero, %zero, %zero, %zero : i32, f32, f32, f32, f32)
^loop(%k : i32, %c0 : f32, %c1 : f32, %c2 : f32, %c3 : f32):
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%b) c(%c0, %c1, %c2, %c3 : f32, f32, f32, f32) -> f32, f32, f32, f32
  %next = ptx.add %a, %two : i64
  %4, %5, %6, %7 = wgmma.mma_async "f16" "f16" a(%next : i64) b(%b) c(%0, %1, %2, %3 : f32, f32, f32, f32) transpose_b -> f32, f32, f32, f32
  wgmma.commit_group
  wgmma.wait_group 0
  %i = ptx.add %k, %one : i32
  %more = ptx.setp lt %i, %n : i32
  ptx.cond_bra %more, ^loop(%i, %4, %5, %6, %7 : i32, f32, f32, f32, f32), ^exit
^exit:
  ptx.st global %out, %4 : i64, f32
  ptx.ret
}

// Without c the first product overwrites; a predicate decides at run time.

// CHECK:      .visible .entry forms(
// CHECK:        wgmma.mma_async.sync.aligned.m64n16k32.f16.e4m3.e5m2 {%r1, %r2, %r3, %r4}, {%r0, %r0, %r0, %r0}, %rd0, 0, 1, 1;
// CHECK-NEXT:   wgmma.mma_async.sync.aligned.m64n16k32.f16.e4m3.e5m2 {%r1, %r2, %r3, %r4}, {%r0, %r0, %r0, %r0}, %rd0, %p0, -1, 1;
// CHECK-NEXT:   wgmma.mma_async.sync.aligned.m64n8k32.satfinite.s32.s8.u8 {{{.*}}}, %rd0, %rd0, 0;
// CHECK-NEXT:   wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32 {{{.*}}}, %rd0, 0x4000004000000000, %r0, 1, 0, 1, -1;
// CHECK-NEXT:   wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {{{.*}}}, %rd0, %rd0, 0;
// CHECK-NEXT:   wgmma.commit_group.sync.aligned;
// CHECK-NEXT:   wgmma.wait_group.sync.aligned 1;
// CHECK-NEXT:   ret;
ptx.entry @forms(a : u64, t : u32) target("sm_90a") reqntid(128) {
  %a = ptx.ld.param @a : i64
  %t = ptx.ld.param @t : i32
  %zero = ptx.constant 0 : i32
  %p = ptx.setp eq %t, %zero : i32
  %desc = ptx.constant 4611686293305294848 : i64
  wgmma.fence
  %0, %1, %2, %3 = wgmma.mma_async "e4m3" "e5m2" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%a) -> i32, i32, i32, i32
  %4, %5, %6, %7 = wgmma.mma_async "e4m3" "e5m2" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%a) c(%0, %1, %2, %3 : i32, i32, i32, i32) scale_d %p negate_a -> i32, i32, i32, i32
  %8, %9, %10, %11 = wgmma.mma_async "s8" "u8" a(%a : i64) b(%a) saturate -> i32, i32, i32, i32
  %12, %13, %14, %15 = wgmma.mma_async "tf32" "tf32" a(%a : i64) b(%desc) metadata(%t : i32) selector 1 negate_b -> f32, f32, f32, f32
  %16, %17, %18, %19 = wgmma.mma_async "b1" "b1" a(%a : i64) b(%a) -> i32, i32, i32, i32
  wgmma.commit_group
  wgmma.wait_group 1
  ptx.ret
}
