// RUN: tirx-opt %s --tirx-materialize-descriptors --split-input-file --verify-diagnostics

#a = #tirx.tile_layout<S[(64, 64) : (64, 1)]>
tirx.kernel @not_canonical() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #a>
  // expected-error@+1 {{the layout of K elements [0, 16) is not canonical: element (1, 0) is expected at byte 144 of the tile and is at byte 128; nearest canonical layout is K-major, swizzle 128B, }}
  %0 = tcgen05.smem_descriptor %a, 0 of 16 : !tirx.tile<64x64xf16, shared, #a> -> i64
  tirx.return
}

// -----

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
tirx.kernel @step() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #a>
  // expected-error@+1 {{K in steps of 8 elements (16 bytes)}}
  %0 = tcgen05.smem_descriptor %a, 0 of 4 : !tirx.tile<64x64xf16, shared, #a> -> i64
  tirx.return
}

// -----

tirx.kernel @type() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x32xf8E4M3FN, shared, #tirx.tile_layout<S[(64, 32) : (1, 128)]>>
  // expected-error@+1 {{the layout of K elements [0, 32) is not canonical}}
  %0 = tcgen05.smem_descriptor %a, 0 of 32 : !tirx.tile<64x32xf8E4M3FN, shared, #tirx.tile_layout<S[(64, 32) : (1, 128)]>> -> i64
  tirx.return
}
