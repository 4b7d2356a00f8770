// RUN: tirx-opt %s --convert-tirx-to-ptx | filecheck %s

// Lanes copy four rows each: 48 of them by 12 lanes, in two columns of boxes. Stores have no rows below 0.
// CHECK-LABEL: ptx.entry @rows(
// CHECK-SAME: a_map : b8[128] align 64 from #tirx.tensor_map<argument = 0, type = "f16", dims = [size(0, 1), size(0, 0)], strides = [{{.*}}], box = [64, 1], swizzle = "128B">
!tile = !tirx.tile<48x128xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(48, 2, 64) : (64, 3072, 1)]>>>
!ids = !tirx.tile<48xi32, register, #tirx.tile_layout<S[(12, 4) : (1@laneid, 1)] + R[2 : 12@laneid]>>
!g = !tirx.tile<48x128xf16, global>
tirx.kernel @rows(%a: memref<?x?xf16>, %ids: memref<48xi32>) target("sm_100a") threads(128) memory(shared = 16384, alignment = 1024) {
  %c0 = arith.constant 0 : index
  %bar = arith.constant 64 : i32
  %s = tirx.alloc at 0 : !tile
  %gi = tirx.view %ids[%c0] : memref<48xi32> -> !tirx.tile<48xi32, global, #tirx.tile_layout<S[48 : 1]>>
  %i = tirx.load %gi : !tirx.tile<48xi32, global, #tirx.tile_layout<S[48 : 1]>> -> !ids
  %g = tirx.view %a[[%i], %c0] clipped : memref<?x?xf16>, !ids -> !g
  // CHECK: %[[I:.*]], %{{.*}}, %{{.*}}, %{{.*}} = ptx.ld global
  // CHECK: %[[SOME:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : i32
  // CHECK-NEXT: scf.if %[[SOME]] {
  // CHECK: ptx.cp.async.bulk.tensor.load "shared::cta" gather4 %{{.*}}, %{{.*}}[%[[X:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %[[LAST:.*]]], %bar
  // CHECK: ptx.cp.async.bulk.tensor.load "shared::cta" gather4 %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[LAST]]], %bar
  // CHECK-NOT: gather4
  tirx.tma_load %g, %s, %bar : !g, !tile
  // CHECK: %[[R:.*]] = arith.minui
  // CHECK: ptx.cp.async.bulk.tensor.store scatter4 %{{.*}}[%{{.*}}, %[[R]], %{{.*}}, %{{.*}}, %{{.*}}], %
  tirx.tma_store %s, %g : !tile, !g
  tirx.return
}
