// RUN: tirx-opt %s --split-input-file --verify-diagnostics

!storage = !tirx.tile<4x8x64xf16, shared, #tirx.tile_layout<S[(4, 8, 64) : (512, 64, 1)]>>
!large = !tirx.tile<16x64xf16, shared, #tirx.tile_layout<S[(16, 64) : (64, 1)]>>

tirx.kernel @large(%i: i32) threads(32) {
  %ring = tirx.alloc : !storage
  // expected-error@+1 {{expected a slot of at most 1024 bytes, found 2048}}
  %s = tirx.slot %ring[%i] : !storage -> !large
  tirx.return
}

!holes = !tirx.tile<8x32xf16, shared, #tirx.tile_layout<S[(8, 32) : (72, 1)]>>
!once = !tirx.tile<16x64xf16, shared, #tirx.tile_layout<S[(16, 64) : (0, 8)]>>

tirx.kernel @spans(%i: i32) threads(32) {
  %ring = tirx.alloc : !storage
  %once = tirx.slot %ring[%i] : !storage -> !once
  // expected-error@+1 {{expected a slot of at most 1024 bytes, found 1072}}
  %s = tirx.slot %ring[%i] : !storage -> !holes
  tirx.return
}

!storage2 = !tirx.tile<4x128x64xf32, tensor, #tirx.tile_layout<S[(4, 128, 64) : (64@TCol, 1@TLane, 1@TCol)]>>
!large2 = !tirx.tile<128x65xf32, tensor, #tirx.tile_layout<S[(128, 65) : (1@TLane, 1@TCol)]>>

tirx.kernel @columns(%i: i32) threads(128) {
  %ring = tirx.alloc : !storage2
  // expected-error@+1 {{expected a slot of at most 64 columns, found 65}}
  %s = tirx.slot %ring[%i] : !storage2 -> !large2
  tirx.return
}

!storage3 = !tirx.tile<4x8x64xf16, shared, #tirx.tile_layout<S[(32, 64) : (64, 1)]>>
!slot = !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>

tirx.kernel @storage(%i: i32) threads(32) {
  %ring = tirx.alloc : !storage3
  // expected-error@+1 {{expected storage whose layout has the slots as its first iter}}
  %s = tirx.slot %ring[%i] : !storage3 -> !slot
  tirx.return
}

!registers = !tirx.tile<4x8x64xf16, register, #tirx.tile_layout<S[(4, 8, 64) : (512, 64, 1)]>>

tirx.kernel @registers(%i: i32) threads(32) {
  %ring = tirx.alloc : !registers
  // expected-error@+1 {{expected slots in shared or tensor memory, found}}
  %s = tirx.slot %ring[%i] : !registers -> !tirx.tile<8x64xf16, register, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>
  tirx.return
}

tirx.kernel @no_layout(%i: i32) threads(32) {
  %ring = tirx.alloc : !tirx.tile<4x8x64xf16, shared>
  // expected-error@+1 {{expected storage whose layout has the slots as its first iter}}
  %s = tirx.slot %ring[%i] : !tirx.tile<4x8x64xf16, shared> -> !slot
  tirx.return
}
