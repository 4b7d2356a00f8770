// RUN: tirx-opt %s --tirx-select-copies --tirx-insert-barriers --tirx-expand-copies | filecheck %s

// A copy of scale factors to tensor memory stays one copy and synchronises by itself, like the products: neither the
// stores before it nor those after it need a barrier. One that no product reads is not a copy of scale factors.

!a = !tirx.tile<128x128xf8E4M3FN, shared, #tirx.tile_layout<S[(16, 8, 8, 16) : (128, 16, 2048, 1)]>>
!d = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!s = !tirx.tile<128x4xf8E8M0FNU, shared, #tirx.tile_layout<S[(4, 32, 4) : (4, 16, 1)]>>
!t = !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]>>
!g = !tirx.tile<128x4xf8E8M0FNU, global, #tirx.tile_layout<S[(128, 4) : (4, 1)]>>
!m = memref<128x4xf8E8M0FNU>

// CHECK-LABEL: tirx.kernel @scale_factors
// CHECK:         tirx.store %{{.*}}, %s :
// CHECK-NOT:     tirx.barrier
// CHECK:         tirx.copy %s, %t engine tcgen05_cp :
// CHECK-NOT:     tirx.barrier
// CHECK:         tirx.store %{{.*}}, %s :
// CHECK-NOT:     tirx.barrier
// CHECK:         tirx.mma
tirx.kernel @scale_factors(%m: !m) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %a = tirx.alloc : !a
  %acc = tirx.alloc : !d
  %s = tirx.alloc : !s
  %t = tirx.alloc : !t
  %g = tirx.view %m[%c0, %c0] : !m -> !g
  tirx.copy %g, %s : !g, !s
  tirx.copy %s, %t : !s, !t
  tirx.copy %g, %s : !g, !s
  tirx.mma %a, %a, %acc scales(%t, %t) : !a, !a, !d, !t, !t
  tirx.return
}
