// RUN: tirx-opt %s --split-input-file --verify-diagnostics --remarks -p "tirx-multicast-copies{cluster=rows}" | filecheck %s

!a = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!b = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>>
!ga = !tirx.tile<64x64xf16, global>
!gb = !tirx.tile<128x64xf16, global>

// Two blocks have tiles 2 i and 2 i + 1 of a column, which need the same rows of B: each loads 64 of 128 for both.

// CHECK-LABEL: tirx.kernel @rows(
// CHECK-SAME:    grid(min(6, ceildiv(sm_count(), 2))) cluster(2) per_cta threads(256) {
// CHECK:         tirx.ring slots(4) stations(fill, use) across(cluster)
// CHECK-NEXT:    %[[ROWS:.*]] = arith.constant 2 : index
// CHECK:         tirx.role @math
// CHECK-NEXT:      tirx.tiles @tile %[[PAIR:.*]], %{{.*}} = order(group 4) of (%[[ROWS]], %c3) {
// CHECK-NEXT:        %[[TWO:.*]] = arith.constant 2 : index
// CHECK-NEXT:        %[[FIRST:.*]] = arith.muli %[[PAIR]], %[[TWO]] : index
// CHECK-NEXT:        %[[RANK:.*]] = tirx.cta_rank
// CHECK-NEXT:        %[[ROW:.*]] = arith.addi %[[FIRST]], %[[RANK]] : index
// CHECK-NEXT:        tirx.for
// CHECK:         tirx.role @load
// CHECK:             %[[SA:.*]], %[[SB:.*]] = tirx.acquire %ab at(fill)
// CHECK-NEXT:        tirx.async_copy %ga, %[[SA]] engine(tma)
// CHECK-NEXT:        %[[RANK:.*]] = tirx.cta_rank
// CHECK-NEXT:        %[[C64:.*]] = arith.constant 64 : index
// CHECK-NEXT:        %[[ABOVE:.*]] = arith.muli %[[RANK]], %[[C64]] : index
// CHECK-NEXT:        %[[N:.*]] = arith.addi %n0, %[[ABOVE]] : index
// CHECK-NEXT:        %[[HALF:.*]] = tirx.view %b[%[[N]], %kk] : memref<?x4096xf16> -> !tirx.tile<64x64xf16, global
// CHECK-NEXT:        %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:        %[[IS_FIRST:.*]] = arith.cmpi eq, %[[RANK]], %[[C0]] : index
// CHECK-NEXT:        scf.if %[[IS_FIRST]] {
// CHECK-NEXT:          %[[LOW:.*]] = tirx.subview %[[SB]][0, 0]
// CHECK-NEXT:          tirx.async_copy %[[HALF]], %[[LOW]] engine(tma_multicast)
// CHECK-NEXT:        } else {
// CHECK-NEXT:          %[[HIGH:.*]] = tirx.subview %[[SB]][64, 0]
// CHECK-NEXT:          tirx.async_copy %[[HALF]], %[[HIGH]] engine(tma_multicast)
// CHECK-NEXT:        }
// CHECK-NEXT:        tirx.release %ab at(fill) after(tma)
// expected-remark@+1 {{blocks of @rows form pairs along the rows of tiles: each loads half of the tiles of %b for both}}
tirx.kernel @rows(%a: memref<256x4096xf16>, %b: memref<?x4096xf16>, %n: index) target("sm_90a") grid(min(12, sm_count()))
    threads(256) {
  %c4 = arith.constant 4 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<a: !a, b: !b>
  tirx.roles {
    tirx.role @math warps(4) {
      tirx.tiles @tile %i, %j = order(group 8) of (%c4, %c3) {
        tirx.for @k %k = 0 to %n {
          %sa, %sb = tirx.acquire %ab at(use)
          %ra = tirx.load %sa : !a -> !tirx.tile<64x64xf16, register>
          %rb = tirx.load %sb : !b -> !tirx.tile<128x64xf16, register>
          tirx.release %ab at(use)
        }
      }
    }
    tirx.role @load warps(4) {
      tirx.tiles @tile %i, %j = order(group 8) of (%c4, %c3) {
        %m = arith.muli %i, %c64 : index
        %n0 = arith.muli %j, %c128 : index
        tirx.for @k %k = 0 to %n {
          %kk = arith.muli %k, %c64 : index
          %ga = tirx.view %a[%m, %kk] : memref<256x4096xf16> -> !ga
          %gb = tirx.view %b[%n0, %kk] : memref<?x4096xf16> -> !gb
          %sa, %sb = tirx.acquire %ab at(fill)
          tirx.async_copy %ga, %sa engine(tma) : !ga, !a
          tirx.async_copy %gb, %sb engine(tma) : !gb, !b
          tirx.release %ab at(fill) after(tma)
        }
      }
    }
  }
  tirx.return
}

// -----

// A kernel may say otherwise itself; the blocks of a grid form pairs as well as the tiles of a loop.

!a = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!ga = !tirx.tile<64x64xf16, global>

// CHECK-LABEL: tirx.kernel @columns(
// CHECK-SAME:    grid(2, 3, 1) cluster(2) per_cta threads(256) {
// CHECK-NOT:     tirx.cluster
// CHECK:         %[[PAIR:.*]] = tirx.block_id x
// CHECK-NEXT:    %[[TWO:.*]] = arith.constant 2 : index
// CHECK-NEXT:    %[[FIRST:.*]] = arith.muli %[[PAIR]], %[[TWO]] : index
// CHECK-NEXT:    %[[RANK:.*]] = tirx.cta_rank
// CHECK-NEXT:    %[[COLUMN:.*]] = arith.addi %[[FIRST]], %[[RANK]] : index
// CHECK:         "test.op"(%[[COLUMN]])
// CHECK:         engine(tma_multicast)
// expected-remark@+1 {{blocks of @columns form pairs along the columns of tiles: each loads half of the tiles of %a for both}}
tirx.kernel @columns(%a: memref<192x4096xf16>, %n: index) target("sm_90a") grid(4, 3) threads(256)
    attributes {tirx.cluster = "columns"} {
  %c64 = arith.constant 64 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<a: !a>
  tirx.roles {
    tirx.role @math warps(4) {
      tirx.for @k %k = 0 to %n {
        %sa = tirx.acquire %ring at(use)
        %ra = tirx.load %sa : !a -> !tirx.tile<64x64xf16, register>
        "test.op"(%j) : (index) -> ()
        tirx.release %ring at(use)
      }
    }
    tirx.role @load warps(4) {
      tirx.for @k %k = 0 to %n {
        %kk = arith.muli %k, %c64 : index
        %ga = tirx.view %a[%m, %kk] : memref<192x4096xf16> -> !ga
        %sa = tirx.acquire %ring at(fill)
        tirx.async_copy %ga, %sa engine(tma) : !ga, !a
        tirx.release %ring at(fill) after(tma)
      }
    }
  }
  tirx.return
}

// -----

// Four blocks have two rows and columns of tiles: those of a row load halves of A for each other, those of a column of B.
// With three rows the last cluster has one too many, of which nothing is written.

!a = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!ga = !tirx.tile<64x64xf16, global>

// CHECK-LABEL: tirx.kernel @square(
// CHECK-SAME:    grid(min(4, cluster_count(4))) cluster(4) per_cta threads(256) {
// CHECK:         tirx.ring slots(4) stations(fill, use) across(cluster)
// CHECK:         tirx.tiles @tile %[[I:.*]], %[[J:.*]] = order(group 4) of (%{{.*}}, %{{.*}}) {
// CHECK:           %[[RANK:.*]] = tirx.cta_rank
// CHECK-NEXT:      %[[C2:.*]] = arith.constant 2 : index
// CHECK-NEXT:      %[[COLUMN:.*]] = arith.remui %[[RANK]], %[[C2]] : index
// CHECK:           %[[RANK:.*]] = tirx.cta_rank
// CHECK-NEXT:      %[[C2:.*]] = arith.constant 2 : index
// CHECK-NEXT:      %[[ROW:.*]] = arith.divui %[[RANK]], %[[C2]] : index
// CHECK:         tirx.role @load
// CHECK:             tirx.async_copy %{{.*}}, %{{.*}} engine(tma_multicast) among(2 : 1) :
// CHECK:             tirx.async_copy %{{.*}}, %{{.*}} engine(tma_multicast) among(2 : 1) :
// CHECK:             tirx.async_copy %{{.*}}, %{{.*}} engine(tma_multicast) among(2 : 2) :
// CHECK:             tirx.async_copy %{{.*}}, %{{.*}} engine(tma_multicast) among(2 : 2) :
// CHECK-NOT:         engine(tma)
// expected-remark@+1 {{blocks of @square form clusters of 4, of 2x2 tiles: each loads 1/2 of the tiles of %a, 1/2 of the tiles of %b for those that need it}}
tirx.kernel @square(%a: memref<192x4096xf16>, %b: memref<256x4096xf16>, %n: index) target("sm_90a")
    grid(min(12, sm_count())) threads(256) attributes {tirx.cluster = "2x2"} {
  %c4 = arith.constant 4 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<a: !a, b: !a>
  tirx.roles {
    tirx.role @math warps(4) {
      tirx.tiles @tile %i, %j = order(group 8) of (%c3, %c4) {
        tirx.for @k %k = 0 to %n {
          %sa, %sb = tirx.acquire %ab at(use)
          %ra = tirx.load %sa : !a -> !tirx.tile<64x64xf16, register>
          tirx.release %ab at(use)
        }
      }
    }
    tirx.role @load warps(4) {
      tirx.tiles @tile %i, %j = order(group 8) of (%c3, %c4) {
        %m = arith.muli %i, %c64 : index
        %n0 = arith.muli %j, %c64 : index
        tirx.for @k %k = 0 to %n {
          %kk = arith.muli %k, %c64 : index
          %ga = tirx.view %a[%m, %kk] : memref<192x4096xf16> -> !ga
          %gb = tirx.view %b[%n0, %kk] : memref<256x4096xf16> -> !ga
          %sa, %sb = tirx.acquire %ab at(fill)
          tirx.async_copy %ga, %sa engine(tma) : !ga, !a
          tirx.async_copy %gb, %sb engine(tma) : !ga, !a
          tirx.release %ab at(fill) after(tma)
        }
      }
    }
  }
  tirx.return
}

// -----

// Along rows, tiles of A are shared by all four blocks, each of which loads a quarter.

!a = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!ga = !tirx.tile<64x64xf16, global>

// CHECK-LABEL: tirx.kernel @quarters(
// CHECK-SAME:    grid(2, 3, 1) cluster(4) per_cta threads(256) {
// CHECK:         scf.if
// CHECK:           tirx.subview %{{.*}}[0, 0] : {{.*}} -> !tirx.tile<16x64xf16
// CHECK-NEXT:      tirx.async_copy %{{.*}}, %{{.*}} engine(tma_multicast) :
// CHECK:           scf.if
// CHECK:             tirx.subview %{{.*}}[16, 0]
// CHECK:             scf.if
// CHECK:               tirx.subview %{{.*}}[32, 0]
// CHECK:             } else {
// CHECK:               tirx.subview %{{.*}}[48, 0]
// expected-remark@+1 {{blocks of @quarters form clusters of 4, of 1x4 tiles: each loads 1/4 of the tiles of %a for those that need it}}
tirx.kernel @quarters(%a: memref<192x4096xf16>, %n: index) target("sm_90a") grid(8, 3) threads(256)
    attributes {tirx.cluster = "1x4"} {
  %c64 = arith.constant 64 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<a: !a>
  tirx.roles {
    tirx.role @math warps(4) {
      tirx.for @k %k = 0 to %n {
        %sa = tirx.acquire %ring at(use)
        %ra = tirx.load %sa : !a -> !tirx.tile<64x64xf16, register>
        "test.op"(%j) : (index) -> ()
        tirx.release %ring at(use)
      }
    }
    tirx.role @load warps(4) {
      tirx.for @k %k = 0 to %n {
        %kk = arith.muli %k, %c64 : index
        %ga = tirx.view %a[%m, %kk] : memref<192x4096xf16> -> !ga
        %sa = tirx.acquire %ring at(fill)
        tirx.async_copy %ga, %sa engine(tma) : !ga, !a
        tirx.release %ring at(fill) after(tma)
      }
    }
  }
  tirx.return
}

// -----

// Three rows of tiles, and a fourth one in D: the last block of the last pair writes behind D, where a clipped view ends.

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>

// CHECK-LABEL: tirx.kernel @odd(
// CHECK-SAME:    grid(1, 2, 1) cluster(2) per_cta threads(256) {
// CHECK:           %[[READ:.*]] = tirx.view %d[%m, %c0] clipped :
// CHECK-NEXT:      tirx.load %[[READ]] :
// CHECK:           %[[PAIR:.*]] = tirx.block_id y
// CHECK-NEXT:      %[[C3:.*]] = arith.constant 3 : index
// CHECK-NEXT:      %[[C2:.*]] = arith.constant 2 : index
// CHECK-NEXT:      %[[FIRST:.*]] = arith.muli %[[PAIR]], %[[C2]] : index
// CHECK-NEXT:      %[[RANK:.*]] = tirx.cta_rank
// CHECK-NEXT:      %[[ROW:.*]] = arith.addi %[[FIRST]], %[[RANK]] : index
// CHECK-NEXT:      %[[IS_THERE:.*]] = arith.cmpi ult, %[[ROW]], %[[C3]] : index
// CHECK-NEXT:      %[[BEHIND:.*]] = arith.constant 256 : index
// CHECK-NEXT:      %[[M:.*]] = arith.select %[[IS_THERE]], %m, %[[BEHIND]] {tirx.or_outside} : index
// CHECK-NEXT:      %[[TILE:.*]] = tirx.view %d[%[[M]], %c0] clipped :
// CHECK-NEXT:      tirx.store %{{.*}}, %[[TILE]] :
// expected-remark@+1 {{blocks of @odd form pairs along the rows of tiles: each loads half of the tiles of %b for both}}
tirx.kernel @odd(%b: memref<64x4096xf16>, %d: memref<256x64xf16>, %n: index) target("sm_90a") grid(1, 3) threads(256) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %i = tirx.block_id y
  %m = arith.muli %i, %c64 : index
  %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @math warps(4) {
      tirx.for @k %k = 0 to %n {
        %used = tirx.acquire %ring at(use)
        %f = tirx.load %used : !s -> !f
        tirx.release %ring at(use)
        %gd = tirx.view %d[%m, %c0] : memref<256x64xf16> -> !g
        %before = tirx.load %gd : !g -> !f
        tirx.store %f, %gd : !f, !g
      }
    }
    tirx.role @load warps(4) {
      tirx.for @k %k = 0 to %n {
        %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !g
        %filled = tirx.acquire %ring at(fill)
        tirx.async_copy %gb, %filled engine(tma) : !g, !s
        tirx.release %ring at(fill) after(tma)
      }
    }
  }
  tirx.return
}

// -----

// Numbers of tiles of open sizes may be odd, rows and columns of them. D follows neither, so that a sum goes behind it.

!a = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!g = !tirx.tile<64x64xf16, global>

// CHECK-LABEL: tirx.kernel @open(
// CHECK:         %[[X:.*]] = tirx.launch_value ceildiv(size(0, 0), 64)
// CHECK-NEXT:    %[[Y:.*]] = tirx.launch_value ceildiv(size(1, 0), 64)
// CHECK:         tirx.tiles @tile %[[I:.*]], %[[J:.*]] = order(row) of (
// CHECK:           tirx.release %ab at(use)
// CHECK:           arith.muli %[[I]],
// CHECK:           %[[ROW:.*]] = arith.addi
// CHECK-NEXT:      %[[ROW_IS:.*]] = arith.cmpi ult, %[[ROW]], %[[X]] : index
// CHECK:           arith.muli %[[J]],
// CHECK:           %[[COLUMN:.*]] = arith.addi
// CHECK-NEXT:      %[[COLUMN_IS:.*]] = arith.cmpi ult, %[[COLUMN]], %[[Y]] : index
// CHECK-NEXT:      %[[IS_THERE:.*]] = arith.andi %[[ROW_IS]], %[[COLUMN_IS]] : i1
// CHECK-NEXT:      %[[TILES:.*]] = tirx.launch_value ceildiv(size(2, 0), 64)
// CHECK-NEXT:      %[[C64:.*]] = arith.constant 64 : index
// CHECK-NEXT:      %[[BEHIND:.*]] = arith.muli %[[TILES]], %[[C64]] : index
// CHECK-NEXT:      %[[M:.*]] = arith.select %[[IS_THERE]], %c64, %[[BEHIND]] {tirx.or_outside} : index
// CHECK-NEXT:      tirx.view %d[%[[M]], %c64] clipped
// CHECK-NEXT:      tirx.store {{.*}} reduce(add)
// expected-remark@+1 {{blocks of @open form clusters of 4, of 2x2 tiles: each loads 1/2 of the tiles of %a, 1/2 of the tiles of %b for those that need it}}
tirx.kernel @open(%a: memref<?x4096xf16>, %b: memref<?x4096xf16>, %d: memref<?x64xf16>, %n: index) target("sm_90a")
    grid(min(mul(ceildiv(size(0, 0), 64), ceildiv(size(1, 0), 64)), sm_count())) threads(256) attributes {tirx.cluster = "2x2"} {
  %c64 = arith.constant 64 : index
  %x = tirx.launch_value ceildiv(size(0, 0), 64)
  %y = tirx.launch_value ceildiv(size(1, 0), 64)
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<a: !a, b: !a>
  tirx.roles {
    tirx.role @math warps(4) {
      tirx.tiles @tile %i, %j = order(row) of (%x, %y) {
        tirx.for @k %k = 0 to %n {
          %sa, %sb = tirx.acquire %ab at(use)
          %ra = tirx.load %sa : !a -> !tirx.tile<64x64xf16, register>
          tirx.release %ab at(use)
          %gd = tirx.view %d[%c64, %c64] clipped : memref<?x64xf16> -> !g
          tirx.store %ra, %gd reduce(add) : !tirx.tile<64x64xf16, register>, !g
        }
      }
    }
    tirx.role @load warps(4) {
      tirx.tiles @tile %i, %j = order(row) of (%x, %y) {
        %m = arith.muli %i, %c64 : index
        %n0 = arith.muli %j, %c64 : index
        tirx.for @k %k = 0 to %n {
          %kk = arith.muli %k, %c64 : index
          %ga = tirx.view %a[%m, %kk] : memref<?x4096xf16> -> !g
          %gb = tirx.view %b[%n0, %kk] : memref<?x4096xf16> -> !g
          %sa, %sb = tirx.acquire %ab at(fill)
          tirx.async_copy %ga, %sa engine(tma) : !g, !a
          tirx.async_copy %gb, %sb engine(tma) : !g, !a
          tirx.release %ab at(fill) after(tma)
        }
      }
    }
  }
  tirx.return
}
