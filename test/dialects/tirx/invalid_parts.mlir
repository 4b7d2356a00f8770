// RUN: tirx-opt %s --split-input-file --verify-diagnostics

!x = !tirx.tile<8x4xf32, register>
!g = !tirx.tile<8x4xf32, global>
tirx.kernel @k(%x: !x, %g: !g, %s: !tirx.tile<8x4xf32, shared, #tirx.tile_layout<S[(8, 4) : (1, 8)]>>,
    %u: !tirx.tile<8x4xf32, shared, #tirx.tile_layout<S[(2, 4, 4) : (64, 4, 1)]>>) threads(32) {
  // expected-error@+1 {{expected each dimension from 0 to 1 once, found [1, 1]}}
  %0 = tirx.transpose %x [1, 1] : !x -> !tirx.tile<4x8xf32, register>
  // expected-error@+1 {{expected a 4x8 tile of f32, found !tirx.tile<8x4xf32, register>}}
  %1 = tirx.transpose %x [1, 0] : !x -> !x
  // expected-error@+1 {{expected a tile in registers or shared memory, found !tirx.tile<8x4xf32, global>}}
  %60 = tirx.transpose %g [1, 0] : !g -> !tirx.tile<4x8xf32, global>
  // expected-error@+1 {{expected f32 elements in registers like the source's, found f32 in shared memory}}
  %61 = tirx.transpose %x [1, 0] : !x -> !tirx.tile<4x8xf32, shared>
  // expected-error@+1 {{expected the layout of the source in another order, S[(4, 8) : (8, 1)], found !tirx.tile<4x8xf32, shared>}}
  %62 = tirx.transpose %s [1, 0] : !tirx.tile<8x4xf32, shared, #tirx.tile_layout<S[(8, 4) : (1, 8)]>> -> !tirx.tile<4x8xf32, shared>
  // expected-error@+1 {{expected tiles and a dimension from 0 to 1, found 2}}
  %2 = tirx.concat %x, %x dim(2) : !x, !x -> !x
  // expected-error@+1 {{expected 16 elements along dimension 0, found 8}}
  %3 = tirx.concat %x, %x dim(0) : !x, !x -> !x
  // expected-error@+1 {{expected tiles that differ from !tirx.tile<8x8xf16, register> along dimension 1, found !tirx.tile<8x4xf32, register>}}
  %4 = tirx.concat %x, %x dim(1) : !x, !x -> !tirx.tile<8x8xf16, register>
  // expected-error@+1 {{expected 2 steps other than 0, found [1]}}
  %5 = tirx.subview %x[0, 0] steps [1] : !x -> !x
  // expected-error@+1 {{expected 2 steps other than 0, found [1, 0]}}
  %50 = tirx.subview %x[0, 0] steps [1, 0] : !x -> !x
  // expected-error@+1 {{expected a part of the 8x4 tile, found 8x2 at [0, 0]}}
  %6 = tirx.subview %x[0, 0] steps [1, -1] : !x -> !tirx.tile<8x2xf32, register>
  // expected-error@+1 {{expected steps on a tile in registers or shared memory, found !tirx.tile<8x4xf32, global>}}
  %7 = tirx.subview %g[0, 0] steps [2, 1] : !g -> !tirx.tile<4x4xf32, global>
  // expected-error@+1 {{expected a tile with one stride along each dimension, or without a layout, for steps, found S[(2, 4, 4) : (64, 4, 1)]}}
  %8 = tirx.subview %u[0, 0] steps [2, 1] : !tirx.tile<8x4xf32, shared, #tirx.tile_layout<S[(2, 4, 4) : (64, 4, 1)]>> -> !tirx.tile<4x4xf32, shared>
  // expected-error@+1 {{expected an offset and 2 strides, found 1 strides}}
  %9 = tirx.convert %x elements [0, 1] : !x -> !x
  // expected-error@+1 {{expected elements from 0 to 31, found 1 to 32}}
  %10 = tirx.convert %x elements [1, 4, 1] : !x -> !x
  // expected-error@+1 {{expected elements from 0 to 31, found -1 to 30}}
  %11 = tirx.convert %x elements [-1, 4, 1] : !x -> !x
  tirx.return
}

// -----

!x = !tirx.tile<8x4xf32, register>
!g = !tirx.tile<8x4xf32, global>
tirx.kernel @bits_and_elements(%x: !x, %g: !g, %i: index) threads(32) {
  // expected-error@+1 {{expected a tile of 8x4 elements of f32 but for its last extent, of 128 bits, found !tirx.tile<8x4xf16, register>}}
  %70 = tirx.bitcast %x : !x -> !tirx.tile<8x4xf16, register>
  // expected-error@+1 {{expected a tile of 8x4 elements of f32 but for its last extent, of 128 bits, found !tirx.tile<4x4xf64, register>}}
  %71 = tirx.bitcast %x : !x -> !tirx.tile<4x4xf64, register>
  // expected-error@+1 {{expected elements that fill their registers, found 6 bits in !tirx.tile<8x16xf6E2M3FN, register>}}
  %72 = tirx.bitcast %x : !x -> !tirx.tile<8x16xf6E2M3FN, register>
  // expected-error@+1 {{expected a register tile, found !tirx.tile<8x8xf16, shared>}}
  %73 = tirx.bitcast %x : !x -> !tirx.tile<8x8xf16, shared>
  // expected-error@+1 {{expected a register tile, found !tirx.tile<8x4xf32, global>}}
  %74 = tirx.bitcast %g : !g -> !x
  // expected-error@+1 {{expected a tile of one element, found 8x4}}
  %75 = tirx.element %x : !x -> f32
  // expected-error@+1 {{expected a result of f32, found i32}}
  %76 = tirx.subview %x[0, 0] : !x -> i32
  // expected-error@+1 {{expected a tile of indices in a view of a register tile; tirx.subview gives other parts}}
  %77 = tirx.view %x[%i, %i] : !x -> !x
  %78 = tirx.zero : !tirx.tile<1xi4, register>
  // expected-error@+1 {{expected an element that is a number on its own (i1, i8, i16, i32, i64, si8, si16, si32, si64, ui8, ui16, ui32, ui64, index, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, tf32, f32, f64), found i4}}
  %79 = tirx.subview %78[0] : !tirx.tile<1xi4, register> -> i4
  tirx.return
}
