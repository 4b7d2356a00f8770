// RUN: tirx-opt %s --convert-scf-to-ptx | filecheck %s

ptx.entry @for_loop(n : u64) target("sm_80") {
  %n = ptx.ld.param @n : i64
  %c0 = ptx.constant 0 : i64
  %c1 = ptx.constant 1 : i64
  %sum, %product = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0, %p = %c1) -> (i64, i64) : i64 {
    %0 = ptx.add %s, %i : i64
    %1 = ptx.mul.lo %p, %i : i64
    scf.yield %0, %1 : i64, i64
  }
  %2 = ptx.add %sum, %product : i64
  ptx.ret
}

// CHECK:      ptx.entry @for_loop(n : u64) target("sm_80") {
// CHECK-NEXT:   %n = ptx.ld.param @n : i64
// CHECK-NEXT:   %c0 = ptx.constant 0 : i64
// CHECK-NEXT:   %c1 = ptx.constant 1 : i64
// CHECK-NEXT:   ptx.bra ^loop(%c0, %c0, %c1 : i64, i64, i64)
// CHECK-NEXT: ^loop(%i: i64, %s: i64, %p: i64):
// CHECK-NEXT:   %0 = ptx.setp lt %i, %n : i64
// CHECK-NEXT:   ptx.cond_bra %0, ^loop_body, ^loop_end
// CHECK-NEXT: ^loop_body:
// CHECK-NEXT:   %1 = ptx.add %s, %i : i64
// CHECK-NEXT:   %2 = ptx.mul.lo %p, %i : i64
// CHECK-NEXT:   %3 = ptx.add %i, %c1 : i64
// CHECK-NEXT:   ptx.bra ^loop(%3, %1, %2 : i64, i64, i64)
// CHECK-NEXT: ^loop_end:
// CHECK-NEXT:   %4 = ptx.add %s, %p : i64
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

ptx.entry @if_else(n : u32) target("sm_80") {
  %n = ptx.ld.param @n : i32
  %c0 = ptx.constant 0 : i32
  %p = ptx.setp lt %n, %c0 : i32
  %abs = scf.if %p -> (i32) {
    %0 = ptx.neg %n : i32
    scf.yield %0 : i32
  } else {
    scf.yield %n : i32
  }
  scf.if %p {
    ptx.bar.sync 0
  }
  %1 = ptx.add %abs, %c0 : i32
  ptx.ret
}

// CHECK:      ptx.entry @if_else(n : u32) target("sm_80") {
// CHECK-NEXT:   %n = ptx.ld.param @n : i32
// CHECK-NEXT:   %c0 = ptx.constant 0 : i32
// CHECK-NEXT:   %p = ptx.setp lt %n, %c0 : i32
// CHECK-NEXT:   ptx.cond_bra %p, ^then, ^else
// CHECK-NEXT: ^then:
// CHECK-NEXT:   %0 = ptx.neg %n : i32
// CHECK-NEXT:   ptx.bra ^end_if(%0 : i32)
// CHECK-NEXT: ^else:
// CHECK-NEXT:   ptx.bra ^end_if(%n : i32)
// CHECK-NEXT: ^end_if(%abs: i32):
// CHECK-NEXT:   ptx.cond_bra %p, ^then_1, ^end_if_1
// CHECK-NEXT: ^then_1:
// CHECK-NEXT:   ptx.bar.sync 0
// CHECK-NEXT:   ptx.bra ^end_if_1
// CHECK-NEXT: ^end_if_1:
// CHECK-NEXT:   %1 = ptx.add %abs, %c0 : i32
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

ptx.entry @while_loop(n : u32) target("sm_80") {
  %n = ptx.ld.param @n : i32
  %c0 = ptx.constant 0 : i32
  %c2 = ptx.constant 2 : i32
  %last, %count = scf.while (%x = %n, %k = %c0) : (i32, i32) -> (i32, i32) {
    %p = ptx.setp gt %x, %c2 : i32
    scf.condition(%p) %x, %k : i32, i32
  } do {
  ^bb0(%y : i32, %m : i32):
    %0 = ptx.div %y, %c2 : i32
    %1 = ptx.add %m, %c2 : i32
    scf.yield %0, %1 : i32, i32
  }
  %2 = ptx.add %last, %count : i32
  ptx.ret
}

// CHECK:      ptx.entry @while_loop(n : u32) target("sm_80") {
// CHECK-NEXT:   %n = ptx.ld.param @n : i32
// CHECK-NEXT:   %c0 = ptx.constant 0 : i32
// CHECK-NEXT:   %c2 = ptx.constant 2 : i32
// CHECK-NEXT:   ptx.bra ^loop(%n, %c0 : i32, i32)
// CHECK-NEXT: ^loop(%x: i32, %k: i32):
// CHECK-NEXT:   %p = ptx.setp gt %x, %c2 : i32
// CHECK-NEXT:   ptx.cond_bra %p, ^loop_body, ^loop_end
// CHECK-NEXT: ^loop_body:
// CHECK-NEXT:   %0 = ptx.div %x, %c2 : i32
// CHECK-NEXT:   %1 = ptx.add %k, %c2 : i32
// CHECK-NEXT:   ptx.bra ^loop(%0, %1 : i32, i32)
// CHECK-NEXT: ^loop_end:
// CHECK-NEXT:   %2 = ptx.add %x, %k : i32
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

ptx.entry @nested(n : u32) target("sm_80") {
  %n = ptx.ld.param @n : i32
  %c0 = ptx.constant 0 : i32
  %c1 = ptx.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    scf.for %j = %c0 to %i step %c1 : i32 {
      %p = ptx.setp eq %i, %j : i32
      scf.if %p {
        ptx.bar.sync 0
      }
    }
    ptx.bar.warp.sync
  }
  ptx.ret
}

// CHECK:      ptx.entry @nested(n : u32) target("sm_80") {
// CHECK-NEXT:   %n = ptx.ld.param @n : i32
// CHECK-NEXT:   %c0 = ptx.constant 0 : i32
// CHECK-NEXT:   %c1 = ptx.constant 1 : i32
// CHECK-NEXT:   ptx.bra ^loop(%c0 : i32)
// CHECK-NEXT: ^loop(%i: i32):
// CHECK-NEXT:   %0 = ptx.setp lt %i, %n : i32
// CHECK-NEXT:   ptx.cond_bra %0, ^loop_body, ^loop_end_1
// CHECK-NEXT: ^loop_body:
// CHECK-NEXT:   ptx.bra ^loop_1(%c0 : i32)
// CHECK-NEXT: ^loop_1(%j: i32):
// CHECK-NEXT:   %1 = ptx.setp lt %j, %i : i32
// CHECK-NEXT:   ptx.cond_bra %1, ^loop_body_1, ^loop_end
// CHECK-NEXT: ^loop_body_1:
// CHECK-NEXT:   %p = ptx.setp eq %i, %j : i32
// CHECK-NEXT:   ptx.cond_bra %p, ^then, ^end_if
// CHECK-NEXT: ^then:
// CHECK-NEXT:   ptx.bar.sync 0
// CHECK-NEXT:   ptx.bra ^end_if
// CHECK-NEXT: ^end_if:
// CHECK-NEXT:   %2 = ptx.add %j, %c1 : i32
// CHECK-NEXT:   ptx.bra ^loop_1(%2 : i32)
// CHECK-NEXT: ^loop_end:
// CHECK-NEXT:   ptx.bar.warp.sync
// CHECK-NEXT:   %3 = ptx.add %i, %c1 : i32
// CHECK-NEXT:   ptx.bra ^loop(%3 : i32)
// CHECK-NEXT: ^loop_end_1:
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }
