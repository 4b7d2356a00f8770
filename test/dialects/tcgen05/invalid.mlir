// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// Allocation of tensor memory.

func.func @f(%slot: i32) {
  // expected-error@+1 {{expected a power of two of columns from 32 to 512, found 33; round up with allocation_columns [alloc-columns]}}
  tcgen05.alloc %slot columns 33
  // expected-error@+1 {{expected a power of two of columns from 32 to 512, found 0; round up with allocation_columns [alloc-columns]}}
  tcgen05.alloc %slot columns 0
  // expected-error@+1 {{expected a power of two of columns from 32 to 512, found -32; round up with allocation_columns [alloc-columns]}}
  tcgen05.alloc %slot columns -32
  // expected-error@+1 {{expected a power of two of columns from 32 to 512, found 1024; round up with allocation_columns [alloc-columns]}}
  tcgen05.alloc %slot columns 1024
  // expected-error@+1 {{expected a power of two of columns from 32 to 512, found 16; round up with allocation_columns [alloc-columns]}}
  tcgen05.dealloc %slot columns 16
  // expected-error@+1 {{expected columns 0 to 511 of tensor memory, found -1 to 254}}
  %t = tcgen05.tile %slot, -1 : i32 -> !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>
  // expected-error@+1 {{expected columns 0 to 511 of tensor memory, found 257 to 512}}
  %t2 = tcgen05.tile %slot, 257 : i32 -> !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>
  // expected-error@+1 {{expected a tile in tensor memory with a layout, found !tirx.tile<128x256xf32, tensor>}}
  %t3 = tcgen05.tile %slot, 0 : i32 -> !tirx.tile<128x256xf32, tensor>
  // expected-error@+1 {{expected a tile in tensor memory with a layout, found !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>}}
  %t4 = tcgen05.tile %slot, 0 : i32 -> !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>
  func.return
}

// -----

func.func @f(%slot: i32) {
  // expected-error@+1 {{Integer value 99999999999 is out of range for type i32}}
  tcgen05.alloc %slot columns 99999999999
}

// -----

func.func @f(%slot: i32) {
  // expected-error@+1 {{Expected integer literal}}
  tcgen05.alloc %slot columns true
}

// -----

func.func @f(%slot: i64) {
  // expected-error@+1 {{operand is used with type i32, but has been previously used or defined with type i64}}
  tcgen05.alloc %slot columns 32
}

// -----

func.func @f(%base: i32) {
  // expected-error@+1 {{memref<4xf32> should be of base attribute tirx.tile}}
  %t = tcgen05.tile %base, 0 : i32 -> memref<4xf32>
}

// -----

// Shared-memory descriptors.

func.func @f(
    %a: !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, %a2: !tirx.tile<128x64xf16, shared>,
    %a3: !tirx.tile<64xf16, shared, #tirx.tile_layout<S[64]>>, %a4: !tirx.tile<2x8x64xf16, shared, #tirx.tile_layout<S[16, 64]>>,
    %a5: !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>>) {
  // expected-error@+1 {{expected an operand in shared memory with a layout, found !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>}}
  %d = tcgen05.smem_descriptor %a, 0 of 16 : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>> -> i64
  // expected-error@+1 {{expected an operand in shared memory with a layout, found !tirx.tile<128x64xf16, shared>}}
  %d2 = tcgen05.smem_descriptor %a2, 0 of 16 : !tirx.tile<128x64xf16, shared> -> i64
  // expected-error@+1 {{expected an operand of shape MNxK, found !tirx.tile<64xf16, shared, #tirx.tile_layout<S[64 : 1]>>}}
  %d3 = tcgen05.smem_descriptor %a3, 0 of 16 : !tirx.tile<64xf16, shared, #tirx.tile_layout<S[64]>> -> i64
  // expected-error@+1 {{expected an operand of shape MNxK, found !tirx.tile<2x8x64xf16, shared,}}
  %d4 = tcgen05.smem_descriptor %a4, 0 of 16 : !tirx.tile<2x8x64xf16, shared, #tirx.tile_layout<S[16, 64]>> -> i64
  // expected-error@+1 {{expected slices of a divisor of K = 64 elements, found slices of 0}}
  %d5 = tcgen05.smem_descriptor %a5, 0 of 0 : !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>> -> i64
  // expected-error@+1 {{expected slices of a divisor of K = 64 elements, found slices of -16}}
  %d6 = tcgen05.smem_descriptor %a5, 0 of -16 : !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>> -> i64
  // expected-error@+1 {{expected slices of a divisor of K = 64 elements, found slices of 24}}
  %d7 = tcgen05.smem_descriptor %a5, 0 of 24 : !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>> -> i64
  // expected-error@+1 {{expected slice 0 to 3 of 16 elements of K = 64, found 4}}
  %d8 = tcgen05.smem_descriptor %a5, 4 of 16 : !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>> -> i64
  // expected-error@+1 {{expected slice 0 to 3 of 16 elements of K = 64, found -1}}
  %d9 = tcgen05.smem_descriptor %a5, -1 of 16 : !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>> -> i64
  func.return
}

// -----

func.func @f(%a: !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>>) {
  // expected-error@+1 {{Expected 'of'}}
  %d = tcgen05.smem_descriptor %a, 2 16 : !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>> -> i64
}

// -----

// Instruction descriptors: fields.

// expected-error@+1 {{identifier expected}}
%i = tcgen05.instruction_descriptor <> : i32

// -----

// expected-error@+1 {{expected the fields a, b, d, m, n too}}
%i = tcgen05.instruction_descriptor <kind = "f16"> : i32

// -----

// expected-error@+1 {{expected a new field out of kind, a, b, d, m, n, a_major, b_major, negate_a, negate_b, sparse, saturate, max_shift, scale, sf_a_id, sf_b_id, sparsity_selector, wide_k, widest_k, a_scale_lanes, sparsity_version, found m}}
%i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256, m = 64> : i32

// -----

// expected-error@+1 {{expected a new field out of kind, a, b, d, m, n, a_major, b_major, negate_a, negate_b, sparse, saturate, max_shift, scale, sf_a_id, sf_b_id, sparsity_selector, wide_k, widest_k, a_scale_lanes, sparsity_version, found stages}}
%i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256, stages = 3> : i32

// -----

// expected-error@+1 {{identifier expected}}
%i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256,> : i32

// -----

// expected-error@+1 {{'>' expected}}
%i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256 negate_a = true> : i32

// -----

// expected-error@+1 {{Expected '='}}
%i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256, negate_a> : i32

// -----

// expected-error@+1 {{string literal expected}}
%i = tcgen05.instruction_descriptor <kind = f16, a = "f16", b = "f16", d = "f32", m = 128, n = 256> : i32

// -----

// expected-error@+1 {{string literal expected}}
%i = tcgen05.instruction_descriptor <kind = 3, a = "f16", b = "f16", d = "f32", m = 128, n = 256> : i32

// -----

// expected-error@+1 {{Expected integer literal}}
%i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = "128", n = 256> : i32

// -----

// expected-error@+1 {{Expected integer literal}}
%i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = true, n = 256> : i32

// -----

// expected-error@+1 {{Expected boolean literal}}
%i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256, negate_a = 1> : i32

// -----

// expected-error@+1 {{Expected boolean literal}}
%i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256, negate_a = "yes"> : i32

// -----

// expected-error@+1 {{string literal expected}}
%i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256, scale = 1> : i32

// -----

// expected-error@+1 {{expected a kind of tcgen05.mma (f16, tf32, f8f6f4, i8, ti16, mxf8f6f4, mxf4, mxf4nvf4), found 'f17'}}
%i = tcgen05.instruction_descriptor <kind = "f17", a = "f16", b = "f16", d = "f32", m = 128, n = 256> : i32

// -----

// expected-error@+1 {{unknown element type 'f17'; did you mean 'f16'?}}
%i = tcgen05.instruction_descriptor <kind = "f16", a = "f17", b = "f16", d = "f32", m = 128, n = 256> : i32

// -----

// expected-error@+1 {{expected an element type of the tensor cores (f16, bf16, tf32, f32, f64, e4m3, e5m2, e2m3, e3m2, e2m1, ue8m0, ue4m3, ue5m3, s8, u8, s1z4m11, s32), found s64}}
%i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "s64", m = 128, n = 256> : i32

// -----

// expected-error@+1 {{b_major: expected K or MN, found 'N'}}
%i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256, b_major = "N"> : i32

// -----

// expected-error@+1 {{'<' expected}}
%i = tcgen05.instruction_descriptor 3 : i32

// -----

// expected-error@+1 {{Expected attribute i32 but got i64}}
%i = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256> : i64

// -----

// Instruction descriptors: what the hardware has.

// expected-error@+1 {{kind::f16: expected A type f16 or bf16, found e4m3}}
%i = tcgen05.instruction_descriptor <kind = "f16", a = "e4m3", b = "f16", d = "f32", m = 128, n = 256> : i32
// expected-error@+1 {{kind::f16: expected D type f16 or f32, found s32}}
%i2 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "s32", m = 128, n = 256> : i32
// expected-error@+1 {{kind::f16, cta_group 1: expected M in {64, 128}, found 100; nearest is 128}}
%i3 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 100, n = 256> : i32
// expected-error@+1 {{kind::f16, cta_group 1: expected N in {8, 16, ..., 256}, found 99999999999999999999; nearest is 256}}
%i4 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 99999999999999999999> : i32
// expected-error@+1 {{kind::f16: expected max_shift 0 or 8 or 16 or 32, found 7}}
%i5 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256, max_shift = 7> : i32
// expected-error@+1 {{kind::f16: expected saturate False, found True}}
%i6 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256, saturate = true> : i32
// expected-error@+1 {{kind::f16: expected scale type None, found ue8m0}}
%i7 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256, scale = "ue8m0"> : i32
// expected-error@+1 {{kind::f16: expected sf_a_id 0, found 1}}
%i8 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256, sf_a_id = 1> : i32
// expected-error@+1 {{kind::f16: expected sparsity_selector 0, found 1}}
%i9 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256, sparsity_selector = 1> : i32

// -----

// Zero-column masks.

// expected-error@+1 {{Expected integer literal}}
%z = tcgen05.zero_column_mask <> : i64

// -----

// expected-error@+1 {{Expected integer literal}}
%z = tcgen05.zero_column_mask <-1> : i64

// -----

// expected-error@+1 {{Expected integer literal}}
%z = tcgen05.zero_column_mask <true> : i64

// -----

// expected-error@+1 {{Expected integer literal}}
%z = tcgen05.zero_column_mask <"0"> : i64

// -----

// expected-error@+1 {{expected a 64-bit zero-column mask descriptor, found 0x10000000000000000}}
%z = tcgen05.zero_column_mask <0x10000000000000000> : i64

// -----

// expected-error@+1 {{bits 36-38: expected 0, found 0b1}}
%z = tcgen05.zero_column_mask <0x1000000000> : i64

// -----

// expected-error@+1 {{shift: expected 0 to 32, found 33}}
%z = tcgen05.zero_column_mask <0x2100000000000000> : i64

// -----

// expected-error@+1 {{Expected attribute i64 but got i32}}
%z = tcgen05.zero_column_mask <0> : i32

// -----

// Products.

func.func @f(
    %acc: !tirx.tile<128x256xf32, tensor>, %a: i64, %i: i32, %p: i1,
    %acc2: !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>,
    %acc3: !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>>,
    %acc4: !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>) {
  // expected-error@+1 {{expected the accumulator in tensor memory with a layout, found !tirx.tile<128x256xf32, tensor>}}
  tcgen05.mma f16 %acc, %a, %a, %i, %p : !tirx.tile<128x256xf32, tensor>, i64
  // expected-error@+1 {{expected the accumulator in tensor memory with a layout, found !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>}}
  tcgen05.mma f16 %acc2, %a, %a, %i, %p : !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>, i64
  // expected-error@+1 {{expected the accumulator in tensor memory with a layout, found !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>}}
  tcgen05.mma ws f16 %acc3, %a, %a, %i, %p zero_column_mask %a : !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>>, i64
  // expected-error@+1 {{expected a kind without scale factors (f16, tf32, f8f6f4, i8, ti16), found 'mxf4'}}
  tcgen05.mma mxf4 %acc4, %a, %a, %i, %p : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, i64
  // expected-error@+1 {{expected a kind without scale factors (f16, tf32, f8f6f4, i8, ti16), found 'mxf8f6f4'}}
  tcgen05.mma ws mxf8f6f4 %acc4, %a, %a, %i, %p zero_column_mask %a : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, i64
  func.return
}

// -----

func.func @f(%acc: !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, %a: i64, %i: i32, %p: i1) {
  // expected-error@+1 {{Expected `f16`, `tf32`, `f8f6f4`, `i8`, `ti16`, `mxf8f6f4`, `mxf4`, or `mxf4nvf4`.}}
  tcgen05.mma f17 %acc, %a, %a, %i, %p : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, i64
}

// -----

func.func @f(%acc: !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, %a: i32, %i: i32, %p: i1) {
  // expected-error@+1 {{operand is used with type i64, but has been previously used or defined with type i32}}
  tcgen05.mma f16 %acc, %a, %a, %i, %p : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, i64
}

// -----

func.func @f(%m: i64) {
  // expected-error@+1 {{operand is used with type i32, but has been previously used or defined with type i64}}
  tcgen05.commit %m
}

// -----

// Loads and stores of tensor memory.

func.func @f(
    %t: !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, %t2: !tirx.tile<128x256xf32, tensor>,
    %t3: !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>,
    %t4: !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>>,
    %v7: !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>,
    %v8: !tirx.tile<128x256xf16, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>) {
  // expected-error@+1 {{expected a shape of tcgen05.ld and st (32x32b, 16x64b, 16x128b, 16x256b, 16x32bx2), found '32x64b'}}
  %v = tcgen05.ld "32x64b" %t : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>> -> !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>
  // expected-error@+1 {{expected a tile in tensor memory with a layout, found !tirx.tile<128x256xf32, tensor>}}
  %v2 = tcgen05.ld "32x32b" %t2 : !tirx.tile<128x256xf32, tensor> -> !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>
  // expected-error@+1 {{expected a tile in tensor memory with a layout, found !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>}}
  %v3 = tcgen05.ld "32x32b" %t3 : !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>> -> !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>
  // expected-error@+1 {{expected a tile in registers with a layout, found !tirx.tile<128x256xf32, register>}}
  %v4 = tcgen05.ld "32x32b" %t : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>> -> !tirx.tile<128x256xf32, register>
  // expected-error@+1 {{expected tiles of one shape and element type, found !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>> and !tirx.tile<64x256xf32, register, #tirx.tile_layout<S[(2, 32, 256) : (1@warpid, 1@laneid, 1)]>>}}
  %v5 = tcgen05.ld "32x32b" %t : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>> -> !tirx.tile<64x256xf32, register, #tirx.tile_layout<S[(2, 32, 256) : (1@warpid, 1@laneid, 1)]>>
  // expected-error@+1 {{expected tiles of one shape and element type, found !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>> and !tirx.tile<128x256xf16, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>}}
  %v6 = tcgen05.ld "32x32b" %t : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>> -> !tirx.tile<128x256xf16, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>
  // expected-error@+1 {{expected a shape of tcgen05.ld and st (32x32b, 16x64b, 16x128b, 16x256b, 16x32bx2), found ''}}
  tcgen05.st "" %t, %t3 : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>
  // expected-error@+1 {{expected a tile in tensor memory with a layout, found !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>}}
  tcgen05.st "32x32b" %t4, %t3 : !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>>, !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>
  // expected-error@+1 {{expected a tile in registers with a layout, found !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>}}
  tcgen05.st "32x32b" %t, %v7 : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>
  // expected-error@+1 {{expected tiles of one shape and element type, found !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>> and !tirx.tile<128x256xf16, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>}}
  tcgen05.st "32x32b" %t, %v8 : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, !tirx.tile<128x256xf16, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>
  func.return
}

// -----

// Waits and fences.

// expected-error@+1 {{Expected `ld`, or `st`.}}
tcgen05.wait cp

// -----

// expected-error@+1 {{Expected `before_thread_sync`, or `after_thread_sync`.}}
tcgen05.fence both
