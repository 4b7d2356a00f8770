// RUN: tirx-opt --split-input-file --verify-diagnostics --tirx-check-layouts %s

// A target without the instructions is a better reason than tiles that are too large for it.

tirx.kernel @target() target("sm_80") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x256xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // expected-error@+1 {{'tcgen05' does not exist on sm_80; supported on}}
  tirx.mma %a, %a, %acc : !tirx.tile<128x256xf16, shared>, !tirx.tile<128x256xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

// -----

// A tensor tile that no product uses needs the instructions too.

#t = #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>
tirx.kernel @tensor_tile() target("sm_80") threads(128) {
  %two = arith.constant 2.0 : f32
  // expected-error@+1 {{'tcgen05' does not exist on sm_80; supported on}}
  %t = tirx.alloc : !tirx.tile<128x32xf32, tensor, #t>
  tirx.fill %t, %two : f32, !tirx.tile<128x32xf32, tensor, #t>
  tirx.return
}

// -----

// Beyond the 255 registers of a thread they are spilled, up to a limit: 32768 elements of 32 bits on a warp are 1024.

#rows = #tirx.tile_layout<S[(32, 1024) : (1@laneid, 1)]>
#more = #tirx.tile_layout<S[(32, 513) : (1@laneid, 1)]>
tirx.kernel @registers() target("sm_80") threads(32) {
  %0 = tirx.zero : !tirx.tile<32x1024xf32, register, #rows>
  %1 = tirx.zero : !tirx.tile<32x1024xf16, register, #rows>
  // expected-error@+1 {{expected a register tile of at most 1024 registers in each of 32 threads, found 1026; take smaller tiles or more threads}}
  %2 = tirx.zero : !tirx.tile<32x513xf64, register, #more>
  tirx.return
}

tirx.kernel @large_index() target("sm_100a") threads(128) {
  // expected-error@+1 {{expected an index from -2^63 to 2^63 - 1, found 18446744073709551680}}
  %c = arith.constant 18446744073709551680 : index
  tirx.return
}

tirx.kernel @largest_index(%x: memref<4xf32>) target("sm_100a") cluster(2) threads(128) {
  %largest = arith.constant 9223372036854775807 : index
  // expected-error@+1 {{expected an index from -2^63 to 2^63 - 1, found 9223372036854775808}}
  %c = arith.constant 9223372036854775808 : index
  tirx.return
}
