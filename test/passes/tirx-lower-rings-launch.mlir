// RUN: tirx-opt %s --split-input-file --tirx-lower-rings | filecheck %s

// The role that asks and the one that is told run on one thread each, the third on four warps: 6 arrivals free a slot.

// CHECK-LABEL: tirx.kernel @launched
// CHECK:      %[[WORDS:.*]] = tirx.alloc {{.*}}: !tirx.tile<2x4xi32, shared
// CHECK-NEXT: %[[ANSWERS:.*]] = tirx.address %[[WORDS]]
// CHECK:        ptx.mbarrier.init {{.*}}, 1
// CHECK:        ptx.mbarrier.init {{.*}}, 1
// CHECK:        ptx.mbarrier.init {{.*}}, 6
// CHECK:        ptx.mbarrier.init {{.*}}, 6
// CHECK:      tirx.role @sched warps(1) {
// CHECK-NEXT:   tirx.leader
// CHECK:        %[[X:.*]] = ptx.read_special ctaid.x
// CHECK:        %[[ROW:.*]] = arith.addi
// CHECK-NEXT:   %[[TRUE:.*]] = arith.constant true
// CHECK-NEXT:   scf.while (%[[MORE:.*]] = %[[TRUE]], %[[I:.*]] = %[[ROW]], %[[J:.*]] = %[[X]])
// CHECK-NEXT:     scf.condition(%[[MORE]]) %[[I]], %[[J]]
// CHECK:          arith.index_cast {{.*}} {tirx.tile_coordinate = 0 : i32} : i32 to index
// CHECK-NEXT:     arith.index_cast {{.*}} {tirx.tile_coordinate = 1 : i32} : i32 to index
// CHECK:          ptx.mbarrier.wait_parity
// CHECK:          ptx.mbarrier.arrive.expect_tx {{.*}}, 16
// CHECK:          %[[SLOT:.*]] = arith.addi %[[ANSWERS]]
// CHECK:          ptx.clusterlaunchcontrol.try_cancel %[[SLOT]], {{%[0-9]+$}}
// CHECK:          ptx.mbarrier.wait_parity
// CHECK:          %[[LOW:.*]], %[[HIGH:.*]] = ptx.ld shared
// CHECK-NEXT:     %[[YES:.*]], %[[CX:.*]], %[[CY:.*]], %[[CZ:.*]] = ptx.clusterlaunchcontrol.query_cancel %[[LOW]], %[[HIGH]]
// CHECK:          ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:     ptx.mbarrier.arrive
// CHECK-NEXT:     %[[ROWS:.*]] = ptx.read_special nctaid.y
// CHECK-NEXT:     %[[BEFORE:.*]] = arith.muli %[[CZ]], %[[ROWS]]
// CHECK-NEXT:     %[[NEXT:.*]] = arith.addi %[[CY]], %[[BEFORE]]
// CHECK-NEXT:     scf.yield %[[YES]], %[[NEXT]], %[[CX]]
// CHECK:      tirx.role @four warps(4) {
// CHECK-NOT:    tirx.leader
// CHECK:        scf.while
// CHECK:          ptx.mbarrier.wait_parity
// CHECK-NEXT:     ptx.bar.warp.sync
// CHECK:          ptx.ld shared
// CHECK:          ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:     ptx.bar.warp.sync
// CHECK-NEXT:     scf.if
// CHECK-NEXT:       ptx.mbarrier.arrive
tirx.kernel @launched(%n: index) target("sm_100a") grid(4, 3, 1) threads(192) {
  %clc = tirx.ring slots(2) stations(ask, read) : !tirx.ring<tile_id>
  %turn = tirx.ring slots(1) stations(a, b) : !tirx.ring<>
  tirx.roles {
    tirx.role @sched warps(1) {
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        tirx.acquire %clc at(ask)
        tirx.async_next %clc engine(clc)
        tirx.release %clc at(ask) after(tma)
      }
    }
    tirx.role @one warps(1) {
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        tirx.acquire %turn at(a)
        tirx.release %turn at(a)
      }
    }
    tirx.role @four warps(4) {
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        tirx.acquire %turn at(b)
        "test.op"(%i, %j) : (index, index) -> ()
        tirx.release %turn at(b)
      }
    }
  }
  tirx.return
}

// -----

// All tiles are in one column; rows, that of y and z, are two.

// CHECK-LABEL: tirx.kernel @column
// CHECK:          arith.index_cast {{.*}} {tirx.tile_coordinate = 0 : i32} : i32 to index
// CHECK-NEXT:     arith.index_cast {{.*}} {tirx.tile_coordinate = 1 : i32, tirx.tile_alone} : i32 to index
tirx.kernel @column(%n: index) target("sm_100a") grid(1, 1, 2) threads(64) {
  %clc = tirx.ring slots(1) stations(ask, read) : !tirx.ring<tile_id>
  tirx.roles {
    tirx.role @sched warps(1) {
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        tirx.acquire %clc at(ask)
        tirx.async_next %clc engine(clc)
        tirx.release %clc at(ask) after(tma)
      }
    }
    tirx.role @work warps(1) {
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        "test.op"(%i, %j) : (index, index) -> ()
      }
    }
  }
  tirx.return
}

// -----

// CHECK-LABEL: tirx.kernel @square
// CHECK:          arith.index_cast {{.*}} {tirx.tile_coordinate = 0 : i32} : i32 to index
// CHECK-NEXT:     arith.index_cast {{.*}} {tirx.tile_coordinate = 1 : i32, tirx.tile_alone} : i32 to index
tirx.kernel @square(%n: index) target("sm_100a") grid(1, 2, 2) threads(64) {
  %clc = tirx.ring slots(1) stations(ask, read) : !tirx.ring<tile_id>
  tirx.roles {
    tirx.role @sched warps(1) {
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        tirx.acquire %clc at(ask)
        tirx.async_next %clc engine(clc)
        tirx.release %clc at(ask) after(tma)
      }
    }
    tirx.role @work warps(1) {
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        "test.op"(%i, %j) : (index, index) -> ()
      }
    }
  }
  tirx.return
}

// -----

// In a cluster the first block asks for both: its mbarrier frees the slot, those of both expect the answer.

// CHECK-LABEL: tirx.kernel @cluster
// CHECK:        ptx.mbarrier.init {{.*}}, 1
// CHECK:        ptx.mbarrier.init {{.*}}, 3
// CHECK:      tirx.role @sched
// CHECK:        ptx.read_special cluster_ctarank
// CHECK:        scf.while
// CHECK:          %[[OWN:.*]] = ptx.mapa
// CHECK-NEXT:     ptx.mbarrier.arrive.expect_tx %[[OWN]], 16 remote
// CHECK:          %[[OTHER:.*]] = ptx.mapa
// CHECK-NEXT:     ptx.mbarrier.arrive.expect_tx %[[OTHER]], 16 remote
// CHECK:          ptx.clusterlaunchcontrol.try_cancel {{.*}} multicast
// CHECK:          ptx.clusterlaunchcontrol.query_cancel
// CHECK:          %[[FIRST:.*]] = ptx.mapa
// CHECK-NEXT:     ptx.mbarrier.arrive %[[FIRST]] remote
// CHECK:          arith.shrui
// CHECK:      tirx.role @work
// CHECK:          ptx.mapa
// CHECK-NEXT:     ptx.mbarrier.arrive {{.*}} remote
tirx.kernel @cluster(%n: index) target("sm_100a") cluster(2) per_cta grid(4) threads(64) {
  %clc = tirx.ring slots(1) stations(ask, read) across(cluster) : !tirx.ring<tile_id>
  tirx.roles {
    tirx.role @sched warps(1) {
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        tirx.acquire %clc at(ask)
        tirx.async_next %clc engine(clc)
        tirx.release %clc at(ask) after(tma)
      }
    }
    tirx.role @work warps(1) {
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        "test.op"(%i, %j) : (index, index) -> ()
      }
    }
  }
  tirx.return
}

// -----

// Without roles, one thread of the first block asks in a branch; all threads of both blocks read.

// CHECK-LABEL: tirx.kernel @no_roles
// CHECK:      [[ZERO:%.*]] = arith.constant 0 : i32
// CHECK:        ptx.mbarrier.init {{.*}}, 1
// CHECK:        ptx.mbarrier.init {{.*}}, 4
// CHECK:      [[LEADER:%.*]] = tirx.leader
// CHECK:      scf.while
// CHECK:        scf.if [[LEADER]] {
// CHECK-NEXT:     [[RANK:%.*]] = ptx.read_special cluster_ctarank
// CHECK-NEXT:     [[FIRST:%.*]] = arith.cmpi eq, [[RANK]], [[ZERO]] : i32
// CHECK-NEXT:     scf.if [[FIRST]] {
// CHECK-NEXT:       ptx.mbarrier.wait_parity
// CHECK-COUNT-2:    ptx.mbarrier.arrive.expect_tx {{.*}}, 16 remote
// CHECK-NEXT:       ptx.clusterlaunchcontrol.try_cancel {{.*}} multicast
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK:        "test.op"
// CHECK:        ptx.clusterlaunchcontrol.query_cancel
// CHECK:        ptx.mbarrier.arrive {{.*}} remote
tirx.kernel @no_roles(%n: index) target("sm_100a") cluster(2) per_cta grid(4) threads(64) {
  %clc = tirx.ring slots(1) stations(ask, read) across(cluster) : !tirx.ring<tile_id>
  tirx.tiles @tile %i, %j = hardware(%clc, read) {
    tirx.acquire %clc at(ask)
    tirx.async_next %clc engine(clc)
    tirx.release %clc at(ask) after(tma)
    "test.op"(%i, %j) : (index, index) -> ()
  }
  tirx.return
}
