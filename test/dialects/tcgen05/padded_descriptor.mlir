// RUN: tirx-opt %s | tirx-opt --tirx-materialize-descriptors | filecheck %s

// 4-bit elements, padded: 32 of them along K are 32 bytes, so that the second slice starts 2 units of 16 bytes on.
// K-major with 128-byte swizzle: SBO 1024 bytes, LBO not read and 1.

#a = #tirx.compose_layout<#tirx.swizzle_layout<5, 3, 3>, #tirx.tile_layout<S[(128, 8, 16) : (256, 32, 1)]>>
!a = !tirx.tile<128x128xf4E2M1FN, shared, #a>

// CHECK-LABEL: tirx.kernel @padded
// CHECK:         arith.constant 4611756662049538048 : i64
// CHECK-NEXT:    %[[FIRST:.*]] = arith.ori
// CHECK-NEXT:    %[[FAR:.*]] = arith.constant 2 : i64
// CHECK-NEXT:    %[[SECOND:.*]] = arith.addi %[[FIRST]], %[[FAR]] : i64
// CHECK-NEXT:    arith.addi %[[FIRST]], %[[SECOND]] : i64
tirx.kernel @padded() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %0 = tcgen05.smem_descriptor %a, 0 of 32 padded : !a -> i64
  %1 = tcgen05.smem_descriptor %a, 1 of 32 padded : !a -> i64
  %2 = arith.addi %0, %1 : i64
  tirx.return
}
