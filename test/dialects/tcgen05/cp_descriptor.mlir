// RUN: tirx-opt %s | tirx-opt | filecheck %s

#blocks = #tirx.tile_layout<S[(4, 32, 2, 4) : (4, 16, 512, 1)]>
!blocks = !tirx.tile<128x8xf8E4M3FN, shared, #blocks>

// CHECK-LABEL: func.func @round_trip
// CHECK-NEXT:    tcgen05.cp_descriptor %s, 512 {tag} : !tirx.tile<128x8xf8E4M3FN, shared, #tirx.tile_layout<S[(4, 32, 2, 4) : (4, 16, 512, 1)]>> -> i64
func.func @round_trip(%s: !blocks) {
  %0 = tcgen05.cp_descriptor %s, 512 {tag} : !blocks -> i64
  func.return
}
