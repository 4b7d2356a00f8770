// RUN: tirx-opt %s --split-input-file --convert-tirx-to-ptx | filecheck %s
// RUN: tirx-opt %s --split-input-file --tirx-set-target='target=sm_90a' --convert-tirx-to-ptx | filecheck %s --check-prefix SM90

// Asynchronous copies of tiles: tensor maps are parameters, boxes and coordinates follow from the layouts.

// One tile of 128 x 128 is two boxes of 64 columns; the map is encoded and prefetched once.
// CHECK-LABEL: ptx.entry @tma(a : u64 ptr align 16 from memref<256x512xf16>, d : u64 ptr align 16 from memref<256x512xf16>,
// CHECK-SAME: a_map : b8[128] align 64 from #tirx.tensor_map<argument = 0, type = "f16", dims = [512, 256], strides = [1024], box = [64, 128], swizzle = "128B">,
// CHECK-SAME: d_map : b8[128] align 64 from #tirx.tensor_map<argument = 1, type = "f16", dims = [512, 256], strides = [1024], box = [64, 128], swizzle = "128B">)
!wide = !tirx.tile<128x128xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 2, 64) : (64, 8192, 1)]>>>
tirx.kernel @tma(%a: memref<256x512xf16>, %d: memref<256x512xf16>) target("sm_100a") threads(128)
    memory(shared = 32768, alignment = 1024) {
  // CHECK: %[[AMAP:.*]] = ptx.param_address @a_map
  // CHECK-NEXT: %[[DMAP:.*]] = ptx.param_address @d_map
  // CHECK: scf.if
  // CHECK-NEXT: ptx.prefetch.tensormap %[[AMAP]]
  // CHECK-NEXT: ptx.prefetch.tensormap %[[DMAP]]
  // CHECK: }
  %i = tirx.block_id x
  %c64 = arith.constant 64 : index
  %bar = arith.constant 64 : i32
  %mask = arith.constant 3 : i16
  %s = tirx.alloc at 0 : !wide
  %ga = tirx.view %a[%i, %c64] : memref<256x512xf16> -> !tirx.tile<128x128xf16, global>
  %gd = tirx.view %d[%i, %c64] : memref<256x512xf16> -> !tirx.tile<128x128xf16, global>
  // CHECK: ptx.cp.async.bulk.tensor.load "shared::cta" %[[S:.*]], %[[AMAP]][%[[X:.*]], %[[Y:.*]]], %bar
  // CHECK: %[[X2:.*]] = arith.addi %[[X]], %{{.*}} : i32
  // CHECK: %[[BOX2:.*]] = arith.addi %[[S]], %{{.*}} : i32
  // CHECK-NEXT: ptx.cp.async.bulk.tensor.load "shared::cta" %[[BOX2]], %[[AMAP]][%[[X2]], %[[Y]]], %bar
  // SM90: ptx.cp.async.bulk.tensor.load "shared::cluster"
  tirx.tma_load %ga, %s, %bar : !tirx.tile<128x128xf16, global>, !wide
  // CHECK: ptx.cp.async.bulk.tensor.load "shared::cluster" %[[S]], %[[AMAP]][%{{.*}}, %{{.*}}], %bar multicast %mask
  tirx.tma_load %ga, %s, %bar multicast %mask : !tirx.tile<128x128xf16, global>, !wide
  // CHECK: ptx.cp.async.bulk.tensor.store %[[DMAP]][%{{.*}}, %{{.*}}], %[[S]]
  tirx.tma_store %s, %gd : !wide, !tirx.tile<128x128xf16, global>
  // CHECK: ptx.cp.async.bulk.tensor.store reduce "add" %[[DMAP]][%{{.*}}, %{{.*}}], %[[S]]
  tirx.tma_store %s, %gd reduce(add) : !wide, !tirx.tile<128x128xf16, global>
  tirx.return
}

// -----

// Sizes and leading dimensions, parts of views and of tiles, pairs of 4-bit elements.
// CHECK-LABEL: ptx.entry @parts
// CHECK-SAME: a_map : b8[128] align 64 from #tirx.tensor_map<argument = 0, type = "u8", dims = [128, 64, size(0, 0)], strides = [128, 8192], box = [64, 32, 1]>
!tile = !tirx.tile<64x128xf4E2M1FN, shared, #tirx.tile_layout<S[(64, 128) : (128, 1)]>>
!part = !tirx.tile<32x128xf4E2M1FN, shared, #tirx.tile_layout<S[(32, 128) : (128, 1)] + 4096>>
tirx.kernel @parts(%a: memref<?x64x256xf4E2M1FN>) target("sm_100a") threads(128) memory(shared = 4096, alignment = 128) {
  %i = tirx.block_id x
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %bar = arith.constant 64 : i32
  %s = tirx.alloc at 0 : !tile
  %p = tirx.subview %s[32, 0] : !tile -> !part
  %g = tirx.view %a[%i, %c0, %c128] : memref<?x64x256xf4E2M1FN> -> !tirx.tile<64x128xf4E2M1FN, global>
  %gp = tirx.subview %g[32, 0] : !tirx.tile<64x128xf4E2M1FN, global> -> !tirx.tile<32x128xf4E2M1FN, global>
  // CHECK: %[[X:.*]] = arith.shrui %{{.*}}, %{{.*}} : i32
  // CHECK: ptx.cp.async.bulk.tensor.load "shared::cta" %{{.*}}, %{{.*}}[%[[X]], %{{.*}}, %{{.*}}], %bar
  tirx.tma_load %gp, %p, %bar : !tirx.tile<32x128xf4E2M1FN, global>, !part
  tirx.return
}

// -----

// 16 bytes a copy where both layouts allow it, 4 where global memory is not aligned; fewer threads than there are.
// CHECK-LABEL: ptx.entry @cp_async
!rows = !tirx.tile<16x64xf16, shared, #tirx.tile_layout<S[(16, 64) : (64, 1)]>>
!some = !tirx.tile<4x2xf16, shared, #tirx.tile_layout<S[(4, 2) : (2, 1)]>>
tirx.kernel @cp_async(%a: memref<256x128xf16>, %b: memref<256x130xf16>) target("sm_100a") threads(128)
    memory(shared = 4096, alignment = 128) {
  %i = tirx.block_id x
  %c0 = arith.constant 0 : index
  %s = tirx.alloc at 0 : !rows
  %t = tirx.alloc at 2048 : !some
  %ga = tirx.view %a[%i, %c0] : memref<256x128xf16> -> !tirx.tile<16x64xf16, global, #tirx.tile_layout<S[(16, 64) : (128, 1)]>>
  %gb = tirx.view %b[%i, %c0] : memref<256x130xf16> -> !tirx.tile<4x2xf16, global, #tirx.tile_layout<S[(4, 2) : (130, 1)]>>
  // CHECK: ptx.cp.async "cg" %{{.*}}, %{{.*}} bytes 16
  // CHECK-NOT: ptx.cp.async "cg"
  tirx.cp_async %ga, %s : !tirx.tile<16x64xf16, global, #tirx.tile_layout<S[(16, 64) : (128, 1)]>>, !rows
  // CHECK: scf.if
  // CHECK: ptx.cp.async "ca" %{{.*}}, %{{.*}} bytes 4
  tirx.cp_async %gb, %t : !tirx.tile<4x2xf16, global, #tirx.tile_layout<S[(4, 2) : (130, 1)]>>, !some
  tirx.return
}
