// RUN: tirx-opt %s --split-input-file --verify-diagnostics

tirx.kernel @k(
    %x: !tirx.tile<8x8xf32, register>, %x2: !tirx.tile<8x8xf32, shared>, %x3: !tirx.tile<8x4xf32, register>, %x4: !tirx.tile<8x8xui8, register>,
    %x5: !tirx.tile<8x1xf32, register>) threads(32) {
  // expected-error@+1 {{expected result types or outs(...), one of the two, found neither}}
  tirx.map ins(%x : !tirx.tile<8x8xf32, register>) {
  ^bb0(%a: f32):
    tirx.yield %a : f32
  }
  // expected-error@+1 {{expected a register tile, found !tirx.tile<8x8xf32, shared>}}
  %0 = tirx.map ins(%x2 : !tirx.tile<8x8xf32, shared>) {
  ^bb0(%a2: f32):
    tirx.yield %a2 : f32
  } -> !tirx.tile<8x8xf32, register>
  // expected-error@+1 {{expected a tile of the extents of the result, 8x8, or 1 in their place, found 8x4}}
  %100 = tirx.map ins(%x3 : !tirx.tile<8x4xf32, register>) {
  ^bb0(%a3: f32):
    tirx.yield %a3 : f32
  } -> !tirx.tile<8x8xf32, register>
  // expected-error@+1 {{expected results of one shape, found 8x8 and 8x4}}
  %200, %1 = tirx.map ins(%x : !tirx.tile<8x8xf32, register>) {
  ^bb0(%a4: f32):
    tirx.yield %a4, %a4 : f32, f32
  } -> !tirx.tile<8x8xf32, register>, !tirx.tile<8x4xf32, register>
  // expected-error@+1 {{expected a body with arguments (i8), found (f32)}}
  %300 = tirx.map ins(%x4 : !tirx.tile<8x8xui8, register>) {
  ^bb0(%a5: f32):
    tirx.yield %a5 : f32
  } -> !tirx.tile<8x8xf32, register>
  // expected-error@+1 {{expected 'tirx.yield' with (f16), found (f32)}}
  %400 = tirx.map ins(%x : !tirx.tile<8x8xf32, register>) {
  ^bb0(%a6: f32):
    tirx.yield %a6 : f32
  } -> !tirx.tile<8x8xf16, register>
  // expected-error@+1 {{expected arith, math, tirx.index, operations with ScalarOpInterface and pure instructions of one result in the body of a map, found 'tirx.barrier'}}
  %500 = tirx.map ins(%x : !tirx.tile<8x8xf32, register>) {
  ^bb0(%a7: f32):
    tirx.barrier
    tirx.yield %a7 : f32
  } -> !tirx.tile<8x8xf32, register>
  // expected-error@+1 {{expected a 'tirx.map' around, found tirx.kernel}}
  %600 = tirx.index 0
  %700 = tirx.map {
    // expected-error@+1 {{expected a dimension from 0 to 1, found 2}}
    %i = tirx.index 2
    %v = arith.index_cast %i : index to i32
    tirx.yield %v : i32
  } -> !tirx.tile<8x8xi32, register>
  // expected-error@+1 {{expected different dimensions from 0 to 1, found [1, 1]}}
  %800 = tirx.reduce %x dim(1, 1) add : !tirx.tile<8x8xf32, register> -> !tirx.tile<8x1xf32, register>
  // expected-error@+1 {{expected a 8x1 tile of f32, found !tirx.tile<1x8xf32, register>}}
  %900 = tirx.reduce %x dim(1) add : !tirx.tile<8x8xf32, register> -> !tirx.tile<1x8xf32, register>
  // expected-error@+1 {{expected f32 elements, found f16}}
  %1000 = tirx.broadcast %x5 : !tirx.tile<8x1xf32, register> -> !tirx.tile<8x8xf16, register>
  // expected-error@+1 {{expected tiles of one shape, found 8x1 and 8x8}}
  %1100 = tirx.convert %x5 : !tirx.tile<8x1xf32, register> -> !tirx.tile<8x8xf32, register>
  tirx.return
}

// -----

tirx.kernel @k(%x: !tirx.tile<8x8xf32, register>) threads(32) {
  %0 = tirx.map ins(%x : !tirx.tile<8x8xf32, register>) {
  ^bb0(%a: f32):
    // expected-error@+1 {{expected types (f32), found (f16)}}
    tirx.yield %a : f16
  } -> !tirx.tile<8x8xf32, register>
}

// -----

tirx.kernel @results(%x: !tirx.tile<8x8xf32, register>) threads(32) {
  // expected-error@+1 {{pure instructions of one result in the body of a map, found 'ptx.inline'}}
  %0 = tirx.map ins(%x : !tirx.tile<8x8xf32, register>) {
  ^bb0(%a: f32):
    %p, %q = ptx.inline "{ mov.f32 $0, $2; mov.f32 $1, $2; }" (%a) : (f32) -> (f32, f32)
    tirx.yield %p : f32
  } -> !tirx.tile<8x8xf32, register>
  tirx.return
}

// -----

tirx.kernel @stores_in_a_branch(%m: memref<8xf32>, %p: i1) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %x = tirx.zero : !tirx.tile<8xf32, register>
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) {
  ^bb0(%e: f32):
    scf.if %p {
      // expected-error@-3 {{pure instructions of one result in the body of a map, found 'memref.store'}}
      memref.store %e, %m[%c0] : memref<8xf32>
    }
    tirx.yield %e : f32
  } -> !tirx.tile<8xf32, register>
  tirx.return
}
