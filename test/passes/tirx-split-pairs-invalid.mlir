// RUN: tirx-opt %s --tirx-split-pairs --split-input-file --verify-diagnostics

tirx.kernel @inner_digit() cluster(2) threads(128) {
  // expected-error@+1 {{expected axis cbx once, as the outermost digit 2 : 1@cbx of one dimension, of which each block of the pair holds one half, or as R[2 : 1@cbx] where each holds all; found S[(4, 2, 8) : (8, 1@cbx, 1)]}}
  %t = tirx.alloc : !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(4, 2, 8) : (8, 1@cbx, 1)]>>
  tirx.return
}

// -----

tirx.kernel @offset() cluster(2) threads(128) {
  // expected-error@+1 {{expected axis cbx once, as the outermost digit 2 : 1@cbx of one dimension}}
  %t = tirx.alloc : !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(8, 8) : (8, 1)] + 1@cbx>>
  tirx.return
}

// -----

tirx.kernel @two_digits() cluster(2) threads(128) {
  // expected-error@+1 {{found S[(2, 2, 2, 8) : (1@cbx, 2@cbx, 8, 1)]}}
  %t = tirx.alloc : !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(2, 2, 2, 8) : (1@cbx, 2@cbx, 8, 1)]>>
  tirx.return
}

// -----

tirx.kernel @halves_and_copies() cluster(2) threads(128) {
  // expected-error@+1 {{or as R[2 : 1@cbx] where each holds all; found S[(2, 4, 8) : (1@cbx, 8, 1)] + R[2 : 1@cbx]}}
  %t = tirx.alloc : !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(2, 4, 8) : (1@cbx, 8, 1)] + R[2 : 1@cbx]>>
  tirx.return
}

// -----

tirx.kernel @operand_in_both() cluster(2) threads(128) {
  %a = tirx.alloc : !tirx.tile<256x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(256, 64) : (64, 1)]>>>
  %acc = tirx.alloc : !tirx.tile<256x256xf32, tensor>
  // expected-error@+1 {{expected each block of the pair to hold half of the rows of A, by 2 : 1@cbx in its layout or without one, found !tirx.tile<256x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(256, 64) : (64, 1)]>>>; a swizzle has no place for it: leave the layout out, or write the kernel with per_cta}}
  tirx.mma %a, %a, %acc : !tirx.tile<256x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(256, 64) : (64, 1)]>>>, !tirx.tile<256x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(256, 64) : (64, 1)]>>>, !tirx.tile<256x256xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @two_ways() cluster(2) threads(128) {
  %s = tirx.alloc : !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(2, 4, 8) : (1@cbx, 8, 1)]>>
  %t = tirx.alloc : !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>
  // expected-error@+1 {{expected two tiles that are distributed over the pair in the same way, found !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(2, 4, 8) : (1@cbx, 8, 1)]>> and !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>: a block does not read what the other one holds}}
  tirx.copy %s, %t : !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(2, 4, 8) : (1@cbx, 8, 1)]>>, !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>
  tirx.return
}

// -----

!s = !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(2, 4, 8) : (1@cbx, 8, 1)]>>
tirx.kernel @part_of_one_block() cluster(2) threads(128) {
  %s = tirx.alloc : !s
  // expected-error@+1 {{expected a part with all of dimension 0, which the blocks of the pair share out, found 4x8 of 8x8}}
  %p = tirx.subview %s[0, 0] : !s -> !tirx.tile<4x8xf32, shared, #tirx.tile_layout<S[(4, 8) : (8, 1)]>>
  tirx.return
}

// -----

!s = !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(8, 2, 4) : (8, 1@cbx, 1)]>>
!r = !tirx.tile<64xf32, shared, #tirx.tile_layout<S[(8, 2, 4) : (8, 1@cbx, 1)]>>
tirx.kernel @reshape(%d: memref<64xf32>) cluster(2) threads(128) {
  %c = arith.constant 0 : index
  %s = tirx.alloc : !s
  %g = tirx.view %d[%c] : memref<64xf32> -> !tirx.tile<64xf32, global>
  // expected-error@+1 {{expected a reshape that keeps the halves of dimension 1, which the blocks of the pair share out, found 8x8 to 64}}
  %r = tirx.reshape %s : !s -> !r
  tirx.copy %r, %g : !r, !tirx.tile<64xf32, global>
  tirx.return
}

// -----

!a = !tirx.tile<256x32xf16, shared>
!b = !tirx.tile<128x32xf16, shared>
!acc = !tirx.tile<256x128xf32, tensor, #tirx.tile_layout<S[(2, 128, 128) : (128@TCol, 1@TLane, 1@TCol)]>>
tirx.kernel @sums_in_both() cluster(2) threads(128) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  // expected-error@+1 {{expected each block of the pair to hold half of the rows of the accumulator, by 2 : 1@cbx in its layout or without one}}
  tirx.mma %a, %b, %acc : !a, !b, !acc
  tirx.return
}

// -----

// Half of SFA, but all of SFB, is in each block: one tile cannot be both.

!a = !tirx.tile<256x128xf8E4M3FN, shared>
!acc = !tirx.tile<256x256xf32, tensor>
!s = !tirx.tile<256x4xf8E8M0FNU, tensor>
tirx.kernel @same_factors() cluster(2) threads(128) {
  %a = tirx.alloc : !a
  %acc = tirx.alloc : !acc
  %s = tirx.alloc : !s
  // expected-error@+1 {{expected all of SFB in both blocks of the pair, which multiply all columns, found one of the tiles that the blocks share out: !tirx.tile<256x4xf8E8M0FNU, tensor>}}
  tirx.mma %a, %a, %acc scales(%s, %s) : !a, !a, !acc, !s, !s
  tirx.return
}

// -----

!a = !tirx.tile<256x128xf8E4M3FN, shared>
!acc = !tirx.tile<256x256xf32, tensor>
!s = !tirx.tile<256x4xf8E8M0FNU, tensor>
!placed = !tirx.tile<256x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(8, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]>>
tirx.kernel @factors_in_both() cluster(2) threads(128) {
  %a = tirx.alloc : !a
  %acc = tirx.alloc : !acc
  %p = tirx.alloc : !placed
  %s = tirx.alloc : !s
  // expected-error@+1 {{expected each block of the pair to hold half of the rows of SFA, by 2 : 1@cbx in its layout or without one}}
  tirx.mma %a, %a, %acc scales(%p, %s) : !a, !a, !acc, !placed, !s
  tirx.return
}

// -----

!a = !tirx.tile<256x32xf16, shared>
!b = !tirx.tile<128x64xf16, shared>
!acc = !tirx.tile<256x128xf32, tensor>
!e = !tirx.tile<256x16xi4, tensor, #tirx.tile_layout<S[(8, 2, 8, 2, 2, 2, 4) : (16@TLane, 4@TCol, 1@TLane, 16@TCol, 8@TCol, 8@TLane, 1@TCol)]>>
tirx.kernel @codes_in_both() cluster(2) threads(128) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  %e = tirx.alloc : !e
  // expected-error@+1 {{expected each block of the pair to hold half of the rows of the metadata, by 2 : 1@cbx in its layout or without one}}
  tirx.mma %a, %b, %acc metadata(%e) : !a, !b, !acc, !e
  tirx.return
}

// -----

!s = !tirx.tile<8x8xf32, register, #tirx.tile_layout<S[(2, 4, 8) : (1@cbx, 8, 1)]>>
!t = !tirx.tile<8x8xf32, register, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>

tirx.kernel @registers_in_two_ways() cluster(2) threads(128) {
  // expected-error@+1 {{expected two tiles that are distributed over the pair in the same way, found !tirx.tile<8x8xf32, register, #tirx.tile_layout<S[(2, 4, 8) : (1@cbx, 8, 1)]>> and !tirx.tile<8x8xf32, register, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>}}
  %s = tirx.alloc : !s
  %t = tirx.alloc : !t
  tirx.copy %s, %t : !s, !t
  tirx.return
}

// -----

// One block would read what the other one stores, and no block waits for the other one.

!half = !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(2, 4, 8) : (1@cbx, 8, 1)]>>
!whole = !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>

tirx.kernel @reads_the_other_half(%d: memref<8x8xf32>) cluster(2) threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !half
  %t = tirx.alloc : !whole
  %g = tirx.view %d[%c0, %c0] : memref<8x8xf32> -> !tirx.tile<8x8xf32, global>
  tirx.copy %s, %g : !half, !tirx.tile<8x8xf32, global>
  // expected-error@+1 {{expected each block of the pair to touch here the half of global memory that it touches in 'tirx.copy' in line}}
  tirx.copy %g, %t : !tirx.tile<8x8xf32, global>, !whole
  tirx.return
}

// -----

// In the next iteration, the rows of one block were those of the other one.

!half = !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(2, 4, 8) : (1@cbx, 8, 1)]>>

tirx.kernel @in_the_next_iteration(%d: memref<24x8xf32>) cluster(2) threads(128) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %s = tirx.alloc : !half
  scf.for %i = %c0 to %c16 step %c4 {
    %g = tirx.view %d[%i, %c0] : memref<24x8xf32> -> !tirx.tile<8x8xf32, global>
    tirx.copy %g, %s : !tirx.tile<8x8xf32, global>, !half
    // expected-error@+1 {{found a tile that may overlap the other half: a block does not wait for what the other one does to global memory}}
    tirx.copy %s, %g : !half, !tirx.tile<8x8xf32, global>
  }
  tirx.return
}

// -----

!whole = !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>

tirx.kernel @added_twice(%d: memref<8x8xf32>) cluster(2) threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !whole
  %g = tirx.view %d[%c0, %c0] : memref<8x8xf32> -> !tirx.tile<8x8xf32, global>
  // expected-error@+1 {{expected a tile that the blocks of the pair share out for a reduction, found one that each of them has, whose elements would be combined twice}}
  tirx.copy %s, %g reduce(add) : !whole, !tirx.tile<8x8xf32, global>
  tirx.return
}

// -----

!half = !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(2, 4, 8) : (1@cbx, 8, 1)]>>

tirx.kernel @rows_by_index(%d: memref<64x8xf32>) cluster(2) threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !half
  %t = tirx.zero : !tirx.tile<8xi32, register>
  %g = tirx.view %d[[%t], %c0] : memref<64x8xf32>, !tirx.tile<8xi32, register> -> !tirx.tile<8x8xf32, global>
  // expected-error@+1 {{expected a view without index tiles for a tile of the pair, found one that has them}}
  tirx.copy %g, %s : !tirx.tile<8x8xf32, global>, !half
  tirx.return
}

// -----

!half = !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(2, 4, 8) : (1@cbx, 8, 1)]>>
!r = !tirx.tile<8x8xf32, register>

tirx.kernel @sums_of_columns() cluster(2) threads(128) {
  %s = tirx.alloc : !half
  %x = tirx.load %s : !half -> !r
  // expected-error@+1 {{expected to combine along others than dimension 0, whose halves two blocks hold}}
  %m = tirx.reduce %x dim(0) add : !r -> !tirx.tile<1x8xf32, register>
  tirx.return
}

// -----

!rows = !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(2, 4, 8) : (1@cbx, 8, 1)]>>
!columns = !tirx.tile<8x8xf32, shared, #tirx.tile_layout<S[(8, 2, 4) : (4, 1@cbx, 1)]>>
!r = !tirx.tile<8x8xf32, register>

tirx.kernel @rows_and_columns() cluster(2) threads(128) {
  %s = tirx.alloc : !rows
  %t = tirx.alloc : !columns
  %x = tirx.load %s : !rows -> !r
  %y = tirx.load %t : !columns -> !r
  // expected-error@+1 {{expected two tiles that are distributed over the pair in the same way}}
  %z = tirx.map ins(%x, %y : !r, !r) (%e, %f) { %e + %f } -> !r
  tirx.return
}

// -----

// `tirx-mem2reg` makes conversions of operations on register tiles, which have other names.

!s = !tirx.tile<16x8xf32, shared, #tirx.tile_layout<S[(2, 8, 8) : (1@cbx, 8, 1)]>>
!r = !tirx.tile<16x8xf32, register>
tirx.kernel @reshape_of_registers() cluster(2) threads(128) {
  %s = tirx.alloc : !s
  %r = tirx.load %s : !s -> !r
  // expected-error@+1 {{expected no 'tirx.reshape' of a register tile that the blocks of the pair share out, found !tirx.tile<16x8xf32, register>; views of memory have other orders, shapes and parts of it}}
  %c = tirx.convert %r elements [0 : i64, 32 : i64, 8 : i64, 1 : i64] : !r -> !tirx.tile<4x4x8xf32, register>
  tirx.return
}

// -----

!s = !tirx.tile<16x8xf32, shared, #tirx.tile_layout<S[(2, 8, 8) : (1@cbx, 8, 1)]>>
!r = !tirx.tile<16x8xf32, register>
tirx.kernel @transpose_of_registers() cluster(2) threads(128) {
  %s = tirx.alloc : !s
  %r = tirx.load %s : !s -> !r
  // expected-error@+1 {{expected no 'tirx.transpose' of a register tile that the blocks of the pair share out, found !tirx.tile<16x8xf32, register>; views of memory have other orders, shapes and parts of it}}
  %c = tirx.convert %r elements [0 : i64, 1 : i64, 8 : i64] : !r -> !tirx.tile<8x16xf32, register>
  tirx.return
}

// -----

!s = !tirx.tile<16x8xf32, shared, #tirx.tile_layout<S[(2, 8, 8) : (1@cbx, 8, 1)]>>
!r = !tirx.tile<16x8xf32, register>
tirx.kernel @subview_of_registers() cluster(2) threads(128) {
  %s = tirx.alloc : !s
  %r = tirx.load %s : !s -> !r
  // expected-error@+1 {{expected no 'tirx.subview' of a register tile that the blocks of the pair share out, found !tirx.tile<16x8xf32, register>; views of memory have other orders, shapes and parts of it}}
  %c = tirx.convert %r elements [0 : i64, 8 : i64, 1 : i64] : !r -> !tirx.tile<16x4xf32, register>
  tirx.return
}
