// RUN: tirx-opt %s --split-input-file --verify-diagnostics

tirx.kernel @k(%x: !tirx.tile<8x8xf32, register>) threads(32) {
  // expected-error@+1 {{expected result types or outs(...), one of the two, found neither}}
  tirx.map ins(%x : !tirx.tile<8x8xf32, register>) {
  ^bb0(%a: f32):
    tirx.yield %a : f32
  }
  tirx.return
}

// -----

tirx.kernel @k(%x: !tirx.tile<8x8xf32, shared>) threads(32) {
  // expected-error@+1 {{expected a register tile, found !tirx.tile<8x8xf32, shared>}}
  %0 = tirx.map ins(%x : !tirx.tile<8x8xf32, shared>) {
  ^bb0(%a: f32):
    tirx.yield %a : f32
  } -> !tirx.tile<8x8xf32, register>
  tirx.return
}

// -----

tirx.kernel @k(%x: !tirx.tile<8x4xf32, register>) threads(32) {
  // expected-error@+1 {{expected a tile of the extents of the result, 8x8, or 1 in their place, found 8x4}}
  %0 = tirx.map ins(%x : !tirx.tile<8x4xf32, register>) {
  ^bb0(%a: f32):
    tirx.yield %a : f32
  } -> !tirx.tile<8x8xf32, register>
  tirx.return
}

// -----

tirx.kernel @k(%x: !tirx.tile<8x8xf32, register>) threads(32) {
  // expected-error@+1 {{expected results of one shape, found 8x8 and 8x4}}
  %0, %1 = tirx.map ins(%x : !tirx.tile<8x8xf32, register>) {
  ^bb0(%a: f32):
    tirx.yield %a, %a : f32, f32
  } -> !tirx.tile<8x8xf32, register>, !tirx.tile<8x4xf32, register>
  tirx.return
}

// -----

tirx.kernel @k(%x: !tirx.tile<8x8xui8, register>) threads(32) {
  // expected-error@+1 {{expected a body with arguments (i8), found (f32)}}
  %0 = tirx.map ins(%x : !tirx.tile<8x8xui8, register>) {
  ^bb0(%a: f32):
    tirx.yield %a : f32
  } -> !tirx.tile<8x8xf32, register>
  tirx.return
}

// -----

tirx.kernel @k(%x: !tirx.tile<8x8xf32, register>) threads(32) {
  // expected-error@+1 {{expected 'tirx.yield' with (f16), found (f32)}}
  %0 = tirx.map ins(%x : !tirx.tile<8x8xf32, register>) {
  ^bb0(%a: f32):
    tirx.yield %a : f32
  } -> !tirx.tile<8x8xf16, register>
  tirx.return
}

// -----

tirx.kernel @k(%x: !tirx.tile<8x8xf32, register>) threads(32) {
  // expected-error@+1 {{expected arith, math, tirx.index and operations with ScalarOpInterface in the body of a map, found 'tirx.barrier'}}
  %0 = tirx.map ins(%x : !tirx.tile<8x8xf32, register>) {
  ^bb0(%a: f32):
    tirx.barrier
    tirx.yield %a : f32
  } -> !tirx.tile<8x8xf32, register>
  tirx.return
}

// -----

tirx.kernel @k(%x: !tirx.tile<8x8xf32, register>) threads(32) {
  %0 = tirx.map ins(%x : !tirx.tile<8x8xf32, register>) {
  ^bb0(%a: f32):
    // expected-error@+1 {{expected types (f32), found (f16)}}
    tirx.yield %a : f16
  } -> !tirx.tile<8x8xf32, register>
  tirx.return
}

// -----

tirx.kernel @k(%x: !tirx.tile<8x8xf32, register>) threads(32) {
  // expected-error@+1 {{expected a 'tirx.map' around, found tirx.kernel}}
  %0 = tirx.index 0
  tirx.return
}

// -----

tirx.kernel @k() threads(32) {
  %0 = tirx.map {
    // expected-error@+1 {{expected a dimension from 0 to 1, found 2}}
    %i = tirx.index 2
    %v = arith.index_cast %i : index to i32
    tirx.yield %v : i32
  } -> !tirx.tile<8x8xi32, register>
  tirx.return
}

// -----

tirx.kernel @k(%x: !tirx.tile<8x8xf32, register>) threads(32) {
  // expected-error@+1 {{expected different dimensions from 0 to 1, found [1, 1]}}
  %0 = tirx.reduce %x dim(1, 1) add : !tirx.tile<8x8xf32, register> -> !tirx.tile<8x1xf32, register>
  tirx.return
}

// -----

tirx.kernel @k(%x: !tirx.tile<8x8xf32, register>) threads(32) {
  // expected-error@+1 {{expected a 8x1 tile of f32, found !tirx.tile<1x8xf32, register>}}
  %0 = tirx.reduce %x dim(1) add : !tirx.tile<8x8xf32, register> -> !tirx.tile<1x8xf32, register>
  tirx.return
}

// -----

tirx.kernel @k(%x: !tirx.tile<8x1xf32, register>) threads(32) {
  // expected-error@+1 {{expected f32 elements, found f16}}
  %0 = tirx.broadcast %x : !tirx.tile<8x1xf32, register> -> !tirx.tile<8x8xf16, register>
  tirx.return
}

// -----

tirx.kernel @k(%x: !tirx.tile<8x1xf32, register>) threads(32) {
  // expected-error@+1 {{expected tiles of one shape, found 8x1 and 8x8}}
  %0 = tirx.convert %x : !tirx.tile<8x1xf32, register> -> !tirx.tile<8x8xf32, register>
  tirx.return
}
