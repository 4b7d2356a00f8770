// RUN: tirx-opt %s -t ptx | filecheck %s

// CHECK:      .version 7.0
// CHECK-NEXT: .target sm_80
// CHECK-NEXT: .address_size 64

// Arguments are copied all at once: swaps and rotations need a register more, chains only an order.
ptx.entry @swap(n : u32) target("sm_80") {
  %n = ptx.ld.param @n : i32
  %c0 = ptx.constant 0 : i32
  %c1 = ptx.constant 1 : i32
  %f = ptx.constant 2.000000e+00 : f32
  ptx.bra ^loop(%c0, %c1, %f, %f : i32, i32, f32, f32)
^loop(%x : i32, %y : i32, %u : f32, %v : f32):
  %p = ptx.setp lt %x, %n : i32
  ptx.cond_bra %p, ^loop(%y, %x, %v, %u : i32, i32, f32, f32), ^end
^end:
  ptx.ret
}

// CHECK:      .visible .entry swap(
// CHECK-NEXT:   .param .u32 n
// CHECK-NEXT: )
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .pred %p<1>;
// CHECK-NEXT:   .reg .b32 %r<4>;
// CHECK-NEXT:   .reg .f32 %f<3>;
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.u32 %r0, [n];
// CHECK-NEXT:   mov.b32 %r1, 0;
// CHECK-NEXT:   mov.b32 %r2, 1;
// CHECK-NEXT:   mov.f32 %f0, 0f40000000;
// CHECK-NEXT:   mov.f32 %f1, 0f40000000;
// CHECK-NEXT: $loop0:
// CHECK-NEXT:   setp.lt.s32 %p0, %r1, %r0;
// CHECK-NEXT:   @!%p0 bra $end0;
// CHECK-NEXT:   mov.b32 %r3, %r1;
// CHECK-NEXT:   mov.b32 %r1, %r2;
// CHECK-NEXT:   mov.b32 %r2, %r3;
// CHECK-NEXT:   mov.f32 %f2, %f0;
// CHECK-NEXT:   mov.f32 %f0, %f1;
// CHECK-NEXT:   mov.f32 %f1, %f2;
// CHECK-NEXT:   bra $loop0;
// CHECK-NEXT: $end0:
// CHECK-NEXT:   ret;
// CHECK-NEXT: }

ptx.entry @rotate_and_chain(n : u32) target("sm_80") {
  %n = ptx.ld.param @n : i32
  %c0 = ptx.constant 0 : i32
  ptx.bra ^loop(%n, %c0, %c0, %c0, %n : i32, i32, i32, i32, i32)
^loop(%a : i32, %b : i32, %c : i32, %d : i32, %e : i32):
  %p = ptx.setp lt %a, %n : i32
  // (a, b, c) rotate; d takes a's old value, e takes d's.
  ptx.cond_bra %p, ^loop(%b, %c, %a, %a, %d : i32, i32, i32, i32, i32), ^end
^end:
  ptx.ret
}

// CHECK:      .visible .entry rotate_and_chain(
// CHECK-NEXT:   .param .u32 n
// CHECK-NEXT: )
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .pred %p<1>;
// CHECK-NEXT:   .reg .b32 %r<7>;
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.u32 %r0, [n];
// CHECK-NEXT:   mov.b32 %r1, %r0;
// CHECK-NEXT:   mov.b32 %r2, 0;
// CHECK-NEXT:   mov.b32 %r3, 0;
// CHECK-NEXT:   mov.b32 %r4, 0;
// CHECK-NEXT:   mov.b32 %r5, %r0;
// CHECK-NEXT: $loop0:
// CHECK-NEXT:   setp.lt.s32 %p0, %r1, %r0;
// CHECK-NEXT:   @!%p0 bra $end0;
// CHECK-NEXT:   mov.b32 %r5, %r4;
// CHECK-NEXT:   mov.b32 %r4, %r1;
// CHECK-NEXT:   mov.b32 %r6, %r1;
// CHECK-NEXT:   mov.b32 %r1, %r2;
// CHECK-NEXT:   mov.b32 %r2, %r3;
// CHECK-NEXT:   mov.b32 %r3, %r6;
// CHECK-NEXT:   bra $loop0;
// CHECK-NEXT: $end0:
// CHECK-NEXT:   ret;
// CHECK-NEXT: }

// Both edges copy, so one of them gets a label of its own.
ptx.entry @two_edges(n : u32) target("sm_80") {
  %n = ptx.ld.param @n : i32
  %c7 = ptx.constant 7 : i32
  %p = ptx.setp eq %n, %c7 : i32
  %q = ptx.constant true
  ptx.cond_bra %p, ^a(%n, %p : i32, i1), ^a(%c7, %q : i32, i1)
^a(%x : i32, %y : i1):
  ptx.cond_bra %y, ^b, ^c
^b:
  ptx.bar.sync 0
  ptx.bra ^d
^c:
  // The block that follows needs no jump.
  ptx.bra ^d
^d:
  ptx.cond_bra %y, ^a(%x, %y : i32, i1), ^e
^e:
  ptx.cond_bra %y, ^d, ^b
}

// CHECK:      .visible .entry two_edges(
// CHECK-NEXT:   .param .u32 n
// CHECK-NEXT: )
// CHECK-NEXT: {
// CHECK-NEXT:   .reg .pred %p<2>;
// CHECK-NEXT:   .reg .b32 %r<2>;
// CHECK-EMPTY:
// CHECK-NEXT:   ld.param.u32 %r0, [n];
// CHECK-NEXT:   setp.eq.s32 %p0, %r0, 7;
// CHECK-NEXT:   @!%p0 bra $else0;
// CHECK-NEXT:   mov.b32 %r1, %r0;
// CHECK-NEXT:   mov.pred %p1, %p0;
// CHECK-NEXT:   bra $a0;
// CHECK-NEXT: $else0:
// CHECK-NEXT:   mov.b32 %r1, 7;
// CHECK-NEXT:   mov.pred %p1, 1;
// CHECK-NEXT: $a0:
// CHECK-NEXT:   @!%p1 bra $c0;
// CHECK-NEXT: $b0:
// CHECK-NEXT:   bar.sync 0;
// CHECK-NEXT:   bra $d0;
// CHECK-NEXT: $c0:
// CHECK-NEXT: $d0:
// CHECK-NEXT:   @%p1 bra $a0;
// CHECK-NEXT:   @%p1 bra $d0;
// CHECK-NEXT:   bra $b0;
// CHECK-NEXT: }
