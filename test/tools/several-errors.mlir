// Errors of one step are reported together, each at its place.

// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-layouts
// RUN: tirx-opt --explain-rule never-runs | filecheck %s --check-prefix EXPLAIN
// RUN: tirx-opt --explain-rule tirx-select-copies | filecheck %s --check-prefix PASS
// RUN: tirx-opt --explain-rule descriptor-bits | filecheck %s --check-prefix HARDWARE
// RUN: not tirx-opt --explain-rule never-run 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: tirx-opt --explain-rule view-bounds | filecheck %s --check-prefix LANGUAGE
// RUN: tirx-opt --list-rules | filecheck %s --check-prefix LIST
// RUN: not tirx-opt -Wno-view-bounds %s 2>&1 | filecheck %s --check-prefix ERROR-FLAG
// RUN: not tirx-opt -Wno-never-run %s 2>&1 | filecheck %s --check-prefix FLAG

// EXPLAIN: never-runs: A loop whose upper bound is not above its lower bound.
// EXPLAIN: A warning; -Wno-never-runs turns it off.
// PASS: tirx-select-copies: a pass that is to choose the engine of every copy
// PASS: It needs a layout on every tile.
// PASS: It leaves an engine on every copy.
// HARDWARE: descriptor-bits: instruction descriptor:
// HARDWARE: Fix: encode it with InstructionDescriptor
// HARDWARE: Source: Instruction descriptor
// LANGUAGE: view-bounds: A view that is not `clipped` lies within the memref
// LANGUAGE: tirx.view %a
// LANGUAGE: Fix: Write `clipped`
// LIST: aliased-elements A matrix descriptor
// LIST: view-bounds A view that is not
// ERROR-FLAG: error: expected a warning behind -Wno-, found 'view-bounds': errors are not turned off
// UNKNOWN: error: unknown rule 'never-run'; did you mean 'never-runs'?
// FLAG: error: unknown argument '-Wno-never-run'; did you mean 'no-never-runs'?

// The verifier.
tirx.kernel @views(%a: memref<64x32xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected a tile that fits into memref<64x32xf32>, found 64x64}}
  %g = tirx.view %a[%c0, %c0] : memref<64x32xf32> -> !tirx.tile<64x64xf32, global>
  // expected-error@+1 {{expected a tile that fits into memref<64x32xf32>, found 128x32}}
  %h = tirx.view %a[%c0, %c0] : memref<64x32xf32> -> !tirx.tile<128x32xf32, global>
  tirx.return
}

// -----

// A check of layouts.
tirx.kernel @bounds(%a: memref<64x32xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  // expected-error@+1 {{expected dimension 1 of the view within 32 elements, found one that reaches element 39}}
  %g = tirx.view %a[%c0, %c8] : memref<64x32xf32> -> !tirx.tile<64x32xf32, global, #tirx.tile_layout<S[(64, 32) : (32, 1)]>>
  // expected-error@+1 {{expected dimension 0 of the view within 64 elements, found one that reaches element 71}}
  %h = tirx.view %a[%c8, %c0] : memref<64x32xf32> -> !tirx.tile<64x32xf32, global, #tirx.tile_layout<S[(64, 32) : (32, 1)]>>
  tirx.return
}
