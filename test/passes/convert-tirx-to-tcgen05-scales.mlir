// RUN: tirx-opt %s --tirx-select-instructions --tirx-select-copies --tirx-allocate-memory --convert-tirx-to-tcgen05 | filecheck %s

#a = #tirx.tile_layout<S[(16, 8, 4, 32) : (256, 32, 4096, 1)]>
#d = #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>
#blocks = #tirx.tile_layout<S[(4, 32, 2, 4) : (4, 16, 512, 1)]>
#factors = #tirx.tile_layout<S[(4, 32, 2, 4) : (4@TCol, 1@TLane, 16@TCol, 1@TCol)] + R[4 : 32@TLane]>
!a = !tirx.tile<128x128xf4E2M1FN, shared, #a>
!d = !tirx.tile<128x128xf32, tensor, #d>
!blocks = !tirx.tile<128x8xf8E4M3FN, shared, #blocks>
!factors = !tirx.tile<128x8xf8E4M3FN, tensor, #factors>

// Eight factors of 128 rows are 8 columns. The copies directly before a product are issued with it, by the same thread,
// so that one synchronisation serves all. Each instruction of 64 elements reads 4 factors, a column of its own.

// CHECK-LABEL: tirx.kernel @four_factors
// CHECK:         tcgen05.alloc %{{.*}} columns 256
// CHECK:         %[[ACC:.*]] = tcgen05.tile %{{.*}}, 0 : i32
// CHECK-NEXT:    %[[SFA:.*]] = tcgen05.tile %{{.*}}, 128 : i32
// CHECK-NEXT:    %[[SFB:.*]] = tcgen05.tile %{{.*}}, 136 : i32
// CHECK-NOT:     tirx.copy
// CHECK:         ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:    tcgen05.fence before_thread_sync
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tcgen05.fence after_thread_sync
// CHECK-NEXT:    %[[A0:.*]] = tcgen05.cp_descriptor %sa, 0
// CHECK-NEXT:    %[[TA0:.*]] = tirx.subview %[[SFA]][0, 0]
// CHECK-NEXT:    %[[A1:.*]] = tcgen05.cp_descriptor %sa, 512
// CHECK-NEXT:    %[[TA1:.*]] = tirx.subview %[[SFA]][0, 4]
// CHECK-NEXT:    %[[B0:.*]] = tcgen05.cp_descriptor %sb, 0
// CHECK-NEXT:    %[[TB0:.*]] = tirx.subview %[[SFB]][0, 0]
// CHECK-NEXT:    %[[B1:.*]] = tcgen05.cp_descriptor %sb, 512
// CHECK-NEXT:    %[[TB1:.*]] = tirx.subview %[[SFB]][0, 4]
// CHECK-NEXT:    %[[I:.*]] = tcgen05.instruction_descriptor <kind = "mxf4nvf4", a = "e2m1", b = "e2m1", d = "f32", m = 128, n = 128, scale = "ue4m3"> : i32
// CHECK-NEXT:    %[[ALWAYS:.*]] = arith.constant true
// CHECK:         %[[DA0:.*]] = tcgen05.smem_descriptor %a, 0 of 64
// CHECK:         %[[SA0:.*]] = tirx.subview %[[SFA]][0, 0]
// CHECK-NEXT:    %[[SB0:.*]] = tirx.subview %[[SFB]][0, 0]
// CHECK:         %[[SA1:.*]] = tirx.subview %[[SFA]][0, 4]
// CHECK-NEXT:    %[[SB1:.*]] = tirx.subview %[[SFB]][0, 4]
// CHECK:         scf.if
// CHECK-NEXT:      tcgen05.cp "32x128b" %[[TA0]], %[[A0]] multicast "warpx4"
// CHECK-NEXT:      tcgen05.cp "32x128b" %[[TA1]], %[[A1]] multicast "warpx4"
// CHECK-NEXT:      tcgen05.cp "32x128b" %[[TB0]], %[[B0]] multicast "warpx4"
// CHECK-NEXT:      tcgen05.cp "32x128b" %[[TB1]], %[[B1]] multicast "warpx4"
// CHECK-NEXT:      tcgen05.mma mxf4nvf4 "block16" %[[ACC]], %[[DA0]], %{{.*}}, %[[I]], %p scales(%[[SA0]], %[[SB0]] :
// CHECK-NEXT:      tcgen05.mma mxf4nvf4 "block16" %[[ACC]], %{{.*}}, %{{.*}}, %[[I]], %[[ALWAYS]] scales(%[[SA1]], %[[SB1]] :
// CHECK-NEXT:      tcgen05.commit
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.load
// CHECK-NEXT:    ptx.mbarrier.wait_parity
tirx.kernel @four_factors(%p: i1) target("sm_100a") threads(128) {
  %acc = tirx.alloc : !d
  %sfa = tirx.alloc : !factors
  %sfb = tirx.alloc : !factors
  %a = tirx.alloc : !a
  %b = tirx.alloc : !a
  %sa = tirx.alloc : !blocks
  %sb = tirx.alloc : !blocks
  tirx.copy %sa, %sfa : !blocks, !factors
  tirx.copy %sb, %sfb : !blocks, !factors
  tirx.mma %a, %b, %acc scales(%sfa, %sfb) accumulate(%p) : !a, !a, !d, !factors, !factors
  tirx.return
}

// Fewer factors for each instruction: the id in the instruction descriptor says where in the column they are. Here two,
// so that instructions have ids 0 and 2, and the third starts in the next column.

#a2 = #tirx.tile_layout<S[(16, 8, 8, 32) : (256, 32, 4096, 1)]>
!a2 = !tirx.tile<128x256xf4E2M1FN, shared, #a2>
!blocks2 = !tirx.tile<128x8xf8E8M0FNU, shared, #blocks>
!factors2 = !tirx.tile<128x8xf8E8M0FNU, tensor, #factors>

// CHECK-LABEL: tirx.kernel @two_factors
// CHECK:         %[[SF:.*]] = tcgen05.tile %{{.*}}, 128 : i32
// CHECK:         %[[I0:.*]] = tcgen05.instruction_descriptor <kind = "mxf4", a = "e2m1", b = "e2m1", d = "f32", m = 128, n = 128, scale = "ue8m0"> : i32
// CHECK-NEXT:    %[[I2:.*]] = tcgen05.instruction_descriptor <kind = "mxf4", a = "e2m1", b = "e2m1", d = "f32", m = 128, n = 128, scale = "ue8m0", sf_a_id = 2, sf_b_id = 2> : i32
// CHECK:         %[[S0:.*]] = tirx.subview %[[SF]][0, 0]
// CHECK:         %[[S1:.*]] = tirx.subview %[[SF]][0, 0]
// CHECK:         %[[S2:.*]] = tirx.subview %[[SF]][0, 4]
// CHECK:         %[[S3:.*]] = tirx.subview %[[SF]][0, 4]
// CHECK:         tcgen05.mma mxf4 "block32" %{{.*}}, %[[I0]], %{{.*}} scales(%[[S0]],
// CHECK-NEXT:    tcgen05.mma mxf4 "block32" %{{.*}}, %[[I2]], %{{.*}} scales(%[[S1]],
// CHECK-NEXT:    tcgen05.mma mxf4 "block32" %{{.*}}, %[[I0]], %{{.*}} scales(%[[S2]],
// CHECK-NEXT:    tcgen05.mma mxf4 "block32" %{{.*}}, %[[I2]], %{{.*}} scales(%[[S3]],
tirx.kernel @two_factors() target("sm_100a") threads(128) {
  %acc = tirx.alloc : !d
  %sfa = tirx.alloc : !factors2
  %sfb = tirx.alloc : !factors2
  %a = tirx.alloc : !a2
  %b = tirx.alloc : !a2
  tirx.mma %a, %b, %acc scales(%sfa, %sfb) : !a2, !a2, !d, !factors2, !factors2
  tirx.return
}

// A copy that no product follows directly is waited for by itself: what comes next may overwrite its source.

// CHECK-LABEL: tirx.kernel @copied_before
// CHECK:         ptx.fence.proxy.async "shared::cta"
// CHECK-NEXT:    tcgen05.fence before_thread_sync
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tcgen05.fence after_thread_sync
// CHECK:         scf.if
// CHECK-NEXT:      tcgen05.cp "32x128b"
// CHECK-NEXT:      tcgen05.cp "32x128b"
// CHECK-NEXT:      tcgen05.commit
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.load
// CHECK-NEXT:    ptx.mbarrier.wait_parity
// CHECK:         tirx.barrier
// CHECK:         scf.if
// CHECK-NEXT:      tcgen05.mma mxf4nvf4
tirx.kernel @copied_before() target("sm_100a") threads(128) {
  %acc = tirx.alloc : !d
  %sf = tirx.alloc : !factors
  %a = tirx.alloc : !a
  %s = tirx.alloc : !blocks
  tirx.copy %s, %sf : !blocks, !factors
  tirx.barrier
  tirx.mma %a, %a, %acc scales(%sf, %sf) : !a, !a, !d, !factors, !factors
  tirx.return
}

// A sparse A: an instruction has twice the K and as many factors, and reads 64 bits of metadata of each row. A pair of
// blocks takes its scale factors from both shared memories to both tensor memories.

#sa = #tirx.tile_layout<S[(16, 8, 4, 32) : (256, 32, 4096, 1)]>
#sb = #tirx.tile_layout<S[(8, 8, 8, 32) : (256, 32, 2048, 1)]>
#e = #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>
!sa = !tirx.tile<128x128xf4E2M1FN, shared, #sa>
!sb = !tirx.tile<64x256xf4E2M1FN, shared, #sb>
!e = !tirx.tile<128x32xi4, tensor, #e>

// CHECK-LABEL: tirx.kernel @sparse_pair
// CHECK:         %[[E:.*]] = tcgen05.tile %{{.*}}, {{.*}} !tirx.tile<128x32xi4, tensor
// CHECK:         %[[I:.*]] = tcgen05.instruction_descriptor <kind = "mxf4nvf4", a = "e2m1", b = "e2m1", d = "f32", m = 256, n = 128, sparse = true, scale = "ue4m3"> : i32
// CHECK:         %[[DA0:.*]] = tcgen05.smem_descriptor %a, 0 of 64
// CHECK-NEXT:    %[[DB0:.*]] = tcgen05.smem_descriptor %b, 0 of 128
// CHECK-NEXT:    %[[E0:.*]] = tirx.subview %[[E]][0, 0]
// CHECK:         %[[DA1:.*]] = tcgen05.smem_descriptor %a, 1 of 64
// CHECK-NEXT:    %[[DB1:.*]] = tcgen05.smem_descriptor %b, 1 of 128
// CHECK-NEXT:    %[[E1:.*]] = tirx.subview %[[E]][0, 16]
// CHECK:         scf.if
// CHECK-NEXT:      tcgen05.cp "32x128b" %{{.*}}, %{{.*}} multicast "warpx4" cta_group 2
// CHECK-NEXT:      tcgen05.cp "32x128b" %{{.*}}, %{{.*}} multicast "warpx4" cta_group 2
// CHECK-NEXT:      tcgen05.cp "32x128b" %{{.*}}, %{{.*}} multicast "warpx4" cta_group 2
// CHECK-NEXT:      tcgen05.cp "32x128b" %{{.*}}, %{{.*}} multicast "warpx4" cta_group 2
// CHECK-NEXT:      tcgen05.mma mxf4nvf4 "block16" %{{.*}}, %[[DA0]], %[[DB0]], %[[I]], %{{.*}} scales({{.*}}) cta_group 2 sparse(%[[E0]] :
// CHECK-NEXT:      tcgen05.mma mxf4nvf4 "block16" %{{.*}}, %[[DA1]], %[[DB1]], %[[I]], %{{.*}} scales({{.*}}) cta_group 2 sparse(%[[E1]] :
// CHECK-NEXT:      tcgen05.commit
// CHECK-SAME:      cta_group 2
tirx.kernel @sparse_pair() target("sm_100a") cluster(2) per_cta threads(128) {
  %acc = tirx.alloc : !d
  %sfa = tirx.alloc : !factors
  %sfb = tirx.alloc : !factors
  %e = tirx.alloc : !e
  %a = tirx.alloc : !sa
  %b = tirx.alloc : !sb
  %ssa = tirx.alloc : !blocks
  %ssb = tirx.alloc : !blocks
  tirx.copy %ssa, %sfa : !blocks, !factors
  tirx.copy %ssb, %sfb : !blocks, !factors
  tirx.mma %a, %b, %acc scales(%sfa, %sfb) metadata(%e) pair : !sa, !sb, !d, !factors, !factors, !e
  tirx.return
}
