// RUN: tirx-opt %s --split-input-file --verify-diagnostics

!x = !tirx.tile<8x8xf32, register>
!m = !tirx.tile<8x1xf32, register>
tirx.kernel @k(%x: !x, %b: !tirx.tile<8x8xi8, register>, %y: !tirx.tile<8x4xf32, register>, %m: !m) threads(32) {
  // expected-error@+1 {{expected elements of 16 bits or more to combine, found i8; a tirx.map makes them wider}}
  %0 = tirx.reduce %b dim(1) add : !tirx.tile<8x8xi8, register> -> !tirx.tile<8x1xi8, register>
  // expected-error@+1 {{expected different dimensions from 0 to 1, found [2]}}
  %1 = tirx.scan %x dim(2) add : !x -> !x
  // expected-error@+1 {{expected a 8x8 tile of f32, found !tirx.tile<8x1xf32, register>}}
  %2 = tirx.scan %x dim(1) add : !x -> !m
  // expected-error@+1 {{expected a 8x1 tile of f32, found !tirx.tile<8x8xf32, register>}}
  %3, %t3 = tirx.scan %x dim(1) add : !x -> !x, !x
  // expected-error@+1 {{expected a 8x1 tile of f32, found !tirx.tile<8x8xf32, register>}}
  %4 = tirx.scan %x dim(1) add init(%x : !x) : !x -> !x
  // expected-error@+1 {{expected one init for each of 1 tiles, found 2}}
  %5 = tirx.scan %x dim(1) add init(%m, %m : !m, !m) : !x -> !x
  // expected-error@+1 {{expected 1 results, or as many totals behind them, found 3}}
  %6, %t6, %u6 = tirx.scan %x dim(1) add : !x -> !x, !m, !m
  // expected-error@+1 {{expected one result for each of 1 tiles, found 2}}
  %7, %t7 = tirx.reduce %x dim(1) add : !x -> !m, !m
  // expected-error@+1 {{expected tiles of one shape, found 8x8 and 8x4}}
  %8, %t8 = tirx.reduce ins(%x, %y : !x, !tirx.tile<8x4xf32, register>) dim(1) {
  ^bb0(%a0: f32, %a1: f32, %b0: f32, %b1: f32):
    tirx.yield %a0, %a1 : f32, f32
  } -> !m, !m
  // expected-error@+1 {{expected a body with arguments (f32, f32), found (f32)}}
  %9 = tirx.reduce ins(%x : !x) dim(1) {
  ^bb0(%a0: f32):
    tirx.yield %a0 : f32
  } -> !m
  // expected-error@+1 {{expected arith, math, operations with ScalarOpInterface and pure instructions of one result in the body of a reduction or scan, found 'tirx.block_id'}}
  %10 = tirx.reduce ins(%x : !x) dim(1) {
  ^bb0(%a0: f32, %b0: f32):
    %r = tirx.block_id x
    tirx.yield %a0 : f32
  } -> !m
  // expected-error@+1 {{expected init(...) for an exclusive scan with a region: its first element is the init}}
  %11 = tirx.scan ins(%x : !x) dim(1) exclusive {
  ^bb0(%a0: f32, %b0: f32):
    %r = arith.addf %a0, %b0 : f32
    tirx.yield %r : f32
  } -> !x
  // expected-error@+1 {{expected a combination or a region, found neither}}
  %12 = "tirx.reduce"(%x) <{dims = [1 : i32]}> : (!x) -> !m
  tirx.return
}

// -----

tirx.kernel @k(%x: !tirx.tile<8x8xf32, register>) threads(32) {
  // expected-error@+1 {{expected one dimension of a scan, found [0, 1]}}
  %0 = tirx.scan %x dim(0, 1) add : !tirx.tile<8x8xf32, register> -> !tirx.tile<8x8xf32, register>
  tirx.return
}
