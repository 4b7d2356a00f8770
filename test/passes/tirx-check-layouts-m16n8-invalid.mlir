// RUN: tirx-opt %s --tirx-check-layouts --split-input-file --verify-diagnostics

#a = #tirx.tile_layout<S[(2, 8, 2, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>
#b = #tirx.tile_layout<S[(8, 2, 4, 2) : (4@laneid, 2, 1@laneid, 1)]>
#c = #tirx.tile_layout<S[(2, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]>
!a = !tirx.tile<16x16xf16, register, #a>
!b = !tirx.tile<8x16xf16, register, #b>
!c = !tirx.tile<16x8xf32, register, #c>

// Fragments of m16n8k16 are two of m16n8k8, which sm_75 has.
tirx.kernel @smaller(%f: f16, %x: f32) target("sm_75") threads(32) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %c = tirx.alloc : !c
  tirx.fill %a, %f : f16, !a
  tirx.fill %b, %f : f16, !b
  tirx.fill %c, %x : f32, !c
  tirx.mma %a, %b, %c : !a, !b, !c
  tirx.return
}

// -----

#a = #tirx.tile_layout<S[(2, 8, 2, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>
#b = #tirx.tile_layout<S[(8, 2, 4, 2) : (4@laneid, 2, 1@laneid, 1)]>
#c = #tirx.tile_layout<S[(2, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]>
!a = !tirx.tile<16x16xf16, register, #a>
!b = !tirx.tile<8x16xf16, register, #b>
!c = !tirx.tile<16x8xf32, register, #c>

// The fragments are right, but the GPU has no such instruction.
tirx.kernel @newer(%f: f16, %x: f32) target("sm_70") threads(32) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %c = tirx.alloc : !c
  tirx.fill %a, %f : f16, !a
  tirx.fill %b, %f : f16, !b
  tirx.fill %c, %x : f32, !c
  // expected-error@+1 {{'mma.m16n8k16.f16' does not exist on sm_70; supported on}}
  tirx.mma %a, %b, %c : !a, !b, !c
  tirx.return
}


tirx.kernel @asked_for(%f: f16, %x: f32) target("sm_75") threads(32) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %c = tirx.alloc : !c
  tirx.fill %a, %f : f16, !a
  tirx.fill %b, %f : f16, !b
  tirx.fill %c, %x : f32, !c
  // expected-error@+1 {{'mma.m16n8k16.f16' does not exist on sm_75}}
  tirx.mma %a, %b, %c instruction("m16n8k16") : !a, !b, !c
  tirx.return
}
