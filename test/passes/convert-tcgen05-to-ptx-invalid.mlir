// RUN: tirx-opt %s --convert-tcgen05-to-ptx --split-input-file --verify-diagnostics

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
tirx.kernel @smem_descriptor() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #a>
  // expected-error@+1 {{expected materialized descriptors, found tcgen05.smem_descriptor}}
  %0 = tcgen05.smem_descriptor %a, 0 of 16 : !tirx.tile<64x64xf16, shared, #a> -> i64
  tirx.return
}

// -----

tirx.kernel @instruction_descriptor() target("sm_100a") threads(128) {
  // expected-error@+1 {{expected materialized descriptors, found tcgen05.instruction_descriptor}}
  %0 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 128> : i32
  tirx.return
}

// -----

tirx.kernel @zero_column_mask() target("sm_100a") threads(128) {
  // expected-error@+1 {{expected materialized descriptors, found tcgen05.zero_column_mask}}
  %0 = tcgen05.zero_column_mask <0x0003028000000000> : i64
  tirx.return
}

// -----

// A tensor tile that no allocation stands behind.

#t = #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>
#r = #tirx.tile_layout<S[(4, 32, 32) : (1@warpid, 1@laneid, 1)]>
tirx.kernel @allocation() target("sm_100a") threads(128) {
  %t = tirx.alloc : !tirx.tile<128x32xf32, tensor, #t>
  // expected-error@+1 {{expected a tile in an allocation of tensor memory, found !tirx.tile<128x32xf32, tensor, }}
  %v = tcgen05.ld "32x32b" %t : !tirx.tile<128x32xf32, tensor, #t> -> !tirx.tile<128x32xf32, register, #r>
  tirx.return
}
