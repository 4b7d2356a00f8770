// RUN: tirx-opt %s --tirx-expand-copies | filecheck %s

// 6-bit elements: 16 of them are three 32-bit words, behind each other in global memory and at the start of 16 bytes in
// shared memory. The copy moves the words.

#swizzled = #tirx.compose_layout<#tirx.swizzle_layout<4, 2, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>
!g = !tirx.tile<128x64xf6E2M3FN, global, #tirx.tile_layout<S[(128, 64) : (256, 1)]>>
!s = !tirx.tile<128x64xf6E2M3FN, shared, #swizzled>

// CHECK-LABEL: tirx.kernel @words
// CHECK:         %[[FROM:.*]] = tirx.words %g : {{.*}} -> !tirx.tile<128x4x3xi32, global, #tirx.tile_layout<S[(128, 4, 3) : (48, 3, 1)]>>
// CHECK-NEXT:    %[[TO:.*]] = tirx.words %s : {{.*}} -> !tirx.tile<128x4x3xi32, shared, #tirx.compose_layout<#tirx.swizzle_layout<2, 2, 3>, #tirx.tile_layout<S[(128, 4, 3) : (16, 4, 1)]>>>
// CHECK-NEXT:    %[[REGISTERS:.*]] = tirx.load %[[FROM]] : {{.*}} -> !tirx.tile<128x4x3xi32, register,
// CHECK-NEXT:    tirx.store %[[REGISTERS]], %[[TO]]
// CHECK-NEXT:    tirx.return
tirx.kernel @words(%a: memref<128x256xf6E2M3FN>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<128x256xf6E2M3FN> -> !g
  %s = tirx.alloc : !s
  tirx.copy %g, %s : !g, !s
  tirx.return
}
