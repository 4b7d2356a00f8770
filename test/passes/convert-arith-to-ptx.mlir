// RUN: tirx-opt %s --convert-arith-to-ptx | filecheck %s

// Integers of one instruction; index is i64.
ptx.entry @one_instruction(a : u32, b : u64) target("sm_80") {
  %a = ptx.ld.param @a : i32
  %b = ptx.ld.param @b : i64
  %c = arith.constant 5 : i32
  %i = arith.constant 7 : index
  %0 = arith.addi %a, %c : i32
  %1 = arith.subi %a, %c : i32
  %2 = arith.muli %i, %i : index
  %3 = arith.divsi %a, %c : i32
  %4 = arith.divui %a, %c : i32
  %5 = arith.remsi %a, %c : i32
  %6 = arith.remui %a, %c : i32
  %7 = arith.minsi %a, %c : i32
  %8 = arith.minui %a, %c : i32
  %9 = arith.maxsi %a, %c : i32
  %10 = arith.maxui %a, %c : i32
  %11 = arith.andi %b, %b : i64
  %12 = arith.ori %a, %c : i32
  %13 = arith.xori %a, %c : i32
  %14 = arith.cmpi sle, %a, %c : i32
  %15 = arith.cmpi ugt, %i, %2 : index
  %16 = arith.select %14, %a, %c : i32
  ptx.ret
}

// CHECK:      ptx.entry @one_instruction(a : u32, b : u64) target("sm_80") {
// CHECK-NEXT:   %a = ptx.ld.param @a : i32
// CHECK-NEXT:   %b = ptx.ld.param @b : i64
// CHECK-NEXT:   %c = ptx.constant 5 : i32
// CHECK-NEXT:   %i = ptx.constant 7 : i64
// CHECK-NEXT:   %0 = ptx.add %a, %c : i32
// CHECK-NEXT:   %1 = ptx.sub %a, %c : i32
// CHECK-NEXT:   %2 = ptx.mul.lo %i, %i : i64
// CHECK-NEXT:   %3 = ptx.div %a, %c : i32
// CHECK-NEXT:   %4 = ptx.div unsigned %a, %c : i32
// CHECK-NEXT:   %5 = ptx.rem %a, %c : i32
// CHECK-NEXT:   %6 = ptx.rem unsigned %a, %c : i32
// CHECK-NEXT:   %7 = ptx.min %a, %c : i32
// CHECK-NEXT:   %8 = ptx.min unsigned %a, %c : i32
// CHECK-NEXT:   %9 = ptx.max %a, %c : i32
// CHECK-NEXT:   %10 = ptx.max unsigned %a, %c : i32
// CHECK-NEXT:   %11 = ptx.and %b, %b : i64
// CHECK-NEXT:   %12 = ptx.or %a, %c : i32
// CHECK-NEXT:   %13 = ptx.xor %a, %c : i32
// CHECK-NEXT:   %14 = ptx.setp le %a, %c : i32
// CHECK-NEXT:   %15 = ptx.setp gt unsigned %i, %2 : i64
// CHECK-NEXT:   %16 = ptx.selp %14, %a, %c : i32
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

// Shift amounts are i32.
ptx.entry @shifts(a : u32, b : u64) target("sm_80") {
  %a = ptx.ld.param @a : i32
  %b = ptx.ld.param @b : i64
  %c = arith.constant 5 : i64
  %0 = arith.shli %a, %a : i32
  %1 = arith.shrsi %b, %c : i64
  %2 = arith.shrui %b, %b : i64
  ptx.ret
}

// CHECK:      ptx.entry @shifts(a : u32, b : u64) target("sm_80") {
// CHECK-NEXT:   %a = ptx.ld.param @a : i32
// CHECK-NEXT:   %b = ptx.ld.param @b : i64
// CHECK-NEXT:   %c = ptx.constant 5 : i64
// CHECK-NEXT:   %0 = ptx.shl %a, %a : i32
// CHECK-NEXT:   %1 = ptx.constant 5 : i32
// CHECK-NEXT:   %2 = ptx.shr %b, %1 : i64
// CHECK-NEXT:   %3 = ptx.cvt unsigned %b : i64 -> i32
// CHECK-NEXT:   %4 = ptx.shr unsigned %b, %3 : i64
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

ptx.entry @rounding_divisions(a : u32, b : u32) target("sm_80") {
  %a = ptx.ld.param @a : i32
  %b = ptx.ld.param @b : i32
  %0 = arith.floordivsi %a, %b : i32
  %1 = arith.ceildivsi %a, %b : i32
  %2 = arith.ceildivui %a, %b : i32
  ptx.ret
}

// CHECK:      ptx.entry @rounding_divisions(a : u32, b : u32) target("sm_80") {
// CHECK-NEXT:   %a = ptx.ld.param @a : i32
// CHECK-NEXT:   %b = ptx.ld.param @b : i32
// CHECK-NEXT:   %0 = ptx.div %a, %b : i32
// CHECK-NEXT:   %1 = ptx.mul.lo %0, %b : i32
// CHECK-NEXT:   %2 = ptx.sub %a, %1 : i32
// CHECK-NEXT:   %3 = ptx.constant 0 : i32
// CHECK-NEXT:   %4 = ptx.setp ne %2, %3 : i32
// CHECK-NEXT:   %5 = ptx.xor %2, %b : i32
// CHECK-NEXT:   %6 = ptx.setp lt %5, %3 : i32
// CHECK-NEXT:   %7 = ptx.and %4, %6 : i1
// CHECK-NEXT:   %8 = ptx.constant -1 : i32
// CHECK-NEXT:   %9 = ptx.selp %7, %8, %3 : i32
// CHECK-NEXT:   %10 = ptx.add %0, %9 : i32
// CHECK-NEXT:   %11 = ptx.div %a, %b : i32
// CHECK-NEXT:   %12 = ptx.mul.lo %11, %b : i32
// CHECK-NEXT:   %13 = ptx.sub %a, %12 : i32
// CHECK-NEXT:   %14 = ptx.constant 0 : i32
// CHECK-NEXT:   %15 = ptx.setp ne %13, %14 : i32
// CHECK-NEXT:   %16 = ptx.xor %13, %b : i32
// CHECK-NEXT:   %17 = ptx.setp ge %16, %14 : i32
// CHECK-NEXT:   %18 = ptx.and %15, %17 : i1
// CHECK-NEXT:   %19 = ptx.constant 1 : i32
// CHECK-NEXT:   %20 = ptx.selp %18, %19, %14 : i32
// CHECK-NEXT:   %21 = ptx.add %11, %20 : i32
// CHECK-NEXT:   %22 = ptx.div unsigned %a, %b : i32
// CHECK-NEXT:   %23 = ptx.mul.lo %22, %b : i32
// CHECK-NEXT:   %24 = ptx.sub %a, %23 : i32
// CHECK-NEXT:   %25 = ptx.constant 0 : i32
// CHECK-NEXT:   %26 = ptx.setp ne %24, %25 : i32
// CHECK-NEXT:   %27 = ptx.constant 1 : i32
// CHECK-NEXT:   %28 = ptx.selp %26, %27, %25 : i32
// CHECK-NEXT:   %29 = ptx.add %22, %28 : i32
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

ptx.entry @integer_casts(a : u32, b : u64) target("sm_80") {
  %a = ptx.ld.param @a : i32
  %b = ptx.ld.param @b : i64
  %p = arith.trunci %a : i32 to i1
  %0 = arith.extsi %a : i32 to i64
  %1 = arith.extui %a : i32 to i64
  %2 = arith.trunci %b : i64 to i16
  %3 = arith.extui %p : i1 to i32
  %4 = arith.extsi %p : i1 to i64
  %5 = arith.index_cast %a : i32 to index
  %6 = arith.index_cast %5 : index to i64
  %7 = arith.index_cast %5 : index to i32
  %8 = builtin.unrealized_conversion_cast %5 : index to i64
  %9 = arith.addi %6, %8 : i64
  ptx.ret
}

// CHECK:      ptx.entry @integer_casts(a : u32, b : u64) target("sm_80") {
// CHECK-NEXT:   %a = ptx.ld.param @a : i32
// CHECK-NEXT:   %b = ptx.ld.param @b : i64
// CHECK-NEXT:   %0 = ptx.constant 1 : i32
// CHECK-NEXT:   %1 = ptx.and %a, %0 : i32
// CHECK-NEXT:   %2 = ptx.constant 0 : i32
// CHECK-NEXT:   %p = ptx.setp ne %1, %2 : i32
// CHECK-NEXT:   %3 = ptx.cvt %a : i32 -> i64
// CHECK-NEXT:   %4 = ptx.cvt unsigned %a : i32 -> i64
// CHECK-NEXT:   %5 = ptx.cvt unsigned %b : i64 -> i16
// CHECK-NEXT:   %6 = ptx.constant 1 : i32
// CHECK-NEXT:   %7 = ptx.constant 0 : i32
// CHECK-NEXT:   %8 = ptx.selp %p, %6, %7 : i32
// CHECK-NEXT:   %9 = ptx.constant -1 : i64
// CHECK-NEXT:   %10 = ptx.constant 0 : i64
// CHECK-NEXT:   %11 = ptx.selp %p, %9, %10 : i64
// CHECK-NEXT:   %12 = ptx.cvt %a : i32 -> i64
// CHECK-NEXT:   %13 = ptx.cvt unsigned %12 : i64 -> i32
// CHECK-NEXT:   %14 = ptx.add %12, %12 : i64
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

// Predicates have no arithmetic but logic; true is -1 when signed.
ptx.entry @predicates(a : u32) target("sm_80") {
  %a = ptx.ld.param @a : i32
  %p = arith.cmpi eq, %a, %a : i32
  %true = arith.constant true
  %0 = arith.addi %p, %true : i1
  %1 = arith.muli %p, %0 : i1
  %2 = arith.maxsi %p, %1 : i1
  %3 = arith.select %p, %1, %2 : i1
  %4 = arith.cmpi slt, %p, %3 : i1
  ptx.ret
}

// CHECK:      ptx.entry @predicates(a : u32) target("sm_80") {
// CHECK-NEXT:   %a = ptx.ld.param @a : i32
// CHECK-NEXT:   %p = ptx.setp eq %a, %a : i32
// CHECK-NEXT:   %true = ptx.constant true
// CHECK-NEXT:   %0 = ptx.xor %p, %true : i1
// CHECK-NEXT:   %1 = ptx.and %p, %0 : i1
// CHECK-NEXT:   %2 = ptx.and %p, %1 : i1
// CHECK-NEXT:   %3 = ptx.and %p, %1 : i1
// CHECK-NEXT:   %4 = ptx.not %p : i1
// CHECK-NEXT:   %5 = ptx.and %4, %2 : i1
// CHECK-NEXT:   %6 = ptx.or %3, %5 : i1
// CHECK-NEXT:   %7 = ptx.constant -1 : i32
// CHECK-NEXT:   %8 = ptx.constant 0 : i32
// CHECK-NEXT:   %9 = ptx.selp %p, %7, %8 : i32
// CHECK-NEXT:   %10 = ptx.constant -1 : i32
// CHECK-NEXT:   %11 = ptx.constant 0 : i32
// CHECK-NEXT:   %12 = ptx.selp %6, %10, %11 : i32
// CHECK-NEXT:   %13 = ptx.setp lt %9, %12 : i32
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

ptx.entry @floats(x : f32, y : f64) target("sm_90") {
  %x = ptx.ld.param @x : f32
  %y = ptx.ld.param @y : f64
  %c = arith.constant 2.5 : f32
  %0 = arith.addf %x, %c : f32
  %1 = arith.subf %y, %y : f64
  %2 = arith.mulf %x, %c : f32
  %3 = arith.divf %x, %c : f32
  %4 = arith.negf %y : f64
  %5 = arith.maxnumf %x, %c : f32
  %6 = arith.minimumf %x, %c : f32
  %7 = arith.maximumf %y, %1 : f64
  %8 = arith.cmpf olt, %x, %c : f32
  %9 = arith.cmpf une, %y, %1 : f64
  %10 = arith.cmpf false, %x, %x : f32
  %11 = arith.truncf %x : f32 to f16
  %12 = arith.divf %11, %11 : f16
  %13 = arith.extf %12 : f16 to f32
  %14 = arith.truncf %x : f32 to bf16
  %15 = arith.extf %14 : bf16 to f64
  %16 = arith.fptosi %x : f32 to i32
  %17 = arith.uitofp %16 : i32 to f64
  %18 = arith.bitcast %x : f32 to i32
  ptx.ret
}

// CHECK:      ptx.entry @floats(x : f32, y : f64) target("sm_90") {
// CHECK-NEXT:   %x = ptx.ld.param @x : f32
// CHECK-NEXT:   %y = ptx.ld.param @y : f64
// CHECK-NEXT:   %c = ptx.constant 2.500000e+00 : f32
// CHECK-NEXT:   %0 = ptx.add %x, %c : f32
// CHECK-NEXT:   %1 = ptx.sub %y, %y : f64
// CHECK-NEXT:   %2 = ptx.mul %x, %c : f32
// CHECK-NEXT:   %3 = ptx.div %x, %c : f32
// CHECK-NEXT:   %4 = ptx.neg %y : f64
// CHECK-NEXT:   %5 = ptx.max %x, %c : f32
// CHECK-NEXT:   %6 = ptx.min nan %x, %c : f32
// CHECK-NEXT:   %7 = ptx.max %y, %1 : f64
// CHECK-NEXT:   %8 = ptx.add %y, %1 : f64
// CHECK-NEXT:   %9 = ptx.setp nan %y, %1 : f64
// CHECK-NEXT:   %10 = ptx.selp %9, %8, %7 : f64
// CHECK-NEXT:   %11 = ptx.setp lt %x, %c : f32
// CHECK-NEXT:   %12 = ptx.setp neu %y, %1 : f64
// CHECK-NEXT:   %13 = ptx.constant false
// CHECK-NEXT:   %14 = ptx.cvt %x : f32 -> f16
// CHECK-NEXT:   %15 = ptx.cvt %14 : f16 -> f32
// CHECK-NEXT:   %16 = ptx.cvt %14 : f16 -> f32
// CHECK-NEXT:   %17 = ptx.div %15, %16 : f32
// CHECK-NEXT:   %18 = ptx.cvt %17 : f32 -> f16
// CHECK-NEXT:   %19 = ptx.cvt %18 : f16 -> f32
// CHECK-NEXT:   %20 = ptx.cvt %x : f32 -> bf16
// CHECK-NEXT:   %21 = ptx.cvt %20 : bf16 -> f32
// CHECK-NEXT:   %22 = ptx.cvt %21 : f32 -> f64
// CHECK-NEXT:   %23 = ptx.cvt %x : f32 -> i32
// CHECK-NEXT:   %24 = ptx.cvt unsigned %23 : i32 -> f64
// CHECK-NEXT:   %25 = ptx.mov %x : f32 -> i32
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

// The types of block arguments and of other dialects' values change, too.
ptx.entry @index_everywhere() target("sm_80") {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %c1 step %c1 iter_args(%j = %c1) -> (index) {
    %1 = arith.addi %i, %j : index
    scf.yield %1 : index
  }
  ptx.bra ^end(%0 : index)
^end(%2 : index):
  ptx.ret
}

// CHECK:      ptx.entry @index_everywhere() target("sm_80") {
// CHECK-NEXT:   %c0 = ptx.constant 0 : i64
// CHECK-NEXT:   %c1 = ptx.constant 1 : i64
// CHECK-NEXT:   %0 = scf.for %i = %c0 to %c1 step %c1 iter_args(%j = %c1) -> (i64) : i64 {
// CHECK-NEXT:     %1 = ptx.add %i, %j : i64
// CHECK-NEXT:     scf.yield %1 : i64
// CHECK-NEXT:   }
// CHECK-NEXT:   ptx.bra ^end(%0 : i64)
// CHECK-NEXT: ^end(%2: i64):
// CHECK-NEXT:   ptx.ret
// CHECK-NEXT: }

// Nothing is computed with 0 and 1 where an operand is the result.

// CHECK:      ptx.entry @neutral(x : u32) target("sm_80") {
// CHECK-NEXT:   %x = ptx.ld.param @x : i32
// CHECK-NEXT:   %zero = ptx.constant 0 : i32
// CHECK-NEXT:   %one = ptx.constant 1 : i32
// CHECK-NEXT:   [[LESS:%.*]] = ptx.sub %zero, %x : i32
// CHECK-NEXT:   ptx.bra ^end(%x, %x, %zero, [[LESS]] : i32, i32, i32, i32)
ptx.entry @neutral(x : u32) target("sm_80") {
  %x = ptx.ld.param @x : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = arith.addi %zero, %x : i32
  %b = arith.muli %a, %one : i32
  %c = arith.shli %b, %zero : i32
  %d = arith.ori %x, %zero : i32
  %e = arith.shrui %d, %zero : i32
  %f = arith.subi %e, %zero : i32
  %g = arith.muli %zero, %x : i32
  %h = arith.subi %zero, %x : i32
  ptx.bra ^end(%c, %f, %g, %h : i32, i32, i32, i32)
^end(%i : i32, %j : i32, %k : i32, %l : i32):
  ptx.ret
}

// Divisions of 64 bits by powers of two are shifts and masks, rounded down also where they are signed.
// CHECK-LABEL: ptx.entry @powers_of_two
// CHECK:         %[[SIX:.*]] = ptx.constant 6 : i32
// CHECK-NEXT:    ptx.shr unsigned %b, %[[SIX]] : i64
// CHECK-NEXT:    %[[MASK:.*]] = ptx.constant 63 : i64
// CHECK-NEXT:    ptx.and %b, %[[MASK]] : i64
// CHECK-NEXT:    %[[SIX:.*]] = ptx.constant 6 : i32
// CHECK-NEXT:    ptx.shr %b, %[[SIX]] : i64
// CHECK-NEXT:    ptx.div %b, %c : i64
// CHECK-NEXT:    ptx.div unsigned %b, %d : i64
ptx.entry @powers_of_two(b : u64) target("sm_80") {
  %b = ptx.ld.param @b : i64
  %c = arith.constant 64 : i64
  %d = arith.constant 48 : i64
  %0 = arith.divui %b, %c : i64
  %1 = arith.remui %b, %c : i64
  %2 = arith.floordivsi %b, %c : i64
  %3 = arith.divsi %b, %c : i64
  %4 = arith.divui %b, %d : i64
  ptx.ret
}
