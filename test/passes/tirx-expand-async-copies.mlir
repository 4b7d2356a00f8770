// RUN: tirx-opt %s --split-input-file --tirx-allocate-memory --tirx-insert-barriers --tirx-expand-async-copies | filecheck %s

// One thread starts bulk tensor copies behind a fence and a barrier; all wait for loads, it alone for stores.

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!g = !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>

// CHECK-LABEL: tirx.kernel @tma
// CHECK-SAME: memory(shared = 8200, alignment = 128, copies = 8192)
tirx.kernel @tma(%a: memref<64x64xf16>, %d: memref<64x64xf16>) target("sm_90a") threads(128) {
  // CHECK: %[[LEADER:.*]] = tirx.leader
  // CHECK-NEXT: %[[WORDS:.*]] = tirx.alloc at 8192
  // CHECK-NEXT: %[[BAR:.*]] = tirx.address %[[WORDS]]
  // CHECK-NEXT: scf.if %[[LEADER]] {
  // CHECK-NEXT: ptx.mbarrier.init %[[BAR]], 1
  // CHECK-NEXT: ptx.fence.mbarrier_init
  // CHECK-NEXT: }
  // CHECK-NEXT: tirx.barrier
  // CHECK-NEXT: %[[PHASE:.*]] = memref.alloca() : memref<i32>
  // CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-NEXT: memref.store %[[ZERO]], %[[PHASE]]
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !g
  %gd = tirx.view %d[%c0, %c0] : memref<64x64xf16> -> !g
  %s = tirx.alloc : !s
  // CHECK: ptx.fence.proxy.async "shared::cta"
  // CHECK-NEXT: tirx.barrier
  // CHECK-NEXT: scf.if %[[LEADER]] {
  // CHECK-NEXT: ptx.mbarrier.arrive.expect_tx %[[BAR]], 8192
  // CHECK-NEXT: tirx.tma_load %ga, %s, %[[BAR]]
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[NOW:.*]] = memref.load %[[PHASE]][]
  // CHECK-NEXT: ptx.mbarrier.wait_parity %[[BAR]], %[[NOW]]
  // CHECK-NEXT: ptx.bar.warp.sync
  // CHECK: arith.xori %[[NOW]]
  // CHECK-NEXT: memref.store
  tirx.copy %ga, %s engine tma : !g, !s
  // CHECK-NEXT: ptx.fence.proxy.async "shared::cta"
  // CHECK-NEXT: tirx.barrier
  // CHECK-NEXT: scf.if %[[LEADER]] {
  // CHECK-NEXT: tirx.tma_store %s, %gd
  // CHECK-NEXT: ptx.cp.async.bulk.commit_group
  // CHECK-NEXT: ptx.cp.async.bulk.wait_group 0 read
  // CHECK-NEXT: }
  // CHECK-NEXT: tirx.barrier
  // CHECK-NEXT: tirx.return
  tirx.copy %s, %gd engine tma_store : !s, !g
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!g = !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>

// Threads wrote what is loaded: the fence is for global memory, too.
// CHECK-LABEL: tirx.kernel @through_global
tirx.kernel @through_global(%a: memref<64x64xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !g
  %s = tirx.alloc : !s
  %t = tirx.alloc : !s
  // CHECK: tirx.copy %s, %g
  // CHECK-NEXT: ptx.fence.proxy.async
  // CHECK-NOT: shared::cta
  // CHECK: tirx.tma_load
  tirx.copy %s, %g engine ld_st : !s, !g
  tirx.copy %g, %t engine tma : !g, !s
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!g = !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>

// Threads copy for themselves; the barriers are those of loads and stores.
// CHECK-LABEL: tirx.kernel @cp_async
// CHECK-SAME: memory(shared = 8192, alignment = 128)
tirx.kernel @cp_async(%a: memref<64x64xf16>, %d: memref<64x64xf16>) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !g
  %gd = tirx.view %d[%c0, %c0] : memref<64x64xf16> -> !g
  %s = tirx.alloc : !s
  // CHECK: tirx.cp_async %ga, %s
  // CHECK-NEXT: ptx.cp.async.commit_group
  // CHECK-NEXT: ptx.cp.async.wait_group 0
  // CHECK-NEXT: tirx.barrier
  // CHECK-NEXT: tirx.copy %s, %gd
  tirx.copy %ga, %s engine cp_async : !g, !s
  tirx.copy %s, %gd engine ld_st : !s, !g
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!g = !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!r = !tirx.tile<64x64xf16, register>

// Threads have read what is stored to, or written it; another argument is another matter.
// CHECK-LABEL: tirx.kernel @in_place
tirx.kernel @in_place(%a: memref<64x64xf16>, %b: memref<64x64xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !g
  %h = tirx.view %b[%c0, %c0] : memref<64x64xf16> -> !g
  %s = tirx.alloc : !s
  // CHECK: tirx.load
  // CHECK: ptx.fence.proxy.async "shared::cta"
  // CHECK: tirx.tma_store %s, %h
  // CHECK: ptx.fence.proxy.async{{$}}
  // CHECK: tirx.tma_store %s, %g
  %x = tirx.load %g : !g -> !r
  tirx.copy %s, %h engine tma_store : !s, !g
  tirx.copy %s, %g engine tma_store : !s, !g
  tirx.return
}
