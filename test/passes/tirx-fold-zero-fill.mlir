// RUN: tirx-opt %s --tirx-fold-zero-fill | filecheck %s

!a = !tirx.tile<128x16xf16, shared>
!b = !tirx.tile<64x16xf16, shared>
!acc = !tirx.tile<128x64xf32, tensor>

// The product right after the fill overwrites; others add as before.

// CHECK-LABEL: tirx.kernel @straight
// CHECK-NOT:     tirx.fill
// CHECK:         %0 = arith.constant false
// CHECK-NEXT:    tirx.mma %a, %b, %acc accumulate(%0)
// CHECK-NEXT:    tirx.mma %a, %b, %acc :
tirx.kernel @straight() target("sm_100a") threads(128) {
  %zero = arith.constant 0.0 : f32
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  tirx.mma %a, %b, %acc : !a, !b, !acc
  tirx.mma %a, %b, %acc : !a, !b, !acc
  tirx.return
}

// In a loop only the first step overwrites. Clauses of the product stay.

// CHECK-LABEL: tirx.kernel @loop
// CHECK-NOT:     tirx.fill
// CHECK:         scf.for %k = %c4 to %c16 step %c4 {
// CHECK-NEXT:      %0 = arith.cmpi ne, %k, %c4 : index
// CHECK-NEXT:      tirx.mma %a, %b, %acc zero_columns([0]) negate_a negate_b accumulate(%0)
// CHECK-NEXT:    }
tirx.kernel @loop() target("sm_100a") threads(128) {
  %zero = arith.constant 0.0 : f32
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c4 to %c16 step %c4 {
    tirx.mma %a, %b, %acc zero_columns([0]) negate_a negate_b : !a, !b, !acc
  }
  tirx.return
}

// Only the first step of all loops around it.

// CHECK-LABEL: tirx.kernel @nested_loops
// CHECK-NOT:     tirx.fill
// CHECK:         scf.for %i = %c0 to %c2 step %c1 {
// CHECK-NEXT:      scf.for %j = %c1 to %c2 step %c1 {
// CHECK-NEXT:        %0 = arith.cmpi ne, %i, %c0 : index
// CHECK-NEXT:        %1 = arith.cmpi ne, %j, %c1 : index
// CHECK-NEXT:        %2 = arith.ori %0, %1 : i1
// CHECK-NEXT:        tirx.mma %a, %b, %acc accumulate(%2)
tirx.kernel @nested_loops() target("sm_100a") threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c1 to %c2 step %c1 {
      tirx.mma %a, %b, %acc : !a, !b, !acc
    }
  }
  tirx.return
}

// A fill inside of a loop makes every round of that loop start anew.

// CHECK-LABEL: tirx.kernel @fill_in_loop
// CHECK-NOT:     tirx.fill
// CHECK:         scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:      scf.for %j = %c0 to %c2 step %c1 {
// CHECK-NEXT:        %0 = arith.cmpi ne, %j, %c0 : index
// CHECK-NEXT:        tirx.mma %a, %b, %acc accumulate(%0)
tirx.kernel @fill_in_loop(%n: index) target("sm_100a") threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  scf.for %i = %c0 to %n step %c1 {
    tirx.fill %acc, %zero : f32, !acc
    scf.for %j = %c0 to %c2 step %c1 {
      tirx.mma %a, %b, %acc : !a, !b, !acc
    }
  }
  tirx.return
}

// What happens to other tiles in between does not matter; integers have a zero too.

!acc_i32 = !tirx.tile<128x64xi32, tensor>
!a_i8 = !tirx.tile<128x32xsi8, shared>
!b_i8 = !tirx.tile<64x32xsi8, shared>

// CHECK-LABEL: tirx.kernel @between
// CHECK-NOT:     tirx.fill %acc
// CHECK:         tirx.fill %other, %one
// CHECK-NEXT:    %0 = arith.constant false
// CHECK-NEXT:    tirx.mma %a, %b, %acc accumulate(%0)
tirx.kernel @between() target("sm_100a") threads(128) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = tirx.alloc : !a_i8
  %b = tirx.alloc : !b_i8
  %acc = tirx.alloc : !acc_i32
  %other = tirx.alloc : !acc_i32
  tirx.fill %acc, %zero : i32, !acc_i32
  tirx.fill %other, %one : i32, !acc_i32
  tirx.mma %a, %b, %acc : !a_i8, !b_i8, !acc_i32
  tirx.return
}

// A second fill: the first one is not folded into a product that the second one comes before.

// CHECK-LABEL: tirx.kernel @two_fills
// CHECK:         tirx.fill %acc, %zero
// CHECK-NOT:     tirx.fill
// CHECK:         tirx.mma %a, %b, %acc accumulate(%0)
tirx.kernel @two_fills() target("sm_100a") threads(128) {
  %zero = arith.constant 0.0 : f32
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  tirx.fill %acc, %zero : f32, !acc
  tirx.mma %a, %b, %acc : !a, !b, !acc
  tirx.return
}

// From here on every fill stays.

// CHECK-LABEL: tirx.kernel @not_zero
// CHECK:         tirx.fill %acc, %minus_zero
// CHECK-NEXT:    tirx.mma %a, %b, %acc :
// CHECK-NEXT:    tirx.fill %acc, %one
// CHECK-NEXT:    tirx.mma %a, %b, %acc :
// CHECK-NEXT:    tirx.fill %acc, %x
// CHECK-NEXT:    tirx.mma %a, %b, %acc :
tirx.kernel @not_zero(%x: f32) target("sm_100a") threads(128) {
  // -0.0 + -0.0 is -0.0, but a product without input may give 0.0.
  %minus_zero = arith.constant -0.0 : f32
  %one = arith.constant 1.0 : f32
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %minus_zero : f32, !acc
  tirx.mma %a, %b, %acc : !a, !b, !acc
  tirx.fill %acc, %one : f32, !acc
  tirx.mma %a, %b, %acc : !a, !b, !acc
  tirx.fill %acc, %x : f32, !acc
  tirx.mma %a, %b, %acc : !a, !b, !acc
  tirx.return
}

// The first products of the two halves of 256 rows overwrite them.

!tall = !tirx.tile<256x64xf32, tensor>

// CHECK-LABEL: tirx.kernel @halves
// CHECK-NOT:     tirx.fill
// CHECK:         scf.for %k = %c0 to %c2 step %c1 {
// CHECK:           %[[LATER:.*]] = arith.cmpi ne, %k, %c0 : index
// CHECK:           tirx.mma %a, %b, %upper accumulate(%[[LATER]])
// CHECK-NEXT:      tirx.mma %a, %b, %upper :
// CHECK:           tirx.mma %a, %b, %lower accumulate(%[[LATER]])
tirx.kernel @halves() target("sm_100a") threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !tall
  tirx.fill %acc, %zero : f32, !tall
  scf.for %k = %c0 to %c2 step %c1 {
    %upper = tirx.subview %acc[0, 0] : !tall -> !acc
    tirx.mma %a, %b, %upper : !a, !b, !acc
    tirx.mma %a, %b, %upper : !a, !b, !acc
    %lower = tirx.subview %acc[128, 0] : !tall -> !acc
    tirx.mma %a, %b, %lower : !a, !b, !acc
  }
  tirx.return
}

// Not where one half alone is multiplied, or parts overlap.

// CHECK-LABEL: tirx.kernel @one_half
// CHECK:         tirx.fill %acc, %zero
// CHECK-NEXT:    tirx.mma %a, %b, %upper :
// CHECK-NEXT:    tirx.mma %a, %b, %upper :
// CHECK-NEXT:    tirx.fill %acc, %zero
// CHECK-NEXT:    tirx.mma %a, %b, %upper :
// CHECK-NEXT:    tirx.mma %a, %b, %middle :
// CHECK-NEXT:    tirx.mma %a, %b, %lower :
tirx.kernel @one_half() target("sm_100a") threads(128) {
  %zero = arith.constant 0.0 : f32
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !tall
  %upper = tirx.subview %acc[0, 0] : !tall -> !acc
  %middle = tirx.subview %acc[64, 0] : !tall -> !acc
  %lower = tirx.subview %acc[128, 0] : !tall -> !acc
  tirx.fill %acc, %zero : f32, !tall
  tirx.mma %a, %b, %upper : !a, !b, !acc
  tirx.mma %a, %b, %upper : !a, !b, !acc
  tirx.fill %acc, %zero : f32, !tall
  tirx.mma %a, %b, %upper : !a, !b, !acc
  tirx.mma %a, %b, %middle : !a, !b, !acc
  tirx.mma %a, %b, %lower : !a, !b, !acc
  tirx.return
}

// A loop that may not run leaves the zeros of the fill.

// CHECK-LABEL: tirx.kernel @maybe_no_round
// CHECK:         tirx.fill %acc, %zero
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tirx.mma %a, %b, %acc :
// CHECK:         tirx.fill %acc, %zero
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        tirx.mma %a, %b, %acc :
// CHECK:         tirx.fill %acc, %zero
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tirx.mma %a, %b, %acc :
tirx.kernel @maybe_no_round(%n: index) target("sm_100a") threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %n step %c1 {
    tirx.mma %a, %b, %acc : !a, !b, !acc
  }
  tirx.fill %acc, %zero : f32, !acc
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      tirx.mma %a, %b, %acc : !a, !b, !acc
    }
  }
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c2 to %c2 step %c1 {
    tirx.mma %a, %b, %acc : !a, !b, !acc
  }
  tirx.return
}

// Where all that reads the sums stands behind the loop, it reads zeros if there was no iteration.

// CHECK-LABEL: tirx.kernel @read_behind
// CHECK-NOT:     tirx.fill
// CHECK:         scf.for %k = %c0 to %n
// CHECK-NEXT:      %[[LATER:.*]] = arith.cmpi ne, %k, %c0 : index
// CHECK-NEXT:      tirx.mma %a, %b, %acc accumulate(%[[LATER]])
// CHECK:         %[[TRIPS:.*]] = arith.ceildivui
// CHECK-NEXT:    %[[NONE:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[SOME:.*]] = arith.cmpi ne, %[[TRIPS]], %[[NONE]] : index
// CHECK-NEXT:    %x = scf.if %[[SOME]]
// CHECK-NEXT:      %[[SUMS:.*]] = tirx.load %acc
// CHECK-NEXT:      scf.yield %[[SUMS]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[ZEROS:.*]] = tirx.zero
// CHECK-NEXT:      scf.yield %[[ZEROS]]
// CHECK:         tirx.store %x, %d
// CHECK:         %[[Y:.*]] = scf.if
// CHECK:         tirx.store %[[Y]], %d
tirx.kernel @read_behind(%n: index, %m: memref<128x64xf32>) target("sm_100a") threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  %d = tirx.view %m[%c0, %c0] : memref<128x64xf32> -> !tirx.tile<128x64xf32, global>
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %n step %c2 {
    tirx.mma %a, %b, %acc : !a, !b, !acc
  }
  %x = tirx.load %acc : !acc -> !tirx.tile<128x64xf32, register>
  tirx.store %x, %d : !tirx.tile<128x64xf32, register>, !tirx.tile<128x64xf32, global>
  tirx.copy %acc, %d : !acc, !tirx.tile<128x64xf32, global>
  tirx.return
}

// Something else reads or writes the accumulator first: a copy, a part of it, a branch.

// CHECK-LABEL: tirx.kernel @touched_first
// CHECK:         tirx.fill %acc, %zero
// CHECK-NEXT:    tirx.copy %acc, %r
// CHECK:         tirx.fill %acc, %zero
// CHECK-NEXT:    tirx.copy %r, %part
// CHECK:         tirx.fill %acc, %zero
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      tirx.mma %a, %b, %acc :
// CHECK:         tirx.fill %acc, %zero
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tirx.copy %acc, %r
// CHECK:         tirx.fill %acc, %zero
// CHECK-NEXT:    tirx.mma %a, %b, %acc accumulate(%p)
tirx.kernel @touched_first(%x: i32) target("sm_100a") threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %p = arith.cmpi ne, %x, %x : i32
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  %r = tirx.alloc : !tirx.tile<128x64xf32, shared>
  %part = tirx.subview %acc[0, 0] : !acc -> !tirx.tile<128x64xf32, tensor>
  tirx.fill %acc, %zero : f32, !acc
  tirx.copy %acc, %r : !acc, !tirx.tile<128x64xf32, shared>
  tirx.mma %a, %b, %acc : !a, !b, !acc
  tirx.fill %acc, %zero : f32, !acc
  tirx.copy %r, %part : !tirx.tile<128x64xf32, shared>, !tirx.tile<128x64xf32, tensor>
  tirx.mma %a, %b, %acc : !a, !b, !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.if %p {
    tirx.mma %a, %b, %acc : !a, !b, !acc
  }
  tirx.mma %a, %b, %acc : !a, !b, !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c2 step %c1 {
    tirx.copy %acc, %r : !acc, !tirx.tile<128x64xf32, shared>
    tirx.mma %a, %b, %acc : !a, !b, !acc
  }
  tirx.fill %acc, %zero : f32, !acc
  tirx.mma %a, %b, %acc accumulate(%p) : !a, !b, !acc
  tirx.return
}

// Registers are filled for nothing: the constants become operands.

!r = !tirx.tile<8x4xf64, register>
!d = !tirx.tile<8x8xf64, register>

// CHECK-LABEL: tirx.kernel @registers
// CHECK:         tirx.fill %d, %zero
// CHECK-NEXT:    tirx.mma %r, %r, %d :
tirx.kernel @registers() target("sm_80") threads(32) {
  %zero = arith.constant 0.0 : f64
  %r = tirx.alloc : !r
  %d = tirx.alloc : !d
  tirx.fill %d, %zero : f64, !d
  tirx.mma %r, %r, %d : !r, !r, !d
  tirx.return
}

// Accumulators of wgmma are values: what they start as does not matter if every path multiplies before it reads them. A
// loop that may not run, and accumulators that something else reads, keep their zeros.

!ws = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!w = !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>

// CHECK-LABEL: tirx.kernel @warpgroup
// CHECK:         %[[START:.*]] = wgmma.uninitialized
// CHECK-NOT:     tirx.splat
// CHECK:         scf.for %i = %c0 to %c4 step %c1 iter_args(%{{.*}} = %[[START]])
// CHECK:           scf.for %k = %c1 to %c4 step %c1 iter_args(%[[ACC:.*]] = %
// CHECK-NEXT:        %[[K:.*]] = arith.cmpi ne, %k, %c1 : index
// CHECK-NEXT:        %[[I:.*]] = arith.cmpi ne, %i, %c0 : index
// CHECK-NEXT:        %[[LATER:.*]] = arith.ori %[[K]], %[[I]] : i1
// CHECK-NEXT:        %[[FIRST:.*]] = tirx.mma %s, %s, %[[ACC]] accumulate(%[[LATER]]) :
// CHECK-NEXT:        tirx.mma %s, %s, %[[FIRST]] :
tirx.kernel @warpgroup() target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %s = tirx.alloc : !ws
  %start = tirx.splat %zero : f32 -> !w
  %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %start) -> (!w) {
    %1 = scf.for %k = %c1 to %c4 step %c1 iter_args(%acc = %x) -> (!w) {
      %2 = tirx.mma %s, %s, %acc : !ws, !ws, !w -> !w
      %3 = tirx.mma %s, %s, %2 : !ws, !ws, !w -> !w
      scf.yield %3 : !w
    }
    scf.yield %1 : !w
  }
  tirx.return
}

// CHECK-LABEL: tirx.kernel @kept
// CHECK-NOT:     accumulate
tirx.kernel @kept(%n: index, %d: memref<64x64xf32>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %g = tirx.view %d[%c0, %c0] : memref<64x64xf32> -> !tirx.tile<64x64xf32, global>
  %s = tirx.alloc : !ws
  %start = tirx.splat %zero : f32 -> !w
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %start) -> (!w) {
    %1 = tirx.mma %s, %s, %x : !ws, !ws, !w -> !w
    scf.yield %1 : !w
  }
  tirx.store %start, %g : !w, !tirx.tile<64x64xf32, global>
  tirx.return
}

// Zeros that others read stay; the products overwrite registers of their own.

// CHECK-LABEL: tirx.kernel @directly
// CHECK:         %zeros = tirx.splat
// CHECK:         scf.for
// CHECK-NEXT:      %[[NEVER:.*]] = arith.constant false
// CHECK-NEXT:      tirx.async_mma %s, %s, %zeros accumulate(%[[NEVER]]) :
// CHECK:         %[[NEVER2:.*]] = arith.constant false
// CHECK-NEXT:    tirx.mma %s, %s, %zeros accumulate(%[[NEVER2]]) :
tirx.kernel @directly(%n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %s = tirx.alloc : !ws
  %zeros = tirx.splat %zero : f32 -> !w
  scf.for %i = %c0 to %n step %c1 {
    %0 = tirx.async_mma %s, %s, %zeros : !ws, !ws, !w -> !tirx.pending<!w>
    %1 = tirx.await %0 : !tirx.pending<!w>
  }
  %2 = tirx.mma %s, %s, %zeros : !ws, !ws, !w -> !w
  tirx.return
}
