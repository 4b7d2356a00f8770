// RUN: tirx-opt %s -t ptx | filecheck %s
// RUN: tirx-opt %s -p canonicalize -t ptx | filecheck %s

// PTX written by hand: registers of results and inputs by number, blocks with registers of their own, a feature that
// the PTX version follows from.

// CHECK:      .version 8.0
// CHECK:      lop3.b32 %r2, %r0, %r1, 7, 0xE8;
// CHECK-NEXT: {
// CHECK-NEXT: .reg .b32 t, u;
// CHECK-NEXT: mov.b64 {t, u}, %rd0;
// CHECK-NEXT: add.s32 %r3, t, %r2;
// CHECK-NEXT: }
// CHECK-NEXT: elect.sync
ptx.entry @inline(n : u32, m : u32, w : u64) target("sm_90a") {
  %n = ptx.ld.param @n : i32
  %m = ptx.ld.param @m : i32
  %w = ptx.ld.param @w : i64
  %r = ptx.inline "lop3.b32 $0, $1, $2, 7, 0xE8;" (%n, %m) : (i32, i32) -> i32
  %s = ptx.inline_volatile "{ .reg .b32 t, u; mov.b64 {t, u}, $2;\n add.s32 $0, t, $1; }" (%r, %w) : (i32, i64) -> i32
  %e = ptx.inline_volatile "elect.sync _|$0, 0xffffffff" () needs ["elect.sync"] : () -> i1
  ptx.ret
}
