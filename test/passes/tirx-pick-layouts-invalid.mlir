// RUN: tirx-opt %s --tirx-pick-layouts --split-input-file --verify-diagnostics

tirx.kernel @no_data_path() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<96x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<96x96xf32, tensor>
  // expected-error@+1 {{kind::f16, cta_group 1: expected M in {64, 128}, found 96; nearest is 64}}
  tirx.mma %a, %a, %acc : !tirx.tile<96x64xf16, shared>, !tirx.tile<96x64xf16, shared>, !tirx.tile<96x96xf32, tensor>
  tirx.return
}

tirx.kernel @no_columns() target("sm_100a") threads(128) {
  // expected-error@+1 {{expected a tile of at most 512 columns of tensor memory, found 256x512, which takes 1024: S[(2, 128, 512) : (512@TCol, 1@TLane, 1@TCol)]}}
  %acc = tirx.alloc : !tirx.tile<256x512xf32, tensor>
  tirx.return
}

tirx.kernel @no_operand_layout() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x12xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  // expected-error@+1 {{kind f16: expected K in multiples of 16, found 12; the nearest is 16}}
  tirx.mma %a, %a, %acc : !tirx.tile<128x12xf16, shared>, !tirx.tile<128x12xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

tirx.kernel @one_dimension() target("sm_100a") threads(128) {
  // expected-error@+1 {{expected an operand of rank 2 or more, or a layout on it, found !tirx.tile<4096xf16, shared>}}
  %flat = tirx.alloc : !tirx.tile<4096xf16, shared>
  %a = tirx.reshape %flat : !tirx.tile<4096xf16, shared> -> !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  tirx.mma %a, %a, %acc : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf32, tensor>
  tirx.return
}

// Four rows and four columns into a tile of 2-byte elements is no multiple of 16 bytes in any layout.
tirx.kernel @part_in_a_pattern() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %whole = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  %b = tirx.subview %a[0, 0] : !tirx.tile<128x64xf16, shared> -> !tirx.tile<64x64xf16, shared>
  %part = tirx.subview %a[4, 4] : !tirx.tile<128x64xf16, shared> -> !tirx.tile<64x48xf16, shared>
  %c = tirx.subview %a[64, 16] : !tirx.tile<128x64xf16, shared> -> !tirx.tile<64x48xf16, shared>
  tirx.mma %a, %b, %whole : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, tensor>
  // expected-error@+1 {{expected one layout of !tirx.tile<128x64xf16, shared> for all 4 operands that are read from it, found none: K-major with swizzle 128B suits 3 of them, but not A of this product: the layout of K elements [0, 16) is not canonical: }}
  tirx.mma %part, %c, %acc : !tirx.tile<64x48xf16, shared>, !tirx.tile<64x48xf16, shared>, !tirx.tile<64x64xf32, tensor>
  tirx.return
}

#c = #tirx.tile_layout<S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]>
tirx.kernel @some() target("sm_80") threads(32) {
  %a = tirx.alloc : !tirx.tile<8x4xf64, register>
  %c = tirx.alloc : !tirx.tile<8x8xf64, register, #c>
  // expected-error@+1 {{expected layouts on all of A, B and the accumulator or on none: the fragments depend on each other}}
  tirx.mma %a, %a, %c : !tirx.tile<8x4xf64, register>, !tirx.tile<8x4xf64, register>, !tirx.tile<8x8xf64, register, #c>
  tirx.return
}

tirx.kernel @part_of_a_warp() target("sm_80") threads(48) {
  %a = tirx.alloc : !tirx.tile<8x4xf64, register>
  %c = tirx.alloc : !tirx.tile<8x8xf64, register>
  // expected-error@+1 {{expected whole warps for mma.sync, found 48 threads}}
  tirx.mma %a, %a, %c : !tirx.tile<8x4xf64, register>, !tirx.tile<8x4xf64, register>, !tirx.tile<8x8xf64, register>
  tirx.return
}

tirx.kernel @no_fragments() target("sm_80") threads(32) {
  %a = tirx.alloc : !tirx.tile<12x4xf64, register>
  %c = tirx.alloc : !tirx.tile<12x12xf64, register>
  // expected-error@+1 {{expected M to be a multiple of 8 for m8n8k4.row.col.f64, found 12; nearest: 8 and 16}}
  tirx.mma %a, %a, %c : !tirx.tile<12x4xf64, register>, !tirx.tile<12x4xf64, register>, !tirx.tile<12x12xf64, register>
  tirx.return
}

tirx.kernel @no_fragments_of_type() target("sm_80") threads(32) {
  %a = tirx.alloc : !tirx.tile<8x4xbf16, register>
  %c = tirx.alloc : !tirx.tile<8x8xf16, register>
  // expected-error@+1 {{expected one of f16 x f16 + f16, f16 x f16 + f32, f64 x f64 + f64, bf16 x bf16 + f32, }}
  tirx.mma %a, %a, %c : !tirx.tile<8x4xbf16, register>, !tirx.tile<8x4xbf16, register>, !tirx.tile<8x8xf16, register>
  tirx.return
}

// The smallest instruction says what would fit.
tirx.kernel @no_fragments_of_bf16() target("sm_80") threads(32) {
  %a = tirx.alloc : !tirx.tile<8x16xbf16, register>
  %c = tirx.alloc : !tirx.tile<8x8xf32, register>
  // expected-error@+1 {{expected M to be a multiple of 16 for m16n8k8.row.col.f32.bf16, found 8; nearest: 16}}
  tirx.mma %a, %a, %c : !tirx.tile<8x16xbf16, register>, !tirx.tile<8x16xbf16, register>, !tirx.tile<8x8xf32, register>
  tirx.return
}

tirx.kernel @no_such_instruction() target("sm_80") threads(32) {
  %a = tirx.alloc : !tirx.tile<16x16xbf16, register>
  %b = tirx.alloc : !tirx.tile<8x16xbf16, register>
  %c = tirx.alloc : !tirx.tile<16x8xf32, register>
  // expected-error@+1 {{expected m16n8k16 or m16n8k8 for bf16 x bf16 + f32, found instruction "m8n8k4"}}
  tirx.mma %a, %b, %c instruction("m8n8k4") : !tirx.tile<16x16xbf16, register>, !tirx.tile<8x16xbf16, register>, !tirx.tile<16x8xf32, register>
  tirx.return
}

// Two warps side by side along M: each has its rows of A, and both have all of B.
tirx.kernel @one_tile() target("sm_80") threads(64) {
  %a = tirx.alloc : !tirx.tile<16x16xf64, register>
  %c = tirx.alloc : !tirx.tile<16x16xf64, register>
  // expected-error@+1 {{expected A and B in two tiles, because 2 warps hold different fragments of them: }}
  tirx.mma %a, %a, %c : !tirx.tile<16x16xf64, register>, !tirx.tile<16x16xf64, register>, !tirx.tile<16x16xf64, register>
  tirx.return
}

tirx.kernel @tensor_scratch() target("sm_100a") threads(128) {
  // expected-error@+1 {{expected rows in multiples of 64 for a tensor tile that no product uses, or a layout on it, found 96}}
  %t = tirx.alloc : !tirx.tile<96x64xf32, tensor>
  tirx.return
}

tirx.kernel @no_image(%d: memref<128x48xf32>) target("sm_100a") threads(128) {
  %t = tirx.alloc : !tirx.tile<96x32xf32, tensor, #tirx.tile_layout<S[(96, 32) : (1@TLane, 1@TCol)] + 16@TLane>>
  // expected-error@+1 {{tcgen05.ld.32x32b}}
  %r = tirx.alloc : !tirx.tile<96x32xf32, register>
  tirx.copy %t, %r : !tirx.tile<96x32xf32, tensor, #tirx.tile_layout<S[(96, 32) : (1@TLane, 1@TCol)] + 16@TLane>>, !tirx.tile<96x32xf32, register>
  tirx.return
}

// -----

// One layout for all values that control flow ties together, found through a value without one.

!a = !tirx.tile<8x4xf32, register, #tirx.tile_layout<S[32 : 1@laneid]>>
!b = !tirx.tile<8x4xf32, register, #tirx.tile_layout<S[(8, 4) : (1@laneid, 8@laneid)]>>
!v = !tirx.tile<8x4xf32, register>

tirx.kernel @two_layouts(%f: f32) target("sm_80") threads(32) {
  %a = tirx.splat %f : f32 -> !a
  %v = builtin.unrealized_conversion_cast %a : !a to !v
  // expected-error@+1 {{expected register tiles of one layout, found S[32 : 1@laneid] and S[(8, 4) : (1@laneid, 8@laneid)]; copy through shared memory to change who holds what}}
  %b = builtin.unrealized_conversion_cast %v : !v to !b
  tirx.return
}

tirx.kernel @primes(%d: memref<251x251xf16>) target("sm_80") threads(96) {
  %c0 = arith.constant 0 : index
  %gd = tirx.view %d[%c0, %c0] : memref<251x251xf16> -> !tirx.tile<251x251xf16, global>
  // expected-error@+1 {{expected a register tile that 96 threads can share out, found a 251x251 tile of which a thread has to hold 31500 registers}}
  %t = tirx.load %gd : !tirx.tile<251x251xf16, global> -> !tirx.tile<251x251xf16, register>
  tirx.store %t, %gd : !tirx.tile<251x251xf16, register>, !tirx.tile<251x251xf16, global>
  tirx.return
}
