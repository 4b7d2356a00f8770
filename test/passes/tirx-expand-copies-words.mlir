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

// Registers have a byte for each element: they are packed before they are stored, and unpacked behind a load.

!flat = !tirx.tile<128x64xf6E2M3FN, shared, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>
!r = !tirx.tile<128x64xf6E2M3FN, register, #tirx.tile_layout<S[(128, 64) : (1@tx, 1)]>>

// CHECK-LABEL: tirx.kernel @registers
// CHECK:         [[WORDS:%.*]] = tirx.words %g
// CHECK-NEXT:    [[LOADED:%.*]] = tirx.load [[WORDS]] : {{.*}} -> !tirx.tile<128x4x3xi32, register, #tirx.tile_layout<S[(128, 4, 3) : (1@tx, 3, 1)]>>
// CHECK-NEXT:    %r = tirx.unpack [[LOADED]] : {{.*}} -> !tirx.tile<128x64xf6E2M3FN, register, #tirx.tile_layout<S[(128, 64) : (1@tx, 1)]>>
// CHECK-NEXT:    [[PACKED:%.*]] = tirx.pack %r
// CHECK-NEXT:    [[PLACE:%.*]] = tirx.words %s
// CHECK-NEXT:    tirx.store [[PACKED]], [[PLACE]] engine ld_st
// CHECK:         [[FILL:%.*]] = tirx.splat %one : {{.*}} -> !tirx.tile<{{.*}}xf6E2M3FN, register
// CHECK-NEXT:    tirx.pack [[FILL]]
tirx.kernel @registers(%a: memref<128x256xf6E2M3FN>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f6E2M3FN
  %g = tirx.view %a[%c0, %c0] : memref<128x256xf6E2M3FN> -> !g
  %s = tirx.alloc : !flat
  %r = tirx.load %g : !g -> !r
  tirx.store %r, %s engine ld_st : !r, !flat
  tirx.fill %s, %one : f6E2M3FN, !flat
  tirx.return
}
