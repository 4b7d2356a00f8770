// RUN: tirx-opt %s --tirx-specialize-warps --tirx-check-rings | filecheck %s

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
!acc = !tirx.tile<64x64xf32, register>
!t = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>

// One warpgroup loads and two multiply. Both have the loops; without the fill the loop has no skew. Registers are given
// to those that multiply: 4 x 40 + 8 x 232 is what 384 threads with 168 registers each have.

// CHECK-LABEL: tirx.kernel @load(
// CHECK-SAME:    threads(384) {
// CHECK:         %sa = tirx.ring
// CHECK-NEXT:    tirx.roles {
// CHECK-NEXT:      tirx.role @math warps(8) registers(232) {
// CHECK-NEXT:        tirx.tiles @tile %i, %j = order(row) of (%tm, %tm) {
// CHECK-NEXT:          %n = arith.addi %i, %c1 : index
// CHECK-NEXT:          %zeros = tirx.zero
// CHECK-NEXT:          %sum = tirx.for @k %k = 0 to %n iter(%c = %zeros) {
// CHECK-NEXT:            %sa_1 = tirx.acquire %sa at(use)
// CHECK-NEXT:            %fa = tirx.load %sa_1
// CHECK-NEXT:            tirx.release %sa at(use)
// CHECK-NEXT:            %p = tirx.mma %fa, %fa, %c
// CHECK-NEXT:            tirx.yield %p
// CHECK-NEXT:          }
// CHECK-NEXT:          "test.op"(%sum, %i)
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      tirx.role @load warps(4) registers(40) {
// CHECK-NEXT:        tirx.tiles @tile %i_1, %j_1 = order(row) of (%tm, %tm) {
// CHECK-NEXT:          %n_1 = arith.addi %i_1, %c1 : index
// CHECK-NEXT:          tirx.for @k %k_1 = 0 to %n_1 {
// CHECK-NEXT:            %sa_2 = tirx.acquire %sa at(fill)
// CHECK-NEXT:            %ga = tirx.view %a[%j_1, %k_1]
// CHECK-NEXT:            tirx.async_copy %ga, %sa_2 engine(tma)
// CHECK-NEXT:            tirx.release %sa at(fill) after(tma)
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.return
tirx.kernel @load(%a: memref<64x4096xf16>, %tm: index) target("sm_90a") threads(256) {
  %c1 = arith.constant 1 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.tiles @tile %i, %j = order(row) of (%tm, %tm) {
    %n = arith.addi %i, %c1 : index
    %zeros = tirx.zero : !acc
    %sum = tirx.for @k %k = 0 to %n skew(3) iter(%c = %zeros) {
      tirx.at(0) {
        %ga = tirx.view %a[%j, %k] : memref<64x4096xf16> -> !g
        %sa_1 = tirx.acquire %sa at(fill)
        tirx.async_copy %ga, %sa_1 engine(tma) : !g, !s
        tirx.release %sa at(fill) after(tma)
      }
      %d = tirx.at(3) {
        %sa_1 = tirx.acquire %sa at(use)
        %fa = tirx.load %sa_1 : !s -> !f
        tirx.release %sa at(use)
        %p = tirx.mma %fa, %fa, %c : !f, !f, !acc -> !acc
        tirx.yield %p
      }
      tirx.yield %d
    }
    "test.op"(%sum, %i) : (!acc, index) -> ()
  }
  tirx.return
}

// One warp loads, one starts the products, and the four of the kernel read what they sum up. In a kernel that goes
// through several tiles, the accumulator gets a second slot.

// CHECK-LABEL: tirx.kernel @tcgen05(
// CHECK-SAME:    threads(192) {
// CHECK:         %acc = tirx.ring slots(2) stations(sum, read)
// CHECK-NEXT:    tirx.roles {
// CHECK-NEXT:      tirx.role @epilogue warps(4) {
// CHECK-NEXT:        tirx.tiles @tile %i, %j = order(group 8) of (%tm, %tm) {
// CHECK-NEXT:          %acc_1 = tirx.acquire %acc at(read)
// CHECK-NEXT:          %d = tirx.load %acc_1
// CHECK-NEXT:          tirx.release %acc at(read)
// CHECK-NEXT:          "test.op"(%d)
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      tirx.role @load warps(1) {
// CHECK-NEXT:        tirx.tiles @tile %i_1, %j_1 = order(group 8) of (%tm, %tm) {
// CHECK-NEXT:          tirx.for @k %k = 0 to 8 {
// CHECK-NEXT:            %sa_1 = tirx.acquire %sa at(fill)
// CHECK-NEXT:            %ga = tirx.view %a[%i_1, %k]
// CHECK-NEXT:            tirx.async_copy %ga, %sa_1 engine(tma)
// CHECK-NEXT:            tirx.release %sa at(fill) after(tma)
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      tirx.role @mma warps(1) {
// CHECK-NEXT:        tirx.tiles @tile %i_2, %j_2 = order(group 8) of (%tm, %tm) {
// CHECK-NEXT:          %acc_2 = tirx.acquire %acc at(sum)
// CHECK-NEXT:          tirx.for @k %k_1 = 0 to 8 {
// CHECK-NEXT:            %sa_2 = tirx.acquire %sa at(use)
// CHECK-NEXT:            %b = tirx.subview %sa_2[64, 0]
// CHECK-NEXT:            %more = arith.cmpi ne, %k_1, %c0 : index
// CHECK-NEXT:            tirx.async_mma %sa_2, %b, %acc_2 accumulate(%more)
// CHECK-NEXT:            tirx.release %sa at(use) after(tcgen05)
// CHECK-NEXT:          }
// CHECK-NEXT:          tirx.release %acc at(sum) after(tcgen05)
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
tirx.kernel @tcgen05(%a: memref<128x4096xf16>, %tm: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!tirx.tile<128x64xf16, shared>>
  %acc = tirx.ring slots(1) stations(sum, read) : !tirx.ring<!t>
  tirx.tiles @tile %i, %j = order(group 8) of (%tm, %tm) {
    %acc_1 = tirx.acquire %acc at(sum)
    tirx.for @k %k = 0 to 8 skew(2) {
      tirx.at(0) {
        %ga = tirx.view %a[%i, %k] : memref<128x4096xf16> -> !tirx.tile<128x64xf16, global>
        %sa_1 = tirx.acquire %sa at(fill)
        tirx.async_copy %ga, %sa_1 engine(tma) : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
        tirx.release %sa at(fill) after(tma)
      }
      tirx.at(2) {
        %more = arith.cmpi ne, %k, %c0 : index
        %sa_1 = tirx.acquire %sa at(use)
        %b = tirx.subview %sa_1[64, 0] : !tirx.tile<128x64xf16, shared> -> !s
        tirx.async_mma %sa_1, %b, %acc_1 accumulate(%more) : !tirx.tile<128x64xf16, shared>, !s, !t
        tirx.release %sa at(use) after(tcgen05)
      }
    }
    tirx.release %acc at(sum) after(tcgen05)
    %acc_2 = tirx.acquire %acc at(read)
    %d = tirx.load %acc_2 : !t -> !tirx.tile<128x64xf32, register>
    tirx.release %acc at(read)
    "test.op"(%d) : (!tirx.tile<128x64xf32, register>) -> ()
  }
  tirx.return
}

// Half of a warpgroup more than one has no registers to give away, and one warp is enough to load.

// CHECK-LABEL: tirx.kernel @by_hand(
// CHECK-SAME:    threads(224) {
// CHECK:           tirx.role @math warps(6) {
// CHECK:           tirx.role @load warps(1) {
tirx.kernel @by_hand(%a: memref<64x4096xf16>, %n: index) target("sm_90") threads(192) attributes {tirx.roles = "load"} {
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n {
    %ga = tirx.view %a[%k, %k] : memref<64x4096xf16> -> !g
    %sa_1 = tirx.acquire %sa at(fill)
    tirx.async_copy %ga, %sa_1 engine(tma) : !g, !s
    tirx.release %sa at(fill) after(tma)
    %sa_2 = tirx.acquire %sa at(use)
    %fa = tirx.load %sa_2 : !s -> !f
    tirx.release %sa at(use)
    "test.op"(%fa) : (!f) -> ()
  }
  tirx.return
}

// What asks for tiles is a role where there is one of products, and the work of the role that loads otherwise. All roles
// read the answers.

// CHECK-LABEL: tirx.kernel @launched(
// CHECK-SAME:    threads(224)
// CHECK:           tirx.role @epilogue warps(4) {
// CHECK-NEXT:        tirx.tiles @tile {{.*}} = hardware(%clc, read) {
// CHECK-NOT:           async_next
// CHECK:           tirx.role @load warps(1) {
// CHECK-NEXT:        tirx.tiles @tile {{.*}} = hardware(%clc, read) {
// CHECK-NOT:           async_next
// CHECK:           tirx.role @mma warps(1) {
// CHECK-NEXT:        tirx.tiles @tile {{.*}} = hardware(%clc, read) {
// CHECK-NOT:           async_next
// CHECK:           tirx.role @sched warps(1) {
// CHECK-NEXT:        tirx.tiles @tile {{.*}} = hardware(%clc, read) {
// CHECK-NEXT:          tirx.acquire %clc at(ask)
// CHECK-NEXT:          tirx.async_next %clc engine(clc)
// CHECK-NEXT:          tirx.release %clc at(ask) after(tma)
// CHECK-NEXT:        }
// CHECK-NEXT:      }
tirx.kernel @launched(%a: memref<128x4096xf16>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!tirx.tile<128x64xf16, shared>>
  %acc = tirx.ring slots(1) stations(sum, read) : !tirx.ring<!t>
  %clc = tirx.ring slots(2) stations(ask, read) : !tirx.ring<tile_id>
  tirx.tiles @tile %i, %j = hardware(%clc, read) {
    tirx.acquire %clc at(ask)
    tirx.async_next %clc engine(clc)
    tirx.release %clc at(ask) after(tma)
    %acc_1 = tirx.acquire %acc at(sum)
    %ga = tirx.view %a[%i, %j] : memref<128x4096xf16> -> !tirx.tile<128x64xf16, global>
    %sa_1 = tirx.acquire %sa at(fill)
    tirx.async_copy %ga, %sa_1 engine(tma) : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.release %sa at(fill) after(tma)
    %no = arith.constant false
    %sa_2 = tirx.acquire %sa at(use)
    %b = tirx.subview %sa_2[64, 0] : !tirx.tile<128x64xf16, shared> -> !s
    tirx.async_mma %sa_2, %b, %acc_1 accumulate(%no) : !tirx.tile<128x64xf16, shared>, !s, !t
    tirx.release %sa at(use) after(tcgen05)
    tirx.release %acc at(sum) after(tcgen05)
    %acc_2 = tirx.acquire %acc at(read)
    %d = tirx.load %acc_2 : !t -> !tirx.tile<128x64xf32, register>
    tirx.release %acc at(read)
    "test.op"(%d) : (!tirx.tile<128x64xf32, register>) -> ()
  }
  tirx.return
}

// CHECK-LABEL: tirx.kernel @launched_load(
// CHECK-SAME:    threads(160)
// CHECK:           tirx.role @math warps(4) {
// CHECK-NOT:         async_next
// CHECK:           tirx.role @load warps(1) {
// CHECK:             tirx.async_next %clc engine(clc)
// CHECK-NOT:       tirx.role
tirx.kernel @launched_load(%a: memref<64x4096xf16>) target("sm_100a") threads(128) attributes {tirx.roles = "load"} {
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %clc = tirx.ring slots(2) stations(ask, read) : !tirx.ring<tile_id>
  tirx.tiles @tile %i, %j = hardware(%clc, read) {
    tirx.acquire %clc at(ask)
    tirx.async_next %clc engine(clc)
    tirx.release %clc at(ask) after(tma)
    %ga = tirx.view %a[%i, %j] : memref<64x4096xf16> -> !g
    %sa_1 = tirx.acquire %sa at(fill)
    tirx.async_copy %ga, %sa_1 engine(tma) : !g, !s
    tirx.release %sa at(fill) after(tma)
    %sa_2 = tirx.acquire %sa at(use)
    %fa = tirx.load %sa_2 : !s -> !f
    tirx.release %sa at(use)
    "test.op"(%fa) : (!f) -> ()
  }
  tirx.return
}

// Roles load again what the kernel does not write: here the indices of rows, which lanes of each warp hold.

// CHECK-LABEL: tirx.kernel @indices(
// CHECK:         tirx.role @math warps(4)
// CHECK-NOT:       tirx.load %ids
// CHECK:         tirx.role @load warps(1) {
// CHECK-NEXT:      %e = memref.load %at[%c0]
// CHECK-NEXT:      %i = tirx.load %gi
// CHECK-NEXT:      tirx.for @k %{{.*}} = 0 to 8 {
// CHECK:             tirx.view %a[[[I:.*]], %e]
// CHECK-NEXT:        tirx.async_copy
!s4 = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!ids = !tirx.tile<64xi32, register, #tirx.tile_layout<S[(16, 4) : (1@laneid, 1)] + R[2 : 16@laneid]>>
tirx.kernel @indices(%a: memref<64x4096xf16>, %ids: memref<64xi32>, %at: memref<1xindex>) target("sm_100a") threads(128)
    attributes {tirx.roles = "load"} {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s4>
  %e = memref.load %at[%c0] : memref<1xindex>
  %gi = tirx.view %ids[%c0] : memref<64xi32> -> !tirx.tile<64xi32, global>
  %i = tirx.load %gi : !tirx.tile<64xi32, global> -> !ids
  tirx.for @k %k = 0 to 8 skew(3) {
    tirx.at(0) {
      %ga = tirx.view %a[[%i], %e] clipped : memref<64x4096xf16>, !ids -> !g
      %sa_1 = tirx.acquire %sa at(fill)
      tirx.async_copy %ga, %sa_1 engine(tma) : !g, !s4
      tirx.release %sa at(fill) after(tma)
    }
    tirx.at(3) {
      %sa_2 = tirx.acquire %sa at(use)
      %fa = tirx.load %sa_2 : !s4 -> !f
      tirx.release %sa at(use)
      "test.op"(%fa) : (!f) -> ()
    }
  }
  tirx.return
}

// What a part of a loop gives to others stays where they are; what is left begins in the first round.

// CHECK-LABEL: tirx.kernel @loaded_ahead(
// CHECK:         tirx.role @math warps(4) {
// CHECK-NEXT:      tirx.for @k %{{.*}} = 0 to 8 {
// CHECK-NEXT:        tirx.acquire %sa at(use)
// CHECK:         tirx.role @load warps(1) {
// CHECK-NEXT:      tirx.for @k [[K:%.*]] = 0 to 8 skew(1) {
// CHECK-NEXT:        tirx.at(1) {
// CHECK-NEXT:          tirx.map ins(%i :
// CHECK:               tirx.acquire %sa at(fill)
// CHECK-NEXT:          tirx.view %a[{{.*}}, %c0]
// CHECK-NEXT:          tirx.async_copy
// CHECK-NEXT:          tirx.release %sa at(fill) after(tma)
// CHECK-NEXT:        }
// CHECK-NEXT:        %i = tirx.at(0) {
// CHECK-NEXT:          tirx.view %ids{{\[}}[[K]], %c0]
// CHECK-NEXT:          [[I:%.*]] = tirx.load
// CHECK-NEXT:          tirx.yield [[I]]
tirx.kernel @loaded_ahead(%a: memref<64x4096xf16>, %ids: memref<8x64xi32>) target("sm_100a") threads(128)
    attributes {tirx.roles = "load"} {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s4>
  tirx.for @k %k = 0 to 8 skew(4) {
    tirx.at(1) {
      %j = tirx.map ins(%i : !ids) {
      ^bb0(%e: i32):
        %twice = arith.addi %e, %e : i32
        tirx.yield %twice : i32
      } -> !ids
      %ga = tirx.view %a[[%j], %c0] clipped : memref<64x4096xf16>, !ids -> !g
      %sa_1 = tirx.acquire %sa at(fill)
      tirx.async_copy %ga, %sa_1 engine(tma) : !g, !s4
      tirx.release %sa at(fill) after(tma)
    }
    %i = tirx.at(0) {
      %gi = tirx.view %ids[%k, %c0] : memref<8x64xi32> -> !tirx.tile<64xi32, global>
      %loaded = tirx.load %gi : !tirx.tile<64xi32, global> -> !ids
      tirx.yield %loaded
    }
    tirx.at(4) {
      %sa_2 = tirx.acquire %sa at(use)
      %fa = tirx.load %sa_2 : !s4 -> !f
      tirx.release %sa at(use)
      "test.op"(%fa) : (!f) -> ()
    }
  }
  tirx.return
}

// A number of iterations that the kernel loads, and does not write, is that of all roles.

// CHECK-LABEL: tirx.kernel @counted(
// CHECK:         %m = memref.load %at[%c0]
// CHECK-NEXT:    %n = arith.ceildivsi %m, %c64
// CHECK-NEXT:    tirx.roles {
// CHECK:         tirx.role @math warps(4)
// CHECK-NOT:       memref.load
// CHECK:           tirx.for @k %{{.*}} = 0 to %n {
// CHECK:         tirx.role @load warps(1) {
// CHECK-NEXT:      tirx.for @k %{{.*}} = 0 to %n {
// CHECK:             tirx.async_copy
tirx.kernel @counted(%a: memref<64x4096xf16>, %at: memref<1xindex>) target("sm_90a") threads(128)
    attributes {tirx.roles = "load"} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %m = memref.load %at[%c0] : memref<1xindex>
  %n = arith.ceildivsi %m, %c64 : index
  tirx.for @k %k = 0 to %n {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    %sa_1 = tirx.acquire %sa at(fill)
    tirx.async_copy %ga, %sa_1 engine(tma) : !g, !s
    tirx.release %sa at(fill) after(tma)
    %sa_2 = tirx.acquire %sa at(use)
    %fa = tirx.load %sa_2 : !s -> !f
    tirx.release %sa at(use)
    "test.op"(%fa) : (!f) -> ()
  }
  tirx.return
}
