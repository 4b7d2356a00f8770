// RUN: tirx-opt %s --canonicalize | filecheck %s

!tile = !tirx.tile<8x8xf32, register, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>
!flat = !tirx.tile<64xf32, register, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>
!tall = !tirx.tile<16x4xf32, register, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>

// CHECK-LABEL: tirx.kernel @reshapes
// CHECK:         [[TALL:%.*]] = tirx.reshape %t : !tirx.tile<8x8xf32{{.*}} -> !tirx.tile<16x4xf32
// CHECK-NEXT:    "test.op"([[TALL]], %t)
tirx.kernel @reshapes() target("sm_90") threads(32) {
  %t = "test.op"() : () -> !tile
  %flat = tirx.reshape %t : !tile -> !flat
  %tall = tirx.reshape %flat : !flat -> !tall
  %back = tirx.reshape %tall : !tall -> !tile
  "test.op"(%tall, %back) : (!tall, !tile) -> ()
  tirx.return
}

!whole = !tirx.tile<64x64xf16, shared>
!half = !tirx.tile<32x64xf16, shared>
!part = !tirx.tile<16x16xf16, shared>

// CHECK-LABEL: tirx.kernel @subviews
// CHECK:         [[PART:%.*]] = tirx.subview %s[48, 8] : !tirx.tile<64x64xf16, shared> -> !tirx.tile<16x16xf16, shared>
// CHECK-NEXT:    "test.op"([[PART]], %s)
tirx.kernel @subviews() target("sm_90") threads(32) {
  %s = tirx.alloc : !whole
  %all = tirx.subview %s[0, 0] : !whole -> !whole
  %half = tirx.subview %all[32, 0] : !whole -> !half
  %part = tirx.subview %half[16, 8] : !half -> !part
  "test.op"(%part, %all) : (!part, !whole) -> ()
  tirx.return
}
