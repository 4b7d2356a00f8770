// RUN: tirx-opt %s -t ptx | filecheck %s

// Calls of the device runtime: a text is one variable of the module, whoever writes it.

// CHECK:      .extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 values);
// CHECK-NEXT: .extern .func __assertfail
// CHECK-NEXT: .global .align 1 .b8 text_782f55c1[6] = {37, 100, 32, 37, 103, 0};
// CHECK-NEXT: .global .align 1 .b8 text_b6bd307f[8]
// CHECK:      .local .align 8 .b8 $print0[16];
// CHECK-NEXT: st.local.s32 [$print0+0], %r0;
// CHECK-NEXT: st.local.f64 [$print0+8], 0d3FF0000000000000;
// CHECK:      call ({{.*}}), vprintf, (
// CHECK:      call __assertfail, (
ptx.entry @debugging(n : u32) target("sm_75") {
  %n = ptx.ld.param @n : i32
  %x = ptx.constant 1.0 : f64
  ptx.printf "%d %g" %n, %x : i32, f64
  ptx.printf "%d %g" %n, %x : i32, f64
  ptx.assert_fail "message" in "debugging" at "file" line 7
  ptx.ret
}
