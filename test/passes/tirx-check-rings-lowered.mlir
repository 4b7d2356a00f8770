// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-rings

// Behind the lowering, arrivals and bytes are read back from the code.

!bars = !tirx.tile<2x2xi32, shared, #tirx.tile_layout<S[(2, 2) : (2, 1)]>>

// Four warps arrive, one lane of each; the second station of one slot.

tirx.kernel @right(%slot: i32) target("sm_90a") threads(128) {
  %0 = tirx.alloc {ring_barriers} : !bars
  %1 = tirx.address %0 : !bars -> i32
  %c8 = arith.constant 8 : i32
  %second = arith.addi %1, %c8 : i32
  ptx.mbarrier.init %second, 4
  %tid = ptx.read_special tid.x
  %c31 = arith.constant 31 : i32
  %lane = arith.andi %tid, %c31 : i32
  %c0 = arith.constant 0 : i32
  %first = arith.cmpi eq, %lane, %c0 : i32
  %c3 = arith.constant 3 : i32
  %distance = arith.shli %slot, %c3 : i32
  %there = arith.addi %1, %distance : i32
  %at = arith.addi %there, %c8 : i32
  scf.if %first {
    ptx.mbarrier.arrive %at
  }
  tirx.return
}

// -----

!bars = !tirx.tile<2x2xi32, shared, #tirx.tile_layout<S[(2, 2) : (2, 1)]>>

tirx.kernel @count(%slot: i32) target("sm_90a") threads(128) {
  %0 = tirx.alloc {ring_barriers} : !bars
  %1 = tirx.address %0 : !bars -> i32
  // expected-error@+1 {{expected an mbarrier for 128 arrivals, found one for 4}}
  ptx.mbarrier.init %1, 4
  ptx.mbarrier.arrive %1
  tirx.return
}

!bars2 = !tirx.tile<1x2xi32, shared, #tirx.tile_layout<S[(1, 2) : (2, 1)]>>

tirx.kernel @unequal() target("sm_90a") threads(128) {
  %0 = tirx.alloc {ring_barriers} : !bars2
  %1 = tirx.address %0 : !bars2 -> i32
  ptx.mbarrier.init %1, 1
  %leader = tirx.leader
  scf.if %leader {
    ptx.mbarrier.arrive %1
  }
  // expected-error@+1 {{expected the same number of arrivals wherever a role passes a slot on, found 1 and 128}}
  ptx.mbarrier.arrive %1
  tirx.return
}

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!g = !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>

tirx.kernel @bytes(%a: memref<64x64xf16>) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %0 = tirx.alloc {ring_barriers} : !bars2
  %1 = tirx.address %0 : !bars2 -> i32
  %s = tirx.alloc : !s
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !g
  ptx.mbarrier.init %1, 1
  %leader = tirx.leader
  scf.if %leader {
    // expected-error@+1 {{expected 8192 bytes of the copies behind it, found 4096 announced}}
    ptx.mbarrier.arrive.expect_tx %1, 4096
    tirx.tma_load %g, %s, %1 : !g, !s
  }
  tirx.return
}

// Another use begins with its own announcement.

tirx.kernel @rounds(%a: memref<64x64xf16>, %n: index) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tirx.alloc {ring_barriers} : !bars2
  %1 = tirx.address %0 : !bars2 -> i32
  %s = tirx.alloc : !s
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !g
  ptx.mbarrier.init %1, 1
  %leader = tirx.leader
  scf.if %leader {
    ptx.mbarrier.arrive.expect_tx %1, 8192
    tirx.tma_load %g, %s, %1 : !g, !s
  }
  scf.for %i = %c1 to %n step %c1 {
    scf.if %leader {
      ptx.mbarrier.arrive.expect_tx %1, 8192
      tirx.tma_load %g, %s, %1 : !g, !s
    }
  }
  tirx.return
}
