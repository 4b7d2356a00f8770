// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// What descriptors, masks, tiles and modifiers of one product say must agree.

#d = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
!d = !tirx.tile<128x64xf32, tensor, #d>
!d2 = !tirx.tile<128x64xf16, tensor, #d>
func.func @f(%acc: !d, %a: i64, %p: i1, %acc2: !d2) {
  %i = tcgen05.instruction_descriptor <kind = "tf32", a = "tf32", b = "tf32", d = "f32", m = 128, n = 64> : i32
  // kind: expected-error@+1 {{expected an instruction descriptor of kind::f16, found one of kind::tf32; the bits of a descriptor mean something else for each kind: encode it for kind::f16 [descriptor-kind]}}
  tcgen05.mma f16 %acc, %a, %a, %i, %p : !d, i64
  %i2 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 64, sparse = true> : i32
  // sparsity: expected-error@+1 {{expected sparse = false in the instruction descriptor of tcgen05.mma.cta_group::1, found true; set bit 2 for .sp and only for .sp [descriptor-sparsity]}}
  tcgen05.mma f16 %acc, %a, %a, %i2, %p : !d, i64
  %i3 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 256, n = 64> : i32
  // shape of a pair: expected-error@+1 {{kind::f16, cta_group 1: expected M in {64, 128}, found 256; nearest is 128; use a shape of the ISA's table [shape]}}
  tcgen05.mma f16 %acc, %a, %a, %i3, %p : !d, i64
  %i4 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 128> : i32
  // accumulator shape: expected-error@+1 {{expected an accumulator of 128x128, as in the instruction descriptor, found !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>}}
  tcgen05.mma f16 %acc, %a, %a, %i4, %p : !d, i64
  %i5 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 64> : i32
  // accumulator type: expected-error@+1 {{expected D of f32, as in the instruction descriptor, found f16; name the type of D in the descriptor [d-type]}}
  tcgen05.mma f16 %acc2, %a, %a, %i5, %p : !d2, i64
  func.return
}

// -----

// Rows of M = 64 are in 16 of each 32 lanes.

#d = #tirx.tile_layout<S[(64, 64) : (1@TLane, 1@TCol)]>
!d = !tirx.tile<64x64xf32, tensor, #d>
#d2 = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
#at = #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>
!d2 = !tirx.tile<128x64xf32, tensor, #d2>
!at = !tirx.tile<128x32xi8, tensor, #at>
func.func @f(%acc: !d, %a: i64, %p: i1, %acc2: !d2, %at: !at) {
  %i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 64, n = 64> : i32
  // accumulator lanes: expected-error@+1 {{data path F: expected the 64x64 D where tcgen05.mma.cta_group::1 writes it, S[(4, 16, 64) : (32@TLane, 1@TLane, 1@TCol)] (plus any column offset), found S[(64, 64) : (1@TLane, 1@TCol)]; give D the layout of accumulator_layout [d-layout]}}
  tcgen05.mma f16 %acc, %a, %a, %i, %p : !d, i64
  %i2 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 64> : i32
  // type of a: expected-error@+1 {{expected A of f16, as in the instruction descriptor, found s8; name the type of A in the instruction descriptor [a-type]}}
  tcgen05.mma f16 %acc2, %at, %a, %i2, %p : !d2, !at
  func.return
}

// -----

// B has fewer rows than the instruction reads.

#d = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
#b = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>
!d = !tirx.tile<128x64xf32, tensor, #d>
!b = !tirx.tile<64x64xf16, shared, #b>
func.func @rows_of_b(%acc: !d, %tile: !b, %a: i64, %p: i1) {
  %b = tcgen05.smem_descriptor %tile, 0 of 16 : !b -> i64
  %i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 128> : i32
  // expected-error@+1 {{expected 128 rows of B in the shared memory of each CTA (N = 128, cta_group 1, column shift 0), found 64; make the tile larger, or N or the shift smaller [b-rows]}}
  tcgen05.mma f16 %acc, %a, %b, %i, %p : !d, i64
  func.return
}

// -----

// A K-major tile, but an instruction descriptor that says MN-major; other elements; half of what one instruction reads.

#d = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
#b = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>
!d = !tirx.tile<128x64xf32, tensor, #d>
!b = !tirx.tile<64x64xf16, shared, #b>
!scale = !tirx.tile<32x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]>>
func.func @f(%acc: !d, %tile: !b, %a: i64, %p: i1, %s: !scale, %i6: i32) {
  %b = tcgen05.smem_descriptor %tile, 0 of 16 : !b -> i64
  %i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 64, b_major = "MN"> : i32
  // major: expected-error@+1 {{expected MN-major B, as in the instruction descriptor, found K-major; set b_major to that of the layout of B [b-major]}}
  tcgen05.mma f16 %acc, %a, %b, %i, %p : !d, i64
  %b2 = tcgen05.smem_descriptor %tile, 0 of 16 : !b -> i64
  %i2 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "bf16", d = "f32", m = 128, n = 64> : i32
  // elements: expected-error@+1 {{expected B of bf16, as in the instruction descriptor, found f16; name the type of B in the instruction descriptor [b-type]}}
  tcgen05.mma f16 %acc, %a, %b2, %i2, %p : !d, i64
  %b3 = tcgen05.smem_descriptor %tile, 0 of 16 : !b -> i64
  %i3 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 64, sparse = true> : i32
  // slice: expected-error@+1 {{expected slices of B of 32 elements along K, found slices of 16; make one descriptor for each K of the instruction [b-k]}}
  tcgen05.mma f16 %acc, %a, %b3, %i3, %p sparse(%acc : !d) : !d, i64
  %i4 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 64, max_shift = 8> : i32
  %mask = tcgen05.zero_column_mask <0x1000000000000000> : i64
  // mask shift: expected-error@+1 {{expected a column shift up to 8, max_shift of the instruction descriptor, found 16; write smallest_max_shift(16) into the instruction descriptor [mask-max-shift]}}
  tcgen05.mma ws f16 %acc, %a, %a, %i4, %p zero_column_mask %mask : !d, i64
  %i5 = tcgen05.instruction_descriptor <kind = "mxf4nvf4", a = "e2m1", b = "e2m1", d = "f32", m = 128, n = 64, scale = "ue4m3"> : i32
  // scale type: expected-error@+1 {{expected scale factors of ue8m0 with block32, found ue4m3; use another scale vector, or ue8m0 [scale-type]}}
  tcgen05.mma mxf4nvf4 "block32" %acc, %a, %a, %i5, %p scales(%s, %s : !scale, !scale) : !d, i64
  // one scale: expected-error@+1 {{expected scale factors of A and of B, found 1}}
  tcgen05.mma mxf4 %acc, %a, %a, %i6, %p scales(%s : !scale) : !d, i64
  // buffer of others: expected-error@+1 {{expected 'buffer' with 'ws' only: other products keep A, in its one buffer}}
  tcgen05.mma f16 %acc, %a, %a, %i6, %p buffer "b0" collector fill : !d, i64
  // scale vector: expected-error@+1 {{kind::mxf4nvf4: expected one of scale_vec::2X, block32, scale_vec::4X, block16, found none; name a scale vector of this kind [scale-vector]}}
  tcgen05.mma mxf4nvf4 %acc, %a, %a, %i6, %p scales(%s, %s : !scale, !scale) : !d, i64
  func.return
}

// -----

// Tensor memory ends at column 512.

#d = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
#at = #tirx.tile_layout<S[(128, 16) : (1@TLane, 1@TCol)]>
!d = !tirx.tile<128x64xf32, tensor, #d>
!at = !tirx.tile<128x16xi8, tensor, #at>
func.func @f(%acc: !d, %base: i32, %b: i64, %p: i1, %at2: !d) {
  %at = tcgen05.tile %base, 508 : i32 -> !at
  %i = tcgen05.instruction_descriptor <kind = "i8", a = "s8", b = "s8", d = "s32", m = 128, n = 64> : i32
  // columns of a: expected-error@+1 {{expected A inside its allocation, found 8 columns from column 508 on, of 512 of tensor memory; allocate more columns or start further left [a-tmem-columns]}}
  tcgen05.mma i8 %acc, %at, %b, %i, %p : !d, !at
  // lanes: expected-error@+1 {{expected 4 registers of disabled lanes with cta_group 1, 8 with 2, found 4; pass one bit for each lane of each CTA [disable-output-lane-size]}}
  tcgen05.mma f16 %acc, %b, %b, %base, %p cta_group 2 disable_lanes(%base, %base, %base, %base) : !d, i64
  // ashift: expected-error@+1 {{expected A in tensor memory with .ashift, found a shared-memory descriptor; copy A to tensor memory, or leave out .ashift [ashift-a]}}
  tcgen05.mma f16 %acc, %b, %b, %base, %p ashift : !d, i64
  // ashift fill: expected-error@+1 {{expected .collector::a::lastuse or discard with .ashift, found fill; leave out the collector usage [ashift-collector]}}
  tcgen05.mma tf32 %acc, %at2, %b, %base, %p ashift collector fill : !d, !d
  // scale d: expected-error@+1 {{expected scale-input-d 0 to 15, found 16; D is scaled by two to the minus that [scale-input-d-range]}}
  tcgen05.mma f16 %acc, %b, %b, %base, %p scale_d 16 : !d, i64
  // buffer: expected-error@+1 {{expected collector buffer a, or b0 to b3 with .ws, found b4 on tcgen05.mma.ws.cta_group::1; name a buffer of this instruction [collector-buffer]}}
  tcgen05.mma ws f16 %acc, %b, %b, %base, %p buffer "b4" collector fill : !d, i64
  func.return
}

tirx.kernel @target(%a: i64, %i: i32, %base: i32) target("sm_103a") threads(128) {
  %p = arith.constant true
  %acc = tcgen05.tile %base, 0 : i32 -> !d
  // expected-error@+1 {{'tcgen05.kind::i8' does not exist on sm_103a; supported on}}
  tcgen05.mma i8 %acc, %a, %a, %i, %p : !d, i64
  tirx.return
}

tirx.kernel @shift_target(%base: i32) target("sm_100f") threads(128) {
  %acc = tcgen05.tile %base, 0 : i32 -> !d
  // expected-error@+1 {{'tcgen05.shift' does not exist on sm_100f; supported on}}
  tcgen05.shift %acc : !d
  tirx.return
}

#r = #tirx.tile_layout<S[(4, 32, 64) : (1@warpid, 1@laneid, 1)]>
#m = #tirx.tile_layout<S[(4, 32) : (1@warpid, 1@laneid)]>
tirx.kernel @reduction_target(%base: i32) target("sm_100a") threads(128) {
  %acc = tcgen05.tile %base, 0 : i32 -> !d
  // expected-error@+1 {{'tcgen05.ld.red' does not exist on sm_100a; supported on}}
  %m, %v = tcgen05.ld.red max "32x32b" %acc : !d -> !tirx.tile<128xf32, register, #m>, !tirx.tile<128x64xf32, register, #r>
  tirx.return
}

#d2 = #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>
!d2 = !tirx.tile<128x4xf32, tensor, #d2>
func.func @copy_columns(%base: i32, %a: i64) {
  %t = tcgen05.tile %base, 508 : i32 -> !d2
  // expected-error@+1 {{expected 8 columns from column 508 on, of 512, to be inside; allocate more columns or start further left [cp-columns]}}
  tcgen05.cp "128x256b" %t, %a : !d2
  func.return
}

// -----

// Each CTA of a pair has half of the rows.

!good = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!wrong = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(2, 64, 64) : (1@TLane, 2@TLane, 1@TCol)]>>
func.func @rows_of_a_pair(%good: !good, %wrong: !wrong, %a: i64, %p: i1) {
  %i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 256, n = 64> : i32
  tcgen05.mma f16 %good, %a, %a, %i, %p cta_group 2 : !good, i64
  // expected-error@+1 {{data path A: expected the 256x64 D where tcgen05.mma.cta_group::2 writes it, S[(128, 64) : (1@TLane, 1@TCol)] (plus any column offset), found S[(2, 64, 64) : (1@TLane, 2@TLane, 1@TCol)]; give D the layout of accumulator_layout [d-layout]}}
  tcgen05.mma f16 %wrong, %a, %a, %i, %p cta_group 2 : !wrong, i64
  func.return
}
