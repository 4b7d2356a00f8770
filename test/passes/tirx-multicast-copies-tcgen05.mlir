// RUN: tirx-opt %s --split-input-file --verify-diagnostics --remarks --tirx-multicast-copies | filecheck %s
// RUN: tirx-opt %s --split-input-file -p "tirx-multicast-copies,tirx-check-rings,tirx-lower-rings" | filecheck %s --check-prefix LOWERED

// Products of single blocks by tcgen05: a commit arrives in the blocks of the same row and column of the cluster, which
// write into the slot that it has read.

!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!g = !tirx.tile<64x64xf16, global>
!t = !tirx.tile<64x64xf32, tensor, #tirx.tile_layout<S[(4, 16, 64) : (32@TLane, 1@TLane, 1@TCol)]>>
!d = !tirx.tile<64x64xf32, register>

// CHECK-LABEL: tirx.kernel @square(
// CHECK-SAME:    grid(2, 1, 1) cluster(4) per_cta threads(288) {
// CHECK:         tirx.ring slots(4) stations(fill, use) across(cluster)
// CHECK:         tirx.ring slots(1) stations(sum, read) :
// CHECK:         engine(tma_multicast) among(2 : 1)
// CHECK:         engine(tma_multicast) among(2 : 2)

// LOWERED-LABEL: tirx.kernel @square(
// LOWERED-COUNT-4: ptx.mbarrier.init %{{.*}}, 1
// LOWERED-COUNT-4: ptx.mbarrier.init %{{.*}}, 3
// LOWERED-COUNT-1: ptx.mbarrier.init %{{.*}}, 1
// LOWERED-COUNT-1: ptx.mbarrier.init %{{.*}}, 4
// LOWERED:       tirx.role @mma
// LOWERED:         %[[RANK:.*]] = ptx.read_special cluster_ctarank
// LOWERED:         %[[RIGHT:.*]] = arith.xori %[[RANK]], %{{.*}} : i32
// LOWERED:         %[[BELOW:.*]] = arith.xori %[[RANK]], %{{.*}} : i32
// LOWERED:         %[[BIT:.*]] = arith.shli %{{.*}}, %[[RANK]] : i32
// LOWERED-NEXT:    %[[BIT_RIGHT:.*]] = arith.shli %{{.*}}, %[[RIGHT]] : i32
// LOWERED-NEXT:    %[[BIT_BELOW:.*]] = arith.shli %{{.*}}, %[[BELOW]] : i32
// LOWERED-NEXT:    %[[ROW:.*]] = arith.ori %[[BIT]], %[[BIT_RIGHT]] : i32
// LOWERED-NEXT:    %[[BOTH:.*]] = arith.ori %[[ROW]], %[[BIT_BELOW]] : i32
// LOWERED-NEXT:    %[[MASK:.*]] = arith.trunci %[[BOTH]] : i32 to i16
// LOWERED:         tirx.async_mma
// LOWERED:         tcgen05.commit %{{.*}} multicast %[[MASK]]
// LOWERED:         tcgen05.commit %{{[a-z0-9]+$}}
// expected-remark@+1 {{blocks of @square form clusters of 4, of 2x2 tiles: each loads 1/2 of the tiles of %a, 1/2 of the tiles of %b for those that need it}}
tirx.kernel @square(%a: memref<128x4096xf16>, %b: memref<256x4096xf16>, %n: index) target("sm_100a") grid(4, 2)
    threads(288) attributes {tirx.cluster = "2x2"} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<a: !s, b: !s>
  %sums = tirx.ring slots(1) stations(sum, read) : !tirx.ring<!t>
  tirx.roles {
    tirx.role @epilogue warps(4) {
      %t = tirx.acquire %sums at(read)
      %d = tirx.load %t : !t -> !d
      tirx.release %sums at(read)
    }
    tirx.role @load warps(4) {
      %m = arith.muli %i, %c64 : index
      %n0 = arith.muli %j, %c64 : index
      tirx.for @k %k = 0 to %n {
        %kk = arith.muli %k, %c64 : index
        %ga = tirx.view %a[%m, %kk] : memref<128x4096xf16> -> !g
        %gb = tirx.view %b[%n0, %kk] : memref<256x4096xf16> -> !g
        %sa, %sb = tirx.acquire %ab at(fill)
        tirx.async_copy %ga, %sa engine(tma) : !g, !s
        tirx.async_copy %gb, %sb engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.role @mma warps(1) {
      %t = tirx.acquire %sums at(sum)
      tirx.for @k %k = 0 to %n {
        %more = arith.cmpi ne, %k, %c0 : index
        %sa, %sb = tirx.acquire %ab at(use)
        tirx.async_mma %sa, %sb, %t accumulate(%more) : !s, !s, !t
        tirx.release %ab at(use) after(tcgen05)
      }
      tirx.release %sums at(sum) after(tcgen05)
    }
  }
  tirx.return
}

// -----

// Two pairs of blocks, whose tiles are neighbours in a column, share B: each block has a half of its rows, of which it
// loads a half for itself and the block of the same place in the other pair. The bytes of a pair are counted in its first
// block, which alone announces them and multiplies; what it has read is free in all four.

!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>>
!b = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!d = !tirx.tile<128x128xf32, register>
!gd = !tirx.tile<128x128xf32, global>

// CHECK-LABEL: tirx.kernel @pairs(
// CHECK-SAME:    grid(2, 2, 1) cluster(4) per_cta threads(192) {
// CHECK-NEXT:    %[[RANK:.*]] = tirx.cta_rank
// CHECK-NEXT:    %[[C2:.*]] = arith.constant 2 : index
// CHECK-NEXT:    %[[PLACE:.*]] = arith.remui %[[RANK]], %[[C2]] : index
// CHECK:         %[[ROWS:.*]] = arith.muli %[[PLACE]], %{{.*}} : index
// CHECK:         tirx.ring slots(4) stations(fill, use) across(pairs)
// CHECK:         tirx.ring slots(1) stations(sum, read) across(pair)
// CHECK:         tirx.role @load
// CHECK:           engine(tma) :
// CHECK:           tirx.async_copy %{{.*}}, %{{.*}} engine(tma_multicast) among(2 : 2) : !tirx.tile<32x64xf16, global
// CHECK:           engine(tma_multicast) among(2 : 2)

// LOWERED-LABEL: tirx.kernel @pairs(
// LOWERED-COUNT-4: ptx.mbarrier.init %{{.*}}, 1
// LOWERED-COUNT-4: ptx.mbarrier.init %{{.*}}, 2
// LOWERED-COUNT-1: ptx.mbarrier.init %{{.*}}, 1
// LOWERED-COUNT-1: ptx.mbarrier.init %{{.*}}, 8
// LOWERED:       tirx.role @epilogue
// LOWERED:         %[[RANK:.*]] = ptx.read_special cluster_ctarank
// LOWERED:         %[[C:.*]] = arith.constant -2 : i32
// LOWERED:         %[[FIRST:.*]] = arith.andi %[[RANK]], %[[C]] : i32
// LOWERED:         %[[FAR:.*]] = ptx.mapa %{{.*}}, %[[FIRST]]
// LOWERED:         ptx.mbarrier.arrive %[[FAR]] remote
// LOWERED:       tirx.role @load
// LOWERED:         ptx.mbarrier.arrive.expect_tx %{{.*}}, 49152
// LOWERED:         tirx.tma_load %{{.*}}, %{{.*}}, %{{.*}} cta_group 2
// LOWERED:         tirx.tma_load %{{.*}}, %{{.*}}, %{{.*}} multicast %{{.*}} cta_group 2
// LOWERED:       tirx.role @mma
// LOWERED:         %[[RANK:.*]] = ptx.read_special cluster_ctarank
// LOWERED:         %[[C:.*]] = arith.constant 1 : i32
// LOWERED:         %[[BIT:.*]] = arith.andi %[[RANK]], %[[C]] : i32
// LOWERED:         %[[LEADS:.*]] = arith.cmpi eq, %[[BIT]], %{{.*}} : i32
// LOWERED:         scf.if %[[LEADS]]
// LOWERED:           %[[ALL:.*]] = arith.constant 15 : i16
// LOWERED:           tcgen05.commit %{{.*}} multicast %[[ALL]] cta_group 2
// LOWERED:         tcgen05.commit %{{.*}} multicast %{{.*}} cta_group 2
// expected-remark@+1 {{blocks of @pairs form clusters of 4, of 2x1 tiles: each loads 1/2 of the tiles of %b for those that need it}}
tirx.kernel @pairs(%a: memref<1024x4096xf16>, %b: memref<256x4096xf16>, %d: memref<1024x256xf32>)
    target("sm_100a") grid(2, 4) cluster(2) per_cta threads(192) attributes {tirx.cluster = "rows"} {
  %rank = tirx.cta_rank
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %first = arith.muli %i, %c256 : index
  %below = arith.muli %rank, %c128 : index
  %m = arith.addi %first, %below : index
  %n0 = arith.muli %j, %c128 : index
  %ab = tirx.ring slots(4) stations(fill, use) across(pair) : !tirx.ring<a: !a, b: !b>
  %sums = tirx.ring slots(1) stations(sum, read) across(pair) : !tirx.ring<!t>
  tirx.roles {
    tirx.role @epilogue warps(4) {
      %t = tirx.acquire %sums at(read)
      %x = tirx.load %t : !t -> !d
      tirx.release %sums at(read)
      %gd = tirx.view %d[%m, %n0] : memref<1024x256xf32> -> !gd
      tirx.store %x, %gd : !d, !gd
    }
    tirx.role @load warps(1) {
      %beside = arith.muli %rank, %c64 : index
      %columns = arith.addi %n0, %beside : index
      tirx.for @k %k = 0 to 64 {
        %kk = arith.muli %k, %c64 : index
        %ga = tirx.view %a[%m, %kk] : memref<1024x4096xf16> -> !ga
        %gb = tirx.view %b[%columns, %kk] : memref<256x4096xf16> -> !gb
        %sa, %sb = tirx.acquire %ab at(fill)
        tirx.async_copy %ga, %sa engine(tma) : !ga, !a
        tirx.async_copy %gb, %sb engine(tma) : !gb, !b
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.role @mma warps(1) {
      %t = tirx.acquire %sums at(sum)
      tirx.for @k %k = 0 to 64 {
        %more = arith.cmpi ne, %k, %c0 : index
        %sa, %sb = tirx.acquire %ab at(use)
        tirx.async_mma %sa, %sb, %t pair accumulate(%more) : !a, !b, !t
        tirx.release %ab at(use) after(tcgen05)
      }
      tirx.release %sums at(sum) after(tcgen05)
    }
  }
  tirx.return
}
