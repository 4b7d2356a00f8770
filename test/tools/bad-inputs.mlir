// What a user may get wrong in a program: every one an error at its line and column, nothing written.

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

// An axis that is none.

tirx.kernel @layout_axis() target("sm_100a") threads(128) {
  %s = tirx.alloc : !tirx.tile<8x64xf16, register, #tirx.tile_layout<S[(8, 64) : (1@warp, 1)]>>
  tirx.return
}

// CHECK: bad-inputs.mlir:28:85: error: {{.*}}'warp'

// -----

// A layout of another size than its tile.

tirx.kernel @layout_size() target("sm_100a") threads(128) {
  %s = tirx.alloc : !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[(8, 32) : (32, 1)]>>
  tirx.return
}

// CHECK: bad-inputs.mlir:39:{{[0-9]+}}: error: expected a layout of 512 elements for a 8x64 tile, found one of 256: S[(8, 32) : (32, 1)]

// -----

// A tile of the wrong rank.

tirx.kernel @rank() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<1x64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  tirx.mma %a, %b, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<1x64x64xf16, shared>, !tirx.tile<128x64xf32, tensor>
  tirx.return
}

// CHECK:      bad-inputs.mlir:53:3: error: expected A as MxK, B as NxK and the accumulator as MxN, {{.*}}found 128x64, 1x64x64 and 128x64
// CHECK-NEXT:   tirx.mma
// CHECK-NEXT: {{^  \^$}}

// -----

tirx.kernel @rank_of_view(%a: memref<64xf16>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0] : memref<64xf16> -> !tirx.tile<8x8xf16, global>
  tirx.return
}

// CHECK: bad-inputs.mlir:65:8: error: expected a tile of rank 1 or less in memref<64xf16>, found 8x8

// -----

tirx.kernel @rank_of_copy() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<8192xf16, shared>
  tirx.copy %a, %b : !tirx.tile<128x64xf16, shared>, !tirx.tile<8192xf16, shared>
  tirx.return
}

// CHECK: bad-inputs.mlir:76:3: error: expected tiles of one shape, found 128x64 and 8192

// -----

// An accumulator in shared memory.

tirx.kernel @accumulator() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, shared>
  tirx.mma %a, %b, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, shared>
  tirx.return
}

// CHECK: bad-inputs.mlir:90:3: error: expected the accumulator in tensor memory or registers, found it in shared memory

// -----

// M = 96.

tirx.kernel @m() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<96x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<96x64xf32, tensor>
  tirx.mma %a, %b, %acc : !tirx.tile<96x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<96x64xf32, tensor>
  tirx.return
}

// CHECK: bad-inputs.mlir:104:3: error: kind::f16, cta_group 1: expected M in {64, 128}, found 96; nearest is 64

// -----

// N = 300.

tirx.kernel @n() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<300x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x300xf32, tensor>
  tirx.mma %a, %b, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<300x64xf16, shared>, !tirx.tile<128x300xf32, tensor>
  tirx.return
}

// CHECK: bad-inputs.mlir:118:3: error: kind::f16, cta_group 1: expected N in {8, 16, ..., 256}, found 300; nearest is 256

// -----

// K that is no multiple of the instruction's.

tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x56xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x56xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  tirx.mma %a, %b, %acc : !tirx.tile<128x56xf16, shared>, !tirx.tile<64x56xf16, shared>, !tirx.tile<128x64xf32, tensor>
  tirx.return
}

// CHECK: bad-inputs.mlir:132:3: error: kind f16: expected K in multiples of 16, found 56; the nearest is 64

// -----

// The same in registers.

tirx.kernel @k_in_registers() target("sm_80") threads(32) {
  %a = tirx.zero : !tirx.tile<8x6xf64, register>
  %b = tirx.zero : !tirx.tile<8x6xf64, register>
  %acc = tirx.zero : !tirx.tile<8x8xf64, register>
  %d = tirx.mma %a, %b, %acc : !tirx.tile<8x6xf64, register>, !tirx.tile<8x6xf64, register>, !tirx.tile<8x8xf64, register> -> !tirx.tile<8x8xf64, register>
  tirx.return
}

// CHECK: bad-inputs.mlir:146:8: error: expected K to be a multiple of 4 for m8n8k4.row.col.f64, found 6; nearest: 4 and 8

// -----

// An unknown target.

tirx.kernel @target() target("sm_1000") threads(128) {
  tirx.return
}

// CHECK:      bad-inputs.mlir:156:1: error: unknown target 'sm_1000'; did you mean 'sm_100'? Supported targets: sm_70, {{.*}}, sm_121f
// CHECK-NEXT: tirx.kernel @target()
// CHECK-NEXT: {{^\^$}}

// -----

// A shared-memory tile larger than the SM has.

tirx.kernel @shared() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<256x1024xf16, shared>
  tirx.return
}

// CHECK: bad-inputs.mlir:169:8: error: expected at most 232448 bytes of shared memory on sm_100a in use at a time, found no room for %a of 524288 bytes

// -----

// A product that the target does not have.

tirx.kernel @feature() target("sm_90a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  tirx.mma %a, %b, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, tensor>
  tirx.return
}

// CHECK: bad-inputs.mlir:183:3: error: 'tcgen05' does not exist on sm_90a; supported on sm_100a,

// -----

// A register tile that is read before it is written.

tirx.kernel @uninitialised(%d: memref<32xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %d[%c0] : memref<32xf32> -> !tirx.tile<32xf32, global>
  %r = tirx.alloc : !tirx.tile<32xf32, register>
  tirx.copy %r, %g : !tirx.tile<32xf32, register>, !tirx.tile<32xf32, global>
  tirx.return
}

// CHECK: bad-inputs.mlir:197:3: error: expected a register tile that was written before, found one without contents

// -----

// Two kernels for different GPUs in one module.

tirx.kernel @first() target("sm_80") threads(32) {
  tirx.return
}
tirx.kernel @second() target("sm_90") threads(32) {
  tirx.return
}

// CHECK: bad-inputs.mlir:210:1: error: expected target sm_80 as of @first, found sm_90 for @second: entries of one module share their target

// -----

// Nothing to compile.

func.func @host() {
  func.return
}

// CHECK: bad-inputs.mlir:220:1: error: expected at least one ptx.entry in the module, found none
