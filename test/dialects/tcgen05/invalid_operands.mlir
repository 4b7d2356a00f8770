// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// What ptxas does not look at, and would give wrong numbers without a word: each operation together with its
// descriptors, its tiles and the target.

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>
#mn = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(2, 64, 64) : (4096, 1, 64)]>>
#d = #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>
!a = !tirx.tile<128x64xf16, shared, #a>
!mn = !tirx.tile<128x64xf16, shared, #mn>
!d = !tirx.tile<128x128xf32, tensor, #d>

tirx.kernel @type(%base: i32) target("sm_100a") threads(128) {
  %p = arith.constant true
  %a = tirx.alloc : !a
  %d = tcgen05.tile %base, 0 : i32 -> !d
  %da = tcgen05.smem_descriptor %a, 0 of 16 : !a -> i64
  %i = tcgen05.instruction_descriptor <kind = "f16", a = "bf16", b = "f16", d = "f32", m = 128, n = 128> : i32
  // expected-error@+1 {{expected A of bf16, as in the instruction descriptor, found f16; name the type of A in the instruction descriptor [a-type]}}
  tcgen05.mma f16 %d, %da, %da, %i, %p : !d, i64
  tirx.return
}

!d2 = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
#a2 = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!a2 = !tirx.tile<64x64xf16, shared, #a2>
!d22 = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!d3 = !tirx.tile<32x64xf32, tensor, #tirx.tile_layout<S[(32, 4, 16) : (1@TLane, 32@TLane, 1@TCol)]>>
!m = !tirx.tile<128x8xi32, tensor, #tirx.tile_layout<S[(128, 8) : (1@TLane, 1@TCol)]>>
tirx.kernel @k(%base: i32, %a3: i64, %i5: i32) target("sm_100a") threads(128) {
  %p = arith.constant true
  %a = tirx.alloc : !a
  %b = tirx.alloc : !mn
  %d = tcgen05.tile %base, 0 : i32 -> !d2
  %da = tcgen05.smem_descriptor %a, 0 of 16 : !a -> i64
  %db = tcgen05.smem_descriptor %b, 0 of 16 : !mn -> i64
  %i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 128> : i32
  // major: expected-error@+1 {{expected K-major B, as in the instruction descriptor, found MN-major; set b_major to that of the layout of B [b-major]}}
  tcgen05.mma f16 %d, %da, %db, %i, %p : !d2, i64
  %da2 = tcgen05.smem_descriptor %a, 0 of 32 : !a -> i64
  // expected-error@+1 {{expected slices of A of 16 elements along K, found slices of 32; make one descriptor for each K of the instruction [a-k]}}
  tcgen05.mma f16 %d, %da2, %da2, %i, %p : !d2, i64
  %a2 = tirx.alloc : !a2
  %d2 = tcgen05.tile %base, 0 : i32 -> !d22
  %da3 = tcgen05.smem_descriptor %a2, 0 of 16 : !a2 -> i64
  %i2 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 64> : i32
  // rows: expected-error@+1 {{expected 128 rows of A in the shared memory of each CTA (M = 128, cta_group 1), found 64; make the tile larger, or M smaller [a-rows]}}
  tcgen05.mma f16 %d2, %da3, %da3, %i2, %p : !d22, i64
  // shape: expected-error@+1 {{expected an accumulator of 128x64, as in the instruction descriptor, found !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>}}
  tcgen05.mma f16 %d, %a3, %a3, %i2, %p : !d2, i64
  %d3 = tcgen05.tile %base, 0 : i32 -> !d3
  %i3 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 32, n = 64> : i32
  // expected-error@+1 {{kind::f16, cta_group 1: expected M in {64, 128}, found 32; nearest is 64; use a shape of the ISA's table [shape]}}
  tcgen05.mma f16 %d3, %a3, %a3, %i3, %p : !d3, i64
  // kind: expected-error@+1 {{expected an instruction descriptor of kind::tf32, found one of kind::f16; the bits of a descriptor mean something else for each kind: encode it for kind::tf32 [descriptor-kind]}}
  tcgen05.mma tf32 %d, %a3, %a3, %i, %p : !d2, i64
  %m = tcgen05.tile %base, 128 : i32 -> !m
  // sparse: expected-error@+1 {{expected sparse = true in the instruction descriptor of tcgen05.mma.sp.cta_group::1, found false; set bit 2 for .sp and only for .sp [descriptor-sparsity]}}
  tcgen05.mma f16 %d, %a3, %a3, %i, %p sparse(%m : !m) : !d2, i64
  %i4 = arith.constant -1 : i32
  // bits: expected-error@+1 {{instruction descriptor: kind::f16: expected 0 in the reserved bit 6, found 0b1; encode it with InstructionDescriptor [descriptor-bits]}}
  tcgen05.mma f16 %d, %a3, %a3, %i4, %p : !d2, i64
  %b2 = arith.constant 0 : i64
  // smem bits: expected-error@+1 {{descriptor of B: bits 46-48: expected 0b001, found 0b000; encode it with SmemDescriptor [b-descriptor-bits]}}
  tcgen05.mma f16 %d, %a3, %b2, %i5, %p : !d2, i64
  tirx.return
}

// -----

// Mode 1, 128 bytes with 32-byte atoms, has layouts of MN-major tf32 only.

!d = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!d2 = !tirx.tile<32x64xf32, tensor, #tirx.tile_layout<S[(32, 4, 16) : (1@TLane, 32@TLane, 1@TCol)]>>
!d3 = !tirx.tile<64x128xf32, tensor, #tirx.tile_layout<S[(4, 16, 128) : (32@TLane, 1@TLane, 1@TCol)]>>
!a = !tirx.tile<64x16xf16, tensor, #tirx.tile_layout<S[(4, 16, 16) : (32@TLane, 1@TLane, 1@TCol)] + 16@TLane>>
!s = !tirx.tile<32x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]>>
!d4 = !tirx.tile<128x4xf32, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>>
tirx.kernel @k(%base: i32, %b: i64, %i3: i32) target("sm_100a") threads(128) {
  %p = arith.constant true
  %d = tcgen05.tile %base, 0 : i32 -> !d
  %a = arith.constant 2305913515396890624 : i64
  %i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 128> : i32
  // swizzle: expected-error@+1 {{descriptor of A: K-major f16: expected swizzle none, 32B, 64B, 128B, found 128B_base32B; give A a canonical layout of its type and major-ness [a-descriptor]}}
  tcgen05.mma f16 %d, %a, %b, %i, %p : !d, i64
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  tcgen05.alloc %slot columns 128
  %base2 = ptx.ld shared %slot : i32 -> i32
  %d2 = tcgen05.tile %base2, 64 : i32 -> !d
  // columns: expected-error@+1 {{expected D inside its allocation, found 128 columns from column 64 on, of 128 allocated; allocate more columns, start further left, or make N smaller [d-columns]}}
  tcgen05.mma f16 %d2, %b, %b, %i, %p : !d, i64
  %d3 = tcgen05.tile %base, 0 : i32 -> !d2
  %i2 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 32, n = 64> : i32
  %z = tcgen05.zero_column_mask <0x0203028301020100> : i64
  // mask: expected-error@+1 {{expected a column shift up to 0, max_shift of the instruction descriptor, found 2; write smallest_max_shift(2) into the instruction descriptor [mask-max-shift]}}
  tcgen05.mma ws f16 %d3, %b, %b, %i2, %p zero_column_mask %z : !d2, i64
  %z2 = arith.constant -1 : i64
  // mask bits: expected-error@+1 {{zero-column mask: }}
  tcgen05.mma ws f16 %d3, %b, %b, %i3, %p zero_column_mask %z2 : !d2, i64
  %d4 = tcgen05.tile %base, 0 : i32 -> !d3
  %a2 = tcgen05.tile %base, 128 : i32 -> !a
  %i4 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 64, n = 128> : i32
  // lanes: expected-error@+1 {{data path F: expected A in the lanes of D, from lane 0 or 16 on, found 16 with D at 0; put A where D starts [a-tmem-lane]}}
  tcgen05.mma f16 %d4, %a2, %b, %i4, %p : !d3, !a
  %s = tcgen05.tile %base, 128 : i32 -> !s
  %i5 = tcgen05.instruction_descriptor <kind = "mxf4", a = "e2m1", b = "e2m1", d = "f32", m = 128, n = 128, scale = "ue8m0", wide_k = true> : i32
  // expected-error@+1 {{instruction descriptor: K = 96: expected target sm_103a, sm_107a, found sm_100a}}
  tcgen05.mma mxf4 %d, %b, %b, %i5, %p scales(%s, %s : !s, !s) : !d, i64
  %slot2 = ptx.shared_alloc @slot bytes 4 align 4
  tcgen05.alloc %slot2 columns 32
  %base3 = ptx.ld shared %slot2 : i32 -> i32
  %d5 = tcgen05.tile %base3, 28 : i32 -> !d4
  // cp: expected-error@+1 {{expected 8 columns from column 28 on, of 32, to be inside; allocate more columns or start further left [cp-columns]}}
  tcgen05.cp "128x256b" %d5, %b : !d4
  %a3 = arith.constant 1 : i64
  %d6 = tcgen05.tile %base, 0 : i32 -> !d4
  // cp bits: expected-error@+1 {{descriptor: bits 46-48: expected 0b001, found 0b000; encode it with SmemDescriptor [cp-descriptor-bits]}}
  tcgen05.cp "128x128b" %d6, %a3 : !d4
  tirx.return
}

tirx.kernel @target(%base: i32, %a: i64, %i: i32) target("sm_103a") threads(128) {
  %p = arith.constant true
  %d = tcgen05.tile %base, 0 : i32 -> !d
  // expected-error@+1 {{'tcgen05.kind::i8' does not exist on sm_103a; supported on}}
  tcgen05.mma i8 %d, %a, %a, %i, %p : !d, i64
  tirx.return
}

!d5 = !tirx.tile<128x8xf32, tensor, #tirx.tile_layout<S[(128, 8) : (1@TLane, 1@TCol)]>>
tirx.kernel @shift(%base: i32) target("sm_100f") threads(128) {
  %d = tcgen05.tile %base, 0 : i32 -> !d5
  // expected-error@+1 {{'tcgen05.shift' does not exist on sm_100f; supported on}}
  tcgen05.shift %d : !d5
  tirx.return
}
