// `--explain` says what the passes chose, read off the operations, with the reasons that they gave.

// RUN: tirx-opt --explain %s | filecheck %s --check-prefix=TEXT
// TEXT:      @product: sm_100a, grid (1), 192 threads
// TEXT-NEXT: tiles
// TEXT-NEXT:   line 51: %sa: 128x64 f16, shared
// TEXT-NEXT:       layout: #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>
// TEXT-NEXT:       slots: {{[0-9]}}, in the ring %sa_sb
// TEXT-NEXT:       why: K-major operand, swizzle 128B: copies take 448 cycles
// TEXT-NEXT:       why: other swizzles: none 448 cycles, 32B 448 cycles, 64B 448 cycles
// TEXT:      {{^copies$}}
// TEXT-NEXT:   line 59: %ga -> %sa
// TEXT-NEXT:       engine: tma (asynchronous), global to shared
// TEXT-NEXT:       boxes: 1 of 128x64 f16, 16384 bytes, swizzle 128B
// TEXT-NEXT:       instead, threads: 448 cycles (128 wavefronts x 1 + 512 sectors x 0.5 + 64 instructions x 1)
// TEXT:      {{^products$}}
// TEXT-NEXT:   line 61: %acc += %sa * %sb
// TEXT-NEXT:       plan: tcgen05, kind = "f16", m = 128, n = 32, k = 16
// TEXT-NEXT:       A, descriptor: 0x4000404000010000: {{.*}} SBO 1024 bytes, swizzle 128B; as K-major
// TEXT:            instruction descriptor: 0x08080010: D (f32, 128 x 32) +=
// TEXT:      {{^memory$}}
// TEXT-NEXT:   shared memory: {{[0-9]+}} bytes
// TEXT-NEXT:       0-{{[0-9]+}}: {{[0-9]}} slots of sa
// TEXT:        tensor memory: 32 columns
// TEXT-NEXT:       0-31: 1 slot of acc
// TEXT:      {{^schedule$}}
// TEXT-NEXT:   role epilogue
// TEXT-NEXT:       warps: 0-3
// TEXT:        ring sa_sb
// TEXT-NEXT:       stations: fill -> use
// TEXT:      {{^notes$}}
// TEXT:        line 56: a ring of

// RUN: tirx-opt --explain-json %s | filecheck %s --check-prefix=JSON
// JSON:      "kernels": [
// JSON:      "name": "product"
// JSON:      "line": 51
// JSON:      "layout": "#tirx.compose_layout
// JSON:      "engine": "tma (asynchronous), global to shared"

// RUN: tirx-opt --explain -p tirx-mem2reg,tirx-pick-layouts %s | filecheck %s --check-prefix=PART
// PART:      engine: not chosen (waits for it), global to shared
// PART:      plan: not chosen

tirx.kernel @product(%a: memref<128x256xf16>, %b: memref<32x256xf16>, %d: memref<128x32xf32>)
    target("sm_100a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<32x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x32xf32, tensor>
  %gd = tirx.view %d[%c0, %c0] : memref<128x32xf32> -> !tirx.tile<128x32xf32, global>
  tirx.fill %acc, %zero : f32, !tirx.tile<128x32xf32, tensor>
  scf.for %k = %c0 to %c256 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<128x256xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%c0, %k] : memref<32x256xf16> -> !tirx.tile<32x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<32x64xf16, global>, !tirx.tile<32x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<32x64xf16, shared>, !tirx.tile<128x32xf32, tensor>
  }
  tirx.copy %acc, %gd : !tirx.tile<128x32xf32, tensor>, !tirx.tile<128x32xf32, global>
  tirx.return
}

// What was decided before an error is printed, too.
// RUN: not tirx-opt --explain --lower-to-ptx="target=sm_80" %s | filecheck %s --check-prefix=ERROR
// ERROR: @product: sm_80
