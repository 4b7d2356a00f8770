// RUN: tirx-opt %s --tirx-select-copies --split-input-file --verify-diagnostics --remarks

#s = #tirx.tile_layout<S[(128, 32) : (32, 1)]>
#g = #tirx.tile_layout<S[(128, 32) : (34, 1)]>

tirx.kernel @strides(%x: memref<128x32xf32, strided<[34, 1]>>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<128x32xf32, strided<[34, 1]>> -> !tirx.tile<128x32xf32, global, #g>
  %s = tirx.alloc : !tirx.tile<128x32xf32, shared, #s>
  // expected-remark@+1 {{no tma: expected strides of multiples of 16 bytes for a tensor map, found a stride of 34 f32 elements in dimension 0 of the memref}}
  tirx.async_copy %g, %s engine(cp_async) : !tirx.tile<128x32xf32, global, #g>, !tirx.tile<128x32xf32, shared, #s>
  tirx.return
}


tirx.kernel @slower(%x: memref<128x32xf32>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<128x32xf32> -> !tirx.tile<128x32xf32, global, #s>
  %s = tirx.alloc : !tirx.tile<128x32xf32, shared, #s>
  // expected-remark@+1 {{tma could do this copy}}
  tirx.async_copy %g, %s engine(cp_async) : !tirx.tile<128x32xf32, global, #s>, !tirx.tile<128x32xf32, shared, #s>
  tirx.async_copy %g, %s engine(tma) : !tirx.tile<128x32xf32, global, #s>, !tirx.tile<128x32xf32, shared, #s>
  tirx.return
}

#g2 = #tirx.tile_layout<S[(128, 32) : (33, 1)]>

tirx.kernel @clipped(%x: memref<100x33xf32>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] clipped : memref<100x33xf32> -> !tirx.tile<128x32xf32, global, #g2>
  %s = tirx.alloc : !tirx.tile<128x32xf32, shared, #s>
  // expected-remark@+1 {{threads look at the bounds of this copy; no tma_store: expected strides of multiples of 16 bytes for a tensor map, found a stride of 33 f32 elements in dimension 0 of the memref}}
  tirx.copy %s, %g : !tirx.tile<128x32xf32, shared, #s>, !tirx.tile<128x32xf32, global, #g2>
  tirx.return
}

#s2 = #tirx.tile_layout<S[(16, 32) : (32, 1)]>

tirx.kernel @starts(%x: memref<100x32xf32>, %n: index) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %s = tirx.alloc : !tirx.tile<16x32xf32, shared, #s2>
  scf.for %i = %c0 to %c4 step %c1 {
    %m = arith.muli %i, %c16 : index
    %before = arith.subi %m, %c1 : index
    %g = tirx.view %x[%before, %c0] clipped : memref<100x32xf32> -> !tirx.tile<16x32xf32, global, #s2>
    // expected-remark@+1 {{threads look at the bounds of this copy; no tma_store: expected a tile that begins inside the memref for a bulk store, found index -1 in dimension 0}}
    tirx.copy %s, %g : !tirx.tile<16x32xf32, shared, #s2>, !tirx.tile<16x32xf32, global, #s2>
  }
  %h = tirx.view %x[%n, %n] clipped : memref<100x32xf32> -> !tirx.tile<16x32xf32, global, #s2>
  // expected-remark@+1 {{threads look at the bounds of this copy; no tma_store: expected a tile that begins inside the memref, which its indices do not show in dimension 0 and 1: 'clipped begins_inside' on the view says so}}
  tirx.copy %s, %h : !tirx.tile<16x32xf32, shared, #s2>, !tirx.tile<16x32xf32, global, #s2>
  // expected-remark@+1 {{this bulk store traps if its tile begins before the memref in dimension 0 and 1: 'clipped begins_inside' on the view says that it never does}}
  tirx.copy %s, %h engine tma_store : !tirx.tile<16x32xf32, shared, #s2>, !tirx.tile<16x32xf32, global, #s2>
  %p = tirx.view %x[%n, %n] clipped begins_inside : memref<100x32xf32> -> !tirx.tile<16x32xf32, global, #s2>
  tirx.copy %s, %p : !tirx.tile<16x32xf32, shared, #s2>, !tirx.tile<16x32xf32, global, #s2>
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!n = !tirx.tile<64x8xf16, shared, #tirx.tile_layout<S[(64, 8) : (8, 1)]>>
!i = !tirx.tile<64xi32, register, #tirx.tile_layout<S[64 : 1@tx] + R[2 : 64@tx]>>

tirx.kernel @rows_by_index(%x: memref<?x64xf16>, %i: memref<64xi32>) target("sm_100a") threads(128) {
  %s = tirx.alloc : !s
  %n = tirx.alloc : !n
  %rows = tirx.load %i[0] : memref<64xi32> -> !i
  // expected-remark@+1 {{tma copies the rows that an index tile names, four by each instruction of 16 lanes of a warp}}
  tirx.copy %x[[%rows], 0] clipped, %s : memref<?x64xf16>, !s
  // expected-remark@+1 {{tma_store copies the rows that an index tile names, four by each instruction of 16 lanes of a warp}}
  tirx.copy %s, %x[[%rows], 0] clipped : !s, memref<?x64xf16>
  // expected-remark@+1 {{threads look at the bounds of this copy; no tma: expected every box to start at a multiple of 128 bytes}}
  tirx.copy %x[[%rows], 0] clipped, %n : memref<?x64xf16>, !n
  // expected-remark@+1 {{no tma_reduce: expected a view without index tiles for tma_reduce, which names boxes, found some}}
  tirx.copy %s, %x[[%rows], 0] clipped reduce(add) : !s, memref<?x64xf16>
  tirx.return
}
