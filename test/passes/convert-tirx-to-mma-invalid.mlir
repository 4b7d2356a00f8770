// RUN: tirx-opt %s --tirx-select-instructions --convert-tirx-to-mma --split-input-file --verify-diagnostics

// From sm_80 on the f16 instruction is there, but slow: once for every tirx.mma that asks for it.

#row = #tirx.tile_layout<S[(4, 2, 4, 4) : (4@laneid, 16@laneid, 1@laneid, 1)]>
#acc = #tirx.tile_layout<S[(4, 2, 2, 2, 2, 2, 2) : (4@laneid, 16@laneid, 2, 1@laneid, 4, 2@laneid, 1)]>
!row = !tirx.tile<4x8x4xf16, register, #row>
!acc = !tirx.tile<4x8x8xf32, register, #acc>

tirx.kernel @emulated(%f: f16, %x: f32) target("sm_80") threads(32) {
  %row = tirx.splat %f : f16 -> !row
  %acc = tirx.splat %x : f32 -> !acc
  // expected-warning@+1 {{mma.m8n8k4 on f16 is emulated on sm_80: correct, but without tensor cores; it is native on sm_70 and sm_75}}
  %0 = tirx.mma %row, %row, %acc : !row, !row, !acc -> !acc
  tirx.return
}

tirx.kernel @emulated_too(%f: f16, %x: f32) target("sm_100a") threads(32) {
  %row = tirx.splat %f : f16 -> !row
  %acc = tirx.splat %x : f32 -> !acc
  // expected-warning@+1 {{mma.m8n8k4 on f16 is emulated on sm_100a}}
  %0 = tirx.mma %row, %row, %acc : !row, !row, !acc -> !acc
  tirx.return
}

tirx.kernel @native(%f: f16, %x: f32) target("sm_75") threads(32) {
  %row = tirx.splat %f : f16 -> !row
  %acc = tirx.splat %x : f32 -> !acc
  %0 = tirx.mma %row, %row, %acc : !row, !row, !acc -> !acc
  tirx.return
}

// f64 is native where it exists.

#a = #tirx.tile_layout<S[32 : 1@laneid]>
#c = #tirx.tile_layout<S[(32, 2) : (1@laneid, 1)]>

tirx.kernel @f64(%f: f64) target("sm_90") threads(32) {
  %a = tirx.splat %f : f64 -> !tirx.tile<8x4xf64, register, #a>
  %c = tirx.splat %f : f64 -> !tirx.tile<8x8xf64, register, #c>
  %0 = tirx.mma %a, %a, %c : !tirx.tile<8x4xf64, register, #a>, !tirx.tile<8x4xf64, register, #a>, !tirx.tile<8x8xf64, register, #c> -> !tirx.tile<8x8xf64, register, #c>
  tirx.return
}

// -----

#a = #tirx.tile_layout<S[32 : 1@laneid]>
#c = #tirx.tile_layout<S[(32, 2) : (1@laneid, 1)]>

tirx.kernel @fragment(%f: f64) target("sm_80") threads(32) {
  %a = tirx.splat %f : f64 -> !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (1@laneid, 8@laneid)]>>
  %c = tirx.splat %f : f64 -> !tirx.tile<8x8xf64, register, #c>
  // expected-error@+1 {{expected element (0, 1) of A in register 0 of thread 1, found (1, 0); mma.sync on f64}}
  %0 = tirx.mma %a, %a, %c : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (1@laneid, 8@laneid)]>>, !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (1@laneid, 8@laneid)]>>, !tirx.tile<8x8xf64, register, #c> -> !tirx.tile<8x8xf64, register, #c>
  tirx.return
}

// -----

#a = #tirx.tile_layout<S[32 : 1@laneid]>
#c = #tirx.tile_layout<S[(32, 2) : (1@laneid, 1)]>

tirx.kernel @types(%f: f32) target("sm_80") threads(32) {
  %a = tirx.splat %f : f32 -> !tirx.tile<8x4xf32, register, #a>
  %c = tirx.splat %f : f32 -> !tirx.tile<8x8xf32, register, #c>
  // expected-error@+1 {{expected one of f16 x f16 + f16, f16 x f16 + f32, f64 x f64 + f64, bf16 x bf16 + f32, tf32 x tf32 + f32, s8 x s8 + s32, u8 x u8 + s32, e4m3 x e4m3 + f32, e4m3 x e4m3 + f16, e5m2 x e5m2 + f32, e5m2 x e5m2 + f16, found f32 x f32 + f32}}
  %0 = tirx.mma %a, %a, %c : !tirx.tile<8x4xf32, register, #a>, !tirx.tile<8x4xf32, register, #a>, !tirx.tile<8x8xf32, register, #c> -> !tirx.tile<8x8xf32, register, #c>
  tirx.return
}

// -----

!a = !tirx.tile<8x4xf64, register>
!c = !tirx.tile<8x8xf64, register, #tirx.tile_layout<S[(32, 2) : (1@laneid, 1)]>>

tirx.kernel @no_layout(%f: f64) target("sm_80") threads(32) {
  %a = builtin.unrealized_conversion_cast to !a
  %c = tirx.splat %f : f64 -> !c
  // expected-error@+1 {{expected a tile layout on A; tirx-pick-layouts chooses one}}
  %0 = tirx.mma %a, %a, %c : !a, !a, !c -> !c
  tirx.return
}

// -----

#h = #tirx.tile_layout<S[(4, 2, 4, 4) : (4@laneid, 16@laneid, 1@laneid, 1)]>
#wide = #tirx.tile_layout<S[(4, 2, 2, 2, 2, 2, 2) : (4@laneid, 16@laneid, 2, 1@laneid, 4, 2@laneid, 1)]>

tirx.kernel @start(%f: f16) target("sm_70") threads(32) {
  %h = tirx.splat %f : f16 -> !tirx.tile<4x8x4xf16, register, #h>
  %c = tirx.splat %f : f16 -> !tirx.tile<4x8x8xf16, register, #wide>
  // expected-error@+1 {{expected element (0, 0, 2) of C in register 2 of thread 0, found (0, 2, 0); mma.sync on f16 with f16 accumulators}}
  %d = tirx.mma %h, %h, %c : !tirx.tile<4x8x4xf16, register, #h>, !tirx.tile<4x8x4xf16, register, #h>, !tirx.tile<4x8x8xf16, register, #wide> -> !tirx.tile<4x8x8xf32, register, #wide>
  tirx.return
}
