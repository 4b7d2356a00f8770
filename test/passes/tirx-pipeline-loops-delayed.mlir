// RUN: tirx-opt %s --tirx-mem2reg --tirx-pick-layouts --tirx-fold-zero-fill --tirx-select-instructions --tirx-select-copies --tirx-pipeline-loops --tirx-check-rings | filecheck %s

// Two products in a row, as in attention: threads work on the sums of the first, and only the next iteration uses those
// of the second. The second one of an iteration starts behind the first one of the next, and runs while threads work.
// What it reads in registers is made when it is done with what it has read before. A is loaded once.

!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!s = !tirx.tile<128x64xf32, register>
!h = !tirx.tile<128x64xf16, register>

// CHECK-LABEL: tirx.kernel @chain(
// CHECK:         %sa = tirx.ring slots(1) stations(fill, use)
// CHECK:         %sa_1 = tirx.acquire %sa at(fill)
// CHECK-NEXT:    tirx.async_copy %ga, %sa_1 engine(tma)
// CHECK-NEXT:    tirx.release %sa at(fill) after(tma)
// CHECK:         %sa_2 = tirx.acquire %sa at(use)
// CHECK:         tirx.for @k %k = 0 to 8 skew(1)
// CHECK-NEXT:      tirx.at(0) {
// CHECK:             tirx.release %sb at(fill) after(tma)
// CHECK:             tirx.release %sc at(fill) after(tma)
// CHECK:           [[S:%.*]] = tirx.at(0) {
// CHECK:             tirx.async_mma %sa_2, %sb_{{[0-9]+}},
// CHECK-NEXT:        tirx.release %sb at(use) after(wgmma)
// CHECK:           [[O:%.*]] = tirx.at(1) {
// CHECK-NEXT:        {{%.*}} = tirx.async_mma %h, %sc_2,
// CHECK-NEXT:        tirx.release %sc at(use) after(wgmma)
// CHECK:           tirx.at(0) {
// CHECK-NEXT:        {{%.*}} = tirx.await [[S]]
// CHECK-NEXT:        {{%.*}} = tirx.map
// CHECK:             tirx.acquire %sc at(use)
// CHECK:           tirx.at(1) {
// CHECK-NEXT:        {{%.*}} = tirx.await [[O]]
// CHECK:           tirx.at(0) {
// CHECK:             tirx.map
// CHECK:             tirx.map
// CHECK:         tirx.release %sa at(use)
tirx.kernel @chain(%a: memref<128x64xf16>, %b: memref<512x64xf16>, %c: memref<64x512xf16>, %d: memref<128x64xf32>)
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

// Blocks that work on several tiles load A of the next one while they use this one's.

// CHECK-LABEL: tirx.kernel @persistent(
// CHECK:         %sa = tirx.ring slots(2) stations(fill, use)
// CHECK:         tirx.tiles @tile
// CHECK:           tirx.acquire %sa at(fill)
// CHECK:           tirx.release %sa at(use)
tirx.kernel @persistent(%a: memref<?x64xf16>, %b: memref<512x64xf16>, %c: memref<64x512xf16>, %d: memref<?x64xf32>)
    target("sm_90a") grid(min(ceildiv(size(0, 0), 128), sm_count())) threads(256) {
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
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %rows = memref.dim %a, %c0 : memref<?x64xf16>
  %tiles = arith.ceildivui %rows, %c128 : index
  tirx.tiles @tile %i, %j = order(row) of (%tiles, %c1) {
    %m = arith.muli %i, %c128 : index
    %ga = tirx.view %a[%m, %c0] clipped : memref<?x64xf16> -> !ga
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
      tirx.map ins(%o, %w : !s, !s) outs(%o : !s) {
      ^bb0(%x: f32, %y: f32):
        %z = arith.addf %x, %y : f32
        tirx.yield %z : f32
      }
      tirx.mma %h, %sc, %o : !h, !b, !s
    }
    %gd = tirx.view %d[%m, %c0] clipped : memref<?x64xf32> -> !tirx.tile<128x64xf32, global>
    tirx.copy %o, %gd : !s, !tirx.tile<128x64xf32, global>
  }
  tirx.return
}
