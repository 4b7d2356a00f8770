// RUN: tirx-opt %s --tirx-pick-layouts --remarks --verify-diagnostics | filecheck %s

// A in tensor memory is packed along K, beside the rows of D. An accumulator of f16 has a column for every element, so
// that its elements are two apart. What is copied to and from them lies in registers as tcgen05.ld and st have it.

// CHECK-LABEL: tirx.kernel @a_in_tensor_memory
tirx.kernel @a_in_tensor_memory() target("sm_100a") threads(128) {
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>: data path of a 128x32 A}}
  %a = tirx.alloc : !tirx.tile<128x32xf16, tensor>
  // expected-remark@+1 {{K-major}}
  %b = tirx.alloc : !tirx.tile<64x32xf16, shared>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(128, 64) : (1@TLane, 2@TCol)]>: data path of a 128x64 accumulator}}
  %d = tirx.alloc : !tirx.tile<128x64xf16, tensor>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(4, 32, 16, 2) : (1@warpid, 1@laneid, 2, 1)]>: what tcgen05.ld and st move}}
  %ra = tirx.alloc : !tirx.tile<128x32xf16, register>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(4, 32, 32, 2) : (1@warpid, 1@laneid, 2, 1)]>: what tcgen05.ld and st move}}
  %rd = tirx.alloc : !tirx.tile<128x64xf16, register>
  tirx.copy %ra, %a : !tirx.tile<128x32xf16, register>, !tirx.tile<128x32xf16, tensor>
  tirx.mma %a, %b, %d : !tirx.tile<128x32xf16, tensor>, !tirx.tile<64x32xf16, shared>, !tirx.tile<128x64xf16, tensor>
  tirx.copy %d, %rd : !tirx.tile<128x64xf16, tensor>, !tirx.tile<128x64xf16, register>
  tirx.return
}

// M = 64 has half of the lanes. Sums of f16 that become A go through registers that suit both: those of 16x64b, although
// A alone would move by 16x32bx2, which does not unpack.

// CHECK-LABEL: tirx.kernel @common_registers
tirx.kernel @common_registers() target("sm_100a") threads(128) {
  // expected-remark@+1 {{K-major}}
  %a = tirx.alloc : !tirx.tile<64x16xf16, shared>
  // expected-remark@+1 {{data path of a 64x16 accumulator}}
  %sums = tirx.alloc : !tirx.tile<64x16xf16, tensor>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(4, 2, 8, 4, 2, 2) : (1@warpid, 1@laneid, 4@laneid, 2, 2@laneid, 1)]>: what tcgen05.ld and st move}}
  %registers = tirx.alloc : !tirx.tile<64x16xf16, register>
  // expected-remark@+1 {{data path of a 64x16 A}}
  %packed = tirx.alloc : !tirx.tile<64x16xf16, tensor>
  // expected-remark@+1 {{K-major}}
  %b = tirx.alloc : !tirx.tile<16x16xf16, shared>
  // expected-remark@+1 {{data path of a 64x16 accumulator}}
  %d = tirx.alloc : !tirx.tile<64x16xf32, tensor>
  tirx.mma %a, %b, %sums : !tirx.tile<64x16xf16, shared>, !tirx.tile<16x16xf16, shared>, !tirx.tile<64x16xf16, tensor>
  tirx.copy %registers, %packed : !tirx.tile<64x16xf16, register>, !tirx.tile<64x16xf16, tensor>
  tirx.copy %sums, %registers : !tirx.tile<64x16xf16, tensor>, !tirx.tile<64x16xf16, register>
  tirx.mma %packed, %b, %d : !tirx.tile<64x16xf16, tensor>, !tirx.tile<16x16xf16, shared>, !tirx.tile<64x16xf32, tensor>
  tirx.return
}

// With M = 32 of tcgen05.mma.ws every warp has a copy of A.

// CHECK-LABEL: tirx.kernel @weight_stationary
tirx.kernel @weight_stationary() target("sm_100a") threads(128) {
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(32, 32) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]>: data path of a 32x32 A}}
  %a = tirx.alloc : !tirx.tile<32x32xf8E4M3FN, tensor>
  // expected-remark@+1 {{K-major}}
  %b = tirx.alloc : !tirx.tile<64x32xf8E4M3FN, shared>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(32, 4, 16) : (1@TLane, 32@TLane, 1@TCol)]>: data path of a 32x64 accumulator}}
  %d = tirx.alloc : !tirx.tile<32x64xf32, tensor>
  tirx.mma %a, %b, %d weight_stationary : !tirx.tile<32x32xf8E4M3FN, tensor>, !tirx.tile<64x32xf8E4M3FN, shared>, !tirx.tile<32x64xf32, tensor>
  tirx.return
}

// Codes of sparsity: f16 has those of rows r and r + 8 in one column, 8-bit types have a lane for every row. The stored
// half of A takes 16 elements of 16 bits in one instruction: 32 bytes, the rows of the smallest swizzle.

// CHECK-LABEL: tirx.kernel @sparse
tirx.kernel @sparse() target("sm_100a") threads(128) {
  // expected-remark@+1 {{K-major operand, swizzle 32B}}
  %a = tirx.alloc : !tirx.tile<128x16xf16, shared>
  // expected-remark@+1 {{K-major operand, swizzle 64B}}
  %b = tirx.alloc : !tirx.tile<64x32xf16, shared>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(8, 2, 8, 1, 2, 4) : (16@TLane, 4@TCol, 1@TLane, 8@TCol, 8@TLane, 1@TCol)]>: data path of a 128x8 tile of sparsity metadata}}
  %e = tirx.alloc : !tirx.tile<128x8xi4, tensor>
  // expected-remark@+1 {{data path of a 128x64 accumulator}}
  %d = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  tirx.mma %a, %b, %d metadata(%e) : !tirx.tile<128x16xf16, shared>, !tirx.tile<64x32xf16, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x8xi4, tensor>

  // expected-remark@+1 {{K-major operand, swizzle 32B}}
  %a8 = tirx.alloc : !tirx.tile<128x32xsi8, shared>
  // expected-remark@+1 {{K-major operand, swizzle 64B}}
  %b8 = tirx.alloc : !tirx.tile<64x64xsi8, shared>
  // expected-remark@+1 {{picked #tirx.tile_layout<S[(128, 16) : (1@TLane, 1@TCol)]>: data path of a 128x16 tile of sparsity metadata}}
  %e8 = tirx.alloc : !tirx.tile<128x16xi4, tensor>
  // expected-remark@+1 {{data path of a 128x64 accumulator}}
  %d8 = tirx.alloc : !tirx.tile<128x64xi32, tensor>
  tirx.mma %a8, %b8, %d8 metadata(%e8) : !tirx.tile<128x32xsi8, shared>, !tirx.tile<64x64xsi8, shared>, !tirx.tile<128x64xi32, tensor>, !tirx.tile<128x16xi4, tensor>
  tirx.return
}
