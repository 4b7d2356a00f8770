// RUN: tirx-opt %s --tirx-pick-layouts --split-input-file --remarks --verify-diagnostics | filecheck %s

// Products on parts of tensor tiles decide for the whole tile: stages stand behind each other.

!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>>
!stages = !tirx.tile<2x128x128xf32, tensor>
!stage = !tirx.tile<1x128x128xf32, tensor>
!acc = !tirx.tile<128x128xf32, tensor>

// CHECK-LABEL: tirx.kernel @stages
// CHECK:         %first = {{.*}} -> !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
// CHECK:         %second = {{.*}} -> !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)] + 128@TCol>>
tirx.kernel @stages() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 128, 128) : (128@TCol, 1@TLane, 1@TCol)]>: data path of a 2x128x128 accumulator}}
  %acc = tirx.alloc : !stages
  %0 = tirx.subview %acc[0, 0, 0] : !stages -> !stage
  %first = tirx.reshape %0 : !stage -> !acc
  %1 = tirx.subview %acc[1, 0, 0] : !stages -> !stage
  %second = tirx.reshape %1 : !stage -> !acc
  tirx.mma %a, %a, %first : !a, !a, !acc
  tirx.mma %a, %a, %second : !a, !a, !acc
  tirx.return
}

// -----

// A data path that folds columns onto lanes does so for every part.

!a = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!whole = !tirx.tile<64x128xf32, tensor>
!half = !tirx.tile<64x64xf32, tensor>

// CHECK-LABEL: tirx.kernel @folded
// CHECK:         %right = {{.*}} -> !tirx.tile<64x64xf32, tensor, #tirx.tile_layout<S[(64, 2, 32) : (1@TLane, 64@TLane, 1@TCol)] + 32@TCol>>
tirx.kernel @folded() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(64, 2, 2, 32) : (1@TLane, 32@TCol, 64@TLane, 1@TCol)]>: data path of a 64x128 accumulator}}
  %acc = tirx.alloc : !whole
  %right = tirx.subview %acc[0, 64] : !whole -> !half
  tirx.mma %a, %a, %right weight_stationary : !a, !a, !half
  tirx.return
}

// -----

// Stages of one column of sparsity metadata each: the addresses are even, so a column between them stays free.

!a = !tirx.tile<128x16xf16, tensor, #tirx.tile_layout<S[(128, 16) : (1@TLane, 1@TCol)]>>
!b = !tirx.tile<128x32xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[(128, 32) : (32, 1)]>>>
!acc = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!codes = !tirx.tile<2x128x8xi4, tensor>
!stage = !tirx.tile<1x128x8xi4, tensor>
!one = !tirx.tile<128x8xi4, tensor>

// CHECK-LABEL: tirx.kernel @metadata
// CHECK:         %second = {{.*}} -> !tirx.tile<128x8xi4, tensor, {{.*}} + 16@TCol>>
tirx.kernel @metadata() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  // expected-remark@+1 {{data path of a 2x128x8 tile of sparsity metadata}}
  %codes = tirx.alloc : !codes
  %0 = tirx.subview %codes[1, 0, 0] : !codes -> !stage
  %second = tirx.reshape %0 : !stage -> !one
  tirx.mma %a, %b, %acc metadata(%second) : !a, !b, !acc, !one
  tirx.return
}

// -----

!a = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>

tirx.kernel @rows() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %acc = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  %lower = tirx.subview %acc[64, 0] : !tirx.tile<128x64xf32, tensor> -> !tirx.tile<64x64xf32, tensor>
  // expected-error@+1 {{expected the accumulator to be neighbouring columns of all rows of its tile, or a layout on the tile, found 64x64 of 128x64}}
  tirx.mma %a, %a, %lower : !a, !a, !tirx.tile<64x64xf32, tensor>
  tirx.return
}

// -----

// The layout suits the first use of a tile; the check says what is wrong with the other.

// CHECK-LABEL: tirx.kernel @a_is_the_accumulator
tirx.kernel @a_is_the_accumulator() target("sm_100a") threads(128) {
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(128, 16) : (1@TLane, 2@TCol)]>: data path of a 128x16 accumulator}}
  %t = tirx.alloc : !tirx.tile<128x16xf16, tensor>
  // expected-remark@+1 {{K-major operand}}
  %b = tirx.alloc : !tirx.tile<16x16xf16, shared>
  tirx.mma %t, %b, %t : !tirx.tile<128x16xf16, tensor>, !tirx.tile<16x16xf16, shared>, !tirx.tile<128x16xf16, tensor>
  tirx.return
}
