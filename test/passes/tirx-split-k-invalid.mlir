// RUN: tirx-opt %s --split-input-file --verify-diagnostics -p "tirx-split-k{parts=4}"

// Sums that begin with something else would be added four times.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!r = !tirx.tile<64x64xf32, register>
!h = !tirx.tile<64x64xf16, register>
tirx.kernel @product(%a: memref<64x512xf16>, %b: memref<128x512xf16>, %x: memref<1x128xf32>, %d: memref<64x128xf16>) target("sm_90a")
    grid(2) threads(128) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %j = tirx.block_id x
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  // expected-error@+1 {{expected sums that begin at zero, and are read behind the loop for parts=4, found 'tirx.fill'}}
  tirx.fill %acc, %one : f32, !acc
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x512xf16> -> !g
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %gx = tirx.view %x[%c0, %n] : memref<1x128xf32> -> !tirx.tile<1x64xf32, global>
  %bias = tirx.load %gx : !tirx.tile<1x64xf32, global> -> !tirx.tile<1x64xf32, register>
  %y = tirx.map ins(%acc, %bias : !acc, !tirx.tile<1x64xf32, register>) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    %t = arith.truncf %s : f32 to f16
    tirx.yield %t : f16
  } -> !h
  %gd = tirx.view %d[%c0, %n] : memref<64x128xf16> -> !g
  tirx.copy %y, %gd : !h, !g
  tirx.return
}

// -----

// Blocks with a share of the columns do not have rows to reduce.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!r = !tirx.tile<64x64xf32, register>
!h = !tirx.tile<64x64xf16, register>
tirx.kernel @product(%a: memref<64x512xf16>, %b: memref<128x512xf16>, %x: memref<1x128xf32>, %d: memref<64x128xf16>) target("sm_90a")
    grid(2) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %j = tirx.block_id x
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x512xf16> -> !g
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %held = tirx.alloc : !r
  tirx.copy %acc, %held : !acc, !r
  // expected-error@+1 {{expected only elementwise operations on what the loop has summed up for parts=4, found 'tirx.reduce'}}
  %m = tirx.reduce %held dim(1) max : !r -> !tirx.tile<64x1xf32, register>
  tirx.return
}

// -----

// Positions in the columns would be those of another block.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!r = !tirx.tile<64x64xf32, register>
!h = !tirx.tile<64x64xf16, register>
tirx.kernel @product(%a: memref<64x512xf16>, %b: memref<128x512xf16>, %x: memref<1x128xf32>, %d: memref<64x128xf16>) target("sm_90a")
    grid(2) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %j = tirx.block_id x
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x512xf16> -> !g
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  // expected-error@+1 {{expected only elementwise operations on what the loop has summed up for parts=4, found 'tirx.map'}}
  %y = tirx.map ins(%acc : !acc) {
  ^bb0(%p: f32):
    %i = tirx.index 1
    %q = arith.index_cast %i : index to i32
    %s = arith.sitofp %q : i32 to f32
    %t = arith.addf %s, %p : f32
    %u = arith.truncf %t : f32 to f16
    tirx.yield %u : f16
  } -> !h
  %gd = tirx.view %d[%c0, %n] : memref<64x128xf16> -> !g
  tirx.copy %y, %gd : !h, !g
  tirx.return
}

// -----

// Columns of sums that no blocks get eight of.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x12xf32, accumulator>
!t = !tirx.tile<12x64xf16, shared>
!u = !tirx.tile<12x64xf16, global>
!r = !tirx.tile<64x64xf32, register>
!h = !tirx.tile<64x64xf16, register>
tirx.kernel @product(%a: memref<64x512xf16>, %b: memref<128x512xf16>, %x: memref<1x128xf32>, %d: memref<64x128xf16>) target("sm_90a")
    grid(2) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %j = tirx.block_id x
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !t
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  // expected-error@+1 {{expected a multiple of eight columns of sums for parts=4, found 'scf.for'}}
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x512xf16> -> !g
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !u
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !u, !t
    tirx.mma %sa, %sb, %acc : !s, !t, !acc
  }
  
  tirx.return
}

// -----

// A target without wgmma.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!r = !tirx.tile<64x64xf32, register>
!h = !tirx.tile<64x64xf16, register>
// expected-error@+1 {{expected a kernel without clusters, with a grid, for a target that has wgmma for parts=4, found @product}}
tirx.kernel @product(%a: memref<64x512xf16>, %b: memref<128x512xf16>, %x: memref<1x128xf32>, %d: memref<64x128xf16>) target("sm_80")
    grid(2) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %j = tirx.block_id x
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x512xf16> -> !g
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %gx = tirx.view %x[%c0, %n] : memref<1x128xf32> -> !tirx.tile<1x64xf32, global>
  %bias = tirx.load %gx : !tirx.tile<1x64xf32, global> -> !tirx.tile<1x64xf32, register>
  %y = tirx.map ins(%acc, %bias : !acc, !tirx.tile<1x64xf32, register>) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    %t = arith.truncf %s : f32 to f16
    tirx.yield %t : f16
  } -> !h
  %gd = tirx.view %d[%c0, %n] : memref<64x128xf16> -> !g
  tirx.copy %y, %gd : !h, !g
  tirx.return
}

// -----

// Words for parts.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!r = !tirx.tile<64x64xf32, register>
!h = !tirx.tile<64x64xf16, register>
// expected-error@+1 {{expected parts of K to be 1, 2, 4, 8, found 3}}
tirx.kernel @product(%a: memref<64x512xf16>, %b: memref<128x512xf16>, %x: memref<1x128xf32>, %d: memref<64x128xf16>) target("sm_90a")
    grid(2) threads(128) attributes {tirx.parts = 3 : i32} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %j = tirx.block_id x
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x512xf16> -> !g
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %gx = tirx.view %x[%c0, %n] : memref<1x128xf32> -> !tirx.tile<1x64xf32, global>
  %bias = tirx.load %gx : !tirx.tile<1x64xf32, global> -> !tirx.tile<1x64xf32, register>
  %y = tirx.map ins(%acc, %bias : !acc, !tirx.tile<1x64xf32, register>) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    %t = arith.truncf %s : f32 to f16
    tirx.yield %t : f16
  } -> !h
  %gd = tirx.view %d[%c0, %n] : memref<64x128xf16> -> !g
  tirx.copy %y, %gd : !h, !g
  tirx.return
}

// -----

// All blocks of a cluster would count the same elements up.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!r = !tirx.tile<64x64xf32, register>
!f = !tirx.tile<64x64xf32, global>
tirx.kernel @product(%a: memref<64x512xf16>, %b: memref<64x512xf16>, %d: memref<64x64xf32>, %e: memref<64x64xf32>) target("sm_90a")
    grid(1) threads(128) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x512xf16> -> !g
    %gb = tirx.view %b[%c0, %k] : memref<64x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %gd = tirx.view %d[%c0, %c0] : memref<64x64xf32> -> !f
  tirx.copy %acc, %gd : !acc, !f
  %ge = tirx.view %e[%c0, %c0] : memref<64x64xf32> -> !f
  %old = tirx.load %ge : !f -> !r
  %new = tirx.map ins(%old : !r) {
  ^bb0(%p: f32):
    %q = arith.addf %p, %one : f32
    tirx.yield %q : f32
  } -> !r
  // expected-error@+1 {{expected blocks to write only their shares of the columns of the sums for parts=4, found 'tirx.store'}}
  tirx.store %new, %ge : !r, !f
  tirx.return
}

// -----

// The layout of a tile behind the loop would be that of a tile with more columns.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!o = !tirx.tile<64x64xf32, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
tirx.kernel @product(%a: memref<64x512xf16>, %b: memref<64x512xf16>) target("sm_90a") grid(1) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  %o = tirx.alloc : !o
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x512xf16> -> !g
    %gb = tirx.view %b[%c0, %k] : memref<64x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  // expected-error@+1 {{expected tiles of 64 columns, without layouts, behind the loop for parts=4, found 'tirx.copy'}}
  tirx.copy %acc, %o : !acc, !o
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared>
!acc = !tirx.tile<64x64xf32, accumulator>
// expected-error@+1 {{expected one loop that adds products to one tile of sums for parts=4, found @product}}
tirx.kernel @product() target("sm_90a") grid(1) threads(128) {
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  tirx.mma %sa, %sa, %acc : !s, !s, !acc
  tirx.return
}

// -----

// Blocks add sums of 32 bits.

!s = !tirx.tile<64x64xf16, shared>
!acc = !tirx.tile<64x64xf16, accumulator>
!o = !tirx.tile<64x64xf16, global>
tirx.kernel @product(%a: memref<64x512xf16>, %b: memref<64x512xf16>, %d: memref<64x64xf16>) target("sm_90a") grid(1) threads(128) {
  %zero = arith.constant 0.0 : f16
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f16, !acc
  // expected-error@+1 {{expected sums of f32 or i32 for parts=4, found f16}}
  scf.for %k = %c0 to %c512 step %c64 {
    tirx.copy %a[%c0, %k], %sa : memref<64x512xf16>, !s
    tirx.copy %b[%c0, %k], %sb : memref<64x512xf16>, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %gd = tirx.view %d[%c0, %c0] : memref<64x64xf16> -> !o
  tirx.copy %acc, %gd : !acc, !o
  tirx.return
}
