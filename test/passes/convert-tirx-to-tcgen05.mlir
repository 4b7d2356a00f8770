// RUN: tirx-opt %s --tirx-select-instructions --tirx-select-copies --tirx-allocate-memory --convert-tirx-to-tcgen05 | filecheck %s

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[(128, 32) : (32, 1)]>>
#b = #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[(64, 32) : (32, 1)]>>
#d = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
#registers = #tirx.tile_layout<S[(128, 64) : (1@tx, 1)]>
!a = !tirx.tile<128x32xf16, shared, #a>
!b = !tirx.tile<64x32xf16, shared, #b>
!d = !tirx.tile<128x64xf32, tensor, #d>
!registers = !tirx.tile<128x64xf32, register, #registers>

// The first warp allocates, the leader makes the barrier, and everybody learns the address. A product: stores become
// visible to the async proxy, all threads meet, the leader issues one instruction for every 16 elements of K, the first
// of them with the product's own condition, and all wait for the commit. The phase of the barrier is a variable. At
// the end the first warp gives the columns back.

// CHECK-LABEL: tirx.kernel @product
// CHECK-NEXT:    %[[TID:.*]] = ptx.read_special tid.x
// CHECK-NEXT:    %[[FIVE:.*]] = arith.constant 5 : i32
// CHECK-NEXT:    %[[WARP:.*]] = arith.shrui %[[TID]], %[[FIVE]] : i32
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NEXT:    %[[FIRST:.*]] = arith.cmpi eq, %[[WARP]], %[[ZERO]] : i32
// CHECK-NEXT:    %[[S:.*]] = tirx.alloc at 12296 : !tirx.tile<1xi32, shared, {{.*}}>
// CHECK-NEXT:    %[[SLOT:.*]] = tirx.address %[[S]]
// CHECK-NEXT:    %[[M:.*]] = tirx.alloc at 12288 : !tirx.tile<2xi32, shared, {{.*}}>
// CHECK-NEXT:    %[[BARRIER:.*]] = tirx.address %[[M]]
// CHECK-NEXT:    %[[LEADER:.*]] = tirx.leader
// CHECK-NEXT:    scf.if %[[FIRST]] {
// CHECK-NEXT:      tcgen05.alloc %[[SLOT]] columns 64
// CHECK-NEXT:      tcgen05.relinquish_alloc_permit
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.if %[[LEADER]] {
// CHECK-NEXT:      ptx.mbarrier.init %[[BARRIER]], 1
// CHECK-NEXT:      ptx.fence.mbarrier_init
// CHECK-NEXT:    }
// CHECK-NEXT:    tcgen05.fence before_thread_sync
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tcgen05.fence after_thread_sync
// CHECK-NEXT:    %[[BASE:.*]] = ptx.ld shared %[[SLOT]] : i32 -> i32
// CHECK-NEXT:    %[[PHASE:.*]] = memref.alloca() : memref<i32>
// CHECK-NEXT:    %[[ZERO1:.*]] = arith.constant 0 : i32
// CHECK-NEXT:    memref.store %[[ZERO1]], %[[PHASE]][] : memref<i32>
// CHECK-NEXT:    %[[ACC:.*]] = tcgen05.tile %[[BASE]], 0 : i32 -> !tirx.tile<128x64xf32, tensor
// CHECK-NEXT:    %a = tirx.alloc
// CHECK-NEXT:    %b = tirx.alloc
// CHECK-NEXT:    %p = arith.constant false
// CHECK-NEXT:    ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:    tcgen05.fence before_thread_sync
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tcgen05.fence after_thread_sync
// CHECK-NEXT:    %[[IDESC:.*]] = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 64, negate_b = true> : i32
// CHECK-NEXT:    %[[ALWAYS:.*]] = arith.constant true
// CHECK-NEXT:    %[[A0:.*]] = tcgen05.smem_descriptor %a, 0 of 16
// CHECK-NEXT:    %[[B0:.*]] = tcgen05.smem_descriptor %b, 0 of 16
// CHECK-NEXT:    %[[A1:.*]] = tcgen05.smem_descriptor %a, 1 of 16
// CHECK-NEXT:    %[[B1:.*]] = tcgen05.smem_descriptor %b, 1 of 16
// CHECK-NEXT:    scf.if %[[LEADER]] {
// CHECK-NEXT:      tcgen05.mma f16 %[[ACC]], %[[A0]], %[[B0]], %[[IDESC]], %p : 
// CHECK-NEXT:      tcgen05.mma f16 %[[ACC]], %[[A1]], %[[B1]], %[[IDESC]], %[[ALWAYS]] : 
// CHECK-NEXT:      tcgen05.commit %[[BARRIER]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[OLD:.*]] = memref.load %[[PHASE]][] : memref<i32>
// CHECK-NEXT:    ptx.mbarrier.wait_parity %[[BARRIER]], %[[OLD]]
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NEXT:    %[[NEW:.*]] = arith.xori %[[OLD]], %[[ONE]] : i32
// CHECK-NEXT:    memref.store %[[NEW]], %[[PHASE]][] : memref<i32>
// CHECK-NEXT:    ptx.bar.warp.sync
// CHECK-NEXT:    tcgen05.fence after_thread_sync
// CHECK-NEXT:    tcgen05.fence before_thread_sync
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tcgen05.fence after_thread_sync
// CHECK-NEXT:    scf.if %[[FIRST]] {
// CHECK-NEXT:      tcgen05.dealloc %[[BASE]] columns 64
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.return
tirx.kernel @product() target("sm_100a") threads(128) {
  %acc = tirx.alloc : !d
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %p = arith.constant false
  tirx.mma %a, %b, %acc negate_b accumulate(%p) : !a, !b, !d
  tirx.return
}

// Tiles in use at the same time lie one behind the other; the allocation is a power of two. Loads and stores wait for
// their end. Without products that threads wait for there is no mbarrier.

// CHECK-LABEL: tirx.kernel @transfers
// CHECK:           tcgen05.alloc %{{.*}} columns 256
// CHECK-NOT:     ptx.mbarrier.init
// CHECK:         %[[BASE:.*]] = ptx.ld shared
// CHECK:         %[[X:.*]] = tcgen05.tile %[[BASE]], 0 : i32
// CHECK-NEXT:    %[[Y:.*]] = tcgen05.tile %[[BASE]], 64 : i32
// CHECK-NEXT:    %[[Z:.*]] = tcgen05.tile %[[BASE]], 128 : i32
// CHECK:         %[[V:.*]] = tcgen05.ld "32x32b" %[[X]]
// CHECK-NEXT:    tcgen05.wait ld
// CHECK-NEXT:    tcgen05.st "32x32b" %[[Y]], %[[V]]
// CHECK-NEXT:    tcgen05.wait st
// CHECK-NEXT:    tcgen05.st "32x32b" %[[Z]], %[[V]]
// CHECK-NEXT:    tcgen05.wait st
// CHECK-NEXT:    tcgen05.st "32x32b" %[[X]], %[[V]]
// CHECK-NEXT:    tcgen05.wait st
// CHECK-NEXT:    tcgen05.st "32x32b" %[[Y]], %[[V]]
tirx.kernel @transfers() target("sm_100a") threads(128) {
  %x = tirx.alloc : !d
  %y = tirx.alloc : !d
  %z = tirx.alloc : !d
  %v = tirx.load %x : !d -> !registers
  tirx.store %v, %y : !registers, !d
  tirx.store %v, %z : !registers, !d
  tirx.store %v, %x : !registers, !d
  tirx.store %v, %y : !registers, !d
  tirx.return
}

// Tiles that are not in use at the same time share columns: %y follows %x, and %z, which the loop may read again in the
// next iteration, is beside both. The part of a tile is a use of it.

// CHECK-LABEL: tirx.kernel @lifetimes
// CHECK:           tcgen05.alloc %{{.*}} columns 128
// CHECK:         tcgen05.tile %[[BASE:.*]], 0 : i32
// CHECK-NEXT:    tcgen05.tile %[[BASE]], 0 : i32
// CHECK-NEXT:    tcgen05.tile %[[BASE]], 64 : i32
// CHECK:           tcgen05.dealloc %[[BASE]] columns 128
tirx.kernel @lifetimes() target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %x = tirx.alloc : !d
  %y = tirx.alloc : !d
  %z = tirx.alloc : !d
  %r = tirx.zero : !registers
  tirx.store %r, %x : !registers, !d
  scf.for %i = %c0 to %c4 step %c1 {
    %r_2 = tirx.load %z : !d -> !registers
    %whole = tirx.subview %x[0, 0] : !d -> !d
    %r_3 = tirx.load %whole : !d -> !registers
  }
  tirx.store %r, %y : !registers, !d
  %r_4 = tirx.load %z : !d -> !registers
  %r_5 = tirx.load %y : !d -> !registers
  tirx.return
}

// A part of the lanes is stored by the warps that hold it: a warp writes all its lanes, and the others would overwrite
// the rest of the tile. Here rows 32 to 63 are the lanes of warp 1.

// CHECK-LABEL: tirx.kernel @part_of_the_lanes
// CHECK:         %[[PART:.*]] = tirx.subview
// CHECK:         %[[TID:.*]] = ptx.read_special tid.x
// CHECK-NEXT:    %[[FIVE:.*]] = arith.constant 5 : i32
// CHECK-NEXT:    %[[WARP:.*]] = arith.shrui %[[TID]], %[[FIVE]] : i32
// CHECK-NEXT:    %[[MASK:.*]] = arith.constant 2 : i32
// CHECK-NEXT:    %[[SHIFTED:.*]] = arith.shrui %[[MASK]], %[[WARP]] : i32
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NEXT:    %[[BIT:.*]] = arith.andi %[[SHIFTED]], %[[ONE]] : i32
// CHECK-NEXT:    %[[NONE:.*]] = arith.constant 0 : i32
// CHECK-NEXT:    %[[HOLDS:.*]] = arith.cmpi ne, %[[BIT]], %[[NONE]] : i32
// CHECK-NEXT:    scf.if %[[HOLDS]] {
// CHECK-NEXT:      tcgen05.st "32x32b" %[[PART]], %r
// CHECK-NEXT:      tcgen05.wait st
// CHECK-NEXT:    }
tirx.kernel @part_of_the_lanes() target("sm_100a") threads(128) {
  %x = tirx.alloc : !d
  %part = tirx.subview %x[32, 0] : !d -> !tirx.tile<32x64xf32, tensor, #tirx.tile_layout<S[(32, 64) : (1@TLane, 1@TCol)] + 32@TLane>>
  %r = tirx.zero : !tirx.tile<32x64xf32, register, #tirx.tile_layout<S[(32, 64) : (1@laneid, 1)] + 1@warpid>>
  tirx.store %r, %part : !tirx.tile<32x64xf32, register, #tirx.tile_layout<S[(32, 64) : (1@laneid, 1)] + 1@warpid>>, !tirx.tile<32x64xf32, tensor, #tirx.tile_layout<S[(32, 64) : (1@TLane, 1@TCol)] + 32@TLane>>
  tirx.return
}

// A mask makes the product weight-stationary. A shift of 3 columns needs a reuse window of 8.

// CHECK-LABEL: tirx.kernel @zero_columns
// CHECK:         tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 32, n = 64, max_shift = 8> : i32
// CHECK:         %[[MASK:.*]] = tcgen05.zero_column_mask <0x{{[0-9a-f]+}}> : i64
// CHECK:           tcgen05.mma ws f16 %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} zero_column_mask %[[MASK]] : 
tirx.kernel @zero_columns() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<32x16xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(32, 16) : (16, 1)]>>>
  %b = tirx.alloc : !tirx.tile<67x16xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(67, 16) : (16, 1)]>>>
  %acc = tirx.alloc : !tirx.tile<32x64xf32, tensor, #tirx.tile_layout<S[(32, 4, 16) : (1@TLane, 32@TLane, 1@TCol)]>>
  tirx.mma %a, %b, %acc zero_columns([0, 1, 16, 17, 32, 33, 48, 49], shift = 3)
      : !tirx.tile<32x16xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(32, 16) : (16, 1)]>>>, !tirx.tile<67x16xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(67, 16) : (16, 1)]>>>, !tirx.tile<32x64xf32, tensor, #tirx.tile_layout<S[(32, 4, 16) : (1@TLane, 32@TLane, 1@TCol)]>>
  tirx.return
}

// Kernels without tensor memory stay as they are.

// CHECK-LABEL: tirx.kernel @untouched
// CHECK-NEXT:    tirx.return
tirx.kernel @untouched() target("sm_80") threads(64) {
  tirx.return
}

// A pair of blocks, M = 128 in data path B: both allocate, one thread of the first block issues, and the commit arrives
// at the mbarriers of both. The barriers become those of the pair.

#pair = #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(64, 16) : (16, 1)]>>
#path_b = #tirx.tile_layout<S[(64, 2, 64) : (1@TLane, 64@TLane, 1@TCol)]>
!pair_operand = !tirx.tile<64x16xf16, shared, #pair>
!path_b = !tirx.tile<64x128xf32, tensor, #path_b>

// CHECK-LABEL: tirx.kernel @pair
// CHECK:         %[[LEADER:[0-9]+]] = tirx.leader
// CHECK-NEXT:    %[[RANK:[0-9]+]] = ptx.read_special cluster_ctarank
// CHECK-NEXT:    %[[ZERO:[0-9]+]] = arith.constant 0 : i32
// CHECK-NEXT:    %[[FIRST:[0-9]+]] = arith.cmpi eq, %[[RANK]], %[[ZERO]] : i32
// CHECK-NEXT:    %[[ISSUER:[0-9]+]] = arith.andi %[[LEADER]], %[[FIRST]] : i1
// CHECK:           tcgen05.alloc %{{.*}} columns 64 cta_group 2
// CHECK-NEXT:      tcgen05.relinquish_alloc_permit cta_group 2
// CHECK:         scf.if %[[LEADER]] {
// CHECK-NEXT:      ptx.mbarrier.init
// CHECK:         tcgen05.fence before_thread_sync
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tcgen05.fence after_thread_sync
// CHECK:         ptx.fence.proxy.async
// CHECK-NEXT:    tcgen05.fence before_thread_sync
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tcgen05.fence after_thread_sync
// CHECK:         %[[BOTH:[0-9]+]] = arith.constant 3 : i16
// CHECK-NEXT:    scf.if %[[ISSUER]] {
// CHECK-NEXT:      tcgen05.mma f16 %{{.*}} cta_group 2 :
// CHECK-NEXT:      tcgen05.commit %{{.*}} multicast %[[BOTH]] cta_group 2
// CHECK-NEXT:    }
// CHECK:         ptx.mbarrier.wait_parity
// CHECK:         tcgen05.fence before_thread_sync
// CHECK-NEXT:    tirx.barrier
// CHECK:           tcgen05.dealloc %{{.*}} columns 64 cta_group 2
tirx.kernel @pair() target("sm_100a") cluster(2) per_cta threads(128) {
  %a = tirx.alloc : !pair_operand
  %b = tirx.alloc : !pair_operand
  %acc = tirx.alloc : !path_b
  tirx.mma %a, %b, %acc pair : !pair_operand, !pair_operand, !path_b
  tirx.return
}

// In a cluster of several pairs the first block of each issues, and the commit arrives in its own pair.

// CHECK-LABEL: tirx.kernel @pairs
// CHECK:         %[[RANK:[0-9]+]] = ptx.read_special cluster_ctarank
// CHECK-NEXT:    %[[ONE:[0-9]+]] = arith.constant 1 : i32
// CHECK-NEXT:    %[[PLACE:[0-9]+]] = arith.andi %[[RANK]], %[[ONE]] : i32
// CHECK-NEXT:    %[[ZERO:[0-9]+]] = arith.constant 0 : i32
// CHECK-NEXT:    arith.cmpi eq, %[[PLACE]], %[[ZERO]] : i32
// CHECK:         %[[RANK:[0-9]+]] = ptx.read_special cluster_ctarank
// CHECK-NEXT:    %[[TWO:[0-9]+]] = arith.constant 3 : i32
// CHECK-NEXT:    %[[EVEN:[0-9]+]] = arith.constant -2 : i32
// CHECK-NEXT:    %[[FIRST:[0-9]+]] = arith.andi %[[RANK]], %[[EVEN]] : i32
// CHECK-NEXT:    %[[BITS:[0-9]+]] = arith.shli %[[TWO]], %[[FIRST]] : i32
// CHECK-NEXT:    %[[BOTH:[0-9]+]] = arith.trunci %[[BITS]] : i32 to i16
// CHECK:         tcgen05.commit %{{.*}} multicast %[[BOTH]] cta_group 2
tirx.kernel @pairs() target("sm_100a") cluster(4) per_cta threads(128) {
  %a = tirx.alloc : !pair_operand
  %b = tirx.alloc : !pair_operand
  %acc = tirx.alloc : !path_b
  tirx.mma %a, %b, %acc pair : !pair_operand, !pair_operand, !path_b
  tirx.return
}

// In a cluster whose blocks multiply alone each of them issues.

// CHECK-LABEL: tirx.kernel @alone
// CHECK-NOT:     cluster_ctarank
// CHECK:         tcgen05.commit %{{[0-9]+$}}
#alone = #tirx.tile_layout<S[(4, 16, 128) : (32@TLane, 1@TLane, 1@TCol)]>
!alone_operand = !tirx.tile<128x16xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(128, 16) : (16, 1)]>>>
tirx.kernel @alone() target("sm_100a") cluster(4) per_cta threads(128) {
  %a = tirx.alloc : !pair_operand
  %b = tirx.alloc : !alone_operand
  %acc = tirx.alloc : !tirx.tile<64x128xf32, tensor, #alone>
  tirx.mma %a, %b, %acc : !pair_operand, !alone_operand, !tirx.tile<64x128xf32, tensor, #alone>
  tirx.return
}

// A tile that is one column wide need not name the axis.

// CHECK-LABEL: tirx.kernel @one_column
// CHECK:         tcgen05.alloc %{{.*}} columns 32
// CHECK:         %[[FIRST:.*]] = tcgen05.tile %{{.*}}, 0
// CHECK-NEXT:    %[[SECOND:.*]] = tcgen05.tile %{{.*}}, 1
// CHECK:         %[[V:.*]] = tcgen05.ld "32x32b" %[[FIRST]]
// CHECK:         tcgen05.st "32x32b" %[[SECOND]], %[[V]]
#lanes = #tirx.tile_layout<S[128 : 1@TLane]>
#threads = #tirx.tile_layout<S[(128, 1) : (1@tx, 1)]>
tirx.kernel @one_column() target("sm_100a") threads(128) {
  %x = tirx.alloc : !tirx.tile<128x1xf32, tensor, #lanes>
  %y = tirx.alloc : !tirx.tile<128x1xf32, tensor, #lanes>
  %v = tirx.load %x : !tirx.tile<128x1xf32, tensor, #lanes> -> !tirx.tile<128x1xf32, register, #threads>
  tirx.store %v, %y : !tirx.tile<128x1xf32, register, #threads>, !tirx.tile<128x1xf32, tensor, #lanes>
  tirx.store %v, %x : !tirx.tile<128x1xf32, register, #threads>, !tirx.tile<128x1xf32, tensor, #lanes>
  tirx.return
}

// In larger blocks the first warpgroup stores a tile from registers, and barriers order transfers of different warps.

// CHECK-LABEL: tirx.kernel @two_warpgroups
// CHECK:         %[[MASK:.*]] = arith.constant 15 : i32
// CHECK:         scf.if
// CHECK-NEXT:      tcgen05.st "32x32b" %[[X:[a-z0-9]+]], %r :
// CHECK-NEXT:      tcgen05.wait st
// CHECK-NEXT:    }
// CHECK-NEXT:    tcgen05.fence before_thread_sync
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tcgen05.fence after_thread_sync
// CHECK-NEXT:    tirx.warpgroup 1 {
// CHECK-NEXT:      %[[V:.*]] = tcgen05.ld "32x32b" %[[X]]
// CHECK-NEXT:      tcgen05.wait ld
// CHECK-NEXT:      tcgen05.st "32x32b" %[[X]], %[[V]]
// CHECK-NEXT:      tcgen05.wait st
// CHECK-NEXT:    }
tirx.kernel @two_warpgroups() target("sm_100a") threads(256) {
  %x = tirx.alloc : !d
  %r = tirx.zero : !registers
  tirx.store %r, %x : !registers, !d
  tirx.barrier
  tirx.warpgroup 1 {
    %v = tirx.load %x : !d -> !registers
    tirx.store %v, %x : !registers, !d
  }
  tirx.return
}
