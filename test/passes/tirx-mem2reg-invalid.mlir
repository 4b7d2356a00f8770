// RUN: tirx-opt %s --tirx-mem2reg --split-input-file --verify-diagnostics

!r = !tirx.tile<8x4xf32, register, #tirx.tile_layout<S[32 : 1@laneid]>>
!g = !tirx.tile<8x4xf32, global, #tirx.tile_layout<S[(8, 4) : (4, 1)]>>

tirx.kernel @never_written(%x: memref<8x4xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<8x4xf32> -> !g
  %r = tirx.alloc : !r
  // expected-error@+1 {{expected a register tile that was written before, found one without contents}}
  tirx.copy %r, %g : !r, !g
  tirx.return
}


// The write stands after the read, and reaches it only around the loop.

tirx.kernel @written_later(%x: memref<8x4xf32>, %n: index) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = tirx.view %x[%c0, %c0] : memref<8x4xf32> -> !g
  %r = tirx.alloc : !r
  scf.for %i = %c0 to %n step %c1 {
    // expected-error@+1 {{expected a register tile that was written before, found one without contents}}
    tirx.copy %r, %g : !r, !g
    tirx.copy %g, %r : !g, !r
  }
  tirx.return
}


// The same through an inner loop, which may not run.

tirx.kernel @written_maybe(%x: memref<8x4xf32>, %n: index) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = tirx.view %x[%c0, %c0] : memref<8x4xf32> -> !g
  %r = tirx.alloc : !r
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      tirx.copy %g, %r : !g, !r
    }
    // expected-error@+1 {{expected a register tile that was written before, found one without contents}}
    tirx.copy %r, %g : !r, !g
  }
  tirx.return
}

!a = !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[32 : 1@laneid]>>
!c = !tirx.tile<8x8xf64, register, #tirx.tile_layout<S[(32, 2) : (1@laneid, 1)]>>

tirx.kernel @accumulator(%f: f64) target("sm_80") threads(32) {
  %a = tirx.alloc : !a
  %acc = tirx.alloc : !c
  tirx.fill %a, %f : f64, !a
  // expected-error@+1 {{expected a register tile that was written before, found one without contents}}
  tirx.mma %a, %a, %acc : !a, !a, !c
  tirx.return
}

tirx.kernel @scalar(%n: i32) target("sm_80") threads(32) {
  %s = memref.alloca() : memref<i32>
  // expected-error@+1 {{found one without contents}}
  %v = memref.load %s[] : memref<i32>
  tirx.return
}

!r2 = !tirx.tile<16x32xf32, register, #tirx.tile_layout<S[(16, 32) : (1, 1@laneid)]>>
!part = !tirx.tile<8x32xf32, register, #tirx.tile_layout<S[(8, 32) : (1, 1@laneid)]>>

tirx.kernel @part(%f: f32) target("sm_80") threads(32) {
  %r = tirx.alloc : !r2
  tirx.fill %r, %f : f32, !r2
  %part = tirx.subview %r[0, 0] : !r2 -> !part
  // expected-error@+1 {{expected 'tirx.alloc' to write to in registers, found a value, which never changes}}
  tirx.fill %part, %f : f32, !part
  tirx.return
}


tirx.kernel @region(%f: f32, %m: memref<16x32xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %m[%c0, %c0] : memref<16x32xf32> -> !tirx.tile<16x32xf32, global>
  %r = tirx.alloc : !r2
  // expected-error@+1 {{expected scf.for, scf.while or scf.if around what is kept in registers, found scf.execute_region}}
  scf.execute_region {
    tirx.fill %r, %f : f32, !r2
    scf.yield
  }
  tirx.copy %r, %g : !r2, !tirx.tile<16x32xf32, global>
  tirx.return
}

!r3 = !tirx.tile<8x4xf32, register>
!g2 = !tirx.tile<8x4xf32, global>

tirx.kernel @engine(%x: memref<8x4xf32>) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<8x4xf32> -> !g2
  %r = tirx.alloc : !r3
  // expected-error@+1 {{expected engine ld_st on a copy from global memory to registers, found tma}}
  tirx.copy %g, %r engine tma : !g2, !r3
  tirx.return
}

// -----

// Values do not change.

!r = !tirx.tile<8x4xf32, register>

tirx.kernel @fill_of_a_value(%f: f32) target("sm_80") threads(32) {
  %r = tirx.splat %f : f32 -> !r
  // expected-error@+1 {{expected 'tirx.alloc' to write to in registers, found a value, which never changes: !tirx.tile<8x4xf32, register>}}
  tirx.fill %r, %f : f32, !r
  tirx.return
}


tirx.kernel @copy_to_a_value(%f: f32) target("sm_80") threads(32) {
  %r = tirx.splat %f : f32 -> !r
  %s = tirx.splat %f : f32 -> !r
  // expected-error@+1 {{expected 'tirx.alloc' to write to in registers, found a value}}
  tirx.copy %r, %s : !r, !r
  tirx.return
}

!a = !tirx.tile<8x4xf64, register>
!c = !tirx.tile<8x8xf64, register>

tirx.kernel @product_on_a_value(%f: f64) target("sm_80") threads(32) {
  %a = tirx.splat %f : f64 -> !a
  %c = tirx.splat %f : f64 -> !c
  // expected-error@+1 {{expected 'tirx.alloc' to write to in registers, found a value}}
  tirx.mma %a, %a, %c : !a, !a, !c
  tirx.return
}

// -----

// Tiles in memory have one place; only values go through control flow.

!s = !tirx.tile<8x8xf32, shared>

tirx.kernel @select_of_shared(%n: index) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %t = tirx.alloc : !s
  %p = arith.cmpi ult, %c0, %n : index
  // expected-error@+1 {{expected arith.select on register tiles, which are values, found !tirx.tile<8x8xf32, shared>}}
  %r = arith.select %p, %t, %t : !s
  tirx.return
}

!t = !tirx.tile<128x64xf32, tensor>

tirx.kernel @loop_of_tensor() target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tirx.alloc : !t
  // expected-error@+1 {{expected scf.for on register tiles, which are values, found !tirx.tile<128x64xf32, tensor>}}
  %r = scf.for %k = %c0 to %c1 step %c1 iter_args(%x = %t) -> (!t) {
    scf.yield %x : !t
  }
  tirx.return
}

!r = !tirx.tile<8x8xf32, register>

tirx.kernel @region(%f: f32) target("sm_90a") threads(32) {
  %r = tirx.splat %f : f32 -> !r
  // expected-error@+1 {{expected tiles to go through scf.for, scf.while, scf.if and arith.select only, found scf.execute_region}}
  %last = scf.execute_region -> !r {
    scf.yield %r : !r
  }
  tirx.return
}

tirx.kernel @index(%a: memref<?x8xf32>, %i: index) target("sm_90a") threads(32) {
  // expected-error@+1 {{expected a memref argument of the kernel and a constant index, found another}}
  %n = memref.dim %a, %i : memref<?x8xf32>
  tirx.return
}

tirx.kernel @rank_below(%a: memref<?x8xf32>) target("sm_90a") threads(32) {
  %c = arith.constant -1 : index
  // expected-error@+1 {{expected a dimension of memref<?x8xf32>, found -1}}
  %n = memref.dim %a, %c : memref<?x8xf32>
  tirx.return
}

tirx.kernel @rank(%a: memref<?x8xf32>) target("sm_90a") threads(32) {
  %c2 = arith.constant 2 : index
  // expected-error@+1 {{expected a dimension of memref<?x8xf32>, found 2}}
  %n = memref.dim %a, %c2 : memref<?x8xf32>
  tirx.return
}

tirx.kernel @k() threads(128) {
  // expected-error@+1 {{expected accumulators with a memory; tirx-resolve-accumulators chooses it}}
  %acc = tirx.alloc : !tirx.tile<64x64xf32, accumulator>
  tirx.return
}
