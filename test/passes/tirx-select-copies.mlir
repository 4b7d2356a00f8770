// RUN: tirx-opt %s --tirx-pick-layouts --tirx-select-copies --tirx-select-copies | filecheck %s

// Each pair of memories has its engine. A copy that goes through registers has that of its end in tensor memory.
// Between registers nothing moves.

// CHECK-LABEL: tirx.kernel @memories
// CHECK:         tirx.copy %g, %s engine ld_st {tirx.chosen_engine} :
// CHECK-NEXT:    tirx.copy %s, %t engine tcgen05_st :
// CHECK-NEXT:    tirx.copy %t, %g engine tcgen05_ld :
// CHECK-NEXT:    tirx.copy %t, %r engine tcgen05_ld :
// CHECK-NEXT:    tirx.copy %r, %t engine tcgen05_st :
// CHECK-NEXT:    tirx.copy %r, %r2 :
// CHECK-NEXT:    tirx.copy %r2, %s engine ld_st :
#t = #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>
tirx.kernel @memories(%x: memref<128x32xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<128x32xf32> -> !tirx.tile<128x32xf32, global>
  %s = tirx.alloc : !tirx.tile<128x32xf32, shared>
  %t = tirx.alloc : !tirx.tile<128x32xf32, tensor, #t>
  %r = tirx.alloc : !tirx.tile<128x32xf32, register>
  %r2 = tirx.alloc : !tirx.tile<128x32xf32, register>
  tirx.copy %g, %s : !tirx.tile<128x32xf32, global>, !tirx.tile<128x32xf32, shared>
  tirx.copy %s, %t : !tirx.tile<128x32xf32, shared>, !tirx.tile<128x32xf32, tensor, #t>
  tirx.copy %t, %g engine tcgen05_ld : !tirx.tile<128x32xf32, tensor, #t>, !tirx.tile<128x32xf32, global>
  tirx.copy %t, %r : !tirx.tile<128x32xf32, tensor, #t>, !tirx.tile<128x32xf32, register>
  tirx.copy %r, %t : !tirx.tile<128x32xf32, register>, !tirx.tile<128x32xf32, tensor, #t>
  tirx.copy %r, %r2 : !tirx.tile<128x32xf32, register>, !tirx.tile<128x32xf32, register>
  tirx.copy %r2, %s : !tirx.tile<128x32xf32, register>, !tirx.tile<128x32xf32, shared>
  tirx.return
}

// Scale factors: one instruction takes them to all partitions of lanes.

// CHECK-LABEL: tirx.kernel @scales
// CHECK:         tirx.copy %s, %t engine tcgen05_cp :
tirx.kernel @scales() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x128xf8E5M2, shared>
  %s = tirx.alloc : !tirx.tile<128x4xf8E8M0FNU, shared>
  %t = tirx.alloc : !tirx.tile<128x4xf8E8M0FNU, tensor>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  tirx.copy %s, %t : !tirx.tile<128x4xf8E8M0FNU, shared>, !tirx.tile<128x4xf8E8M0FNU, tensor>
  tirx.mma %a, %a, %acc scales(%t, %t) : !tirx.tile<128x128xf8E5M2, shared>, !tirx.tile<128x128xf8E5M2, shared>, !tirx.tile<128x128xf32, tensor>, !tirx.tile<128x4xf8E8M0FNU, tensor>, !tirx.tile<128x4xf8E8M0FNU, tensor>
  tirx.return
}

// Fragments in rows of 16 bytes of shared memory: matrix instructions, where the target has them and nobody says else.

#rows = #tirx.tile_layout<S[(16, 64) : (64, 1)]>
#columns = #tirx.tile_layout<S[(16, 64) : (1, 16)]>
#fragment = #tirx.tile_layout<S[(2, 8, 8, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>
#vectors = #tirx.tile_layout<S[(32, 32) : (1@laneid, 1)]>
!rows = !tirx.tile<16x64xf16, shared, #rows>
!columns = !tirx.tile<16x64xf16, shared, #columns>
!fragment = !tirx.tile<16x64xf16, register, #fragment>
!vectors = !tirx.tile<16x64xf16, register, #vectors>

// CHECK-LABEL: tirx.kernel @fragments
// CHECK:         tirx.load %s engine ldmatrix :
// CHECK-NEXT:    tirx.load %t engine ldmatrix :
// CHECK-NEXT:    tirx.load %s engine ld_st :
// CHECK-NEXT:    tirx.load %s engine ld_st :
// CHECK-NEXT:    tirx.load %g : !tirx.tile
// CHECK-NEXT:    tirx.store %{{.*}}, %s engine stmatrix :
// CHECK-NEXT:    tirx.store %{{.*}}, %s engine ld_st :
tirx.kernel @fragments(%x: memref<16x64xf16>) target("sm_90") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<16x64xf16> -> !tirx.tile<16x64xf16, global, #rows>
  %s = tirx.alloc : !rows
  %t = tirx.alloc : !columns
  %a = tirx.load %s : !rows -> !fragment
  %b = tirx.load %t engine ldmatrix : !columns -> !fragment
  %c = tirx.load %s engine ld_st : !rows -> !fragment
  %d = tirx.load %s : !rows -> !vectors
  %e = tirx.load %g : !tirx.tile<16x64xf16, global, #rows> -> !fragment
  tirx.store %a, %s : !fragment, !rows
  tirx.store %d, %s : !vectors, !rows
  tirx.return
}

// CHECK-LABEL: tirx.kernel @older
// CHECK:         tirx.load %s engine ldmatrix :
// CHECK-NEXT:    tirx.store %{{.*}}, %s engine ld_st :
tirx.kernel @older() target("sm_75") threads(32) {
  %s = tirx.alloc : !rows
  %a = tirx.load %s : !rows -> !fragment
  tirx.store %a, %s : !fragment, !rows
  tirx.return
}

// CHECK-LABEL: tirx.kernel @oldest
// CHECK:         tirx.load %s engine ld_st :
tirx.kernel @oldest() target("sm_70") threads(32) {
  %s = tirx.alloc : !rows
  %a = tirx.load %s : !rows -> !fragment
  tirx.return
}

// -----

#s = #tirx.tile_layout<S[(128, 32) : (32, 1)]>

// CHECK-LABEL: tirx.kernel @reduce
tirx.kernel @reduce(%x: memref<128x32xf32>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<128x32xf32> -> !tirx.tile<128x32xf32, global>
  %s = tirx.alloc : !tirx.tile<128x32xf32, shared, #s>
  // CHECK: tirx.copy %s, %g reduce(add) engine tma_reduce
  tirx.copy %s, %g reduce(add) : !tirx.tile<128x32xf32, shared, #s>, !tirx.tile<128x32xf32, global>
  tirx.return
}

// -----

// Tensor maps know the bounds of clipped views, and strides that a launch gives.
// CHECK-LABEL: tirx.kernel @clipped
tirx.kernel @clipped(%x: memref<100x?xf32>) target("sm_90") threads(128) {
  %c64 = arith.constant 64 : index
  // CHECK: tirx.view %x[%c64, %c64] clipped begins_inside : memref<100x?xf32> -> !tirx.tile<128x32xf32, global>
  %g = tirx.view %x[%c64, %c64] clipped : memref<100x?xf32> -> !tirx.tile<128x32xf32, global>
  %s = tirx.alloc : !tirx.tile<128x32xf32, shared>
  // CHECK: tirx.copy %g, %s engine tma
  tirx.copy %g, %s : !tirx.tile<128x32xf32, global>, !tirx.tile<128x32xf32, shared>
  // CHECK: tirx.copy %s, %g engine tma_store
  tirx.copy %s, %g : !tirx.tile<128x32xf32, shared>, !tirx.tile<128x32xf32, global>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @clipped_by_threads
tirx.kernel @clipped_by_threads(%x: memref<100x33xf32>) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] clipped : memref<100x33xf32> -> !tirx.tile<128x32xf32, global>
  %s = tirx.alloc : !tirx.tile<128x32xf32, shared, #s>
  // CHECK: tirx.copy %g, %s engine ld_st
  tirx.copy %g, %s : !tirx.tile<128x32xf32, global>, !tirx.tile<128x32xf32, shared, #s>
  tirx.return
}

// A kernel without a target may have every instruction.

// CHECK-LABEL: tirx.kernel @any_target
// CHECK:         tirx.load %s engine ldmatrix :
// CHECK-NEXT:    tirx.store %{{.*}}, %s engine stmatrix :
tirx.kernel @any_target() threads(32) {
  %s = tirx.alloc : !rows
  %a = tirx.load %s : !rows -> !fragment
  tirx.store %a, %s : !fragment, !rows
  tirx.return
}

// Reductions from shared memory: a bulk copy, unless threads combine elements of the same memref, which are atomic towards
// their own kind only.

// CHECK-LABEL: tirx.kernel @reductions
// CHECK:         tirx.copy %s, %gx reduce(add) engine tma_reduce :
// CHECK-NEXT:    tirx.copy %s, %gy reduce(add) engine ld_st :
// CHECK-NEXT:    tirx.copy %s, %gy reduce(add) engine tma_reduce :
// CHECK-NEXT:    tirx.store %r, %gy reduce(add) :
tirx.kernel @reductions(%x: memref<32x32xf32>, %y: memref<32x32xf32>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %gx = tirx.view %x[%c0, %c0] : memref<32x32xf32> -> !tirx.tile<32x32xf32, global>
  %gy = tirx.view %y[%c0, %c0] : memref<32x32xf32> -> !tirx.tile<32x32xf32, global>
  %s = tirx.alloc : !tirx.tile<32x32xf32, shared>
  %r = tirx.load %s : !tirx.tile<32x32xf32, shared> -> !tirx.tile<32x32xf32, register>
  tirx.copy %s, %gx reduce(add) : !tirx.tile<32x32xf32, shared>, !tirx.tile<32x32xf32, global>
  tirx.copy %s, %gy reduce(add) : !tirx.tile<32x32xf32, shared>, !tirx.tile<32x32xf32, global>
  tirx.copy %s, %gy engine tma_reduce reduce(add) : !tirx.tile<32x32xf32, shared>, !tirx.tile<32x32xf32, global>
  tirx.store %r, %gy reduce(add) : !tirx.tile<32x32xf32, register>, !tirx.tile<32x32xf32, global>
  tirx.return
}
