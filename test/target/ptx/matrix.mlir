// RUN: tirx-opt %s -t ptx | filecheck %s

// CHECK:      .version 8.6
// CHECK-NEXT: .target sm_100a
// CHECK-NEXT: .address_size 64

ptx.entry @matrices(a : u32) target("sm_100a") {
  %a = ptx.ld.param @a : i32
  %0 = ptx.ldmatrix "m8n8" %a -> i32
  %1, %2, %3, %4 = ptx.ldmatrix "m8n8" trans %a -> i32, i32, i32, i32
  %5, %6 = ptx.ldmatrix "m16n16" trans %a -> i32, i32
  ptx.stmatrix "m8n8" %a, %0 : i32
  ptx.stmatrix "m8n8" trans %a, %1, %2, %3, %4 : i32, i32, i32, i32
  ptx.stmatrix "m16n8" trans %a, %5, %6 : i32, i32
  ptx.ret
}

// CHECK:      .visible .entry matrices(
// CHECK-NEXT:   .param .u32 a
// CHECK-NEXT: )
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .b32 %r<8>;
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.u32 %r0, [a];
// CHECK-NEXT:   ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r0];
// CHECK-NEXT:   ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r2, %r3, %r4, %r5}, [%r0];
// CHECK-NEXT:   ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r6, %r7}, [%r0];
// CHECK-NEXT:   stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r0], {%r1};
// CHECK-NEXT:   stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r0], {%r2, %r3, %r4, %r5};
// CHECK-NEXT:   stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%r0], {%r6, %r7};
// CHECK-NEXT:   ret;
// CHECK-NEXT: }
