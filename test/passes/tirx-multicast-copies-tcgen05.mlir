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
