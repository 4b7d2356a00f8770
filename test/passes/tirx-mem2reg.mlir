// RUN: tirx-opt %s --tirx-mem2reg | filecheck %s

!r = !tirx.tile<8x4xf32, register, #tirx.tile_layout<S[32 : 1@laneid]>>
!same = !tirx.tile<8x4xf32, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>
!g = !tirx.tile<8x4xf32, global, #tirx.tile_layout<S[(8, 4) : (4, 1)]>>
!m = memref<8x4xf32>

// Copies become loads and stores, fills splats; the value is the one at that point of the program. Another spelling of
// one layout is the same registers.

// CHECK-LABEL: tirx.kernel @straight
// CHECK:         %c0 = arith.constant 0 : index
// CHECK-NEXT:    %g = tirx.view %x[%c0, %c0]
// CHECK-NEXT:    %0 = tirx.load %g
// CHECK-NEXT:    %1 = builtin.unrealized_conversion_cast %0
// CHECK-NEXT:    %2 = tirx.splat %f : f32
// CHECK-NEXT:    tirx.store %2, %g
// CHECK-NEXT:    tirx.store %1, %g
// CHECK-NEXT:    tirx.return
tirx.kernel @straight(%x: !m, %f: f32) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : !m -> !g
  %r = tirx.alloc : !r
  %s = tirx.alloc : !same
  tirx.copy %g, %r : !g, !r
  tirx.copy %r, %s : !r, !same
  tirx.fill %r, %f : f32, !r
  tirx.copy %r, %g : !r, !g
  tirx.copy %s, %g : !same, !g
  tirx.return
}

// A loop carries what it changes and what is read before it is written, or after the loop. A tile of its own it does not
// carry. A tile that is first written in the loop is zero when the loop does not run.

// CHECK-LABEL: tirx.kernel @loop
// CHECK:         %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %g = tirx.view %x[%c0, %c0]
// CHECK-NEXT:    %0 = tirx.load %g
// CHECK-NEXT:    %1 = tirx.splat %f : f32
// CHECK-NEXT:    %2 = tirx.zero
// CHECK-NEXT:    %3, %4, %5 = scf.for %i = %c0 to %n step %c1 iter_args(%6 = %0, %7 = %1, %8 = %2)
// CHECK-NEXT:      %9 = tirx.load %g
// CHECK-NEXT:      scf.yield %7, %6, %9
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.store %3, %g
// CHECK-NEXT:    tirx.store %4, %g
// CHECK-NEXT:    tirx.store %5, %g
// CHECK-NEXT:    tirx.return
tirx.kernel @loop(%x: !m, %n: index, %f: f32) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = tirx.view %x[%c0, %c0] : !m -> !g
  %a = tirx.alloc : !r
  %b = tirx.alloc : !r
  %local = tirx.alloc : !r
  %late = tirx.alloc : !r
  tirx.copy %g, %a : !g, !r
  tirx.fill %b, %f : f32, !r
  scf.for %i = %c0 to %n step %c1 {
    tirx.copy %a, %local : !r, !r
    tirx.copy %b, %a : !r, !r
    tirx.copy %local, %b : !r, !r
    tirx.copy %g, %late : !g, !r
  }
  tirx.copy %a, %g : !r, !g
  tirx.copy %b, %g : !r, !g
  tirx.copy %late, %g : !r, !g
  tirx.return
}

// Loops in loops, branches in loops. %b starts anew in every round of the outer loop, %a does not. Results of the
// program's own stay in front.

// CHECK-LABEL: tirx.kernel @nested
// CHECK:         %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %g = tirx.view %x[%c0, %c0]
// CHECK-NEXT:    %0 = tirx.splat %f : f32
// CHECK-NEXT:    %t, %1 = scf.for %i = %c0 to %n step %c1 iter_args(%o = %c0, %2 = %0)
// CHECK-NEXT:      %3 = tirx.splat %f : f32
// CHECK-NEXT:      %4, %5 = scf.for %j = %c0 to %n step %c1 iter_args(%6 = %2, %7 = %3)
// CHECK-NEXT:        %p = arith.cmpi eq, %i, %j : index
// CHECK-NEXT:        %8, %9 = scf.if %p
// CHECK-NEXT:          scf.yield %7, %7
// CHECK-NEXT:        } else {
// CHECK-NEXT:          %10 = tirx.load %g
// CHECK-NEXT:          scf.yield %6, %10
// CHECK-NEXT:        }
// CHECK-NEXT:        scf.yield %8, %9
// CHECK-NEXT:      }
// CHECK-NEXT:      tirx.store %5, %g
// CHECK-NEXT:      scf.yield %i, %4 : index
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.store %1, %g
// CHECK-NEXT:    tirx.return
tirx.kernel @nested(%x: !m, %n: index, %f: f32) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = tirx.view %x[%c0, %c0] : !m -> !g
  %a = tirx.alloc : !r
  %b = tirx.alloc : !r
  tirx.fill %a, %f : f32, !r
  %t = scf.for %i = %c0 to %n step %c1 iter_args(%o = %c0) -> (index) {
    tirx.fill %b, %f : f32, !r
    scf.for %j = %c0 to %n step %c1 {
      %p = arith.cmpi eq, %i, %j : index
      scf.if %p {
        tirx.copy %b, %a : !r, !r
      } else {
        tirx.copy %g, %b : !g, !r
      }
    }
    tirx.copy %b, %g : !r, !g
    scf.yield %i : index
  }
  tirx.copy %a, %g : !r, !g
  tirx.return
}

// A branch merges what it writes, if anybody reads it afterwards. What a branch leaves unwritten is zero.

// CHECK-LABEL: tirx.kernel @branches
// CHECK:         %c0 = arith.constant 0 : index
// CHECK-NEXT:    %g = tirx.view %x[%c0, %c0]
// CHECK-NEXT:    %p = arith.cmpi eq, %n, %c0 : index
// CHECK-NEXT:    %0 = tirx.splat %f : f32
// CHECK-NEXT:    %1 = tirx.zero
// CHECK-NEXT:    %v, %2, %3, %4 = scf.if %p
// CHECK-NEXT:      %5 = tirx.load %g
// CHECK-NEXT:      %6 = tirx.load %g
// CHECK-NEXT:      tirx.store %6, %g
// CHECK-NEXT:      %7 = tirx.load %g
// CHECK-NEXT:      scf.yield %f, %5, %7, %0
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %8 = tirx.splat %f : f32
// CHECK-NEXT:      %9 = tirx.load %g
// CHECK-NEXT:      scf.yield %f, %8, %1, %9
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.store %2, %g
// CHECK-NEXT:    tirx.store %4, %g
// CHECK-NEXT:    tirx.store %3, %g
// CHECK-NEXT:    %10 = tirx.splat %v : f32
// CHECK-NEXT:    tirx.store %10, %g
// CHECK-NEXT:    tirx.return
tirx.kernel @branches(%x: !m, %n: index, %f: f32) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : !m -> !g
  %p = arith.cmpi eq, %n, %c0 : index
  %both = tirx.alloc : !r
  %one = tirx.alloc : !r
  %inside = tirx.alloc : !r
  %maybe = tirx.alloc : !r
  tirx.fill %one, %f : f32, !r
  %v = scf.if %p -> (f32) {
    tirx.copy %g, %both : !g, !r
    tirx.copy %g, %inside : !g, !r
    tirx.copy %inside, %g : !r, !g
    tirx.copy %g, %maybe : !g, !r
    scf.yield %f : f32
  } else {
    tirx.fill %both, %f : f32, !r
    tirx.copy %g, %one : !g, !r
    scf.yield %f : f32
  }
  tirx.copy %both, %g : !r, !g
  tirx.copy %one, %g : !r, !g
  tirx.copy %maybe, %g : !r, !g
  tirx.fill %one, %v : f32, !r
  tirx.copy %one, %g : !r, !g
  tirx.return
}

// Scalars in memrefs of rank 0.

// CHECK-LABEL: tirx.kernel @scalars
// CHECK:         %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %one = arith.constant 1 : i32
// CHECK-NEXT:    %z = scf.for %i = %c0 to %n step %c1 iter_args(%v = %one)
// CHECK-NEXT:      %w = arith.xori %v, %one : i32
// CHECK-NEXT:      scf.yield %w : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %y = arith.addi %z, %z : i32
// CHECK-NEXT:    tirx.return
tirx.kernel @scalars(%n: index, %x: memref<4xi32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %s = memref.alloca() : memref<i32>
  memref.store %one, %s[] : memref<i32>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %s[] : memref<i32>
    %w = arith.xori %v, %one : i32
    memref.store %w, %s[] : memref<i32>
  }
  %z = memref.load %s[] : memref<i32>
  %y = arith.addi %z, %z : i32
  tirx.return
}

!a = !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[32 : 1@laneid]>>
!c = !tirx.tile<8x8xf64, register, #tirx.tile_layout<S[(32, 2) : (1@laneid, 1)]>>
// Products have their new accumulator as a result.

// CHECK-LABEL: tirx.kernel @product
// CHECK:         %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %0 = tirx.splat %f : f64
// CHECK-NEXT:    %1 = tirx.splat %f : f64
// CHECK-NEXT:    %2 = scf.for %i = %c0 to %n step %c1 iter_args(%3 = %0)
// CHECK-NEXT:      %4 = tirx.mma %1, %1, %3
// CHECK-NEXT:      scf.yield %4
// CHECK-NEXT:    }
// CHECK-NEXT:    %5 = tirx.mma %1, %1, %2
// CHECK-NEXT:    tirx.return
tirx.kernel @product(%n: index, %f: f64) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tirx.alloc : !a
  %acc = tirx.alloc : !c
  tirx.fill %acc, %f : f64, !c
  tirx.fill %a, %f : f64, !a
  scf.for %i = %c0 to %n step %c1 {
    tirx.mma %a, %a, %acc : !a, !a, !c
  }
  tirx.mma %a, %a, %acc : !a, !a, !c
  tirx.return
}

// Tiles that are allocated where they are used.

// CHECK-LABEL: tirx.kernel @alloc_in_loop
// CHECK:         %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %g = tirx.view %x[%c0, %c0]
// CHECK-NEXT:    scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:      %0 = tirx.load %g
// CHECK-NEXT:      tirx.store %0, %g
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.return
tirx.kernel @alloc_in_loop(%x: !m, %n: index) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = tirx.view %x[%c0, %c0] : !m -> !g
  scf.for %i = %c0 to %n step %c1 {
    %r = tirx.alloc : !r
    tirx.copy %g, %r : !g, !r
    tirx.copy %r, %g : !r, !g
  }
  tirx.return
}

// In an outer loop, what an inner loop writes is read first in the next round.

// CHECK-LABEL: tirx.kernel @next_round
// CHECK:         %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %g = tirx.view %x[%c0, %c0]
// CHECK-NEXT:    %0 = tirx.splat %f : f32
// CHECK-NEXT:    %1 = scf.for %i = %c0 to %n step %c1 iter_args(%2 = %0)
// CHECK-NEXT:      tirx.store %2, %g
// CHECK-NEXT:      %3 = scf.for %j = %c0 to %n step %c1 iter_args(%4 = %2)
// CHECK-NEXT:        %5 = tirx.load %g
// CHECK-NEXT:        scf.yield %5
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield %3
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.return
tirx.kernel @next_round(%x: !m, %n: index, %f: f32) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = tirx.view %x[%c0, %c0] : !m -> !g
  %r = tirx.alloc : !r
  tirx.fill %r, %f : f32, !r
  scf.for %i = %c0 to %n step %c1 {
    tirx.copy %r, %g : !r, !g
    scf.for %j = %c0 to %n step %c1 {
      tirx.copy %g, %r : !g, !r
    }
  }
  tirx.return
}

// Tiles without a layout, of any element type. What both branches write needs no zero.

!bytes = !tirx.tile<32xsi8, register>
!gb = !tirx.tile<32xsi8, global>

// CHECK-LABEL: tirx.kernel @both_branches
// CHECK:         %0 = scf.if %p -> (!tirx.tile<32xsi8, register>) {
// CHECK-NEXT:      %1 = tirx.load %g : !tirx.tile<32xsi8, global> -> !tirx.tile<32xsi8, register>
// CHECK-NEXT:      scf.yield %1 : !tirx.tile<32xsi8, register>
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %2 = tirx.load %g
// CHECK-NEXT:      scf.yield %2
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.store %0, %g
tirx.kernel @both_branches(%x: memref<32xsi8>, %n: index) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0] : memref<32xsi8> -> !gb
  %p = arith.cmpi eq, %n, %c0 : index
  %r = tirx.alloc : !bytes
  scf.if %p {
    tirx.copy %g, %r : !gb, !bytes
  } else {
    tirx.copy %g, %r : !gb, !bytes
  }
  tirx.copy %r, %g : !bytes, !gb
  tirx.return
}

// A branch reads in the next round of a loop what it wrote in the one before.

// CHECK-LABEL: tirx.kernel @branch_of_the_next_round
// CHECK:         %0 = tirx.splat %f
// CHECK-NEXT:    %1 = scf.for %i = %c0 to %n step %c1 iter_args(%2 = %0)
// CHECK-NEXT:      %p = arith.cmpi
// CHECK-NEXT:      %3 = scf.if %p
// CHECK-NEXT:        tirx.store %2, %g
// CHECK-NEXT:        %4 = tirx.load %g
// CHECK-NEXT:        scf.yield %4
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %2
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield %3
tirx.kernel @branch_of_the_next_round(%x: !m, %n: index, %f: f32) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = tirx.view %x[%c0, %c0] : !m -> !g
  %r = tirx.alloc : !r
  tirx.fill %r, %f : f32, !r
  scf.for %i = %c0 to %n step %c1 {
    %p = arith.cmpi eq, %i, %c1 : index
    scf.if %p {
      tirx.copy %r, %g : !r, !g
      tirx.copy %g, %r : !g, !r
    }
  }
  tirx.return
}

// Values that the program passes on itself: a variable stands for what it holds there.

!v = !tirx.tile<8x4xf32, register>

// CHECK-LABEL: tirx.kernel @values
// CHECK:         %x = tirx.load %g
// CHECK-NEXT:    %0 = tirx.load %g
// CHECK-NEXT:    %s = arith.select %p, %x, %0 : !tirx.tile<8x4xf32, register>
// CHECK-NEXT:    %1 = tirx.splat %f
// CHECK-NEXT:    %u = scf.for %i = %c0 to %n step %c1 iter_args(%e = %s)
// CHECK-NEXT:      %t = arith.select %p, %e, %1
// CHECK-NEXT:      scf.yield %t
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.store %u, %g
// CHECK-NEXT:    tirx.store %1, %g
tirx.kernel @values(%m: !m, %n: index, %f: f32, %p: i1) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = tirx.view %m[%c0, %c0] : !m -> !g
  %x = tirx.load %g : !g -> !v
  %y = tirx.alloc : !v
  tirx.copy %g, %y : !g, !v
  %s = arith.select %p, %x, %y : !v
  tirx.fill %y, %f : f32, !v
  %u = scf.for %i = %c0 to %n step %c1 iter_args(%e = %s) -> (!v) {
    %t = arith.select %p, %e, %y : !v
    scf.yield %t : !v
  }
  tirx.copy %u, %g : !v, !g
  tirx.copy %y, %g : !v, !g
  tirx.return
}

// A role keeps tiles of its own.

// CHECK-LABEL: tirx.kernel @roles
// CHECK:         tirx.role @first warps(1) {
// CHECK-NEXT:      %0 = tirx.load %g
// CHECK-NEXT:      tirx.store %0, %g
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.role @second warps(1) {
// CHECK-NEXT:      %1 = tirx.splat %f
// CHECK-NEXT:      tirx.store %1, %g
// CHECK-NEXT:    }
tirx.kernel @roles(%x: !m, %f: f32) target("sm_90a") threads(64) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : !m -> !g
  tirx.roles {
    tirx.role @first warps(1) {
      %r = tirx.alloc : !r
      tirx.copy %g, %r : !g, !r
      tirx.copy %r, %g : !r, !g
    }
    tirx.role @second warps(1) {
      %s = tirx.alloc : !r
      tirx.fill %s, %f : f32, !r
      tirx.copy %s, %g : !r, !g
    }
  }
  tirx.return
}

// A copy to another layout changes who holds what.

// CHECK-LABEL: tirx.kernel @other_layout
// CHECK-NEXT:    %0 = tirx.splat %f
// CHECK-NEXT:    %1 = tirx.convert %0 : !tirx.tile<8x4xf32, register, {{.*}}<S[32 : 1@laneid]>> -> !tirx.tile<8x4xf32, register, {{.*}}<S[(8, 4) : (1@laneid, 8@laneid)]>>
tirx.kernel @other_layout(%f: f32) target("sm_80") threads(32) {
  %r = tirx.alloc : !tirx.tile<8x4xf32, register, #tirx.tile_layout<S[32 : 1@laneid]>>
  %t = tirx.alloc : !tirx.tile<8x4xf32, register, #tirx.tile_layout<S[(8, 4) : (1@laneid, 8@laneid)]>>
  tirx.fill %r, %f : f32, !tirx.tile<8x4xf32, register, #tirx.tile_layout<S[32 : 1@laneid]>>
  tirx.copy %r, %t : !tirx.tile<8x4xf32, register, #tirx.tile_layout<S[32 : 1@laneid]>>, !tirx.tile<8x4xf32, register, #tirx.tile_layout<S[(8, 4) : (1@laneid, 8@laneid)]>>
  tirx.return
}

// Sizes of arguments: constants, or numbers that the launch computes.

// CHECK-LABEL: tirx.kernel @sizes(
// CHECK:         %m = tirx.launch_value size(1, 0)
// CHECK-NEXT:    %k = arith.constant 8 : index
// CHECK-NEXT:    %n = arith.addi %m, %k : index
tirx.kernel @sizes(%x: i32, %a: memref<?x8xf32>) threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %a, %c0 : memref<?x8xf32>
  %k = memref.dim %a, %c1 : memref<?x8xf32>
  %n = arith.addi %m, %k : index
  tirx.return
}

// CHECK-LABEL: tirx.kernel @wider
!wa = !tirx.tile<16x16xf16, register>
!wb = !tirx.tile<8x16xf16, register>
!wc = !tirx.tile<16x8xf16, register>
!wd = !tirx.tile<16x8xf32, register>
tirx.kernel @wider() target("sm_80") threads(32) {
  %a = tirx.zero : !wa
  %b = tirx.zero : !wb
  %c = tirx.zero : !wc
  // CHECK: %[[WIDE:.*]] = tirx.map ins(%c : !tirx.tile<16x8xf16, register>) {
  // CHECK: arith.extf
  // CHECK: tirx.mma %a, %b, %[[WIDE]] : !tirx.tile<16x16xf16, register>, !tirx.tile<8x16xf16, register>, !tirx.tile<16x8xf32, register> -> !tirx.tile<16x8xf32, register>
  %d = tirx.mma %a, %b, %c : !wa, !wb, !wc -> !wd
  tirx.return
}

// m8n8k4 takes the accumulator in f16: it stays, as a tile of its own whose fragments may differ from those of others.

// CHECK-LABEL: tirx.kernel @narrow_start
!va = !tirx.tile<16x4xf16, register>
!vc = !tirx.tile<16x16xf16, register>
!vd = !tirx.tile<16x16xf32, register>
tirx.kernel @narrow_start() target("sm_70") threads(32) {
  %a = tirx.zero : !va
  %c = tirx.zero : !vc
  // CHECK: %[[START:.*]] = tirx.convert %c :
  // CHECK-NEXT: tirx.mma %a, %a, %[[START]] : {{.*}}, !tirx.tile<16x16xf16, register> -> !tirx.tile<16x16xf32, register>
  %d = tirx.mma %a, %a, %c : !va, !va, !vc -> !vd
  tirx.return
}

// Parts of values are elements of them; those at computed places come from shared memory, as tiles of several extents do.

// CHECK-LABEL: tirx.kernel @parts
tirx.kernel @parts(%x: !tirx.tile<8x4xf32, register>, %y: !tirx.tile<2x4xf32, register>, %i: index) target("sm_80") threads(32) {
  // CHECK-NEXT: [[M:%.*]] = tirx.alloc : !tirx.tile<10x4xf32, shared>
  // CHECK: [[N:%.*]] = tirx.alloc : !tirx.tile<8x4xf32, shared>
  // CHECK-DAG: tirx.convert %x elements [3 : i64, 4 : i64, -1 : i64] : {{.*}} -> !tirx.tile<8x4xf32, register>
  %a = tirx.subview %x[0, 3] steps [1, -1] : !tirx.tile<8x4xf32, register> -> !tirx.tile<8x4xf32, register>
  // CHECK-DAG: tirx.convert %x elements [0 : i64, 1 : i64, 4 : i64] : {{.*}} -> !tirx.tile<4x8xf32, register>
  %b = tirx.transpose %x [1, 0] : !tirx.tile<8x4xf32, register> -> !tirx.tile<4x8xf32, register>
  // CHECK-DAG: tirx.convert %x elements [0 : i64, 16 : i64, 1 : i64] : {{.*}} -> !tirx.tile<2x16xf32, register>
  %c = tirx.reshape %x : !tirx.tile<8x4xf32, register> -> !tirx.tile<2x16xf32, register>
  // CHECK: tirx.store %x, [[N]]
  // CHECK-NEXT: [[P:%.*]] = tirx.subview [[N]][%i, 0]
  // CHECK-NEXT: tirx.load [[P]]
  %d = tirx.subview %x[%i, 0] : !tirx.tile<8x4xf32, register> -> !tirx.tile<1x4xf32, register>
  // CHECK: [[Q:%.*]] = tirx.subview [[M]][0, 0]
  // CHECK-NEXT: tirx.store %x, [[Q]]
  // CHECK-NEXT: [[R:%.*]] = tirx.subview [[M]][8, 0]
  // CHECK-NEXT: tirx.store %y, [[R]]
  // CHECK-NEXT: tirx.load [[M]]
  %e = tirx.concat %x, %y dim(0) : !tirx.tile<8x4xf32, register>, !tirx.tile<2x4xf32, register> -> !tirx.tile<10x4xf32, register>
  tirx.return
}
