// RUN: tirx-opt %s --tirx-lower-rings | filecheck %s

!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!g = !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!r = !tirx.tile<64x64xf16, register, #tirx.tile_layout<S[(4, 128, 8) : (8, 1@tx, 1)]>>

// A role of one thread fills by TMA, another one reads: one arrival and the bytes of a slot, then one of each of 4 warps.
// The threads that read fence, because TMA writes the slot next.

// Launch descriptors name the roles and the rings.

// CHECK-LABEL: tirx.kernel @roles
// CHECK-SAME: roles = [{name = "load", first = 0 : i32, warps = 1 : i32}, {name = "read", first = 1 : i32, warps = 4 : i32}]
// CHECK-SAME: rings = [{name = "ring", slots = 2 : i32, stations = ["fill", "use"], barriers = [0 : i32, 16 : i32], tiles = [{name = "tile0", memory = "shared", start = -1 : i32, stride = 8192 : i32}]}]
// CHECK:      [[SLOTS:%.*]] = tirx.alloc {ring = "ring"} : !tirx.tile<2x64x64xf16, shared, {{.*}}(2, 64, 64) : (4096, 64, 1)
// CHECK-NEXT: [[WORDS:%.*]] = tirx.alloc {ring_barriers} : !tirx.tile<4x2xi32, shared
// CHECK-NEXT: [[BARS:%.*]] = tirx.address [[WORDS]]
// CHECK:      scf.if
// CHECK-NEXT:   ptx.mbarrier.init [[BARS]], 1
// CHECK:        ptx.mbarrier.init {{%.*}}, 1
// CHECK:        ptx.mbarrier.init {{%.*}}, 4
// CHECK:        ptx.mbarrier.init {{%.*}}, 4
// CHECK-NEXT:   ptx.fence.mbarrier_init
// CHECK-NEXT: }
// CHECK-NEXT: tirx.barrier
// CHECK:      tirx.roles lowered {
// CHECK-NEXT:   tirx.role @load warps(1) {
// CHECK-NEXT:     [[LEADER:%.*]] = tirx.leader
// CHECK-NEXT:     scf.if [[LEADER]] {
// CHECK:            memref.store {{%.*}}, [[PARITY:%.*]][] : memref<i32>
// CHECK:            scf.for
// CHECK:              [[SLOT:%.*]] = memref.load
// CHECK-NEXT:         [[PHASE:%.*]] = memref.load
// CHECK:              ptx.mbarrier.wait_parity [[EMPTY:%.*]], [[PHASE]]
// CHECK:              ptx.mbarrier.arrive.expect_tx [[FULL:%.*]], 8192
// CHECK:              [[TILE:%.*]] = tirx.slot [[SLOTS]][[[SLOT]]]
// CHECK:              tirx.tma_load {{%.*}}, [[TILE]], {{%.*}} :
// CHECK:          ptx.bar.warp.sync
// CHECK-NEXT:   }
// CHECK-NEXT:   tirx.role @read warps(4) {
// CHECK:          scf.for
// CHECK:            ptx.mbarrier.wait_parity
// CHECK-NEXT:       ptx.bar.warp.sync
// CHECK:            tirx.load
// CHECK:            ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:       ptx.bar.warp.sync
// CHECK-NEXT:       scf.if
// CHECK-NEXT:         ptx.mbarrier.arrive

tirx.kernel @roles(%a: memref<?x64xf16>, %d: memref<?x64xf16>, %n: index) target("sm_90a") threads(160) {
  %c64 = arith.constant 64 : index
  %c0 = arith.constant 0 : index
  %ring = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.for @i %i = 0 to %n {
        %row = arith.muli %i, %c64 : index
        %from = tirx.view %a[%row, %c0] : memref<?x64xf16> -> !g
        %s = tirx.acquire %ring at(fill)
        tirx.async_copy %from, %s engine(tma) : !g, !s
        tirx.release %ring at(fill) after(tma)
      }
    }
    tirx.role @read warps(4) {
      tirx.for @i %i = 0 to %n {
        %row = arith.muli %i, %c64 : index
        %to = tirx.view %d[%row, %c0] : memref<?x64xf16> -> !g
        %s = tirx.acquire %ring at(use)
        %r = tirx.load %s : !s -> !r
        tirx.release %ring at(use)
        tirx.store %r, %to : !r, !g
      }
    }
  }
  tirx.return
}

// All threads fill by cp.async one round ahead and read: groups and one barrier in a round, no mbarrier. The first round
// and the last one are loops of their own, and commit an empty group where the fill does not run.

// CHECK-LABEL: tirx.kernel @groups
// CHECK-NOT:  mbarrier
// CHECK:      scf.for
// CHECK-NOT:    wait_group
// CHECK:          tirx.cp_async
// CHECK-NEXT:     ptx.cp.async.commit_group
// CHECK:      } else {
// CHECK-NEXT:     ptx.cp.async.commit_group
// CHECK:      scf.for
// CHECK:        ptx.cp.async.wait_group 0
// CHECK-NEXT:   tirx.barrier
// CHECK:        tirx.load
// CHECK-NOT:    tirx.barrier
// CHECK:        tirx.cp_async
// CHECK-NEXT:   ptx.cp.async.commit_group
// CHECK:      scf.for
// CHECK:        ptx.cp.async.wait_group 0
// CHECK:        ptx.cp.async.commit_group
// CHECK-NOT:    tirx.cp_async
// CHECK:      tirx.return

tirx.kernel @groups(%a: memref<?x64xf16>, %d: memref<?x64xf16>, %n: index) target("sm_80") threads(128) {
  %c64 = arith.constant 64 : index
  %c0 = arith.constant 0 : index
  %ring = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.for @i %i = 0 to %n skew(1) {
    tirx.at(1) {
      %row = arith.muli %i, %c64 : index
      %to = tirx.view %d[%row, %c0] : memref<?x64xf16> -> !g
      %s = tirx.acquire %ring at(use)
      %r = tirx.load %s : !s -> !r
      tirx.release %ring at(use)
      tirx.store %r, %to : !r, !g
    }
    tirx.at(0) {
      %row = arith.muli %i, %c64 : index
      %from = tirx.view %a[%row, %c0] : memref<?x64xf16> -> !g
      %s = tirx.acquire %ring at(fill)
      tirx.async_copy %from, %s engine(cp_async) : !g, !s
      tirx.release %ring at(fill) after(cp_async)
    }
  }
  tirx.return
}

// Two warpgroups take turns: each waits for the mbarrier behind the other, whose number follows from its own, with the
// parity that lets the first one begin, and arrives at its own by its four warps.

// CHECK-LABEL: tirx.kernel @baton
// CHECK:      ptx.mbarrier.init {{%.*}}, 4
// CHECK:      ptx.mbarrier.init {{%.*}}, 4
// CHECK:      tirx.role @math warps(8)
// CHECK:        [[PARTY:%.*]] = arith.shrui
// CHECK:        [[FIRST:%.*]] = arith.cmpi eq, [[PARTY]]
// CHECK-NEXT:   [[PARITY:%.*]] = arith.extui [[FIRST]]
// CHECK:        memref.store [[PARITY]]
// CHECK:        [[OTHER:%.*]] = arith.addi [[PARTY]]
// CHECK:        arith.andi [[OTHER]]
// CHECK:        ptx.mbarrier.wait_parity
// CHECK-NEXT:   ptx.bar.warp.sync
// CHECK:        arith.addi [[PARTY]]
// CHECK:        ptx.bar.warp.sync
// CHECK-NEXT:   scf.if
// CHECK-NEXT:     ptx.mbarrier.arrive

tirx.kernel @baton() target("sm_90a") threads(256) {
  %turn = tirx.ring slots(1) stations(wg0, wg1) : !tirx.ring<>
  tirx.roles {
    tirx.role @math warps(8) unit(warpgroup) {
      tirx.acquire %turn at(self)
      tirx.release %turn at(self)
    }
  }
  tirx.return
}

// Integers of a slot have eight bytes each. One thread writes them, and one lane of each warp of the role arrives; all
// threads of a role that acquires them read them.

// CHECK-LABEL: tirx.kernel @integers
// CHECK-SAME: tiles = [{name = "integers", memory = "shared", start = -1 : i32, stride = 16 : i32}]
// CHECK:      tirx.alloc {ring = "r"} : !tirx.tile<2x4xi32, shared
// CHECK:      ptx.mbarrier.init {{%.*}}, 2
// CHECK:      ptx.mbarrier.init {{%.*}}, 1
// CHECK:      tirx.role @one warps(2)
// CHECK:        scf.if [[LEADER:%.*]] {
// CHECK:          [[ROW:%.*]] = arith.index_cast {{%.*}} : index to i64
// CHECK-NEXT:     ptx.st shared [[SLOT:%.*]], [[ROW]] : i32, i64
// CHECK-NEXT:     [[LAST:%.*]] = arith.extui {{%.*}} : i1 to i32
// CHECK-NEXT:     ptx.st shared [[SLOT]] offset 8, [[LAST]] : i32, i32
// CHECK:        ptx.bar.warp.sync
// CHECK:        ptx.mbarrier.arrive
// CHECK:      tirx.role @two warps(1)
// CHECK:        ptx.mbarrier.wait_parity
// CHECK-NEXT:   ptx.bar.warp.sync
// CHECK:        [[ROW:%.*]] = ptx.ld shared [[SLOT:%.*]] : i32 -> i64
// CHECK-NEXT:   [[AT:%.*]] = arith.index_cast [[ROW]] : i64 to index
// CHECK-NEXT:   [[LAST:%.*]] = ptx.ld shared [[SLOT]] offset 8 : i32 -> i32
// CHECK-NEXT:   arith.trunci [[LAST]] : i32 to i1
// CHECK:        memref.store {{%.*}}, {{%.*}}[[[AT]]]
// CHECK:        ptx.mbarrier.arrive

tirx.kernel @integers(%d: memref<?xf32>, %n: index, %f: f32) target("sm_90a") threads(96) {
  %c0 = arith.constant 0 : index
  %r = tirx.ring slots(2) stations(write, read) : !tirx.ring<row: index, last: i1>
  tirx.roles {
    tirx.role @one warps(2) {
      %last = arith.cmpi eq, %n, %c0 : index
      tirx.acquire %r at(write)
      tirx.release %r at(write) with(%n, %last)
    }
    tirx.role @two warps(1) {
      %at, %last = tirx.acquire %r at(read)
      memref.store %f, %d[%at] : memref<?xf32>
      tirx.release %r at(read)
    }
  }
  tirx.return
}

// A store that adds, of a slot that another role fills.

// CHECK-LABEL: tirx.kernel @reduce
// CHECK:         tirx.tma_store {{.*}} reduce(add)
tirx.kernel @reduce(%b: memref<64x64xf16>) target("sm_90a") grid(1) threads(160) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 3 : index
  %one = arith.constant 1.0 : f16
  %g = tirx.view %b[%c0, %c0] : memref<64x64xf16> -> !g
  %ring = tirx.ring slots(2) stations(fill, store) : !tirx.ring<o: !s>
  tirx.roles {
    tirx.role @write warps(4) {
      tirx.for @k %k = 0 to %n skew(0) {
        tirx.at(0) {
          %o = tirx.acquire %ring at(fill)
          tirx.fill %o, %one : f16, !s
          tirx.release %ring at(fill)
        }
      }
    }
    tirx.role @store warps(1) {
      tirx.for @k %k = 0 to %n skew(0) {
        tirx.at(0) {
          %o = tirx.acquire %ring at(store)
          tirx.async_copy %o, %g engine(tma_reduce) : !s, !g
          tirx.release %ring at(store) after(store)
          tirx.await store pending(0)
        }
      }
    }
  }
  tirx.return
}

// The lanes of the warp that waits for a store come together in front of the end of a branch, not behind it.

// CHECK-LABEL: tirx.kernel @branch
// CHECK:           ptx.cp.async.bulk.commit_group
// CHECK-NEXT:    }
// CHECK-NEXT:    ptx.bar.warp.sync
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      ptx.cp.async.bulk.wait_group 0 read
// CHECK-NEXT:    }
// CHECK-NEXT:    ptx.bar.warp.sync
// CHECK-NEXT:  }
// CHECK-NEXT:  scf.if
tirx.kernel @branch(%c: i1, %a: memref<64x64xf16>) target("sm_90a") grid(1) threads(128) {
  %one = arith.constant 1.0 : f16
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !g
  %ring = tirx.ring slots(1) stations(write, store) : !tirx.ring<!s>
  scf.if %c {
    tirx.await store pending(0)
    %o = tirx.acquire %ring at(write)
    tirx.fill %o, %one : f16, !s
    tirx.release %ring at(write)
    %p = tirx.acquire %ring at(store)
    tirx.async_copy %p, %g engine(tma_store) : !s, !g
    tirx.release %ring at(store) after(store)
    tirx.await store pending(0)
  }
  tirx.return
}
