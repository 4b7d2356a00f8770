// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// What only an operation on tiles can say wrongly, or only its kernel.

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(2, 64, 64) : (4096, 1, 64)]>>
!a = !tirx.tile<128x64xf16, shared, #a>
!d = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
#a2 = #tirx.tile_layout<S[(16, 8, 4, 32) : (256, 32, 4096, 1)]>
!a2 = !tirx.tile<128x128xf4E2M1FN, shared, #a2>
func.func @f(%tile: !a, %d: !d, %b: i64, %p: i1, %tile2: !a2) {
  %a = tcgen05.smem_descriptor %tile, 0 of 16 : !a -> i64
  %i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 128> : i32
  // a is mn major: expected-error@+1 {{expected K-major A, as in the instruction descriptor, found MN-major; set a_major to that of the layout of A [a-major]}}
  tcgen05.mma f16 %d, %a, %b, %i, %p : !d, i64
  %b2 = tcgen05.smem_descriptor %tile2, 0 of 32 : !a2 -> i64
  %i2 = tcgen05.instruction_descriptor <kind = "f8f6f4", a = "e2m1", b = "e2m1", d = "f32", m = 128, n = 128> : i32
  // b is packed: expected-error@+1 {{expected B of e2m1 in slots of 8 bits, as kind::f8f6f4 reads it, found 4; pad it, or use the kind that reads it packed [b-packing]}}
  tcgen05.mma f8f6f4 %d, %b, %b2, %i2, %p : !d, i64
  func.return
}

tirx.kernel @alloc_target(%slot: i32) target("sm_90a") threads(128) {
  // expected-error@+1 {{'tcgen05' does not exist on sm_90a; supported on}}
  tcgen05.alloc %slot columns 32
  tirx.return
}

tirx.kernel @dealloc_target(%base: i32) target("sm_120a") threads(128) {
  // expected-error@+1 {{'tcgen05' does not exist on sm_120a; supported on}}
  tcgen05.dealloc %base columns 32
  tirx.return
}

!d2 = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
tirx.kernel @cp_target(%a: i64, %base: i32) target("sm_90a") threads(128) {
  %d = tcgen05.tile %base, 0 : i32 -> !d2
  // expected-error@+1 {{'tcgen05' does not exist on sm_90a; supported on}}
  tcgen05.cp "4x256b" %d, %a : !d2
  tirx.return
}

func.func @shift_group(%d: !d2) {
  // expected-error@+1 {{expected cta_group 1 or 2, found 4; use 1, or 2 for a pair of CTAs [shift-cta-group]}}
  tcgen05.shift %d cta_group 4 : !d2
  func.return
}

// -----

// Rows of A in tensor memory are in the lanes of D, and kind f8f6f4 reads 8 bits for each element.

!a = !tirx.tile<128x32xf4E2M1FN, tensor, #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>>
!d = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!a2 = !tirx.tile<64x16xf16, tensor, #tirx.tile_layout<S[(64, 16) : (1@TLane, 1@TCol)]>>
func.func @f(%a: !a, %d: !d, %b: i64, %p: i1, %a2: !a2) {
  %i = tcgen05.instruction_descriptor <kind = "f8f6f4", a = "e2m1", b = "e2m1", d = "f32", m = 128, n = 64> : i32
  // a is packed: expected-error@+1 {{data path D: expected A where tcgen05.mma.cta_group::1.kind::f8f6f4 reads it, S[(128, 32) : (1@TLane, 2@TCol)] (plus any offset), found S[(128, 32) : (1@TLane, 1@TCol)]; give A the layout of operand_a_layout; narrow elements of mixed kinds have 8 bits each [a-layout]}}
  tcgen05.mma f8f6f4 %d, %a, %b, %i, %p : !d, !a
  %i2 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 64> : i32
  // half of a: expected-error@+1 {{expected A of 128 rows in each CTA and 16 elements of K or more, found 64x16; give A the layout of operand_a_layout; narrow elements of mixed kinds have 8 bits each [a-layout]}}
  tcgen05.mma f16 %d, %a2, %b, %i2, %p : !d, !a2
  func.return
}
