// RUN: tirx-opt %s --split-input-file --verify-diagnostics --convert-arith-to-ptx | filecheck %s

// Quotients that may be approximate have an instruction of their own for f32 only.

// CHECK-LABEL: ptx.entry @quotients
// CHECK:         ptx.div.full %x, %x
// CHECK-NEXT:    ptx.div %x, %x
// CHECK-NEXT:    ptx.div %y, %y
// CHECK-NEXT:    ptx.cvt %z
// CHECK-NEXT:    ptx.cvt %z
// CHECK-NEXT:    ptx.div
// CHECK-NEXT:    ptx.cvt
ptx.entry @quotients(x : f32, y : f64) target("sm_80") {
  %x = ptx.ld.param @x : f32
  %y = ptx.ld.param @y : f64
  %z = arith.truncf %x : f32 to f16
  %0 = arith.divf %x, %x fastmath<arcp,afn> : f32
  %1 = arith.divf %x, %x : f32
  %2 = arith.divf %y, %y fastmath<arcp,afn> : f64
  %3 = arith.divf %z, %z fastmath<arcp,afn> : f16
  ptx.ret
}

// The smaller one with NaN: an instruction from sm_80 on, but for f64.

// CHECK-LABEL: ptx.entry @nan
// CHECK:         ptx.min nan %x, %x
ptx.entry @nan(x : f32, y : f64) target("sm_80") {
  %x = ptx.ld.param @x : f32
  %y = ptx.ld.param @y : f64
  %z = arith.truncf %x : f32 to f16
  %0 = arith.minimumf %x, %x : f32
  %1 = arith.maximumf %z, %z : f16
  %2 = arith.maximumf %y, %y : f64
  ptx.ret
}

// CHECK-LABEL: ptx.entry @nan_before
ptx.entry @nan_before(x : f32) target("sm_75") {
  %x = ptx.ld.param @x : f32
  %z = arith.truncf %x : f32 to f16
  %0 = arith.minimumf %x, %x : f32
  %1 = arith.maximumf %z, %z : f16
  ptx.ret
}

// Integers of 16 bits become bf16 by way of f32, which has them all. Wider ones are rounded to odd on the way where no
// instruction rounds them.

// CHECK-LABEL: ptx.entry @integers
ptx.entry @integers(x : u32) target("sm_80") {
  %x = ptx.ld.param @x : i32
  %s = arith.trunci %x : i32 to i16
  %0 = arith.sitofp %s : i16 to bf16
  %1 = arith.uitofp %s : i16 to bf16
  %2 = arith.sitofp %x : i32 to f16
  %3 = arith.uitofp %x : i32 to f64
  %i = arith.index_cast %x : i32 to index
  %j = arith.index_cast %i : index to i64
  %k = arith.index_cast %i : index to i16
  ptx.ret
}

// Numbers of bf16 have no arithmetic but fma before sm_90, and neither comparisons nor, before sm_80, minima of f16.

// CHECK-LABEL: ptx.entry @fma_only
// CHECK:         %[[ONE:.*]] = ptx.constant 1.000000e+00 : bf16
// CHECK-NEXT:    ptx.fma %z, %[[ONE]], %u
// CHECK:         %[[MINUS:.*]] = ptx.constant -1.000000e+00 : bf16
// CHECK-NEXT:    ptx.fma %u, %[[MINUS]], %z
// CHECK:         %[[ZERO:.*]] = ptx.constant -0.000000e+00 : bf16
// CHECK-NEXT:    ptx.fma %z, %u, %[[ZERO]]
// CHECK-NEXT:    ptx.min %z, %u
ptx.entry @fma_only(x : f32) target("sm_80") {
  %x = ptx.ld.param @x : f32
  %z = arith.truncf %x : f32 to bf16
  %u = arith.negf %z : bf16
  %0 = arith.addf %z, %u : bf16
  %1 = arith.subf %z, %u : bf16
  %2 = arith.mulf %z, %u : bf16
  %3 = arith.minnumf %z, %u : bf16
  %4 = arith.divf %z, %u : bf16
  %5 = arith.cmpf olt, %z, %u : bf16
  %6 = arith.extf %z : bf16 to f32
  %7 = arith.extf %z : bf16 to f64
  %h = arith.truncf %x : f32 to f16
  %8 = arith.extf %h : f16 to f64
  %9 = arith.fptosi %z : bf16 to i32
  ptx.ret
}

// Before sm_80 there are none of bf16 at all: its bits are the upper ones of f32, whose lower ones are rounded to even.

// CHECK-LABEL: ptx.entry @no_bf16
// CHECK:         %[[BITS:.*]] = ptx.mov %x : f32 -> i32
// CHECK-NEXT:    %[[SIXTEEN:.*]] = ptx.constant 16 : i32
// CHECK-NEXT:    %[[SHIFTED:.*]] = ptx.shr unsigned %[[BITS]], %[[SIXTEEN]]
// CHECK-NEXT:    ptx.constant 1 : i32
// CHECK-NEXT:    %[[ODD:.*]] = ptx.and %[[SHIFTED]]
// CHECK-NEXT:    ptx.constant 32767 : i32
// CHECK-NEXT:    %[[HALF:.*]] = ptx.add %[[BITS]]
// CHECK-NEXT:    %[[SUM:.*]] = ptx.add %[[HALF]], %[[ODD]]
// CHECK-NEXT:    ptx.unpack %[[SUM]]
// CHECK-NEXT:    ptx.setp nan %x, %x
// CHECK-NEXT:    ptx.constant 32767 : i16
// CHECK-NEXT:    ptx.selp
// CHECK-NEXT:    %[[Z:.*]] = ptx.mov {{.*}} : i16 -> bf16
// CHECK:         ptx.constant -32768 : i16
// CHECK-NEXT:    ptx.xor
// CHECK:         ptx.constant 0 : i16
// CHECK-NEXT:    ptx.pack
// CHECK-NEXT:    ptx.mov {{.*}} : i32 -> f32
// CHECK:         ptx.add {{.*}} : f32
// CHECK-NOT:     ptx.cvt
ptx.entry @no_bf16(x : f32) target("sm_75") {
  %x = ptx.ld.param @x : f32
  %z = arith.truncf %x : f32 to bf16
  %u = arith.negf %z : bf16
  %0 = arith.addf %z, %u : bf16
  %1 = arith.cmpf olt, %z, %u : bf16
  ptx.ret
}

// CHECK-LABEL: ptx.entry @all_arithmetic
// CHECK:         ptx.add %z, %z
ptx.entry @all_arithmetic(x : f32) target("sm_90") {
  %x = ptx.ld.param @x : f32
  %z = arith.truncf %x : f32 to bf16
  %c = arith.constant true
  scf.if %c {
    %0 = arith.addf %z, %z : bf16
    %1 = arith.subf %z, %z : bf16
    %2 = arith.mulf %z, %z : bf16
    %3 = arith.cmpf olt, %z, %z : bf16
  }
  ptx.ret
}

// CHECK-LABEL: ptx.entry @no_minima
// CHECK:         ptx.min %{{.*}} : f32
ptx.entry @no_minima(x : f32) target("sm_75") {
  %x = ptx.ld.param @x : f32
  %z = arith.truncf %x : f32 to f16
  %0 = arith.minnumf %z, %z : f16
  %1 = arith.maxnumf %z, %z : f16
  %2 = arith.addf %z, %z : f16
  %3 = arith.minnumf %x, %x : f32
  ptx.ret
}

// CHECK-LABEL: ptx.entry @wide
// CHECK:         %[[DOWN:.*]] = ptx.cvt rm %x : i32 -> f32
// CHECK-NEXT:    %[[UP:.*]] = ptx.cvt rp %x : i32 -> f32
// CHECK-NEXT:    %[[A:.*]] = ptx.mov %[[DOWN]] : f32 -> i32
// CHECK-NEXT:    %[[B:.*]] = ptx.mov %[[UP]] : f32 -> i32
// CHECK-NEXT:    %[[LESS:.*]] = ptx.min unsigned %[[A]], %[[B]]
// CHECK-NEXT:    %[[BITS:.*]] = ptx.or %[[A]], %[[B]]
// CHECK-NEXT:    %[[ONE:.*]] = ptx.constant 1 : i32
// CHECK-NEXT:    %[[LAST:.*]] = ptx.and %[[BITS]], %[[ONE]]
// CHECK-NEXT:    %[[ODD:.*]] = ptx.or %[[LESS]], %[[LAST]]
// CHECK-NEXT:    %[[F:.*]] = ptx.mov %[[ODD]] : i32 -> f32
// CHECK-NEXT:    ptx.cvt %[[F]] : f32 -> bf16
// CHECK-NEXT:    ptx.cvt unsigned rm %y : i64 -> f32
// CHECK-NEXT:    ptx.cvt unsigned rp %y : i64 -> f32
ptx.entry @wide(x : u32, y : u64) target("sm_80") {
  %x = ptx.ld.param @x : i32
  %y = ptx.ld.param @y : i64
  %0 = arith.sitofp %x : i32 to bf16
  %1 = arith.uitofp %y : i64 to bf16
  ptx.ret
}

// CHECK-LABEL: ptx.entry @wide_in_one
// CHECK:         ptx.cvt %x : i32 -> bf16
// CHECK-NEXT:    ptx.cvt unsigned %y : i64 -> bf16
ptx.entry @wide_in_one(x : u32, y : u64) target("sm_90") {
  %x = ptx.ld.param @x : i32
  %y = ptx.ld.param @y : i64
  %0 = arith.sitofp %x : i32 to bf16
  %1 = arith.uitofp %y : i64 to bf16
  ptx.ret
}

// -----

ptx.entry @double(x : f64) target("sm_90") {
  %x = ptx.ld.param @x : f64
  // expected-error@+1 {{no PTX form for 'arith.truncf' on f64 -> bf16}}
  %0 = arith.truncf %x : f64 to bf16
  ptx.ret
}

// -----

// Floats of a byte or less are in 16 bits, and converted two at a time, of which the first counts.

// CHECK-LABEL: ptx.entry @narrow
// CHECK:         %[[N:.*]] = ptx.cvt.pair e4m3x2 %x, %x
// CHECK-NEXT:    %[[C:.*]] = ptx.constant 56 : i16
// CHECK:         %[[S:.*]] = ptx.selp %{{.*}}, %[[N]], %[[C]]
// CHECK-NEXT:    %[[H:.*]] = ptx.cvt.from_pair e4m3x2 %[[S]]
// CHECK-NEXT:    %[[L:.*]], %{{.*}} = ptx.unpack %[[H]] : i32 -> f16
// CHECK-NEXT:    ptx.cvt %[[L]]
ptx.entry @narrow(x : f32) target("sm_100a") {
  %x = ptx.ld.param @x : f32
  %n = arith.truncf %x : f32 to f8E4M3FN
  %one = arith.constant 1.0 : f8E4M3FN
  %p = ptx.setp gt %x, %x : f32
  %s = arith.select %p, %n, %one : f8E4M3FN
  %w = arith.extf %s : f8E4M3FN to f32
  %unused = arith.truncf %x : f32 to f6E2M3FN
  ptx.ret
}
