// RUN: tirx-opt %s --tirx-pick-layouts --tirx-select-copies --tirx-fit-index-tiles | filecheck %s

!ids = !tirx.tile<32xi32, register>
!global = !tirx.tile<32x64xf16, global>
!shared = !tirx.tile<32x64xf16, shared>

// Eight threads start the copies of a row, and each of them loads its index.

// CHECK-LABEL: tirx.kernel @by_cp_async
// CHECK: %gi = tirx.view
// CHECK-NEXT: [[I:%.*]] = tirx.load %gi : {{.*}} -> !tirx.tile<32xi32, register, #tirx.tile_layout<S[(4, 8) : (1, 8@tx)] + R[8 : 1@tx]>>
// CHECK: [[G:%.*]] = tirx.view %x[{{\[}}[[I]]], %c0] clipped
// CHECK: tirx.copy [[G]], %s engine cp_async
tirx.kernel @by_cp_async(%x: memref<?x64xf16>, %ids: memref<32xi32>) target("sm_80") grid(1) threads(64) {
  %c0 = arith.constant 0 : index
  %gi = tirx.view %ids[%c0] : memref<32xi32> -> !tirx.tile<32xi32, global>
  %v = tirx.load %gi : !tirx.tile<32xi32, global> -> !ids
  %gx = tirx.view %x[[%v], %c0] clipped : memref<?x64xf16>, !ids -> !global
  %s = tirx.alloc : !shared
  tirx.copy %gx, %s : !global, !shared
  tirx.return
}

// Eight lanes name four rows each, and the others of a warp hold the same indices.

// CHECK-LABEL: tirx.kernel @by_tma
// CHECK: tirx.load %gi : {{.*}} -> !tirx.tile<32xi32, register, #tirx.tile_layout<S[(8, 4) : (1@laneid, 1)] + R[4 : 8@laneid]>>
// CHECK: [[G:%.*]] = tirx.view %x{{.*}} clipped : {{.*}}S[(8, 4) : (1@laneid, 1)] + R[4 : 8@laneid]
// CHECK-NEXT: tirx.copy [[G]], %s engine tma :
// CHECK-NEXT: [[T:%.*]] = tirx.view %x{{.*}} clipped : {{.*}}S[(8, 4) : (1@laneid, 1)] + R[4 : 8@laneid]
// CHECK-NEXT: tirx.copy %s, [[T]] engine tma_store :
// CHECK: [[R:%.*]] = tirx.load %s engine ld_st
// CHECK: tirx.store [[R]], %{{.*}} reduce(add) :
tirx.kernel @by_tma(%x: memref<?x64xf16>, %ids: memref<32xi32>) target("sm_100a") grid(1) threads(64) {
  %c0 = arith.constant 0 : index
  %gi = tirx.view %ids[%c0] : memref<32xi32> -> !tirx.tile<32xi32, global>
  %v = tirx.load %gi : !tirx.tile<32xi32, global> -> !ids
  %gx = tirx.view %x[[%v], %c0] clipped : memref<?x64xf16>, !ids -> !global
  %s = tirx.alloc : !shared
  tirx.copy %gx, %s : !global, !shared
  tirx.copy %s, %gx : !shared, !global
  tirx.copy %s, %gx reduce(add) : !shared, !global
  tirx.return
}

// Indices are computed again where threads need them; those that threads compute together are converted.

// CHECK-LABEL: tirx.kernel @through_registers
// CHECK: [[Z:%.*]] = tirx.zero : !tirx.tile<32xi32, register, #tirx.tile_layout<S[(4, 8) : (1, 8@tx)] + R[8 : 1@tx]>>
// CHECK: [[I:%.*]] = tirx.map ins([[Z]] : {{.*}}) {
// CHECK: } -> !tirx.tile<32xi32, register, #tirx.tile_layout<S[(4, 8) : (1, 8@tx)] + R[8 : 1@tx]>>
// CHECK: [[R:%.*]] = tirx.load %s engine ld_st
// CHECK: [[G:%.*]] = tirx.view %x[{{\[}}[[I]]], %c0] clipped
// CHECK: tirx.store [[R]], [[G]] reduce(add) :
// CHECK: [[S:%.*]] = tirx.convert %{{.*}} -> !tirx.tile<32xi32, register, #tirx.tile_layout<S[(4, 8) : (1, 8@tx)] + R[8 : 1@tx]>>
// CHECK: [[H:%.*]] = tirx.view %x[{{\[}}[[S]]], %c0] clipped
// CHECK: tirx.store %{{.*}}, [[H]] reduce(add) :
tirx.kernel @through_registers(%x: memref<?x64xf16>) target("sm_75") grid(1) threads(64) {
  %c0 = arith.constant 0 : index
  %n = tirx.zero : !ids
  %v = tirx.map ins(%n : !ids) {
  ^bb0(%e: i32):
    %i = tirx.index 0
    %j = arith.index_cast %i : index to i32
    tirx.yield %j : i32
  } -> !ids
  %gx = tirx.view %x[[%v], %c0] clipped : memref<?x64xf16>, !ids -> !global
  %s = tirx.alloc : !shared
  tirx.copy %s, %gx reduce(add) : !shared, !global
  %w = tirx.scan %v dim(0) add : !ids -> !ids
  %gw = tirx.view %x[[%w], %c0] clipped : memref<?x64xf16>, !ids -> !global
  tirx.copy %s, %gw reduce(add) : !shared, !global
  tirx.return
}
