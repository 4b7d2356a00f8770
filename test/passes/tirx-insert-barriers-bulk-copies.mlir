// RUN: tirx-opt %s --tirx-insert-barriers | filecheck %s
// RUN: tirx-opt %s --tirx-insert-barriers --remarks -o - 2>&1 | filecheck %s --check-prefix=REMARK

// Bulk copies that nobody waits for at once, next to other accesses of the same memory.

!s = !tirx.tile<64x32xf16, shared>
!g = !tirx.tile<64x32xf16, global>
!r = !tirx.tile<64x32xf16, register>
!m = memref<256x64xf16>

// Who reads what a bulk store writes waits for its end, all threads behind the one that has started it.

// CHECK-LABEL: tirx.kernel @read_back
// CHECK:         ptx.cp.async.bulk.wait_group 0 read
// CHECK:         tirx.view
// CHECK-NEXT:    ptx.cp.async.bulk.wait_group 0
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.load
// CHECK-NEXT:    tirx.load
// REMARK:      remark: waits for the bulk store to %d before it: 'tirx.load' may touch the same elements
tirx.kernel @read_back(%d: !m) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  %g = tirx.view %d[%c0, %c0] : !m -> !g
  scf.if %leader {
    tirx.tma_store %s, %g : !s, !g
    ptx.cp.async.bulk.commit_group
    ptx.cp.async.bulk.wait_group 0 read
  }
  %h = tirx.view %d[%c8, %c8] : !m -> !g
  %x = tirx.load %h : !g -> !r
  %y = tirx.load %h : !g -> !r
  tirx.return
}

// A store that belongs to no group yet is made one. One thread's wait, and a barrier, are enough.

// CHECK-LABEL: tirx.kernel @overwritten
// CHECK:         ptx.cp.async.bulk.commit_group
// CHECK-NEXT:    ptx.cp.async.bulk.wait_group 0
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.store
// CHECK-LABEL: tirx.kernel @waited_for
// CHECK:         tirx.barrier
// CHECK-NEXT:    tirx.store
// CHECK-NEXT:    tirx.return
// REMARK:      remark: waits for the bulk store to %memory before it: 'tirx.store' may touch the same elements
tirx.kernel @overwritten(%0: !m, %v: f16) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  %x = tirx.splat %v : f16 -> !r
  %g = tirx.view %0[%c0, %c0] : !m -> !g
  scf.if %leader {
    tirx.tma_store %s, %g : !s, !g
  }
  tirx.store %x, %g : !r, !g
  tirx.return
}
tirx.kernel @waited_for(%d: !m, %v: f16) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  %x = tirx.splat %v : f16 -> !r
  %g = tirx.view %d[%c0, %c0] : !m -> !g
  scf.if %leader {
    tirx.tma_store %s, %g : !s, !g
    ptx.cp.async.bulk.commit_group
    ptx.cp.async.bulk.wait_group 0
  }
  tirx.barrier
  tirx.store %x, %g : !r, !g
  tirx.return
}

// Other arguments, and other elements of the same one, whatever the row: nothing to wait for.

// CHECK-LABEL: tirx.kernel @apart
// CHECK-NOT:     wait_group
// CHECK-NOT:     tirx.barrier
// CHECK:         tirx.return
tirx.kernel @apart(%d: !m, %e: !m, %row: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  %g = tirx.view %d[%row, %c0] : !m -> !g
  scf.if %leader {
    tirx.tma_store %s, %g : !s, !g
    ptx.cp.async.bulk.commit_group
  }
  %e0 = tirx.view %e[%row, %c0] : !m -> !g
  %x = tirx.load %e0 : !g -> !r
  %right = tirx.view %d[%c0, %c32] : !m -> !g
  %y = tirx.load %right : !g -> !r
  %more = arith.addi %c64, %row : index
  %below = tirx.view %d[%more, %c0] : !m -> !g
  %z = tirx.load %below : !g -> !r
  tirx.return
}

// Rows of a memref whose strides are known at the launch may overlap.

// CHECK-LABEL: tirx.kernel @strides
// CHECK:         ptx.cp.async.bulk.wait_group 0
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.load
// CHECK-LABEL: tirx.kernel @padded
// CHECK-NOT:     wait_group
// CHECK:         tirx.return
tirx.kernel @strides(%d: memref<256x64xf16, strided<[?, 1]>>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  %g = tirx.view %d[%c0, %c0] : memref<256x64xf16, strided<[?, 1]>> -> !g
  scf.if %leader {
    tirx.tma_store %s, %g : !s, !g
    ptx.cp.async.bulk.commit_group
  }
  %h = tirx.view %d[%c64, %c0] : memref<256x64xf16, strided<[?, 1]>> -> !g
  %x = tirx.load %h : !g -> !r
  tirx.return
}
tirx.kernel @padded(%d: memref<256x64xf16, strided<[72, 1]>>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  %g = tirx.view %d[%c0, %c0] : memref<256x64xf16, strided<[72, 1]>> -> !g
  scf.if %leader {
    tirx.tma_store %s, %g : !s, !g
    ptx.cp.async.bulk.commit_group
  }
  %h = tirx.view %d[%c64, %c0] : memref<256x64xf16, strided<[72, 1]>> -> !g
  %x = tirx.load %h : !g -> !r
  tirx.return
}

// What threads have stored comes to a bulk copy behind a proxy fence and a barrier. A fence for shared memory that is
// there anyway gets both. Reads of threads are no different before a bulk store.

// CHECK-LABEL: tirx.kernel @loaded
// CHECK:         tirx.store
// CHECK-NEXT:    ptx.fence.proxy.async "global"
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    scf.if
// CHECK-LABEL: tirx.kernel @in_place
// CHECK:         tirx.load
// CHECK-NEXT:    ptx.fence.proxy.async{{$}}
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    arith.addi
// CHECK-NEXT:    scf.if
// CHECK-NOT:     tirx.barrier
// CHECK:         tirx.return
tirx.kernel @loaded(%d: !m, %v: f16, %at: i32) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  %x = tirx.splat %v : f16 -> !r
  %g = tirx.view %d[%c0, %c0] : !m -> !g
  tirx.store %x, %g : !r, !g
  scf.if %leader {
    tirx.tma_load %g, %s, %at : !g, !s
  }
  tirx.return
}
tirx.kernel @in_place(%d: !m, %i: i32) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  %g = tirx.view %d[%c0, %c0] : !m -> !g
  %x = tirx.load %g : !g -> !r
  ptx.fence.proxy.async "shared::cta"
  tirx.barrier
  %j = arith.addi %i, %i : i32
  scf.if %leader {
    tirx.tma_store %s, %g : !s, !g
    ptx.cp.async.bulk.commit_group
  }
  tirx.return
}

// The thread that stores and then loads waits alone. Elements are combined in any order.

// CHECK-LABEL: tirx.kernel @alone
// CHECK:         tirx.tma_store
// CHECK-NEXT:    ptx.cp.async.bulk.commit_group
// CHECK-NEXT:    ptx.cp.async.bulk.wait_group 0
// CHECK-NEXT:    tirx.tma_load
// CHECK-NOT:     tirx.barrier
// CHECK-LABEL: tirx.kernel @sums
// CHECK:         tirx.tma_store %s, %g reduce(add)
// CHECK-NEXT:    tirx.tma_store %s, %g reduce(add)
// CHECK-NEXT:    ptx.cp.async.bulk.commit_group
// CHECK-NEXT:    ptx.cp.async.bulk.wait_group 0
// CHECK-NEXT:    tirx.tma_store %s, %g :
tirx.kernel @alone(%d: !m, %at: i32) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  %t = tirx.alloc : !s
  %g = tirx.view %d[%c0, %c0] : !m -> !g
  scf.if %leader {
    tirx.tma_store %s, %g : !s, !g
    ptx.cp.async.bulk.commit_group
    tirx.tma_load %g, %t, %at : !g, !s
  }
  tirx.return
}
tirx.kernel @sums(%d: !m) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  %g = tirx.view %d[%c0, %c0] : !m -> !g
  scf.if %leader {
    tirx.tma_store %s, %g reduce(add) : !s, !g
    tirx.tma_store %s, %g reduce(add) : !s, !g
    tirx.tma_store %s, %g : !s, !g
  }
  tirx.return
}

// A loop whose iterations store other rows, and one whose tiles overlap by half. What comes behind a loop waits once,
// in front of it what is read in it.

// CHECK-LABEL: tirx.kernel @rows
// CHECK:         scf.for
// CHECK-NOT:     wait_group
// CHECK:         tirx.tma_store
// CHECK:         ptx.cp.async.bulk.wait_group 0
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tirx.load
// CHECK-LABEL: tirx.kernel @half_a_tile
// CHECK:         scf.for
// CHECK:           ptx.cp.async.bulk.wait_group 0
// CHECK-NEXT:      tirx.tma_store
tirx.kernel @rows(%d: !m, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  scf.for %i = %c0 to %n step %c64 {
    %g = tirx.view %d[%i, %c0] : !m -> !g
    scf.if %leader {
      tirx.tma_store %s, %g : !s, !g
      ptx.cp.async.bulk.commit_group
    }
  }
  %h = tirx.view %d[%c0, %c0] : !m -> !g
  scf.for %i = %c0 to %n step %c64 {
    %x = tirx.load %h : !g -> !r
  }
  tirx.return
}
tirx.kernel @half_a_tile(%d: !m, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  scf.for %i = %c0 to %n step %c32 {
    %g = tirx.view %d[%i, %c0] : !m -> !g
    scf.if %leader {
      tirx.tma_store %s, %g : !s, !g
      ptx.cp.async.bulk.commit_group
    }
  }
  tirx.return
}

// Tiles of a persistent block: those of a column have rows of their own; with rows and columns, both count. The next
// tile reads what this one stores, in part.

// CHECK-LABEL: tirx.kernel @column_of_tiles
// CHECK-NOT:     ptx.cp.async.bulk.wait_group 0{{$}}
// CHECK:         tirx.return
// CHECK-LABEL: tirx.kernel @two_stores_of_a_tile
// CHECK-NOT:     ptx.cp.async.bulk.wait_group 0{{$}}
// CHECK:         tirx.return
// CHECK-LABEL: tirx.kernel @rows_of_tiles_only
// CHECK:         scf.for
// CHECK:           ptx.cp.async.bulk.wait_group 0
// CHECK-NEXT:      tirx.tma_store
tirx.kernel @column_of_tiles(%d: !m, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  scf.for %t = %c0 to %n step %c1 {
    %t32 = arith.index_cast %t : index to i32
    %i = arith.index_cast %t32 {tirx.tile_coordinate = 0 : i32} : i32 to index
    %j = arith.index_cast %t32 {tirx.tile_coordinate = 1 : i32, tirx.tile_alone} : i32 to index
    %row = arith.muli %i, %c64 : index
    %g = tirx.view %d[%row, %c0] : !m -> !g
    scf.if %leader {
      tirx.tma_store %s, %g : !s, !g
      ptx.cp.async.bulk.commit_group
    }
  }
  tirx.return
}
tirx.kernel @two_stores_of_a_tile(%d: memref<256x512xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  scf.for %t = %c0 to %n step %c1 {
    %t32 = arith.index_cast %t : index to i32
    %i = arith.index_cast %t32 {tirx.tile_coordinate = 0 : i32} : i32 to index
    %j = arith.index_cast %t32 {tirx.tile_coordinate = 1 : i32} : i32 to index
    %row = arith.muli %i, %c64 : index
    %left = arith.muli %j, %c64 : index
    %again = arith.muli %j, %c64 : index
    %right = arith.addi %again, %c32 : index
    %g = tirx.view %d[%row, %left] : memref<256x512xf16> -> !g
    %h = tirx.view %d[%row, %right] : memref<256x512xf16> -> !g
    scf.if %leader {
      tirx.tma_store %s, %g : !s, !g
      tirx.tma_store %s, %h : !s, !g
      ptx.cp.async.bulk.commit_group
    }
  }
  tirx.return
}
tirx.kernel @rows_of_tiles_only(%d: !m, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  scf.for %t = %c0 to %n step %c1 {
    %t32 = arith.index_cast %t : index to i32
    %i = arith.index_cast %t32 {tirx.tile_coordinate = 0 : i32} : i32 to index
    %j = arith.index_cast %t32 {tirx.tile_coordinate = 1 : i32} : i32 to index
    %row = arith.muli %i, %c64 : index
    %g = tirx.view %d[%row, %c0] : !m -> !g
    scf.if %leader {
      tirx.tma_store %s, %g : !s, !g
      ptx.cp.async.bulk.commit_group
    }
  }
  tirx.return
}

// Roles: stores are complete at their end, what threads wrote in one of them is not fenced. A branch that not all
// blocks take waits inside, and a warpgroup in front of its part, where the others can come.

// CHECK-LABEL: tirx.kernel @behind_roles
// CHECK:         tirx.roles lowered
// CHECK:         }
// CHECK:         ptx.fence.proxy.async "global"
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      tirx.tma_load
tirx.kernel @behind_roles(%d: !m, %v: f16, %at: i32) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  %g = tirx.view %d[%c0, %c0] : !m -> !g
  tirx.roles lowered {
    tirx.role @a warps(4) {
      %x = tirx.splat %v : f16 -> !r
      tirx.store %x, %g : !r, !g
    }
    tirx.role @b warps(4) {
    }
  }
  scf.if %leader {
    tirx.tma_load %g, %s, %at : !g, !s
  }
  tirx.return
}

// CHECK-LABEL: tirx.kernel @branch
// CHECK:         scf.if %c
// CHECK-NEXT:      ptx.cp.async.bulk.wait_group 0
// CHECK-NEXT:      tirx.barrier
// CHECK-NEXT:      tirx.load
// CHECK-NEXT:    }
// CHECK-NEXT:    ptx.cp.async.bulk.wait_group 0
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.warpgroup 0
// CHECK-NEXT:      tirx.copy
tirx.kernel @branch(%d: !m, %c: i1) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %leader = tirx.leader
  %s = tirx.alloc : !s
  %t = tirx.alloc : !s
  %g = tirx.view %d[%c0, %c0] : !m -> !g
  scf.if %leader {
    tirx.tma_store %s, %g : !s, !g
    ptx.cp.async.bulk.commit_group
  }
  scf.if %c {
    %x = tirx.load %g : !g -> !r
  }
  tirx.warpgroup 0 {
    tirx.copy %g, %t : !g, !s
  }
  tirx.return
}

// Threads copy by cp.async what all of them have stored.

// CHECK-LABEL: tirx.kernel @cp_async
// CHECK:         tirx.store
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.cp_async
tirx.kernel @cp_async(%d: !m, %v: f16) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !s
  %x = tirx.splat %v : f16 -> !r
  %g = tirx.view %d[%c0, %c0] : !m -> !g
  tirx.store %x, %g : !r, !g
  tirx.cp_async %g, %s : !g, !s
  tirx.return
}
