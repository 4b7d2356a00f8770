// RUN: rm -rf %t
// RUN: mkdir %t

// What tirx-opt compiles, tirx-sim runs. Only the one file is written.
// RUN: tirx-opt --lower-to-ptx %s -o %t/copy.ptx
// RUN: tirx-sim %t/copy.ptx --block 32 --out %t/d.npy:f32:32x4 --profile | filecheck %s
// RUN: ls %t | filecheck %s --check-prefix=FILES
// FILES:      copy.ptx
// FILES-NEXT: d.npy
// FILES-NOT:  {{.}}

// CHECK:      warp instructions
// CHECK:      st.global{{.*}} {{[1-9]}}
// CHECK:      global memory, bytes written{{ *}}512{{$}}
// CHECK:      tensor core operations{{ *}}0{{$}}

// The file that was written can be read, and printing a trace needs no other change.
// RUN: tirx-sim %t/copy.ptx --block 32 --arg %t/d.npy --trace | filecheck %s --check-prefix=TRACE
// TRACE:      cta (0, 0, 0) warp 0 line {{[0-9]+}}: ld.param.u64
// TRACE:      cta (0, 0, 0) warp 0 line {{[0-9]+}}: st.global
// TRACE:      cta (0, 0, 0) warp 0 line {{[0-9]+}}: ret;

// A launch descriptor says all but the arguments.
// RUN: tirx-opt --lower-to-ptx %s -o %t/copy.ptx --launch %t/copy.json
// RUN: tirx-sim %t/copy.ptx --launch %t/copy.json --arg %t/d.npy --profile | filecheck %s
// RUN: not tirx-sim %t/copy.ptx --launch %t/copy.json --out %t/e.npy:f32:31x4 2>&1 | filecheck %s --check-prefix=SHAPE
// SHAPE: error: argument 'd': expected shape (32, 4), found (31, 4)

// RUN: tirx-sim --help | filecheck %s --check-prefix=HELP
// HELP: usage: tirx-sim
// HELP: --dynamic-shared BYTES
// HELP: --out d.npy:f32:64x32

// RUN: not tirx-sim %t/copy.ptx --block 32 --out %t/e.npy:f32:31x4 2>&1 | filecheck %s --check-prefix=FAULT
// FAULT:      {{.*}}/copy.ptx:{{[0-9]+}}: error: out-of-bounds global store of {{.*}} bytes
// FAULT-NEXT: st.global
// FAULT-NEXT: in warp 0

// RUN: not tirx-sim %t/copy.ptx --block 32 --entry g --arg 0 2>&1 | filecheck %s --check-prefix=ENTRY
// ENTRY: error: expected the name of an entry of the module (f), found 'g'

// RUN: not tirx-sim %t/copy.ptx --block 32 2>&1 | filecheck %s --check-prefix=COUNT
// COUNT: error: expected 1 arguments for f (d), found 0

// RUN: not tirx-sim %t/copy.ptx --block 0 --arg 0 2>&1 | filecheck %s --check-prefix=BLOCK
// BLOCK: error: argument --block: expected one to three positive numbers, as 4 or 4,2,1, found '0'

// RUN: ls %t | filecheck %s --check-prefix=AFTER
// AFTER:      copy.json
// AFTER-NEXT: copy.ptx
// AFTER-NEXT: d.npy
// AFTER-NOT:  {{.}}

#rows = #tirx.tile_layout<S[(4, 8, 4) : (1, 4@laneid, 1@laneid)]>
!tile = !tirx.tile<32x4xf32, register, #rows>

tirx.kernel @f(%d: memref<32x4xf32>) target("sm_80") grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %seven = arith.constant 7.0 : f32
  %values = tirx.alloc : !tile
  tirx.fill %values, %seven : f32, !tile
  %view = tirx.view %d[%c0, %c0] : memref<32x4xf32> -> !tirx.tile<32x4xf32, global>
  tirx.copy %values, %view : !tile, !tirx.tile<32x4xf32, global>
  tirx.return
}
