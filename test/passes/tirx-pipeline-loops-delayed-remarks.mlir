// RUN: tirx-opt %s --split-input-file --remarks --tirx-mem2reg --tirx-pick-layouts --tirx-fold-zero-fill --tirx-select-instructions --tirx-select-copies --tirx-pipeline-loops 2>&1 | filecheck %s --check-prefix REMARK

// An effect between the products of an iteration has its place.

!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!s = !tirx.tile<128x64xf32, register>
!h = !tirx.tile<128x64xf16, register>

tirx.kernel @stores(%a: memref<128x64xf16>, %b: memref<512x64xf16>, %c: memref<64x512xf16>, %d: memref<128x64xf32>)
    target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %sc = tirx.alloc : !b
  %s = tirx.alloc : !s
  %o = tirx.alloc : !s
  %ga = tirx.view %a[%c0, %c0] : memref<128x64xf16> -> !ga
  tirx.copy %ga, %sa engine tma : !ga, !a
  tirx.fill %o, %zero : f32, !s
  scf.for %k = %c0 to %c512 step %c64 {
    %gb = tirx.view %b[%k, %c0] : memref<512x64xf16> -> !gb
    %gc = tirx.view %c[%c0, %k] : memref<64x512xf16> -> !gb
    tirx.copy %gb, %sb : !gb, !b
    tirx.copy %gc, %sc : !gb, !b
    tirx.fill %s, %zero : f32, !s
    tirx.mma %sa, %sb, %s : !a, !b, !s
    %w = tirx.map ins(%s : !s) {
    ^bb0(%x: f32):
      %y = arith.mulf %x, %two : f32
      tirx.yield %y : f32
    } -> !s
    %h = tirx.map ins(%w : !s) {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tirx.yield %y : f16
    } -> !h
    %gd = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !tirx.tile<128x64xf32, global>
    // REMARK: each product is awaited: 'tirx.store' has an effect between products
    tirx.copy %w, %gd : !s, !tirx.tile<128x64xf32, global>
    tirx.map ins(%o, %w : !s, !s) outs(%o : !s) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      tirx.yield %z : f32
    }
    tirx.mma %h, %sc, %o : !h, !b, !s
  }
  tirx.return
}

// -----

// Products that need what the iteration before sums up cannot run ahead of it.

!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!s = !tirx.tile<128x64xf32, register>
!h = !tirx.tile<128x64xf16, register>

tirx.kernel @needs(%a: memref<128x64xf16>, %b: memref<512x64xf16>, %c: memref<64x512xf16>, %d: memref<128x64xf32>)
    target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %sc = tirx.alloc : !b
  %s = tirx.alloc : !s
  %o = tirx.alloc : !s
  %ga = tirx.view %a[%c0, %c0] : memref<128x64xf16> -> !ga
  tirx.copy %ga, %sa engine tma : !ga, !a
  tirx.fill %o, %zero : f32, !s
  scf.for %k = %c0 to %c512 step %c64 {
    %gb = tirx.view %b[%k, %c0] : memref<512x64xf16> -> !gb
    %gc = tirx.view %c[%c0, %k] : memref<64x512xf16> -> !gb
    tirx.copy %gb, %sb : !gb, !b
    tirx.copy %gc, %sc : !gb, !b
    tirx.map ins(%o : !s) outs(%s : !s) {
    ^bb0(%x: f32):
      %y = arith.mulf %x, %two : f32
      tirx.yield %y : f32
    }
    // REMARK: each product is awaited: 'tirx.mma' needs the sum of a product of the iteration before
    tirx.mma %sa, %sb, %s : !a, !b, !s
    %w = tirx.map ins(%s : !s) {
    ^bb0(%x: f32):
      %y = arith.mulf %x, %two : f32
      tirx.yield %y : f32
    } -> !s
    %h = tirx.map ins(%w : !s) {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tirx.yield %y : f16
    } -> !h
    tirx.map ins(%o, %w : !s, !s) outs(%o : !s) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      tirx.yield %z : f32
    }
    tirx.mma %h, %sc, %o : !h, !b, !s
  }
  %gd = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !tirx.tile<128x64xf32, global>
  tirx.copy %o, %gd : !s, !tirx.tile<128x64xf32, global>
  tirx.return
}

// -----

// Two products read %sa, of which only one could run a round later: its slot would be held for both.

!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!s = !tirx.tile<128x64xf32, register>
tirx.kernel @both_read_a(%a: memref<128x512xf16>, %b: memref<64x512xf16>, %c: memref<64x512xf16>, %d: memref<128x64xf32>)
    target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %sc = tirx.alloc : !b
  %s = tirx.alloc : !s
  %o = tirx.alloc : !s
  tirx.fill %s, %zero : f32, !s
  tirx.fill %o, %zero : f32, !s
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<128x512xf16> -> !ga
    %gb = tirx.view %b[%c0, %k] : memref<64x512xf16> -> !gb
    %gc = tirx.view %c[%c0, %k] : memref<64x512xf16> -> !gb
    tirx.copy %ga, %sa : !ga, !a
    tirx.copy %gb, %sb : !gb, !b
    tirx.copy %gc, %sc : !gb, !b
    tirx.mma %sa, %sb, %s : !a, !b, !s
    tirx.map ins(%s : !s) outs(%s : !s) {
    ^bb0(%x: f32):
      %y = arith.mulf %x, %two : f32
      tirx.yield %y : f32
    }
    // REMARK: each product is awaited: 'tirx.mma' reads a tile that 'tirx.mma' reads, too
    tirx.mma %sa, %sc, %o : !a, !b, !s
  }
  %sum = tirx.map ins(%s, %o : !s, !s) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    tirx.yield %z : f32
  } -> !s
  %gd = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !tirx.tile<128x64xf32, global>
  tirx.copy %sum, %gd : !s, !tirx.tile<128x64xf32, global>
  tirx.return
}
