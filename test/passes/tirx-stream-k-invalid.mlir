// RUN: tirx-opt %s --split-input-file --verify-diagnostics -p "tirx-stream-k{split=stream}"

// Sums that begin with something else would be added in every block.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!h = !tirx.tile<64x64xf16, register>
tirx.kernel @product(%a: memref<?x512xf16>, %b: memref<128x512xf16>, %d: memref<?x128xf16>) target("sm_90a")
    grid(2, ceildiv(size(0, 0), 64)) threads(128) {
  %zero = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  // expected-error@+1 {{expected sums that begin at zero, and are read behind the loop for split=stream, found 'tirx.fill'}}
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x512xf16> -> !g
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %y = tirx.map ins(%acc : !acc) {
  ^bb0(%p: f32):
    %t = arith.truncf %p : f32 to f16
    tirx.yield %t : f16
  } -> !h
  %gd = tirx.view %d[%m, %n] clipped : memref<?x128xf16> -> !g
  tirx.copy %y, %gd : !h, !g
  tirx.return
}

// -----

// Bounds that differ from tile to tile.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!h = !tirx.tile<64x64xf16, register>
tirx.kernel @product(%a: memref<?x512xf16>, %b: memref<128x512xf16>, %d: memref<?x128xf16>) target("sm_90a")
    grid(2, ceildiv(size(0, 0), 64)) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  // expected-error@+1 {{expected bounds that are the same for all tiles for split=stream, found 'scf.for'}}
  scf.for %k = %m to %c512 step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x512xf16> -> !g
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %y = tirx.map ins(%acc : !acc) {
  ^bb0(%p: f32):
    %t = arith.truncf %p : f32 to f16
    tirx.yield %t : f16
  } -> !h
  %gd = tirx.view %d[%m, %n] clipped : memref<?x128xf16> -> !g
  tirx.copy %y, %gd : !h, !g
  tirx.return
}

// -----

// Blocks that wait for others already.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!h = !tirx.tile<64x64xf16, register>
// expected-error@+1 {{expected a kernel with a grid, without clusters and blocks that wait for split=stream, found @product}}
tirx.kernel @product(%a: memref<?x512xf16>, %b: memref<128x512xf16>, %d: memref<?x128xf16>) target("sm_90a")
    grid(2, ceildiv(size(0, 0), 64)) threads(128) in_order {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x512xf16> -> !g
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %y = tirx.map ins(%acc : !acc) {
  ^bb0(%p: f32):
    %t = arith.truncf %p : f32 to f16
    tirx.yield %t : f16
  } -> !h
  %gd = tirx.view %d[%m, %n] clipped : memref<?x128xf16> -> !g
  tirx.copy %y, %gd : !h, !g
  tirx.return
}

// -----

// A word that is none.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!h = !tirx.tile<64x64xf16, register>
// expected-error@+1 {{expected split to be none, last, stream, auto, found all}}
tirx.kernel @product(%a: memref<?x512xf16>, %b: memref<128x512xf16>, %d: memref<?x128xf16>) target("sm_90a")
    grid(2, ceildiv(size(0, 0), 64)) threads(128) attributes {tirx.split = "all"} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x512xf16> -> !g
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %y = tirx.map ins(%acc : !acc) {
  ^bb0(%p: f32):
    %t = arith.truncf %p : f32 to f16
    tirx.yield %t : f16
  } -> !h
  %gd = tirx.view %d[%m, %n] clipped : memref<?x128xf16> -> !g
  tirx.copy %y, %gd : !h, !g
  tirx.return
}

// -----

// Several blocks would add what one adds in front of the loop.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!h = !tirx.tile<64x64xf16, register>
tirx.kernel @product(%a: memref<?x512xf16>, %b: memref<128x512xf16>, %d: memref<?x128xf16>, %count: memref<1xi32>) target("sm_90a")
    grid(2, ceildiv(size(0, 0), 64)) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  %one = arith.constant 1 : i32
  %counter = tirx.view %count[%c0] : memref<1xi32> -> !tirx.tile<1xi32, global>
  // expected-error@+1 {{expected a kernel that writes memory behind the loop only for split=stream, found 'tirx.atomic'}}
  %old = tirx.atomic add %one, %counter : i32, !tirx.tile<1xi32, global> -> i32
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x512xf16> -> !g
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %y = tirx.map ins(%acc : !acc) {
  ^bb0(%p: f32):
    %t = arith.truncf %p : f32 to f16
    tirx.yield %t : f16
  } -> !h
  %gd = tirx.view %d[%m, %n] clipped : memref<?x128xf16> -> !g
  tirx.copy %y, %gd : !h, !g
  tirx.return
}
