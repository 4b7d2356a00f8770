// RUN: tirx-opt %s --tirx-select-instructions --tirx-select-copies --tirx-allocate-memory --convert-tirx-to-tcgen05 --split-input-file --verify-diagnostics

#t = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>

// expected-error@+1 {{expected threads(128) or more, in whole warps, in a kernel with tensor memory, one warp for every 32 lanes, found threads(96)}}
tirx.kernel @threads() target("sm_100a") threads(96) {
  %t = tirx.alloc : !tirx.tile<128x64xf32, tensor, #t>
  tirx.return
}

// -----

#t = #tirx.tile_layout<S[(128, 512) : (1@TLane, 1@TCol)]>

tirx.kernel @columns(%x: f32) target("sm_100a") threads(128) {
  %t = tirx.alloc : !tirx.tile<128x512xf32, tensor, #t>
  // expected-error@+1 {{expected at most 512 columns of tensor memory in use at a time, found no room for %u of 512 columns next to %t of 512 columns}}
  %u = tirx.alloc : !tirx.tile<128x512xf32, tensor, #t>
  tirx.fill %t, %x : f32, !tirx.tile<128x512xf32, tensor, #t>
  tirx.fill %u, %x : f32, !tirx.tile<128x512xf32, tensor, #t>
  tirx.fill %t, %x : f32, !tirx.tile<128x512xf32, tensor, #t>
  tirx.return
}

// -----

tirx.kernel @no_layout() target("sm_100a") threads(128) {
  // expected-error@+1 {{expected a layout on !tirx.tile<128x64xf32, tensor>; tirx-pick-layouts chooses one}}
  %t = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  tirx.return
}

// -----

#t = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
tirx.kernel @no_operand_layout() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x16xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x16xf16, shared>
  %t = tirx.alloc : !tirx.tile<128x64xf32, tensor, #t>
  // expected-error@+1 {{expected a layout on A; tirx-pick-layouts chooses one}}
  tirx.mma %a, %b, %t : !tirx.tile<128x16xf16, shared>, !tirx.tile<64x16xf16, shared>, !tirx.tile<128x64xf32, tensor, #t>
  tirx.return
}

// -----

#t = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
#a = #tirx.tile_layout<S[(128, 16) : (16, 1)]>
tirx.kernel @operand_layout() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x16xf16, shared, #a>
  %t = tirx.alloc : !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
  // expected-error@+1 {{operand A: the layout of K elements [0, 16) is not canonical: }}
  tirx.mma %a, %a, %t : !tirx.tile<128x16xf16, shared, #a>, !tirx.tile<128x16xf16, shared, #a>, !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
  tirx.return
}

// -----

#t = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
!s = !tirx.tile<128x64xf32, shared, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>
tirx.kernel @through_registers() target("sm_100a") threads(128) {
  %t = tirx.alloc : !tirx.tile<128x64xf32, tensor, #t>
  %s = tirx.alloc : !s
  // expected-error@+1 {{expected one side of a copy with tensor memory in registers, found tensor to shared; tirx-expand-copies goes through registers}}
  tirx.copy %t, %s : !tirx.tile<128x64xf32, tensor, #t>, !s
  tirx.return
}

// -----

#t = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
tirx.kernel @no_register_layout() target("sm_100a") threads(128) {
  %t = tirx.alloc : !tirx.tile<128x64xf32, tensor, #t>
  // expected-error@+1 {{expected a layout on !tirx.tile<128x64xf32, register>; tirx-pick-layouts chooses one}}
  %r = tirx.load %t : !tirx.tile<128x64xf32, tensor, #t> -> !tirx.tile<128x64xf32, register>
  tirx.return
}

// -----

#t = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
!r = !tirx.tile<128x64xf32, register, #tirx.tile_layout<S[(32, 4, 64) : (1@laneid, 1@warpid, 1)]>>
tirx.kernel @register_layout() target("sm_100a") threads(128) {
  %t = tirx.alloc : !tirx.tile<128x64xf32, tensor, #t>
  %r = tirx.zero : !r
  // expected-error@+1 {{expected a register layout that tcgen05.ld and st can move, such as S[(4, 32, 64) : (1@warpid, 1@laneid, 1)], found S[(32, 4, 64) : (1@laneid, 1@warpid, 1)]}}
  tirx.store %r, %t : !r, !tirx.tile<128x64xf32, tensor, #t>
  tirx.return
}

// -----

// The hardware has f16 accumulators, but their registers are not those of 32-bit elements.

#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(128, 16) : (16, 1)]>>
#t = #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>
tirx.kernel @f16_accumulator() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x16xf16, shared, #a>
  %t = tirx.alloc : !tirx.tile<128x128xf16, tensor, #t>
  // expected-error@+1 {{expected the 128x128 accumulator where tcgen05.mma writes it, S[(128, 128) : (1@TLane, 2@TCol)] (plus any column offset), found S[(128, 128) : (1@TLane, 1@TCol)]}}
  tirx.mma %a, %a, %t : !tirx.tile<128x16xf16, shared, #a>, !tirx.tile<128x16xf16, shared, #a>, !tirx.tile<128x128xf16, tensor, #t>
  tirx.return
}

// -----

// tcgen05.st of 8 rows would write the other 24 lanes of the warp.

#d = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
!part = !tirx.tile<8x64xf32, tensor, #tirx.tile_layout<S[(8, 64) : (1@TLane, 1@TCol)] + 32@TLane>>
!r = !tirx.tile<8x64xf32, register, #tirx.tile_layout<S[(8, 64) : (1@laneid, 1)] + 1@warpid>>
tirx.kernel @part_of_a_warp() target("sm_100a") threads(128) {
  %x = tirx.alloc : !tirx.tile<128x64xf32, tensor, #d>
  %part = tirx.subview %x[32, 0] : !tirx.tile<128x64xf32, tensor, #d> -> !part
  %r = tirx.zero : !r
  // expected-error@+1 {{expected a part of a tensor tile in whole warps of 32 lanes (16 where every warp holds 16) and in neighbouring columns, as tcgen05.st writes them; it would overwrite lane 40, column 0, of the rest of the tile}}
  tirx.store %r, %part : !r, !part
  tirx.return
}

// -----

// A warp reaches the lanes that follow from its number in the block.

#t = #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>
!t = !tirx.tile<128x64xf32, tensor, #t>

tirx.kernel @lanes_of_a_role() target("sm_100a") threads(160) {
  %t = tirx.alloc : !t
  tirx.roles {
    tirx.role @first warps(1) {
    }
    tirx.role @second warps(4) {
      // expected-error@+1 {{expected threads from a multiple of 128 on, since warp w reaches lanes 32 * (w mod 4) to 32 * (w mod 4) + 31 of tensor memory, found those from thread 32 on}}
      %r = tirx.load %t : !t -> !tirx.tile<128x64xf32, register, #tirx.tile_layout<S[(4, 32, 64) : (1@warpid, 1@laneid, 1)]>>
    }
  }
  tirx.return
}
