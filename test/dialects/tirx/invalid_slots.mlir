// RUN: tirx-opt %s --split-input-file --verify-diagnostics

!storage = !tirx.tile<4x8x64xf16, shared, #tirx.tile_layout<S[(4, 8, 64) : (512, 64, 1)]>>
!large = !tirx.tile<16x64xf16, shared, #tirx.tile_layout<S[(16, 64) : (64, 1)]>>

tirx.kernel @large(%i: i32) threads(32) {
  %ring = tirx.alloc : !storage
  // expected-error@+1 {{expected a slot of at most 1024 bytes, found 2048}}
  %s = tirx.slot %ring[%i] : !storage -> !large
  tirx.return
}

// -----

!storage = !tirx.tile<4x8x64xf16, shared, #tirx.tile_layout<S[(32, 64) : (64, 1)]>>
!slot = !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>

tirx.kernel @storage(%i: i32) threads(32) {
  %ring = tirx.alloc : !storage
  // expected-error@+1 {{expected storage whose layout has the slots as its first iter}}
  %s = tirx.slot %ring[%i] : !storage -> !slot
  tirx.return
}
