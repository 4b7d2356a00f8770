// RUN: tirx-opt %s --canonicalize | filecheck %s

// Constants are computed in the width of the register; what does not change a value is dropped.
// CHECK-LABEL: ptx.entry @folds
// CHECK:         %x = ptx.ld.param @x : i32
// CHECK-NEXT:    [[SUM:%.*]] = ptx.constant -2147483648 : i32
// CHECK-NEXT:    ptx.st shared %x, [[SUM]] : i32, i32
// CHECK-NEXT:    [[SHIFTED:%.*]] = ptx.constant -2 : i32
// CHECK-NEXT:    ptx.st shared %x, [[SHIFTED]] : i32, i32
// CHECK-NEXT:    [[UNSIGNED:%.*]] = ptx.constant 2147483646 : i32
// CHECK-NEXT:    ptx.st shared %x, [[UNSIGNED]] : i32, i32
// CHECK-NEXT:    [[FAR:%.*]] = ptx.constant 0 : i32
// CHECK-NEXT:    ptx.st shared %x, [[FAR]] : i32, i32
// CHECK-NEXT:    ptx.st shared %x, %x : i32, i32
// CHECK-NEXT:    ptx.ret
ptx.entry @folds(x : u32) target("sm_90") {
  %x = ptx.ld.param @x : i32
  %zero = ptx.constant 0 : i32
  %one = ptx.constant 1 : i32
  %ones = ptx.constant -1 : i32
  %most = ptx.constant 2147483647 : i32
  %minus = ptx.constant -4 : i32
  %amount = ptx.constant 40 : i32

  %sum = ptx.add %most, %one : i32
  ptx.st shared %x, %sum : i32, i32
  %shifted = ptx.shr %minus, %one : i32
  ptx.st shared %x, %shifted : i32, i32
  %unsigned = ptx.shr unsigned %minus, %one : i32
  ptx.st shared %x, %unsigned : i32, i32
  %far = ptx.shl %one, %amount : i32
  ptx.st shared %x, %far : i32, i32

  %a = ptx.add %zero, %x : i32
  %b = ptx.sub %a, %zero : i32
  %c = ptx.mul.lo %one, %b : i32
  %d = ptx.and %c, %ones : i32
  %e = ptx.or %d, %zero : i32
  %f = ptx.xor %zero, %e : i32
  %g = ptx.shl %f, %zero : i32
  ptx.st shared %x, %g : i32, i32
  ptx.ret
}

// Absorbing operands; subtraction is not commutative.
// CHECK-LABEL: ptx.entry @absorbs
// CHECK-DAG:     [[ZERO:%.*]] = ptx.constant 0 : i32
// CHECK-DAG:     [[ONES:%.*]] = ptx.constant -1 : i32
// CHECK:         ptx.st shared %x, [[ZERO]] : i32, i32
// CHECK-NEXT:    ptx.st shared %x, [[ZERO]] : i32, i32
// CHECK-NEXT:    ptx.st shared %x, [[ONES]] : i32, i32
// CHECK-NEXT:    ptx.st shared %x, [[ZERO]] : i32, i32
// CHECK-NEXT:    [[LEFT:%.*]] = ptx.sub [[ZERO]], %x : i32
// CHECK-NEXT:    ptx.st shared %x, [[LEFT]] : i32, i32
ptx.entry @absorbs(x : u32) target("sm_90") {
  %x = ptx.ld.param @x : i32
  %zero = ptx.constant 0 : i32
  %ones = ptx.constant -1 : i32
  %a = ptx.mul.lo %x, %zero : i32
  ptx.st shared %x, %a : i32, i32
  %b = ptx.and %zero, %x : i32
  ptx.st shared %x, %b : i32, i32
  %c = ptx.or %x, %ones : i32
  ptx.st shared %x, %c : i32, i32
  %d = ptx.shr %zero, %x : i32
  ptx.st shared %x, %d : i32, i32
  %e = ptx.sub %zero, %x : i32
  ptx.st shared %x, %e : i32, i32
  ptx.ret
}

// Floats stay: x + 0.0 is not x for -0.0.
// CHECK-LABEL: ptx.entry @floats
// CHECK:         ptx.add %x, %{{.*}} : f32
ptx.entry @floats(x : f32, p : u32) target("sm_90") {
  %x = ptx.ld.param @x : f32
  %p = ptx.ld.param @p : i32
  %zero = ptx.constant 0.0 : f32
  %sum = ptx.add %x, %zero : f32
  ptx.st shared %p, %sum : i32, f32
  ptx.ret
}
