// RUN: tirx-opt %s --split-input-file --tirx-pipeline-loops --tirx-specialize-warps --tirx-check-rings | filecheck %s

// A bulk store of one tile ends while the next one runs: its shared tile is a ring of one slot, and the wait for the
// store stands before the next write.

!s = !tirx.tile<64x64xf16, shared>
!d = !tirx.tile<64x64xf16, register>
!g = !tirx.tile<64x64xf16, global>
// CHECK-LABEL: tirx.kernel @stores(
// CHECK:         %out = tirx.ring slots(1) stations(write, store)
// CHECK:         tirx.tiles
// CHECK-NEXT:      %v = "test.op"(%i)
// CHECK-NEXT:      tirx.await store pending(0)
// CHECK-NEXT:      %out_1 = tirx.acquire %out at(write)
// CHECK-NEXT:      tirx.store %v, %out_1
// CHECK-NEXT:      tirx.release %out at(write)
// CHECK-NEXT:      %gd = tirx.view
// CHECK-NEXT:      %out_2 = tirx.acquire %out at(store)
// CHECK-NEXT:      tirx.async_copy %out_2, %gd engine(tma_store)
// CHECK-NEXT:      tirx.release %out at(store) after(store)
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.await store pending(0)
// CHECK-NEXT:    tirx.return
tirx.kernel @stores(%d: memref<?x64xf16>, %n: index) target("sm_90") threads(128) {
  %out = tirx.alloc : !s
  tirx.tiles @tile %i, %j = order(row) of (%n, %n) {
    %v = "test.op"(%i) : (index) -> !d
    tirx.store %v, %out : !d, !s
    %gd = tirx.view %d[%i, %j] : memref<?x64xf16> -> !g
    tirx.copy %out, %gd engine tma_store : !s, !g
  }
  tirx.return
}

// So does one of an iteration of a pipelined loop, which adds to memory.

!f = !tirx.tile<64x32xf32, register>
!fs = !tirx.tile<64x32xf32, shared>
!fg = !tirx.tile<64x32xf32, global>
// CHECK-LABEL: tirx.kernel @adds(
// CHECK:         %out = tirx.ring slots(1) stations(write, store)
// CHECK:         tirx.for
// CHECK:           tirx.await store pending(0)
// CHECK-NEXT:      %out_1 = tirx.acquire %out at(write)
// CHECK-NEXT:      tirx.store %v, %out_1
// CHECK-NEXT:      tirx.release %out at(write)
// CHECK-NEXT:      %out_2 = tirx.acquire %out at(store)
// CHECK-NEXT:      tirx.async_copy %out_2, %gd engine(tma_reduce)
// CHECK-NEXT:      tirx.release %out at(store) after(store)
// CHECK:         tirx.await store pending(0)
// CHECK-NEXT:    tirx.return
tirx.kernel @adds(%d: memref<64x?xf32>, %n: index) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %out = tirx.alloc : !fs
  tirx.for @k %k = 0 to %n {
    %v = "test.op"(%k) : (index) -> !f
    %gd = tirx.view %d[%c0, %k] : memref<64x?xf32> -> !fg
    tirx.store %v, %out : !f, !fs
    tirx.copy %out, %gd reduce(add) engine tma_reduce : !fs, !fg
  }
  tirx.return
}

// A product that reads what threads have written in this iteration has a barrier in front of it, which also says that the
// slot is free: they wait there, and not again in front of the store.

!ps = !tirx.tile<64x64xf16, shared>
!pd = !tirx.tile<64x64xf16, register>
!pf = !tirx.tile<64x64xf32, register>
!po = !tirx.tile<64x64xf32, shared>
!pg = !tirx.tile<64x64xf32, global>
// CHECK-LABEL: tirx.kernel @adds_products(
// CHECK:         tirx.for
// CHECK:           %first = tirx.mma %both, %both, %z
// CHECK-NEXT:      tirx.store %v, %staged
// CHECK-NEXT:      tirx.await store pending(0)
// CHECK-NEXT:      %[[OUT:.*]] = tirx.acquire %out at(write)
// CHECK-NEXT:      %p = tirx.mma %staged, %both, %first
// CHECK-NEXT:      %q = tirx.mma %both, %both, %p
// CHECK-NEXT:      tirx.store %q, %[[OUT]]
// CHECK-NEXT:      tirx.release %out at(write)
tirx.kernel @adds_products(%d: memref<64x?xf32>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %out = tirx.alloc : !po
  %staged = tirx.alloc : !ps
  %both = tirx.alloc : !ps
  %z = tirx.zero : !pf
  tirx.for @k %k = 0 to %n {
    %v = "test.op"(%k) : (index) -> !pd
    %gd = tirx.view %d[%c0, %k] : memref<64x?xf32> -> !pg
    %first = tirx.mma %both, %both, %z : !ps, !ps, !pf -> !pf
    tirx.store %v, %staged : !pd, !ps
    %p = tirx.mma %staged, %both, %first : !ps, !ps, !pf -> !pf
    %q = tirx.mma %both, %both, %p : !ps, !ps, !pf -> !pf
    tirx.store %q, %out : !pf, !po
    tirx.copy %out, %gd reduce(add) engine tma_reduce : !po, !pg
  }
  tirx.return
}

// A tile that is stored before threads write it for the next one stays as it is, and so does one that is written once
// for all tiles: the slot of a ring is written first, in every tile.

// CHECK-LABEL: tirx.kernel @written_behind(
// CHECK-NOT:     tirx.ring
// CHECK:         tirx.copy %out, %gd engine tma_store
// CHECK-NEXT:    %v = "test.op"(%i)
// CHECK-NEXT:    tirx.store %v, %out
// CHECK-NOT:     tirx.await
// CHECK:         tirx.return
tirx.kernel @written_behind(%d: memref<?x64xf16>, %n: index) target("sm_90") threads(128) {
  %out = tirx.alloc : !s
  tirx.tiles @tile %i, %j = order(row) of (%n, %n) {
    %gd = tirx.view %d[%i, %j] : memref<?x64xf16> -> !g
    tirx.copy %out, %gd engine tma_store : !s, !g
    %v = "test.op"(%i) : (index) -> !d
    tirx.store %v, %out : !d, !s
  }
  tirx.return
}

// CHECK-LABEL: tirx.kernel @written_once(
// CHECK-NOT:     tirx.ring
// CHECK:         tirx.store %v, %out
// CHECK:         tirx.copy %out, %gd engine tma_store
// CHECK-NOT:     tirx.await
// CHECK:         tirx.return
tirx.kernel @written_once(%d: memref<?x64xf16>, %n: index) target("sm_90") threads(128) {
  %out = tirx.alloc : !s
  %v = "test.op"(%n) : (index) -> !d
  tirx.store %v, %out : !d, !s
  tirx.tiles @tile %i, %j = order(row) of (%n, %n) {
    %gd = tirx.view %d[%i, %j] : memref<?x64xf16> -> !g
    tirx.copy %out, %gd engine tma_store : !s, !g
  }
  tirx.return
}

// -----

// Two tiles that the printer tells apart by a number are two rings.

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!d = !tirx.tile<64x64xf16, register>
!g = !tirx.tile<64x64xf16, global>
// CHECK-LABEL: tirx.kernel @two_stores(
// CHECK:         %out = tirx.ring slots(1) stations(write, store)
// CHECK-NEXT:    %out_1 = tirx.ring slots(1) stations(write, store)
// CHECK:           %[[WRITTEN:.*]] = tirx.acquire %out at(write)
// CHECK-NEXT:      tirx.store %v, %[[WRITTEN]]
// CHECK:           tirx.release %out at(store) after(store)
// CHECK:           %[[WRITTEN:.*]] = tirx.acquire %out_1 at(write)
// CHECK-NEXT:      tirx.store %v, %[[WRITTEN]]
// CHECK:           tirx.release %out_1 at(store) after(store)
tirx.kernel @two_stores(%d: memref<?x64xf16>, %e: memref<?x64xf16>, %n: index) target("sm_90") threads(128) {
  %out = tirx.alloc : !s
  %out_1 = tirx.alloc : !s
  tirx.tiles @tile %i, %j = order(row) of (%n, %n) {
    %v = "test.op"(%i) : (index) -> !d
    %gd = tirx.view %d[%i, %j] : memref<?x64xf16> -> !g
    %ge = tirx.view %e[%i, %j] : memref<?x64xf16> -> !g
    tirx.store %v, %out : !d, !s
    tirx.copy %out, %gd engine tma_store : !s, !g
    tirx.store %v, %out_1 : !d, !s
    tirx.copy %out_1, %ge engine tma_store : !s, !g
  }
  tirx.return
}
