// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// Products: memories and shapes.

func.func @f(
    %a: !tirx.tile<32x64xf16, shared>, %b: !tirx.tile<64x64xf16, shared>, %c: !tirx.tile<32x64xf32, shared>, %c2: !tirx.tile<32x64xf32, global>,
    %a2: !tirx.tile<32x64xf16, global>, %c3: !tirx.tile<32x64xf32, tensor>, %b2: !tirx.tile<64x64xf16, register>, %a3: !tirx.tile<64x64xf16, global>,
    %c4: !tirx.tile<64x64xf32, register>, %b3: !tirx.tile<64x64xf16, tensor>, %a4: !tirx.tile<64xf16, shared>, %b4: !tirx.tile<64xf16, shared>,
    %c5: !tirx.tile<64xf32, tensor>, %a5: !tirx.tile<2x32x64xf16, shared>, %a6: !tirx.tile<64x64xf16, shared>, %b5: !tirx.tile<32x64xf16, shared>,
    %b6: !tirx.tile<64x32xf16, shared>, %a7: !tirx.tile<3x8x4xf16, register>, %b7: !tirx.tile<4x8x4xf16, register>,
    %c6: !tirx.tile<4x8x8xf32, register>, %b8: !tirx.tile<1x8x4xf16, register>, %a8: memref<32x64xf16>) {
  // expected-error@+1 {{expected the accumulator in tensor memory or registers, found it in shared memory}}
  tirx.mma %a, %b, %c : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, shared>
  // expected-error@+1 {{expected the accumulator in tensor memory or registers, found it in global memory}}
  tirx.mma %a, %b, %c2 : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, global>
  // expected-error@+1 {{expected A in shared memory or tensor memory for an accumulator in tensor memory, found it in global memory}}
  tirx.mma %a2, %b, %c3 : !tirx.tile<32x64xf16, global>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
  // expected-error@+1 {{expected B in shared memory for an accumulator in tensor memory, found it in registers}}
  tirx.mma %a, %b2, %c3 : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, register>, !tirx.tile<32x64xf32, tensor>
  // expected-error@+1 {{expected A in registers or shared memory for an accumulator in registers, found it in global memory}}
  tirx.mma %a3, %b, %c4 : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf32, register>
  // expected-error@+1 {{expected B in registers or shared memory for an accumulator in registers, found it in tensor memory}}
  tirx.mma %b2, %b3, %c4 : !tirx.tile<64x64xf16, register>, !tirx.tile<64x64xf16, tensor>, !tirx.tile<64x64xf32, register>
  // expected-error@+1 {{expected A as MxK, B as NxK and the accumulator as MxN, all with the same batch dimensions or none, found 64, 64x64 and 32x64}}
  tirx.mma %a4, %b, %c3 : !tirx.tile<64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
  // expected-error@+1 {{expected A as MxK, B as NxK and the accumulator as MxN, all with the same batch dimensions or none, found 64, 64 and 64}}
  tirx.mma %a4, %b4, %c5 : !tirx.tile<64xf16, shared>, !tirx.tile<64xf16, shared>, !tirx.tile<64xf32, tensor>
  // expected-error@+1 {{expected A as MxK, B as NxK and the accumulator as MxN, all with the same batch dimensions or none, found 2x32x64, 64x64 and 32x64}}
  tirx.mma %a5, %b, %c3 : !tirx.tile<2x32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
  // expected-error@+1 {{expected A as 32xK, found 64x64}}
  tirx.mma %a6, %b, %c3 : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
  // expected-error@+1 {{expected B as 64x64, found 32x64}}
  tirx.mma %a, %b5, %c3 : !tirx.tile<32x64xf16, shared>, !tirx.tile<32x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
  // expected-error@+1 {{expected B as 64x64, found 64x32}}
  tirx.mma %a, %b6, %c3 : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x32xf16, shared>, !tirx.tile<32x64xf32, tensor>
  // expected-error@+1 {{expected A as 4x8xK, found 3x8x4}}
  tirx.mma %a7, %b7, %c6 : !tirx.tile<3x8x4xf16, register>, !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x8xf32, register>
  // expected-error@+1 {{expected B as 4x8x4, found 1x8x4}}
  tirx.mma %b7, %b8, %c6 : !tirx.tile<4x8x4xf16, register>, !tirx.tile<1x8x4xf16, register>, !tirx.tile<4x8x8xf32, register>
  // expected-error@+1 {{expected B as 66x64 (N = 64 plus a shift of 2), found 64x64}}
  tirx.mma %a, %b, %c3 zero_columns([1], shift = 2) : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
  // expected-error@+1 {{operand 'a' at position 0 does not verify:}}
  tirx.mma %a8, %b, %c3 : memref<32x64xf16>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
  func.return
}

// -----

// Products: clauses and results.

func.func @f(%a: !tirx.tile<32x64xf16, shared>, %b: !tirx.tile<64x64xf16, shared>, %c: !tirx.tile<32x64xf32, tensor>) {
  // expected-error@+1 {{expected a list of columns, 'start = ...' or 'start_count = ...'}}
  tirx.mma %a, %b, %c zero_columns() : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
}

// -----

func.func @f(%a: !tirx.tile<32x64xf16, shared>, %b: !tirx.tile<64x64xf16, shared>, %c: !tirx.tile<32x64xf32, tensor>) {
  // expected-error@+1 {{'(' expected}}
  tirx.mma %a, %b, %c zero_columns [1] : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
}

// -----

func.func @f(%a: !tirx.tile<32x64xf16, shared>, %b: !tirx.tile<64x64xf16, shared>, %c: !tirx.tile<32x64xf32, tensor>) {
  // expected-error@+1 {{expected zero columns of 0 or more, found column -1}}
  tirx.mma %a, %b, %c zero_columns([-1]) : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
}

// -----

func.func @f(%a: !tirx.tile<32x64xf16, shared>, %b: !tirx.tile<64x64xf16, shared>, %c: !tirx.tile<32x64xf32, tensor>) {
  // expected-error@+1 {{shift: expected 0 to 32, found 64}}
  tirx.mma %a, %b, %c zero_columns([1], shift = 64) : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
}

// -----

func.func @f(%a: !tirx.tile<32x64xf16, shared>, %b: !tirx.tile<64x64xf16, shared>, %c: !tirx.tile<32x64xf32, tensor>) {
  // expected-error@+1 {{expected ':' and types or a clause (scales, metadata, weight_stationary, zero_columns, pair, negate_a}}
  tirx.mma %a, %b, %c negate_c : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
}

// -----

func.func @f(%a: !tirx.tile<32x64xf16, shared>, %b: !tirx.tile<64x64xf16, shared>, %c: !tirx.tile<32x64xf32, tensor>) {
  // expected-error@+1 {{expected 'negate_a' in its own place, found it among the attributes}}
  tirx.mma %a, %b, %c {negate_a} : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
}

// -----

func.func @f(%a: !tirx.tile<32x64xf16, shared>, %b: !tirx.tile<64x64xf16, shared>, %c: !tirx.tile<32x64xf32, tensor>) {
  // expected-error@+1 {{expected the clause 'negate_b' once, found it again}}
  tirx.mma %a, %b, %c negate_b negate_b : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
}

// -----

func.func @f(%a: !tirx.tile<32x64xf16, shared>, %b: !tirx.tile<64x64xf16, shared>, %c: !tirx.tile<32x64xf32, tensor>) {
  // expected-error@+1 {{operand expected}}
  tirx.mma %a, %b, %c accumulate() : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
}

// -----

func.func @f(%a: !tirx.tile<32x64xf16, shared>, %b: !tirx.tile<64x64xf16, shared>, %c: !tirx.tile<32x64xf32, tensor>, %n: i32) {
  // expected-error@+1 {{operand is used with type i1, but has been previously used or defined with type i32}}
  tirx.mma %a, %b, %c accumulate(%n) : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
}

// -----

func.func @f(%a: !tirx.tile<32x64xf16, shared>) {
  // expected-error@+1 {{Expected ','}}
  tirx.mma %a, %a : !tirx.tile<32x64xf16, shared>, !tirx.tile<32x64xf16, shared>
}

// -----

func.func @f(
    %a: !tirx.tile<4x8x4xf16, register>, %b: !tirx.tile<4x8x4xf16, register>, %c: !tirx.tile<4x8x8xf32, register>, %p: i1,
    %a2: !tirx.tile<32x64xf16, shared>, %b2: !tirx.tile<64x64xf16, shared>, %c2: !tirx.tile<32x64xf32, tensor>) {
  // expected-error@+1 {{expected an accumulator in tensor memory for zero_columns, found one in registers}}
  tirx.mma %a, %b, %c zero_columns([1]) : !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x8xf32, register>
  // expected-error@+1 {{expected an accumulator in tensor memory, or B in shared memory, for negate_a, found both in registers}}
  tirx.mma %a, %b, %c negate_a : !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x8xf32, register>
  // expected-error@+1 {{expected an accumulator in tensor memory, or B in shared memory, for negate_b, found both in registers}}
  tirx.mma %a, %b, %c negate_b : !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x8xf32, register>
  // expected-error@+1 {{expected an accumulator in tensor memory, or B in shared memory, for accumulate, found both in registers}}
  tirx.mma %a, %b, %c accumulate(%p) : !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x8xf32, register>
  // expected-error@+1 {{expected a result only for an accumulator in registers, of its type, or of f32 for one of f16, found a result of type !tirx.tile<4x8x8xf16, register> for an accumulator of type !tirx.tile<4x8x8xf32, register>}}
  %d = tirx.mma %a, %b, %c : !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x8xf32, register> -> !tirx.tile<4x8x8xf16, register>
  // expected-error@+1 {{expected a result only for an accumulator in registers, of its type, or of f32 for one of f16, found a result of type !tirx.tile<32x64xf32, tensor> for an accumulator of type !tirx.tile<32x64xf32, tensor>}}
  %d2 = tirx.mma %a2, %b2, %c2 : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor> -> !tirx.tile<32x64xf32, tensor>
  // expected-error@+1 {{expected 1 value for accumulator, but got 0}}
  "tirx.mma"(%a2, %a2) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0>}> : (!tirx.tile<32x64xf16, shared>, !tirx.tile<32x64xf16, shared>) -> ()
  // expected-error@+1 {{3 : i32 should be of base attribute tirx.zero_columns}}
  "tirx.mma"(%a2, %b2, %c2) <{zero_columns = 3 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}> : (!tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>) -> ()
  func.return
}

// -----

func.func @f(%a: !tirx.tile<32x64xf16, shared>, %b: !tirx.tile<64x64xf16, shared>, %c: !tirx.tile<32x64xf32, tensor>) {
  // expected-error@+1 {{Operation has 0 results, but was given 1 to bind.}}
  %d = tirx.mma %a, %b, %c : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
}

// -----

// mma.sync.

!h = !tirx.tile<1x8x4xf16, register, #tirx.tile_layout<S[32 : 1@laneid]>>
!h4 = !tirx.tile<4x8x8xf16, register, #tirx.tile_layout<S[(4, 2, 4, 2, 4) : (4@laneid, 16@laneid, 1@laneid, 4, 1)]>>
!w4 = !tirx.tile<4x8x8xf32, register, #tirx.tile_layout<S[(4, 2, 2, 2, 2, 2, 2) : (4@laneid, 16@laneid, 2, 1@laneid, 4, 2@laneid, 1)]>>
func.func @f(
    %a: !tirx.tile<16x16xf16, register, #tirx.tile_layout<S[(2, 8, 2, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>>,
    %b: !tirx.tile<8x16xf16, register, #tirx.tile_layout<S[(8, 2, 4, 2) : (4@laneid, 2, 1@laneid, 1)]>>,
    %c: !tirx.tile<16x8xf32, register, #tirx.tile_layout<S[(2, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]>>, %h: !h, %h4: !h4, %w4: !w4,
    %a2: !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>,
    %c2: !tirx.tile<8x8xf64, register, #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>>,
    %c3: !tirx.tile<8x8xf32, register, #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>>, %a3: !tirx.tile<8x4xf64, shared>,
    %a4: !tirx.tile<8x4xf64, register>, %a5: !tirx.tile<128x64xf4E2M1FN, shared>, %b2: !tirx.tile<64x64xf4E2M1FN, shared>,
    %c4: !tirx.tile<128x64xf32, tensor>, %s: !tirx.tile<128x4xf8E4M3FN, shared>, %t: !tirx.tile<64x4xf8E4M3FN, tensor>,
    %s2: !tirx.tile<128x4xf8E4M3FN, tensor>, %t2: !tirx.tile<64x2xf8E4M3FN, tensor>, %a6: !tirx.tile<128x64xf16, shared>,
    %b3: !tirx.tile<64x64xf16, shared>, %e: !tirx.tile<128x16xi4, tensor>, %a7: !tirx.tile<4x8x4xf16, register>, %c5: !tirx.tile<4x8x8xf32, register>,
    %a8: !tirx.tile<64x32xf16, shared>, %c6: !tirx.tile<64x64xf32, register>, %e2: !tirx.tile<64x16xi4, tensor>) {
  // expected-error@+1 {{expected one of m8n8k4.row.col.f32.f16, m8n8k4.row.row.f32.f16, m8n8k4.col.col.f32.f16, m8n8k4.col.row.f32.f16 for C of f16 and D of f32, found 'm16n8k16.row.col.f32.f16'}}
  %d = tirx.mma_sync "m16n8k16.row.col.f32.f16" %a[0], %b[0], %c[0] from %h[0] : !tirx.tile<16x16xf16, register, #tirx.tile_layout<S[(2, 8, 2, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>>, !tirx.tile<8x16xf16, register, #tirx.tile_layout<S[(8, 2, 4, 2) : (4@laneid, 2, 1@laneid, 1)]>>, !tirx.tile<16x8xf32, register, #tirx.tile_layout<S[(2, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]>>, !h
  // expected-error@+1 {{expected the start of f16, found f32}}
  %dw = tirx.mma_sync "m8n8k4.row.col.f32.f16" %h4[0], %h4[0], %w4[0] from %w4[0] : !h4, !h4, !w4, !w4
  // expected-error@+1 {{expected a variant of mma.sync, such as m16n8k8.row.col.f16, m16n8k16.row.col.f64, m16n8k16.row.col.f16, found 'm16n8k16'}}
  %d2 = tirx.mma_sync "m16n8k16" %a2[0], %a2[0], %c2[0] : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x8xf64, register, #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>>
  // expected-error@+1 {{expected A of f16, found f64}}
  %d3 = tirx.mma_sync "m8n8k4.row.col.f16" %a2[0], %a2[0], %c2[0] : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x8xf64, register, #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>>
  // expected-error@+1 {{expected the accumulator of f64, found f32}}
  %d4 = tirx.mma_sync "m8n8k4.row.col.f64" %a2[0], %a2[0], %c3[0] : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x8xf32, register, #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>>
  // expected-error@+1 {{expected a register tile with a layout, found !tirx.tile<8x4xf64, shared>}}
  %d5 = tirx.mma_sync "m8n8k4.row.col.f64" %a3[0], %a3[0], %c2[0] : !tirx.tile<8x4xf64, shared>, !tirx.tile<8x4xf64, shared>, !tirx.tile<8x8xf64, register, #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>>
  // expected-error@+1 {{expected a register tile with a layout, found !tirx.tile<8x4xf64, register>}}
  %d6 = tirx.mma_sync "m8n8k4.row.col.f64" %a4[0], %a4[0], %c2[0] : !tirx.tile<8x4xf64, register>, !tirx.tile<8x4xf64, register>, !tirx.tile<8x8xf64, register, #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>>
  // expected-error@+1 {{expected 1 slots of A within [0, 1), found them from slot 1 on}}
  %d7 = tirx.mma_sync "m8n8k4.row.col.f64" %a2[1], %a2[0], %c2[0] : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x8xf64, register, #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>>
  // expected-error@+1 {{expected 1 slots of B within [0, 1), found them from slot -1 on}}
  %d8 = tirx.mma_sync "m8n8k4.row.col.f64" %a2[0], %a2[-1], %c2[0] : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x8xf64, register, #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>>
  // expected-error@+1 {{expected 2 slots of the accumulator within [0, 2), found them from slot 1 on}}
  %d9 = tirx.mma_sync "m8n8k4.row.col.f64" %a2[0], %a2[0], %c2[1] : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x8xf64, register, #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>>
  // scales in shared memory: expected-error@+1 {{expected SFA in tensor memory, as the accumulator, found it in shared memory}}
  tirx.mma %a5, %b2, %c4 scales(%s, %t) : !tirx.tile<128x64xf4E2M1FN, shared>, !tirx.tile<64x64xf4E2M1FN, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x4xf8E4M3FN, shared>, !tirx.tile<64x4xf8E4M3FN, tensor>
  // scales of two block sizes: expected-error@+1 {{expected SFA as 128xS and SFB as 64xS (or 128xS), S a divisor of K = 64, found 128x4 and 64x2}}
  tirx.mma %a5, %b2, %c4 scales(%s2, %t2) : !tirx.tile<128x64xf4E2M1FN, shared>, !tirx.tile<64x64xf4E2M1FN, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x4xf8E4M3FN, tensor>, !tirx.tile<64x2xf8E4M3FN, tensor>
  // whole sparse a: expected-error@+1 {{expected B as 64x128, found 64x64}}
  tirx.mma %a6, %b3, %c4 metadata(%e) : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x16xi4, tensor>
  // weight stationary in registers: expected-error@+1 {{expected an accumulator in tensor memory for weight_stationary, found one in registers}}
  tirx.mma %a7, %a7, %c5 weight_stationary : !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x8xf32, register>
  // sparse: expected-error@+1 {{expected the metadata in registers, as the accumulator, found it in tensor memory}}
  tirx.mma %a8, %b3, %c6 metadata(%e2) : !tirx.tile<64x32xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf32, register>, !tirx.tile<64x16xi4, tensor>
  func.return
}

// -----

func.func @f(
    %a: !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>,
    %c: !tirx.tile<8x8xf64, register, #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>>) {
  // expected-error@+1 {{Integer value 99999999999999 is out of range for type i32}}
  %d = tirx.mma_sync "m8n8k4.row.col.f64" %a[0], %a[0], %c[99999999999999] : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x8xf64, register, #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>>
}

// -----

func.func @f(
    %a: !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>,
    %c: !tirx.tile<8x8xf64, register, #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>>) {
  // expected-error@+1 {{Expected '['}}
  %d = tirx.mma_sync "m8n8k4.row.col.f64" %a, %a, %c : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x8xf64, register, #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>>
}
