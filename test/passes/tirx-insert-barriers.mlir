// RUN: tirx-opt %s --tirx-insert-barriers | filecheck %s

!s = !tirx.tile<64x64xf32, shared>
!g = !tirx.tile<64x64xf32, global>
!r = !tirx.tile<64x64xf32, register>
!t = !tirx.tile<128x64xf32, tensor>
!m = memref<64x64xf32>

// Write, then read; read, then write; write, then write. Reads alone do not race.

// CHECK-LABEL: tirx.kernel @straight
// CHECK:         tirx.copy %gx, %s
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %s, %gy
// CHECK-NEXT:    tirx.copy %s, %gz
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.fill %s, %zero
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %gx, %s
// CHECK-NEXT:    tirx.return
tirx.kernel @straight(%x: !m, %y: !m, %z: !m) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %gx = tirx.view %x[%c0, %c0] : !m -> !g
  %gy = tirx.view %y[%c0, %c0] : !m -> !g
  %gz = tirx.view %z[%c0, %c0] : !m -> !g
  %s = tirx.alloc : !s
  tirx.copy %gx, %s : !g, !s
  tirx.copy %s, %gy : !s, !g
  tirx.copy %s, %gz : !s, !g
  tirx.fill %s, %zero : f32, !s
  tirx.copy %gx, %s : !g, !s
  tirx.return
}

// Memory is told apart by allocation and memref. One barrier serves all of them.

// CHECK-LABEL: tirx.kernel @several
// CHECK:         tirx.copy %gx, %s
// CHECK-NEXT:    tirx.copy %gx, %t
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %s, %gy
// CHECK-NEXT:    tirx.copy %t, %gz
// CHECK-NEXT:    tirx.return
tirx.kernel @several(%x: !m, %y: !m, %z: !m) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %gx = tirx.view %x[%c0, %c0] : !m -> !g
  %gy = tirx.view %y[%c0, %c0] : !m -> !g
  %gz = tirx.view %z[%c0, %c0] : !m -> !g
  %s = tirx.alloc : !s
  %t = tirx.alloc : !s
  tirx.copy %gx, %s : !g, !s
  tirx.copy %gx, %t : !g, !s
  tirx.copy %s, %gy : !s, !g
  tirx.copy %t, %gz : !s, !g
  tirx.return
}

// Global memory races too: two views of one memref are taken to overlap. So are two parts of one tile.

// CHECK-LABEL: tirx.kernel @global
// CHECK:         tirx.copy %r, %gx
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %gx2, %r
// CHECK-NEXT:    tirx.copy %r, %gy
// CHECK-NEXT:    tirx.copy %r, %part
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %flat, %gz
tirx.kernel @global(%x: !m, %y: !m, %z: memref<4096xf32>) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %gx = tirx.view %x[%c0, %c0] : !m -> !g
  %gx2 = tirx.view %x[%c0, %c0] : !m -> !g
  %gy = tirx.view %y[%c0, %c0] : !m -> !g
  %gz = tirx.view %z[%c0] : memref<4096xf32> -> !tirx.tile<4096xf32, global>
  %s = tirx.alloc : !s
  %part = tirx.subview %s[0, 0] : !s -> !s
  %flat = tirx.reshape %s : !s -> !tirx.tile<4096xf32, shared>
  %r = tirx.alloc : !r
  tirx.copy %r, %gx : !r, !g
  tirx.copy %gx2, %r : !g, !r
  tirx.copy %r, %gy : !r, !g
  tirx.copy %r, %part : !r, !s
  tirx.copy %flat, %gz : !tirx.tile<4096xf32, shared>, !tirx.tile<4096xf32, global>
  tirx.return
}

// Across the back edge of a loop: the reads of one round meet the writes of the next. The first barrier is for
// that; it also orders what came before the loop.

// CHECK-LABEL: tirx.kernel @loop
// CHECK:         scf.for
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.copy %gx, %s
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.copy %s, %r
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %gx, %s
tirx.kernel @loop(%x: !m, %n: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %gx = tirx.view %x[%c0, %c0] : !m -> !g
  %s = tirx.alloc : !s
  %r = tirx.alloc : !r
  scf.for %i = %c0 to %n step %c1 {
    tirx.copy %gx, %s : !g, !s
    tirx.copy %s, %r : !s, !r
  }
  // The last round has read; also the reads of a loop are remembered.
  tirx.copy %gx, %s : !g, !s
  tirx.return
}

// Read, then write: only the back edge has a write before a read.

// CHECK-LABEL: tirx.kernel @write_last
// CHECK:         scf.for
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.copy %s, %r
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.copy %gx, %s
// CHECK-NEXT:    }
tirx.kernel @write_last(%x: !m, %n: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %gx = tirx.view %x[%c0, %c0] : !m -> !g
  %s = tirx.alloc : !s
  %r = tirx.alloc : !r
  scf.for %i = %c0 to %n step %c1 {
    tirx.copy %s, %r : !s, !r
    tirx.copy %gx, %s : !g, !s
  }
  tirx.return
}

// The back edge of the outer loop, through an inner one that may not run at all.

// CHECK-LABEL: tirx.kernel @nested
// CHECK:         scf.for
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.copy %gx, %s
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        tirx.copy %r, %t
// CHECK-NEXT:      }
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.copy %s, %r
// CHECK-NEXT:    }
tirx.kernel @nested(%x: !m, %n: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %gx = tirx.view %x[%c0, %c0] : !m -> !g
  %s = tirx.alloc : !s
  %r = tirx.alloc : !r
  %t = tirx.alloc : !r
  scf.for %i = %c0 to %n step %c1 {
    tirx.copy %gx, %s : !g, !s
    scf.for %j = %c0 to %n step %c1 {
      tirx.copy %r, %t : !r, !r
    }
    tirx.copy %s, %r : !s, !r
  }
  tirx.return
}

// A barrier in the loop does not help what stands before and after it: the loop may not run.

// CHECK-LABEL: tirx.kernel @no_round
// CHECK:         tirx.copy %gx, %s
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %s, %r
tirx.kernel @no_round(%x: !m, %n: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %gx = tirx.view %x[%c0, %c0] : !m -> !g
  %s = tirx.alloc : !s
  %r = tirx.alloc : !r
  tirx.copy %gx, %s : !g, !s
  scf.for %i = %c0 to %n step %c1 {
    tirx.barrier
  }
  tirx.copy %s, %r : !s, !r
  tirx.return
}

// Branches: what either of them did is pending after them; one does not meet the other.

// CHECK-LABEL: tirx.kernel @branches
// CHECK:         scf.if %p {
// CHECK-NEXT:      tirx.copy %gx, %s
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tirx.copy %s, %r
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %s, %r
// CHECK-NEXT:    scf.if %p {
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.copy %gx, %s
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.fill %s
tirx.kernel @branches(%x: !m, %n: i32) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %p = arith.cmpi eq, %n, %n : i32
  %gx = tirx.view %x[%c0, %c0] : !m -> !g
  %s = tirx.alloc : !s
  %r = tirx.alloc : !r
  scf.if %p {
    tirx.copy %gx, %s : !g, !s
  } else {
    tirx.copy %s, %r : !s, !r
  }
  tirx.copy %s, %r : !s, !r
  scf.if %p {
    tirx.copy %gx, %s : !g, !s
  }
  tirx.fill %s, %zero : f32, !s
  tirx.return
}

// Any other loop has a back edge as well.

// CHECK-LABEL: tirx.kernel @while
// CHECK:         } do {
// CHECK:           tirx.barrier
// CHECK-NEXT:      tirx.copy %gx, %s
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.copy %s, %r
// CHECK-NEXT:      scf.yield
tirx.kernel @while(%x: !m, %n: i32) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %gx = tirx.view %x[%c0, %c0] : !m -> !g
  %s = tirx.alloc : !s
  %r = tirx.alloc : !r
  %last = scf.while (%i = %n) : (i32) -> i32 {
    %p = arith.cmpi slt, %i, %n : i32
    scf.condition(%p) %i : i32
  } do {
  ^bb0(%i: i32):
    tirx.copy %gx, %s : !g, !s
    tirx.copy %s, %r : !s, !r
    scf.yield %i : i32
  }
  tirx.return
}

// A product on tensor memory synchronises the block before it, and has read its operands when it is over. Tensor
// memory itself needs nothing: every warp reads and writes the lanes that are its own.

!a = !tirx.tile<128x16xf16, shared>
!b = !tirx.tile<64x16xf16, shared>

// CHECK-LABEL: tirx.kernel @product
// CHECK-NOT:     tirx.barrier
// CHECK:         tirx.return
tirx.kernel @product(%x: memref<128x16xf16>, %y: memref<64x16xf16>, %z: memref<128x64xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %gx = tirx.view %x[%c0, %c0] : memref<128x16xf16> -> !tirx.tile<128x16xf16, global>
  %gy = tirx.view %y[%c0, %c0] : memref<64x16xf16> -> !tirx.tile<64x16xf16, global>
  %gz = tirx.view %z[%c0, %c0] : memref<128x64xf32> -> !tirx.tile<128x64xf32, global>
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !t
  scf.for %i = %c0 to %c4 step %c1 {
    tirx.copy %gx, %a : !tirx.tile<128x16xf16, global>, !a
    tirx.copy %gy, %b : !tirx.tile<64x16xf16, global>, !b
    tirx.mma %a, %b, %acc : !a, !b, !t
  }
  tirx.copy %acc, %gz : !t, !tirx.tile<128x64xf32, global>
  tirx.return
}

// Two kernels know nothing of each other's memory, and registers are each thread's own.

// CHECK-LABEL: tirx.kernel @registers
// CHECK-NOT:     tirx.barrier
// CHECK:         tirx.return
tirx.kernel @registers(%x: !m, %y: !m) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %gx = tirx.view %x[%c0, %c0] : !m -> !g
  %gy = tirx.view %y[%c0, %c0] : !m -> !g
  %r = tirx.alloc : !r
  %t = tirx.alloc : !r
  tirx.copy %gx, %r : !g, !r
  tirx.copy %r, %t : !r, !r
  tirx.copy %t, %r : !r, !r
  tirx.copy %t, %gy : !r, !g
  tirx.return
}

// What a round of a loop leaves pending decides where the barriers of the next one are, and those what that one leaves:
// here the first copy reads what the round before wrote after its last barrier.

// CHECK-LABEL: tirx.kernel @round_and_round
// CHECK:         scf.for
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.copy %t0, %t2
// CHECK-NEXT:      tirx.fill %t3
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.copy %t4, %t2
// CHECK-NEXT:      tirx.copy %t3, %t0
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.copy %t3, %t4
// CHECK-NEXT:    }
tirx.kernel @round_and_round(%x: f32) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %t0 = tirx.alloc : !s
  %t2 = tirx.alloc : !s
  %t3 = tirx.alloc : !s
  %t4 = tirx.alloc : !s
  scf.for %i = %c0 to %c4 step %c1 {
    tirx.copy %t0, %t2 : !s, !s
    tirx.fill %t3, %x : f32, !s
    tirx.copy %t4, %t2 : !s, !s
    tirx.copy %t3, %t0 : !s, !s
    tirx.copy %t3, %t4 : !s, !s
  }
  tirx.return
}

// Loads and stores of register values count as well.

// CHECK-LABEL: tirx.kernel @loads_and_stores
// CHECK:         tirx.store
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.load
// CHECK-NEXT:    tirx.load
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.store
!v = !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(32, 128) : (1, 1@tx)]>>
tirx.kernel @loads_and_stores(%x: f32) target("sm_80") threads(128) {
  %s = tirx.alloc : !s
  %v = tirx.splat %x : f32 -> !v
  tirx.store %v, %s : !v, !s
  %u = tirx.load %s : !s -> !v
  %w = tirx.load %s : !s -> !v
  tirx.store %w, %s : !v, !s
  tirx.return
}

// In blocks of more than 128 threads several warps reach each lane of tensor memory, whose tiles may share columns.

!tensor = !tirx.tile<128x64xf32, tensor>

// CHECK-LABEL: tirx.kernel @tensor_memory
// CHECK:         tirx.fill %x
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.load %x
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.store %v, %y
tirx.kernel @tensor_memory(%f: f32) target("sm_100a") threads(256) {
  %x = tirx.alloc : !tensor
  %y = tirx.alloc : !tensor
  tirx.fill %x, %f : f32, !tensor
  %v = tirx.load %x : !tensor -> !tirx.tile<128x64xf32, register>
  tirx.store %v, %y : !tirx.tile<128x64xf32, register>, !tensor
  tirx.return
}

// CHECK-LABEL: tirx.kernel @tensor_memory_of_a_warpgroup
// CHECK-NOT:     tirx.barrier
tirx.kernel @tensor_memory_of_a_warpgroup(%f: f32) target("sm_100a") threads(128) {
  %x = tirx.alloc : !tensor
  tirx.fill %x, %f : f32, !tensor
  %v = tirx.load %x : !tensor -> !tirx.tile<128x64xf32, register>
  tirx.return
}

// All threads meet in front of what one warpgroup does, never inside, where the others pass by.

!part = !tirx.tile<32x16xf32, global>
!staged = !tirx.tile<32x16xf32, shared>

// CHECK-LABEL: tirx.kernel @warpgroups
// CHECK:         tirx.warpgroup 1 {
// CHECK-NEXT:      tirx.copy %a, %s
// CHECK-NEXT:      tirx.copy %b, %t
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.warpgroup 0 {
// CHECK-NEXT:      tirx.copy %s, %c
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.warpgroup 1 {
// CHECK-NEXT:      tirx.copy %t, %d
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.warpgroup 0 {
// CHECK-NEXT:        tirx.copy %a, %s
// CHECK-NEXT:      }
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.copy %s, %d
tirx.kernel @warpgroups(%ma: memref<32x16xf32>, %mb: memref<32x16xf32>, %mc: memref<32x16xf32>, %md: memref<32x16xf32>, %n: index)
    target("sm_80") threads(256) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tirx.view %ma[%c0, %c0] : memref<32x16xf32> -> !part
  %b = tirx.view %mb[%c0, %c0] : memref<32x16xf32> -> !part
  %c = tirx.view %mc[%c0, %c0] : memref<32x16xf32> -> !part
  %d = tirx.view %md[%c0, %c0] : memref<32x16xf32> -> !part
  %s = tirx.alloc : !staged
  %t = tirx.alloc : !staged
  tirx.warpgroup 1 {
    tirx.copy %a, %s : !part, !staged
    tirx.copy %b, %t : !part, !staged
  }
  tirx.warpgroup 0 {
    tirx.copy %s, %c : !staged, !part
  }
  tirx.warpgroup 1 {
    tirx.copy %t, %d : !staged, !part
  }
  scf.for %i = %c0 to %n step %c1 {
    tirx.warpgroup 0 {
      tirx.copy %a, %s : !part, !staged
    }
    tirx.copy %s, %d : !staged, !part
  }
  tirx.return
}

// wgmma reads shared memory through the async proxy: the threads that wrote there fence in front of the barrier, which may
// be one of an earlier pass or of the program, if it stands in the same block and nothing with regions is behind it. What
// is written behind that barrier needs another one. What a product has read is written again behind a barrier.

!sa = !tirx.tile<64x64xf16, shared>
!ga = !tirx.tile<64x64xf16, global>
!d = !tirx.tile<64x64xf32, register>

// CHECK-LABEL: tirx.kernel @wgmma
// CHECK:         scf.for
// CHECK:           tirx.barrier
// CHECK-NEXT:      tirx.copy %g, %s
// CHECK-NEXT:      ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.mma
// CHECK-NEXT:      tirx.mma
// CHECK:         tirx.barrier
// CHECK-NEXT:    tirx.copy %g, %s
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %s, %h
// CHECK-NEXT:    ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.mma
// CHECK:         tirx.barrier
// CHECK-NEXT:    tirx.copy %g, %s
// CHECK-NEXT:    ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.mma
// CHECK:         tirx.barrier
// CHECK-NEXT:    tirx.copy %g, %s
// CHECK-NEXT:    ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.mma
// CHECK-NEXT:    tirx.mma
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %g, %s
// CHECK-NEXT:    ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %g, %t
// CHECK-NEXT:    tirx.mma
// CHECK-NEXT:    ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.mma
// CHECK-NEXT:    tirx.copy %g, %s
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      ptx.bar.warp.sync
// CHECK-NEXT:    }
// CHECK-NEXT:    ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.mma
tirx.kernel @wgmma(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !ga
  %h = tirx.view %b[%c0, %c0] : memref<64x64xf16> -> !ga
  %s = tirx.alloc : !sa
  %z = tirx.splat %zero : f32 -> !d
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (!d) {
    tirx.copy %g, %s : !ga, !sa
    %1 = tirx.mma %s, %s, %acc : !sa, !sa, !d -> !d
    %2 = tirx.mma %s, %s, %1 : !sa, !sa, !d -> !d
    scf.yield %2 : !d
  }
  tirx.copy %g, %s : !ga, !sa
  tirx.copy %s, %h : !sa, !ga
  %3 = tirx.mma %s, %s, %0 : !sa, !sa, !d -> !d
  tirx.copy %g, %s : !ga, !sa
  ptx.fence.proxy.async "shared::cta"
  tirx.barrier
  %4 = tirx.mma %s, %s, %3 : !sa, !sa, !d -> !d
  %t = tirx.alloc : !sa
  %some = arith.cmpi eq, %n, %c0 : index
  tirx.copy %g, %s : !ga, !sa
  tirx.barrier
  %5 = tirx.mma %s, %s, %4 : !sa, !sa, !d -> !d
  %6 = tirx.mma %s, %s, %5 : !sa, !sa, !d -> !d
  tirx.copy %g, %s : !ga, !sa
  tirx.barrier
  tirx.copy %g, %t : !ga, !sa
  %7 = tirx.mma %s, %s, %6 : !sa, !sa, !d -> !d
  %8 = tirx.mma %t, %t, %7 : !sa, !sa, !d -> !d
  tirx.copy %g, %s : !ga, !sa
  tirx.barrier
  scf.if %some {
    ptx.bar.warp.sync
  }
  %9 = tirx.mma %s, %s, %8 : !sa, !sa, !d -> !d
  tirx.return
}

// Written at the end of an iteration, read by the product of the next one: the fence stands in front of the barrier between.

// CHECK-LABEL: tirx.kernel @wgmma_of_the_iteration_before
// CHECK:         scf.for
// CHECK-NEXT:      ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.mma
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.copy %g, %s
// CHECK-NEXT:      scf.yield
tirx.kernel @wgmma_of_the_iteration_before(%a: memref<64x64xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !ga
  %s = tirx.alloc : !sa
  %z = tirx.zero : !d
  tirx.copy %g, %s : !ga, !sa
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (!d) {
    tirx.barrier
    %1 = tirx.mma %s, %s, %acc : !sa, !sa, !d -> !d
    tirx.copy %g, %s : !ga, !sa
    scf.yield %1 : !d
  }
  tirx.return
}

// A fence in front of a barrier stands in front of a wait for bulk copies there, too: it takes its time while they go on.
// It stays behind what threads write.

// CHECK-LABEL: tirx.kernel @wgmma_behind_a_wait
// CHECK:         tirx.copy %g, %s
// CHECK:         arith.constant
// CHECK-NEXT:    ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      ptx.cp.async.bulk.wait_group 0 read
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.load
// CHECK-NEXT:    ptx.bar.warp.sync
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.mma
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    ptx.cp.async.bulk.wait_group 0 read
// CHECK-NEXT:    tirx.copy %g, %s
// CHECK-NEXT:    ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.mma
tirx.kernel @wgmma_behind_a_wait(%a: memref<64x64xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %counter = memref.alloca() : memref<i32>
  %some = arith.cmpi eq, %n, %c0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !ga
  %s = tirx.alloc : !sa
  %z = tirx.zero : !d
  tirx.copy %g, %s : !ga, !sa
  %one = arith.constant 1 : i32
  scf.if %some {
    ptx.cp.async.bulk.wait_group 0 read
  }
  %count = memref.load %counter[] : memref<i32>
  ptx.bar.warp.sync
  tirx.barrier
  %0 = tirx.mma %s, %s, %z : !sa, !sa, !d -> !d
  tirx.barrier
  ptx.cp.async.bulk.wait_group 0 read
  tirx.copy %g, %s : !ga, !sa
  tirx.barrier
  %1 = tirx.mma %s, %s, %0 : !sa, !sa, !d -> !d
  "test.op"(%count) : (i32) -> ()
  tirx.return
}

// A product reads until something waits for it: for its sum, for that of one behind it or that goes on with it, for all, as
// a synchronous product does. A barrier before that does not order what is written behind it.

!pending = !tirx.pending<!d>
// CHECK-LABEL: tirx.kernel @asynchronous_wgmma
// CHECK:         tirx.async_mma
// CHECK-NEXT:    tirx.async_mma
// CHECK-NEXT:    tirx.async_mma
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.await
// CHECK-NEXT:    tirx.copy %g, %u
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %g, %s
// CHECK-NEXT:    tirx.await
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %g, %t
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.await wgmma pending(0)
// CHECK-NEXT:    tirx.copy %g, %s
tirx.kernel @asynchronous_wgmma(%a: memref<64x64xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !ga
  %s = tirx.alloc : !sa
  %t = tirx.alloc : !sa
  %u = tirx.alloc : !sa
  %z = tirx.zero : !d
  %0 = tirx.async_mma %s, %s, %z : !sa, !sa, !d -> !pending
  %1 = tirx.async_mma %s, %s, %0 : !sa, !sa, !pending -> !pending
  %2 = tirx.async_mma %t, %t, %z : !sa, !sa, !d -> !pending
  tirx.barrier
  %3 = tirx.await %1 : !pending
  tirx.copy %g, %u : !ga, !sa
  tirx.copy %g, %s : !ga, !sa
  %4 = tirx.await %2 : !pending
  tirx.copy %g, %t : !ga, !sa
  tirx.barrier
  tirx.await wgmma pending(0)
  tirx.copy %g, %s : !ga, !sa
  tirx.return
}

// CHECK-LABEL: tirx.kernel @older_wgmma
// CHECK:         tirx.barrier
// CHECK-NEXT:    tirx.await
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %g, %s
// CHECK-NEXT:    tirx.copy %g, %t
// CHECK-NEXT:    tirx.await
// CHECK-NEXT:    tirx.async_mma
// CHECK-NEXT:    tirx.async_mma
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.await wgmma pending(1)
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %g, %u
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.mma %v, %v
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %g, %w
tirx.kernel @older_wgmma(%a: memref<64x64xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !ga
  %s = tirx.alloc : !sa
  %t = tirx.alloc : !sa
  %u = tirx.alloc : !sa
  %v = tirx.alloc : !sa
  %w = tirx.alloc : !sa
  %z = tirx.zero : !d
  %0 = tirx.async_mma %s, %s, %z : !sa, !sa, !d -> !pending
  %1 = tirx.async_mma %t, %t, %z : !sa, !sa, !d -> !pending
  tirx.barrier
  %2 = tirx.await %1 : !pending
  tirx.copy %g, %s : !ga, !sa
  tirx.copy %g, %t : !ga, !sa
  %3 = tirx.await %0 : !pending
  %4 = tirx.async_mma %u, %u, %z : !sa, !sa, !d -> !pending
  %5 = tirx.async_mma %w, %w, %z : !sa, !sa, !d -> !pending
  tirx.barrier
  tirx.await wgmma pending(1)
  tirx.copy %g, %u : !ga, !sa
  tirx.barrier
  %6 = tirx.mma %v, %v, %z plan(wgmma, shapes = ["m64n64k16"], a_major = "K", b_major = "K") : !sa, !sa, !d -> !d
  tirx.copy %g, %w : !ga, !sa
  tirx.return
}

// Behind the sum of a product that reads slots, products in front of it have read their tiles.

!slots = !tirx.tile<2x64x64xf16, shared, #tirx.tile_layout<S[(2, 64, 64) : (4096, 64, 1)]>>
!slot = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
// CHECK-LABEL: tirx.kernel @wgmma_of_slots
// CHECK:         tirx.await
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.copy %g, %s
tirx.kernel @wgmma_of_slots(%a: memref<64x64xf16>, %i: i32) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !ga
  %s = tirx.alloc : !sa
  %slots = tirx.alloc : !slots
  %t = tirx.slot %slots[%i] : !slots -> !slot
  %z = tirx.zero : !d
  %0 = tirx.async_mma %s, %s, %z : !sa, !sa, !d -> !pending
  %1 = tirx.async_mma %t, %t, %z : !slot, !slot, !d -> !pending
  %2 = tirx.await %1 : !pending
  tirx.copy %g, %s : !ga, !sa
  tirx.return
}

// Iterations of a tile loop have another row or column of tiles each: their stores need no barrier between them. Where
// tiles overlap, where a column is missing, and where the loop reads what it stores, threads meet.

!global = !tirx.tile<64x64xf32, global>
!value = !tirx.tile<64x64xf32, register>

// CHECK-LABEL: tirx.kernel @tiles
// CHECK-NOT:     tirx.barrier
// CHECK-LABEL: tirx.kernel @overlapping
// CHECK:         tirx.barrier
// CHECK-NEXT:    tirx.store
// CHECK-LABEL: tirx.kernel @rows
// CHECK:         tirx.barrier
// CHECK-NEXT:    tirx.store
// CHECK-LABEL: tirx.kernel @reads
// CHECK:         tirx.barrier
// CHECK-NEXT:    tirx.load
// CHECK:         tirx.barrier
// CHECK-NEXT:    tirx.store
tirx.kernel @tiles(%d: memref<?x512xf32>, %n: index, %half: index) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %v = tirx.zero : !value
  scf.for %t = %c0 to %n step %c1 {
    %t32 = arith.index_cast %t : index to i32
    %i = arith.index_cast %t32 {tirx.tile_coordinate = 0 : i32} : i32 to index
    %j = arith.index_cast %t32 {tirx.tile_coordinate = 1 : i32} : i32 to index
    %twice = arith.addi %i, %i : index
    %row = arith.addi %twice, %half : index
    %m = arith.muli %row, %c64 : index
    %at = arith.muli %j, %c64 : index
    %g = tirx.view %d[%m, %at] : memref<?x512xf32> -> !global
    tirx.store %v, %g : !value, !global
  }
  tirx.return
}
tirx.kernel @overlapping(%d: memref<?x512xf32>, %n: index) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %v = tirx.zero : !value
  scf.for %t = %c0 to %n step %c1 {
    %t32 = arith.index_cast %t : index to i32
    %i = arith.index_cast %t32 {tirx.tile_coordinate = 0 : i32} : i32 to index
    %j = arith.index_cast %t32 {tirx.tile_coordinate = 1 : i32} : i32 to index
    %m = arith.muli %i, %c64 : index
    %at = arith.muli %j, %c32 : index
    %g = tirx.view %d[%m, %at] : memref<?x512xf32> -> !global
    tirx.store %v, %g : !value, !global
  }
  tirx.return
}
tirx.kernel @rows(%d: memref<?x512xf32>, %n: index) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %v = tirx.zero : !value
  scf.for %t = %c0 to %n step %c1 {
    %t32 = arith.index_cast %t : index to i32
    %i = arith.index_cast %t32 {tirx.tile_coordinate = 0 : i32} : i32 to index
    %j = arith.index_cast %t32 {tirx.tile_coordinate = 1 : i32} : i32 to index
    %m = arith.muli %i, %c64 : index
    %g = tirx.view %d[%m, %c0] : memref<?x512xf32> -> !global
    tirx.store %v, %g : !value, !global
  }
  tirx.return
}
tirx.kernel @reads(%d: memref<?x512xf32>, %n: index) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %t = %c0 to %n step %c1 {
    %t32 = arith.index_cast %t : index to i32
    %i = arith.index_cast %t32 {tirx.tile_coordinate = 0 : i32} : i32 to index
    %j = arith.index_cast %t32 {tirx.tile_coordinate = 1 : i32} : i32 to index
    %m = arith.muli %i, %c64 : index
    %at = arith.muli %j, %c64 : index
    %h = tirx.view %d[%c0, %at] : memref<?x512xf32> -> !global
    %v = tirx.load %h : !global -> !value
    %g = tirx.view %d[%m, %at] : memref<?x512xf32> -> !global
    tirx.store %v, %g : !value, !global
  }
  tirx.return
}

// What roles have written is behind the barrier at their end, but not yet behind a fence.

// CHECK-LABEL: tirx.kernel @written_in_a_role
// CHECK:         tirx.roles
// CHECK:         tirx.copy %g, %s
// CHECK-NOT:     ptx.fence.proxy.async
// CHECK:         %0 = tirx.load
// CHECK-NEXT:    ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.mma
tirx.kernel @written_in_a_role(%a: memref<64x64xf16>, %b: memref<64x64xf32>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !ga
  %h = tirx.view %b[%c0, %c0] : memref<64x64xf32> -> !tirx.tile<64x64xf32, global>
  %s = tirx.alloc : !sa
  tirx.roles {
    tirx.role @write warps(2) {
      tirx.copy %g, %s : !ga, !sa
    }
    tirx.role @idle warps(2) {
    }
  }
  %0 = tirx.load %h : !tirx.tile<64x64xf32, global> -> !d
  %1 = tirx.mma %s, %s, %0 : !sa, !sa, !d -> !d
  tirx.return
}

// All threads meet behind a fence in front of a warpgroup whose product reads what they have written.

// CHECK-LABEL: tirx.kernel @product_of_a_warpgroup
// CHECK:         tirx.copy %g, %s
// CHECK-NEXT:    ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.warpgroup 1 {
// CHECK-NEXT:      %0 = tirx.load
// CHECK-NEXT:      %1 = tirx.mma
tirx.kernel @product_of_a_warpgroup(%a: memref<64x64xf16>, %b: memref<64x64xf32>) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !ga
  %h = tirx.view %b[%c0, %c0] : memref<64x64xf32> -> !tirx.tile<64x64xf32, global>
  %s = tirx.alloc : !sa
  tirx.copy %g, %s : !ga, !sa
  tirx.warpgroup 1 {
    %0 = tirx.load %h : !tirx.tile<64x64xf32, global> -> !d
    %1 = tirx.mma %s, %s, %0 : !sa, !sa, !d -> !d
  }
  tirx.return
}
