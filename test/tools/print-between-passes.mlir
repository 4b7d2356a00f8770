// What passes change, with short names for layouts.

// RUN: tirx-opt %s -p tirx-mem2reg,tirx-pick-layouts,tirx-select-copies,tirx-select-copies --print-between-passes -o %t.mlir 2>&1 | filecheck %s
// CHECK:      // -----// input //----- //
// CHECK:      // -----// IR after tirx-mem2reg: no change //----- //
// CHECK-NEXT: // -----// IR after tirx-pick-layouts //----- //
// CHECK-NEXT: !shared0 = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
// CHECK:      @@ line {{[0-9]+}} @@
// CHECK:      - {{ *}}%s = tirx.alloc : !tirx.tile<64x64xf16, shared>
// CHECK:      + {{ *}}%s = tirx.alloc : !shared0
// CHECK:      // -----// IR after tirx-select-copies //----- //
// CHECK:      - {{ *}}tirx.copy %g, %s : !global0, !shared0
// CHECK:      + {{ *}}tirx.copy %g, %s engine ld_st {tirx.chosen_engine} : !global0, !shared0
// CHECK:      // -----// IR after tirx-select-copies: no change //----- //

// Only one pass, whole: the names are defined, so that the text can be read again.
// RUN: tirx-opt %s -p tirx-mem2reg,tirx-pick-layouts,tirx-select-copies --print-after tirx-select-copies --print-whole -o %t.mlir 2>&1 | filecheck %s --check-prefix=WHOLE
// WHOLE-NOT: mem2reg
// WHOLE:      // -----// IR after tirx-select-copies //----- //
// WHOLE-NEXT: !shared0 = !tirx.tile
// RUN: tirx-opt %s -p tirx-mem2reg,tirx-pick-layouts,tirx-select-copies --print-after tirx-select-copies --print-whole -o %t.mlir 2>&1 | tirx-opt | filecheck %s --check-prefix=AGAIN
// AGAIN:     tirx.copy %g, %s engine ld_st {tirx.chosen_engine} : !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>

// RUN: not tirx-opt %s --print-after tirx-pick-layout 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: --print-after: unknown pass 'tirx-pick-layout'; did you mean 'tirx-pick-layouts'?
// RUN: not tirx-opt %s --print-whole 2>&1 | filecheck %s --check-prefix=ALONE
// ALONE: error: expected --print-whole with --print-between-passes or --print-after

tirx.kernel @k(%a: memref<64x64xf16>) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
  tirx.copy %g, %s : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
  tirx.return
}
