// RUN: tirx-opt %s --tirx-pick-layouts --remarks --verify-diagnostics | filecheck %s

// Without layouts, f16 gets m8n8k4 where that is native, and m16n8k16 where m8n8k4 is emulated.

// CHECK-LABEL: tirx.kernel @native
tirx.kernel @native() target("sm_70") threads(32) {
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 2, 4, 16) : (8@laneid, 16@laneid, 1@laneid, 1)] + R[2 : 4@laneid]>: fragments of mma.sync over 1 warp}}
  %a = tirx.alloc : !tirx.tile<16x16xf16, register>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 2, 4, 16) : (4@laneid, 16@laneid, 1@laneid, 1)] + R[2 : 8@laneid]>: fragments of mma.sync over 1 warp}}
  %b = tirx.alloc : !tirx.tile<16x16xf16, register>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 2, 2, 2, 2, 2, 2, 2) : (8@laneid, 16@laneid, 2, 1@laneid, 4@laneid, 4, 2@laneid, 1)]>: fragments of mma.sync over 1 warp}}
  %c = tirx.alloc : !tirx.tile<16x16xf32, register>
  tirx.mma %a, %b, %c : !tirx.tile<16x16xf16, register>, !tirx.tile<16x16xf16, register>, !tirx.tile<16x16xf32, register>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @emulated
tirx.kernel @emulated() target("sm_80") threads(32) {
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 8, 2, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>: fragments of mma.sync over 1 warp}}
  %a = tirx.alloc : !tirx.tile<16x16xf16, register>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 8, 2, 4, 2) : (4, 4@laneid, 2, 1@laneid, 1)]>: fragments of mma.sync over 1 warp}}
  %b = tirx.alloc : !tirx.tile<16x16xf16, register>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 8, 2, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>: fragments of mma.sync over 1 warp}}
  %c = tirx.alloc : !tirx.tile<16x16xf32, register>
  tirx.mma %a, %b, %c : !tirx.tile<16x16xf16, register>, !tirx.tile<16x16xf16, register>, !tirx.tile<16x16xf32, register>
  tirx.return
}

// Too small for anything else, or asked for.

// CHECK-LABEL: tirx.kernel @small
tirx.kernel @small() target("sm_80") threads(32) {
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 4, 4) : (16@laneid, 1@laneid, 1)] + R[4 : 4@laneid]>: fragments of mma.sync over 1 warp}}
  %a = tirx.alloc : !tirx.tile<8x4xf16, register>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 4, 4) : (16@laneid, 1@laneid, 1)] + R[4 : 4@laneid]>: fragments of mma.sync over 1 warp}}
  %b = tirx.alloc : !tirx.tile<8x4xf16, register>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 2, 2, 2, 2, 2) : (16@laneid, 2, 1@laneid, 4, 2@laneid, 1)] + R[4 : 4@laneid]>: fragments of mma.sync over 1 warp}}
  %c = tirx.alloc : !tirx.tile<8x8xf32, register>
  tirx.mma %a, %b, %c : !tirx.tile<8x4xf16, register>, !tirx.tile<8x4xf16, register>, !tirx.tile<8x8xf32, register>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @asked_for
tirx.kernel @asked_for() target("sm_80") threads(32) {
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 2, 4, 16) : (8@laneid, 16@laneid, 1@laneid, 1)] + R[2 : 4@laneid]>: fragments of mma.sync over 1 warp}}
  %a = tirx.alloc : !tirx.tile<16x16xf16, register>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 2, 4, 16) : (4@laneid, 16@laneid, 1@laneid, 1)] + R[2 : 8@laneid]>: fragments of mma.sync over 1 warp}}
  %b = tirx.alloc : !tirx.tile<16x16xf16, register>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(2, 2, 2, 2, 2, 2, 2, 2) : (8@laneid, 16@laneid, 2, 1@laneid, 4@laneid, 4, 2@laneid, 1)]>: fragments of mma.sync over 1 warp}}
  %c = tirx.alloc : !tirx.tile<16x16xf32, register>
  tirx.mma %a, %b, %c instruction("m8n8k4") : !tirx.tile<16x16xf16, register>, !tirx.tile<16x16xf16, register>, !tirx.tile<16x16xf32, register>
  tirx.return
}
