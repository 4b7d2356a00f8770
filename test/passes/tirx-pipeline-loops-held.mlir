// RUN: tirx-opt %s --lower-to-ptx --split-input-file --verify-diagnostics

// A tile that an outer loop copies and a product of an inner loop reads has one ring, that of the inner loop.

tirx.kernel @k(%a: memref<128x48xf16>, %b: memref<32x48xf16>, %n: index, %d: memref<128x32xf32>) target("sm_100a") grid(1) threads(256) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %end = arith.muli %n, %c16 : index
  scf.for %i = %c0 to %c1 step %c1 {
    %sa = tirx.alloc : !tirx.tile<128x16xf16, shared>
    %sb = tirx.alloc : !tirx.tile<32x16xf16, shared>
    %acc = tirx.alloc : !tirx.tile<128x32xf32, accumulator>
    tirx.fill %acc, %zero : f32, !tirx.tile<128x32xf32, accumulator>
    %ga = tirx.view %a[%i, %c0] : memref<128x48xf16> -> !tirx.tile<128x16xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x16xf16, global>, !tirx.tile<128x16xf16, shared>
    scf.for %k = %c0 to %end step %c16 {
      %gb = tirx.view %b[%c0, %k] : memref<32x48xf16> -> !tirx.tile<32x16xf16, global>
      tirx.copy %gb, %sb : !tirx.tile<32x16xf16, global>, !tirx.tile<32x16xf16, shared>
      tirx.mma %sa, %sb, %acc : !tirx.tile<128x16xf16, shared>, !tirx.tile<32x16xf16, shared>, !tirx.tile<128x32xf32, accumulator>
    }
    %y = tirx.load %acc : !tirx.tile<128x32xf32, accumulator> -> !tirx.tile<128x32xf32, register>
    tirx.store %y, %d[0, 0] : !tirx.tile<128x32xf32, register>, memref<128x32xf32>
  }
  tirx.return
}

// -----

tirx.kernel @k(%a: memref<128x48xf16>, %b: memref<32x48xf16>, %n: index, %d: memref<128x32xf32>) target("sm_100a") grid(1) threads(256) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %end = arith.muli %n, %c16 : index
  // expected-error@+1 {{expected a loop that can be pipelined for tirx.stages, found that a loop inside of it holds %sa}}
  scf.for %i = %c0 to %c1 step %c1 {
    %sa = tirx.alloc : !tirx.tile<128x16xf16, shared>
    %sb = tirx.alloc : !tirx.tile<32x16xf16, shared>
    %acc = tirx.alloc : !tirx.tile<128x32xf32, accumulator>
    tirx.fill %acc, %zero : f32, !tirx.tile<128x32xf32, accumulator>
    %ga = tirx.view %a[%i, %c0] : memref<128x48xf16> -> !tirx.tile<128x16xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x16xf16, global>, !tirx.tile<128x16xf16, shared>
    scf.for %k = %c0 to %end step %c16 {
      %gb = tirx.view %b[%c0, %k] : memref<32x48xf16> -> !tirx.tile<32x16xf16, global>
      tirx.copy %gb, %sb : !tirx.tile<32x16xf16, global>, !tirx.tile<32x16xf16, shared>
      tirx.mma %sa, %sb, %acc : !tirx.tile<128x16xf16, shared>, !tirx.tile<32x16xf16, shared>, !tirx.tile<128x32xf32, accumulator>
    }
    %y = tirx.load %acc : !tirx.tile<128x32xf32, accumulator> -> !tirx.tile<128x32xf32, register>
    tirx.store %y, %d[0, 0] : !tirx.tile<128x32xf32, register>, memref<128x32xf32>
  } {tirx.stages = 2}
  tirx.return
}
