// RUN: tirx-opt %s --tirx-inline --split-input-file --verify-diagnostics

// expected-error@+1 {{expected calls of at most 32 functions within another, found more}}
tirx.kernel @recursion() target("sm_80") threads(32) {
  func.call @f() : () -> ()
  tirx.return
}

func.func private @f() {
  func.call @f() : () -> ()
  func.return
}

// -----

tirx.kernel @external() target("sm_80") threads(32) {
  // expected-error@+1 {{expected a function of one block in this module, found @g}}
  func.call @g() : () -> ()
  tirx.return
}

func.func private @g()

// -----

tirx.kernel @many() target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 1024 : index
  scf.for %i = %c0 to %c9 step %c1 {
  } {tirx.unroll}
  %more = arith.constant 1025 : index
  // expected-error@+1 {{expected at most 1024 iterations, found 1025}}
  scf.for %i = %c0 to %more step %c1 {
  } {tirx.unroll}
  tirx.return
}

// -----

tirx.kernel @no_step() target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  // expected-error@+1 {{expected constant bounds and a positive step of a loop that becomes its iterations}}
  scf.for %i = %c0 to %c9 step %c0 {
  } {tirx.unroll}
  tirx.return
}

// -----

tirx.kernel @no_step_of_a_part(%n: index) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected a counter of type index and a constant positive step of a loop to unroll}}
  scf.for %i = %c0 to %n step %c0 {
  } {tirx.unroll = 2}
  tirx.return
}

// -----

tirx.kernel @twice() target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{expected tirx.unroll without a value, for all iterations, or outside of maps and folds a number from 2 to 1024, how many become one; found 1 : i64}}
  scf.for %i = %c0 to %c4 step %c1 {
  } {tirx.unroll = 1}
  tirx.return
}

// -----

tirx.kernel @in_part(%n: i32) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-error@+1 {{expected a counter of type index and a constant positive step of a loop to unroll}}
  scf.for %i = %c0 to %n step %c1 : i32 {
  } {tirx.unroll = 2}
  tirx.return
}

// -----

tirx.kernel @truths(%a: i64) target("sm_80") threads(32) {
  %t = arith.trunci %a : i64 to i1
  // expected-error@+1 {{expected 'arith.mului_extended' on i8, i16, i32 or i64, found i1}}
  %low, %high = arith.mului_extended %t, %t : i1
  tirx.return
}

// -----

// Products and bits of truths.

tirx.kernel @truths(%m: memref<16x64xi1>) target("sm_80") threads(64) {
  %x = tirx.load %m[0, 0] : memref<16x64xi1> -> !tirx.tile<16x64xi1, register>
  // expected-error@+1 {{expected tiles of integers for 'tirx.bitcast', found i1; a map makes them: { i32(%e) }}}
  %y = tirx.bitcast %x : !tirx.tile<16x64xi1, register> -> !tirx.tile<16x64xi8, register>
}

// -----

tirx.kernel @indices(%m: memref<16x64xindex>) target("sm_80") threads(64) {
  %x = tirx.load %m[0, 0] : memref<16x64xindex> -> !tirx.tile<16x64xindex, register>
  // expected-error@+1 {{expected tiles of integers for 'tirx.bitcast', found index; a map makes them: { i64(%e) }}}
  %y = tirx.bitcast %x : !tirx.tile<16x64xindex, register> -> !tirx.tile<16x64xf64, register>
}

// -----

tirx.kernel @signs(%m: memref<16xui8>) target("sm_80") threads(64) {
  %c0 = arith.constant 0 : index
  %x = memref.load %m[%c0] : memref<16xui8>
  // expected-error@+1 {{expected numbers without a sign of their own for 'arith.divsi', found ui8; expressions take them}}
  %y = arith.divsi %x, %x : ui8
  memref.store %y, %m[%c0] : memref<16xui8>
}
