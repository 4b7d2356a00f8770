// RUN: tirx-opt %s --tirx-expand-exchanges --tirx-allocate-memory --tirx-insert-barriers | filecheck %s

!g = !tirx.tile<1x32xf32, global, #tirx.tile_layout<S[(1, 32) : (32, 1)]>>
!x = !tirx.tile<1x32xf32, register, #tirx.tile_layout<S[(1, 32) : (1, 1@laneid)] + R[2 : 1@warpid]>>

// A block takes its place in the order; one thread waits, sets flags and combines numbers, behind and before a barrier.

// CHECK-LABEL: tirx.kernel @order
// CHECK:         %[[T:.*]] = tirx.ticket : i32
// CHECK:         tirx.store {{.*}} !tirx.tile<1xi32, register, #tirx.tile_layout<S[1 : 1] + R[(32, 2) : (1@laneid, 1@warpid)]>>
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.load
// CHECK:         %i = arith.remui
// CHECK-NOT:     tirx.block_id
// CHECK:         tirx.wait_until %flags[%i] sge, %one : memref<?xi32>
// CHECK:         tirx.barrier
// CHECK:         tirx.load %gd
// CHECK:         tirx.barrier
// CHECK-NEXT:    tirx.store %x, %gd
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.signal %flags[%i], %one
tirx.kernel @order(%flags: memref<?xi32>, %d: memref<8x32xf32>, %one: i32) target("sm_80") grid(4) threads(64) in_order {
  %i = tirx.block_id x
  %gd = tirx.view %d[%i, %i] clipped : memref<8x32xf32> -> !g
  %seen = tirx.wait_until %flags[%i] sge, %one : memref<?xi32>
  %x = tirx.load %gd : !g -> !x
  tirx.store %x, %gd : !x, !g
  tirx.signal %flags[%i], %one : memref<?xi32>
  tirx.return
}

// Threads that do not combine an element themselves get what was there through shared memory; where nobody asks, nothing moves.

// CHECK-LABEL: tirx.kernel @repeated
// CHECK:         %[[S:.*]] = tirx.alloc at 0 : !tirx.tile<1x32xf32, shared
// CHECK-NOT:     tirx.alloc
// CHECK:         %[[O:.*]] = tirx.atomic add %x, %gd
// CHECK-NEXT:    tirx.store %[[O]], %[[S]]
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.load %[[S]]
// CHECK:         tirx.atomic max %x, %gd
// CHECK-NEXT:    tirx.return
tirx.kernel @repeated(%d: memref<8x32xf32>, %x: !x) target("sm_80") threads(64) {
  %c0 = arith.constant 0 : index
  %gd = tirx.view %d[%c0, %c0] : memref<8x32xf32> -> !g
  %0 = tirx.atomic add %x, %gd : !x, !g -> !x
  "test.op"(%0) : (!x) -> ()
  %1 = tirx.atomic max %x, %gd : !x, !g -> !x
  tirx.return
}

// CHECK-LABEL: tirx.kernel @together
// CHECK-SAME:    tirx.requires = {{\[\[}}#ptx.formula<mul(size(0, 0), 2)>, "at_most", #ptx.formula<sm_count()>
tirx.kernel @together(%flags: memref<?xi32>) target("sm_80") grid(size(0, 0), 2) threads(64) cooperative {
  tirx.return
}
