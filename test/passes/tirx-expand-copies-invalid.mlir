// RUN: tirx-opt %s --tirx-expand-copies --split-input-file --verify-diagnostics

tirx.kernel @no_layout(%x: memref<8x4xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<8x4xf32> -> !tirx.tile<8x4xf32, global, #tirx.tile_layout<S[(8, 4) : (4, 1)]>>
  %s = tirx.alloc : !tirx.tile<8x4xf32, shared>
  // expected-error@+1 {{expected a layout on !tirx.tile<8x4xf32, shared>; tirx-pick-layouts chooses one}}
  tirx.copy %g, %s : !tirx.tile<8x4xf32, global, #tirx.tile_layout<S[(8, 4) : (4, 1)]>>, !tirx.tile<8x4xf32, shared>
  tirx.return
}

// -----

tirx.kernel @fill_without_layout() target("sm_80") threads(32) {
  %zero = arith.constant 0.0 : f32
  %s = tirx.alloc : !tirx.tile<8x4xf32, shared>
  // expected-error@+1 {{expected a layout on !tirx.tile<8x4xf32, shared>; tirx-pick-layouts chooses one}}
  tirx.fill %s, %zero : f32, !tirx.tile<8x4xf32, shared>
  tirx.return
}

// -----

#t = #tirx.tile_layout<S[(32, 128) : (1@TCol, 1@TLane)]>
tirx.kernel @transposed() target("sm_100a") threads(128) {
  %zero = arith.constant 0.0 : f32
  %t = tirx.alloc : !tirx.tile<32x128xf32, tensor, #t>
  // expected-error@+1 {{expected a tensor tile with neighbouring elements in columns, found S[(32, 128) : (1@TCol, 1@TLane)]}}
  tirx.fill %t, %zero : f32, !tirx.tile<32x128xf32, tensor, #t>
  tirx.return
}

// -----

// Lanes 16 to 111: no tcgen05.st reaches half of the first warp's lanes and all of the second's.

#t = #tirx.tile_layout<S[(96, 32) : (1@TLane, 1@TCol)] + 16@TLane>
tirx.kernel @no_image() target("sm_100a") threads(128) {
  %zero = arith.constant 0.0 : f32
  %t = tirx.alloc : !tirx.tile<96x32xf32, tensor, #t>
  // expected-error@+1 {{tcgen05.ld.32x32b}}
  tirx.fill %t, %zero : f32, !tirx.tile<96x32xf32, tensor, #t>
  tirx.return
}

// -----

!i = !tirx.tile<32xi32, register, #tirx.tile_layout<S[32 : 1@tx]>>
!r = !tirx.tile<32x32xf6E2M3FN, register, #tirx.tile_layout<S[(32, 32) : (1@tx, 1)]>>
tirx.kernel @rows_of_six_bits(%x: memref<64x32xf6E2M3FN>, %ids: memref<32xi32>) target("sm_80") threads(32) {
  %i = tirx.load %ids[0] : memref<32xi32> -> !i
  // expected-error@+1 {{expected elements of whole bytes in a view with index tiles, found e2m3}}
  %r = tirx.load %x[[%i], 0] : memref<64x32xf6E2M3FN> -> !r
  tirx.return
}
