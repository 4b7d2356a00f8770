// Mistakes that the parser, a verifier, a pass or the printer of PTX finds: errors at their lines and columns, nothing written.

// RUN: rm -f %t.ptx
// RUN: not tirx-opt --lower-to-ptx --split-input-file %s -o %t.ptx 2>%t.err
// RUN: filecheck %s < %t.err
// RUN: not ls %t.ptx
// RUN: not tirx-opt --lower-to-ptx --split-input-file %s 2>%t.err | filecheck %s --check-prefix=NOTHING --allow-empty
// RUN: filecheck %s < %t.err
// CHECK-NOT: Traceback
// NOTHING-NOT: {{.}}

// A syntax error in a layout.

tirx.kernel @layout_syntax() target("sm_100a") threads(128) {
  %s = tirx.alloc : !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[(8, 64) : (64, 1]>>
  tirx.return
}

// CHECK:      bad-inputs.mlir:15:86: error: expected ')', found ']'
// CHECK-NEXT:   %s = tirx.alloc
// CHECK-NEXT: {{^ {85}\^}}

// -----

// An operation that does not verify.

tirx.kernel @rank() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<1x64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  tirx.mma %a, %b, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<1x64x64xf16, shared>, !tirx.tile<128x64xf32, tensor>
  tirx.return
}

// CHECK:      bad-inputs.mlir:31:3: error: expected A as MxK, B as NxK and the accumulator as MxN, {{.*}}found 128x64, 1x64x64 and 128x64
// CHECK-NEXT:   tirx.mma
// CHECK-NEXT: {{^  \^$}}

// -----

// A product that the target does not have.

tirx.kernel @m() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<96x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<96x64xf32, tensor>
  tirx.mma %a, %b, %acc : !tirx.tile<96x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<96x64xf32, tensor>
  tirx.return
}

// CHECK: bad-inputs.mlir:47:3: error: kind::f16, cta_group 1: expected M in {64, 128}, found 96; nearest is 64

// -----

// A shared-memory tile larger than the SM has.

tirx.kernel @shared() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<256x1024xf16, shared>
  tirx.return
}

// CHECK: bad-inputs.mlir:58:8: error: expected at most 232448 bytes of shared memory on sm_100a in use at a time, found no room for %a of 524288 bytes

// -----

// Nothing to compile.

func.func @host() {
  func.return
}

// CHECK: bad-inputs.mlir:68:1: error: expected at least one kernel in the module, found none
