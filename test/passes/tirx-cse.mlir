// RUN: tirx-opt --tirx-cse %s | filecheck %s

// What is computed twice is computed once, whatever lies between; what then has no use goes, and all that led to it.
// CHECK-LABEL: ptx.entry @sums
ptx.entry @sums(a : u64) target("sm_90") {
  %a = ptx.ld.param @a : i64
  %c = ptx.constant 3 : i32
  %d = ptx.constant 3 : i32
  %x, %y = ptx.ld global %a : i64 -> i32, i32
  // CHECK: [[X:%.*]], [[Y:%.*]] = ptx.ld global [[A:%.*]] : i64 -> i32, i32
  // CHECK-NEXT: [[SUM:%.*]] = ptx.add [[X]], [[C:%.*]] : i32
  // CHECK-NEXT: ptx.st global [[A]], [[SUM]], [[SUM]]
  // CHECK-NEXT: ptx.ret
  %s = ptx.add %x, %c : i32
  %t = ptx.add %x, %d : i32
  %unused = ptx.add %y, %y : i32
  %as_well = ptx.add %unused, %c : i32
  ptx.st global %a, %s, %t : i64, i32, i32
  ptx.ret
}

// Memory is read again after something has been written, and not before.
// CHECK-LABEL: ptx.entry @loads
ptx.entry @loads(a : u64) target("sm_90") {
  %a = ptx.ld.param @a : i64
  // CHECK: [[X:%.*]] = ptx.ld global [[A:%.*]] : i64 -> i32
  // CHECK-NEXT: ptx.st global [[A]] offset 4, [[X]], [[X]]
  // CHECK-NEXT: [[Z:%.*]] = ptx.ld global [[A]] : i64 -> i32
  // CHECK-NEXT: ptx.st global [[A]] offset 16, [[Z]]
  %x = ptx.ld global %a : i64 -> i32
  %y = ptx.ld global %a : i64 -> i32
  ptx.st global %a offset 4, %x, %y : i64, i32, i32
  %z = ptx.ld global %a : i64 -> i32
  ptx.st global %a offset 16, %z : i64, i32
  ptx.ret
}

// A region knows what was computed around it; what it computes is not known behind it.
// CHECK-LABEL: ptx.entry @branches
ptx.entry @branches(a : u64) target("sm_90") {
  %a = ptx.ld.param @a : i64
  %p = ptx.ld global %a : i64 -> i32
  %zero = ptx.constant 0 : i32
  %c = ptx.setp eq %p, %zero : i32
  // CHECK: [[SUM:%.*]] = ptx.add [[P:%.*]], [[P]] : i32
  // CHECK: scf.if
  %s = ptx.add %p, %p : i32
  scf.if %c {
    // CHECK-NEXT: [[PRODUCT:%.*]] = ptx.mul.lo [[P]], [[P]] : i32
    // CHECK-NEXT: ptx.st global [[A:%.*]], [[SUM]], [[PRODUCT]]
    %t = ptx.add %p, %p : i32
    %u = ptx.mul.lo %p, %p : i32
    ptx.st global %a, %t, %u : i64, i32, i32
  }
  // CHECK: [[AGAIN:%.*]] = ptx.mul.lo [[P]], [[P]] : i32
  // CHECK-NEXT: ptx.st global [[A]], [[SUM]], [[AGAIN]]
  %v = ptx.mul.lo %p, %p : i32
  ptx.st global %a, %s, %v : i64, i32, i32
  ptx.ret
}
