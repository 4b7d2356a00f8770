// RUN: tirx-opt %s --split-input-file --verify-diagnostics

!g = !tirx.tile<4x8xi32, global>
!x = !tirx.tile<4x8xi32, register>
!h = !tirx.tile<4x8xf16, register>
!t = !tirx.tile<128x8xf32, tensor>
tirx.kernel @k(%g: !g, %x: !x, %h: !h, %n: i32, %t: !t, %f: !tirx.tile<128x8xf32, register>, %s: !tirx.tile<4x8xi32, shared>, %one: !tirx.tile<1xi32, global>, %l: i64) threads(128) {
  // expected-error@+1 {{expected a register tile like !tirx.tile<4x8xi32, global>, found !tirx.tile<4x8xi32, shared>}}
  %5 = tirx.atomic add %s, %g : !tirx.tile<4x8xi32, shared>, !g -> !tirx.tile<4x8xi32, shared>
  %6 = tirx.atomic add %n, %one : i32, !tirx.tile<1xi32, global> -> i32
  // expected-error@+1 {{expected a register tile like !tirx.tile<1xi32, global>, or a number for one element, found i64 for 1}}
  %7 = tirx.atomic add %l, %one : i64, !tirx.tile<1xi32, global> -> i64
  // expected-error@+1 {{expected a register tile like !tirx.tile<4x8xi32, global>, found !tirx.tile<4x8xf16, register>}}
  %0 = tirx.atomic add %h, %g : !h, !g -> !h
  // expected-error@+1 {{expected a register tile like !tirx.tile<4x8xi32, global>, or a number for one element, found i32 for 4x8}}
  %1 = tirx.atomic add %n, %g : i32, !g -> i32
  // expected-error@+1 {{expected values and a result of type !tirx.tile<4x8xi32, register>, found i32}}
  %2 = tirx.atomic add %x, %g : !x, !g -> i32
  // expected-error@+1 {{expected a tile in global or shared memory, found !tirx.tile<128x8xf32, tensor>}}
  %3 = tirx.atomic add %f, %t : !tirx.tile<128x8xf32, register>, !t -> !tirx.tile<128x8xf32, register>
  // expected-error@+1 {{expected add, min, max, and, or, xor, exch or cas with what it expects, found inc}}
  %4 = tirx.atomic inc %x, %g : !x, !g -> !x
  tirx.return
}

// -----

!s = !tirx.tile<8xf16, shared>
!h = !tirx.tile<8xf16, register>
tirx.kernel @types(%s: !s, %h: !h, %d: !tirx.tile<8xf64, shared>, %e: !tirx.tile<8xf64, register>) threads(32) {
  %0 = tirx.atomic add %h, %s : !h, !s -> !h
  // expected-error@+1 {{expected exch on integers of 32 and 64 bits, f32, f64, found f16}}
  %1 = tirx.atomic exch %h, %s : !h, !s -> !h
  // expected-error@+1 {{expected max on integers of 32 and 64 bits, f32, found f64}}
  %2 = tirx.atomic max %e, %d : !tirx.tile<8xf64, register>, !tirx.tile<8xf64, shared> -> !tirx.tile<8xf64, register>
  tirx.return
}

// -----

tirx.kernel @flags(%m: memref<?xi32>, %h: memref<4xi16>, %n: i32, %x: f16, %l: i64) threads(32) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected 1 indices into memref<?xi32>, found 2}}
  tirx.signal %m[%c0, %c0], %n : memref<?xi32>
  // expected-error@+1 {{expected flags of i32 or i64 in a memref, found memref<4xi16>}}
  "tirx.signal"(%h, %n, %c0) : (memref<4xi16>, i32, index) -> ()
  // expected-error@+1 {{expected a kernel with the clause in_order or cooperative, where blocks may wait for each other, found neither}}
  %0 = tirx.wait_until %m[%c0] sge, %n : memref<?xi32>
  tirx.return
}

// -----

// expected-error@+1 {{expected a grid, and no cluster, with in_order}}
tirx.kernel @no_grid() threads(32) in_order {
  tirx.return
}

// -----

tirx.kernel @words(%m: memref<?xi32>, %n: i32) grid(1) threads(32) in_order {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected a comparison (eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge), found 'above'}}
  %0 = tirx.wait_until %m[%c0] above, %n : memref<?xi32>
  tirx.return
}

// -----

tirx.kernel @twice(%m: memref<?xi32>, %n: i32) grid(1) threads(32) in_order {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected one scope, found two}}
  tirx.signal %m[%c0], %n gpu sys : memref<?xi32>
  tirx.return
}

// -----

tirx.kernel @tile(%n: i32) grid(1) threads(32) in_order {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected a memref of flags, found i32}}
  tirx.signal %n[%c0], %n : i32
  tirx.return
}
