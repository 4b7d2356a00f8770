// RUN: tirx-opt %s | tirx-opt | filecheck %s

!packed = !tirx.tile<128x64xf6E2M3FN, global, #tirx.tile_layout<S[(128, 64) : (256, 1)]>>
!packed_words = !tirx.tile<128x4x3xi32, global, #tirx.tile_layout<S[(128, 4, 3) : (48, 3, 1)]>>
!padded = !tirx.tile<128x32xf6E3M2FN, shared, #tirx.tile_layout<S[(128, 2, 16) : (16, 2048, 1)]>>
!padded_words = !tirx.tile<128x2x3xi32, shared, #tirx.tile_layout<S[(128, 2, 3) : (4, 512, 1)]>>

// CHECK-LABEL: func.func @words
// CHECK-NEXT:    tirx.words %g : !tirx.tile<128x64xf6E2M3FN, global, #tirx.tile_layout<S[(128, 64) : (256, 1)]>> -> !tirx.tile<128x4x3xi32, global, #tirx.tile_layout<S[(128, 4, 3) : (48, 3, 1)]>>
// CHECK-NEXT:    tirx.words %s {tag} : !tirx.tile<128x32xf6E3M2FN, shared, #tirx.tile_layout<S[(128, 2, 16) : (16, 2048, 1)]>> -> !tirx.tile<128x2x3xi32, shared, #tirx.tile_layout<S[(128, 2, 3) : (4, 512, 1)]>>
func.func @words(%g: !packed, %s: !padded) {
  %0 = tirx.words %g : !packed -> !packed_words
  %1 = tirx.words %s {tag} : !padded -> !padded_words
  func.return
}
