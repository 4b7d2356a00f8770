// RUN: tirx-opt %s --split-input-file --verify-diagnostics --remarks --tirx-split-sums | filecheck %s

!x = !tirx.tile<256x64xf16, shared>
!w = !tirx.tile<128x64xf16, shared>
!f = !tirx.tile<256x128xf32, register>
!rows = !tirx.tile<256x1xf32, register>
!one = !tirx.tile<1x128xf32, register>

// 128 registers of sums and 128 of totals: two parts of rows, of which the second takes over the sums of the first.

// CHECK-LABEL: tirx.kernel @scaled
tirx.kernel @scaled(%n: index) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tirx.alloc : !x
  %w = tirx.alloc : !w
  %s = tirx.alloc : !tirx.tile<1x256xf32, shared>
  %none = tirx.zero : !f
  %columns = tirx.zero : !one
  // CHECK: scf.for {{.*}} iter_args([[T:%.*]] = %none)
  %total = scf.for %k = %c0 to %n step %c1 iter_args(%t = %none) -> (!f) {
    %zero = tirx.zero : !f
    // CHECK-NEXT: [[X0:%.*]] = tirx.subview %x[0, 0]
    // CHECK-NEXT: [[ZERO:%.*]] = tirx.zero : !tirx.tile<128x128xf32, register>
    // CHECK-NEXT: [[SUMS0:%.*]] = tirx.mma [[X0]], %w, [[ZERO]]
    // expected-remark@+1 {{its sums are computed in 2 parts of 128 rows, which registers have room for}}
    %sums = tirx.mma %x, %w, %zero : !x, !w, !f -> !f
    // CHECK: [[S0:%.*]] = tirx.subview %s[0, 0]
    // CHECK-NEXT: [[ROW0:%.*]] = tirx.load [[S0]]
    // CHECK: [[S1:%.*]] = tirx.subview %s[0, 128]
    // CHECK-NEXT: [[ROW1:%.*]] = tirx.load [[S1]]
    %row = tirx.load %s : !tirx.tile<1x256xf32, shared> -> !tirx.tile<1x256xf32, register>
    // CHECK: [[ROWS0:%.*]] = tirx.convert [[ROW0]] elements [0 : i64, 1 : i64, 128 : i64]
    // CHECK: [[ROWS1:%.*]] = tirx.convert [[ROW1]] elements [0 : i64, 1 : i64, 128 : i64]
    %rows = tirx.convert %row elements [0 : i64, 1 : i64, 256 : i64] : !tirx.tile<1x256xf32, register> -> !rows
    // CHECK: [[T0:%.*]] = tirx.convert [[T]] elements [0 : i64, 128 : i64, 1 : i64]
    // CHECK: [[NEXT0:%.*]] = tirx.map ins([[T0]], [[SUMS0]], [[ROWS0]], %columns
    // CHECK: [[X1:%.*]] = tirx.subview %x[128, 0]
    // CHECK: [[SUMS1:%.*]] = tirx.mma [[X1]], %w, [[SUMS0]] accumulate({{%.*}})
    // CHECK: [[T1:%.*]] = tirx.convert [[T]] elements [16384 : i64, 128 : i64, 1 : i64]
    // CHECK: [[NEXT1:%.*]] = tirx.map ins([[T1]], [[SUMS1]], [[ROWS1]], %columns
    // CHECK: %next = tirx.concat [[NEXT0]], [[NEXT1]] dim(0)
    // CHECK-NEXT: scf.yield %next
    %next = tirx.map ins(%t, %sums, %rows, %columns : !f, !f, !rows, !one) {
    ^bb0(%p: f32, %q: f32, %u: f32, %v: f32):
      %scale = arith.mulf %u, %v : f32
      %r = math.fma %q, %scale, %p : f32
      tirx.yield %r : f32
    } -> !f
    scf.yield %next : !f
  }
  tirx.return
}

// -----

// What registers have room for stays whole: half of the rows.

!x = !tirx.tile<128x64xf16, shared>
!f = !tirx.tile<128x128xf32, register>

// CHECK-LABEL: tirx.kernel @room
// CHECK-NOT: tirx.concat
tirx.kernel @room(%n: index) target("sm_90a") threads(256) {
  %x = tirx.alloc : !x
  %none = tirx.zero : !f
  %t = tirx.zero : !f
  %sums = tirx.mma %x, %x, %none : !x, !x, !f -> !f
  %next = tirx.map ins(%t, %sums : !f, !f) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    tirx.yield %r : f32
  } -> !f
  tirx.return
}

// -----

// So do sums that something else reads, sums of maps that look at the number of a row, sums that do not start at zero,
// those of an operand that something writes before they are used, those that go on with a number which is not there for the
// first map, and those of other instructions.

!x = !tirx.tile<256x64xf16, shared>
!w = !tirx.tile<128x64xf16, shared>
!f = !tirx.tile<256x128xf32, register>

// CHECK-LABEL: tirx.kernel @whole
// CHECK-NOT: tirx.concat
tirx.kernel @whole(%n: index, %scales: memref<?xf32>) target("sm_90a") threads(256) {
  %x = tirx.alloc : !x
  %w = tirx.alloc : !w
  %none = tirx.zero : !f
  %t = tirx.zero : !f
  %reduced = tirx.mma %x, %w, %none : !x, !w, !f -> !f
  %most = tirx.reduce %reduced dim(1) max : !f -> !tirx.tile<256x1xf32, register>
  %added = tirx.map ins(%t, %reduced : !f, !f) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    tirx.yield %r : f32
  } -> !f
  %counted = tirx.mma %x, %w, %none : !x, !w, !f -> !f
  %masked = tirx.map ins(%added, %counted : !f, !f) {
  ^bb0(%p: f32, %q: f32):
    %i = tirx.index 0
    %zero = arith.constant 0 : index
    %first = arith.cmpi eq, %i, %zero : index
    %r = arith.select %first, %p, %q : f32
    tirx.yield %r : f32
  } -> !f
  %early = tirx.mma %x, %w, %none : !x, !w, !f -> !f
  %half = arith.constant 0.5 : f16
  tirx.fill %w, %half : f16, !w
  %used = tirx.map ins(%t, %early : !f, !f) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    tirx.yield %r : f32
  } -> !f
  %begun = tirx.mma %x, %w, %masked : !x, !w, !f -> !f
  %last = tirx.map ins(%t, %begun : !f, !f) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    tirx.yield %r : f32
  } -> !f
  %scaled = tirx.mma %x, %w, %none : !x, !w, !f -> !f
  %twice = tirx.map ins(%t, %scaled : !f, !f) (%p, %q) { %p + %q * 2.0 } -> !f
  %factor = memref.load %scales[%n] : memref<?xf32>
  %times = tirx.map ins(%twice : !f) (%p) { %p * %factor } -> !f
  tirx.return
}

// CHECK-LABEL: tirx.kernel @other_instructions
// CHECK-NOT: tirx.concat
tirx.kernel @other_instructions(%n: index) target("sm_80") threads(256) {
  %x = tirx.alloc : !x
  %w = tirx.alloc : !w
  %none = tirx.zero : !f
  %t = tirx.zero : !f
  %sums = tirx.mma %x, %w, %none : !x, !w, !f -> !f
  %next = tirx.map ins(%t, %sums : !f, !f) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    tirx.yield %r : f32
  } -> !f
  tirx.return
}
