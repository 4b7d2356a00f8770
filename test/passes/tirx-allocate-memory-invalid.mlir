// RUN: tirx-opt %s --tirx-allocate-memory --split-input-file --verify-diagnostics

// Three tiles in use at a time whose columns do not fit together.

#t = #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>
#u = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
tirx.kernel @columns() target("sm_100a") threads(128) {
  %one = arith.constant 1.0 : f32
  %a = tirx.alloc : !tirx.tile<128x256xf32, tensor, #t>
  %b = tirx.alloc : !tirx.tile<128x64xf32, tensor, #u>
  // expected-error@+1 {{expected at most 512 columns of tensor memory in use at a time, found no room for %c of 256 columns next to %a of 256 columns, %b of 64 columns}}
  %c = tirx.alloc : !tirx.tile<128x256xf32, tensor, #t>
  tirx.fill %a, %one : f32, !tirx.tile<128x256xf32, tensor, #t>
  tirx.fill %b, %one : f32, !tirx.tile<128x64xf32, tensor, #u>
  tirx.fill %c, %one : f32, !tirx.tile<128x256xf32, tensor, #t>
  tirx.fill %b, %one : f32, !tirx.tile<128x64xf32, tensor, #u>
  tirx.fill %a, %one : f32, !tirx.tile<128x256xf32, tensor, #t>
  tirx.return
}

tirx.kernel @wrong_place() target("sm_90a") threads(128) {
  // expected-error@+1 {{expected the tile at 0, found it at 16}}
  %a = tirx.alloc at 16 : !tirx.tile<64xf32, shared, #tirx.tile_layout<S[64 : 1]>>
  tirx.return
}

// expected-error@+1 {{expected memory(shared = 256, alignment = 128), found memory(shared = 128, alignment = 128)}}
tirx.kernel @wrong_plan() target("sm_90a") threads(128) memory(shared = 128, alignment = 128) {
  %a = tirx.alloc : !tirx.tile<64xf32, shared, #tirx.tile_layout<S[64 : 1]>>
  tirx.return
}

// expected-error@+1 {{expected a target, such as target("sm_100a"), on the kernel or on the command line}}
tirx.kernel @no_target() threads(128) {
  tirx.return
}

// -----

tirx.kernel @register() target("sm_90a") threads(128) {
  // expected-error@+1 {{expected a place of 0 or more in shared or tensor memory, found 0 in registers}}
  %a = tirx.alloc at 0 : !tirx.tile<64xf32, register>
  tirx.return
}

// -----

// expected-error@+1 {{expected an alignment that is a power of two, found 24}}
tirx.kernel @alignment() target("sm_90a") threads(128) memory(shared = 128, alignment = 24) {
  tirx.return
}
