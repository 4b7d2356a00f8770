// RUN: tirx-opt %s --split-input-file --verify-diagnostics -p "tirx-split-last-round{split=last}"

// A sum that is stored cannot be added up by several blocks.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!gd = !tirx.tile<64x64xf32, global>
tirx.kernel @stored(%a: memref<?x512xf16>, %b: memref<?x512xf16>, %d: memref<?x?xf32>, %n: index) target("sm_90a") grid(4, 3) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %c = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %n step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x512xf16> -> !g
    %gb = tirx.view %b[%c, %k] clipped : memref<?x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %gd = tirx.view %d[%m, %c] clipped : memref<?x?xf32> -> !gd
  // expected-error@+1 {{expected only sums of one loop that begin at zero and are added to memory ('tirx.copy' with reduce(add)) for split=last, found 'tirx.copy'}}
  tirx.copy %acc, %gd : !acc, !gd
  tirx.return
}

// -----

// Every part would begin with ones.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!gd = !tirx.tile<64x64xf32, global>
tirx.kernel @ones(%a: memref<?x512xf16>, %b: memref<?x512xf16>, %d: memref<?x?xf32>, %n: index) target("sm_90a") grid(4, 3) threads(128) {
  %zero = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %c = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  // expected-error@+1 {{expected only sums of one loop that begin at zero and are added to memory ('tirx.copy' with reduce(add)) for split=last, found 'tirx.fill'}}
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %n step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x512xf16> -> !g
    %gb = tirx.view %b[%c, %k] clipped : memref<?x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %gd = tirx.view %d[%m, %c] clipped : memref<?x?xf32> -> !gd
  tirx.copy %acc, %gd reduce(add) : !acc, !gd
  tirx.return
}

// -----

// expected-error@+1 {{expected a kernel that says its grid for split=last, found one without}}
tirx.kernel @anywhere() target("sm_90a") threads(128) {
  tirx.return
}

// -----

// expected-error@+1 {{expected a loop of products whose sums are added to memory, found none}}
tirx.kernel @nothing() target("sm_90a") grid(4) threads(128) {
  tirx.return
}

// -----

// expected-error@+1 {{expected split to be none, last, stream, auto, found first}}
tirx.kernel @first() target("sm_90a") grid(4) threads(128) attributes {tirx.split = "first"} {
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!gd = !tirx.tile<64x64xf32, global>
// expected-error@+1 {{expected a grid of two dimensions for split=last, found 2 along z}}
tirx.kernel @batch(%a: memref<?x512xf16>, %b: memref<?x512xf16>, %d: memref<?x?xf32>, %n: index) target("sm_90a")
    grid(4, 3, 2) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %c = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %n step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x512xf16> -> !g
    %gb = tirx.view %b[%c, %k] clipped : memref<?x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %gd = tirx.view %d[%m, %c] clipped : memref<?x?xf32> -> !gd
  tirx.copy %acc, %gd reduce(add) : !acc, !gd
  tirx.return
}
