// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// Asynchronous copies and products, waits.

tirx.kernel @k(%m: memref<8x64xf16>, %n: index) threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %m[%c0, %c0] : memref<8x64xf16> -> !tirx.tile<8x64xf16, global>
  %s = tirx.alloc : !tirx.tile<8x64xf16, shared>
  // expected-error@+1 {{expected a copy from global memory to shared memory for tma, found one from shared memory to global memory}}
  tirx.async_copy %s, %g engine(tma) : !tirx.tile<8x64xf16, shared>, !tirx.tile<8x64xf16, global>
  // expected-error@+1 {{expected a copy from shared memory to global memory for tma_store, found one from global memory to shared memory}}
  tirx.async_copy %g, %s engine(tma_store) : !tirx.tile<8x64xf16, global>, !tirx.tile<8x64xf16, shared>
  // expected-error@+1 {{expected a copy from shared memory to tensor memory for tcgen05_cp, found one from global memory to shared memory}}
  tirx.async_copy %g, %s engine(tcgen05_cp) : !tirx.tile<8x64xf16, global>, !tirx.tile<8x64xf16, shared>
  // expected-error@+1 {{expected an engine that copies tiles asynchronously (tma, tma_multicast, tma_store, tma_reduce, cp_async, tcgen05_cp), found ld_st}}
  tirx.async_copy %g, %s engine(ld_st) : !tirx.tile<8x64xf16, global>, !tirx.tile<8x64xf16, shared>
  // expected-error@+1 {{expected among only for tma_multicast, found it for tma}}
  tirx.async_copy %g, %s engine(tma) among(2 : 1) : !tirx.tile<8x64xf16, global>, !tirx.tile<8x64xf16, shared>
  // expected-error@+1 {{expected among(N : S) with powers of two, N of 2 or more and N x S at most 1, the blocks of a cluster, found among(2 : 1)}}
  tirx.async_copy %g, %s engine(tma_multicast) among(2 : 1) : !tirx.tile<8x64xf16, global>, !tirx.tile<8x64xf16, shared>
  %w = tirx.alloc : !tirx.tile<16x64xf16, shared>
  // expected-error@+1 {{expected tiles of one shape, found 8x64 and 16x64}}
  tirx.async_copy %g, %w engine(tma) : !tirx.tile<8x64xf16, global>, !tirx.tile<16x64xf16, shared>
  %f = tirx.alloc : !tirx.tile<8x64xf32, shared>
  // expected-error@+1 {{expected tiles of one element type, found f16 and f32}}
  tirx.async_copy %g, %f engine(tma) : !tirx.tile<8x64xf16, global>, !tirx.tile<8x64xf32, shared>
  // expected-error@+1 {{expected a queue whose groups threads can wait for (store, cp_async, wgmma), found tma, whose work completes on the barriers of a ring}}
  tirx.await tma pending(0)
  // expected-error@+1 {{expected 0 or more pending groups, found -1}}
  tirx.await wgmma pending(-1)
  // expected-error@+1 {{expected a pending tile, or a queue and how many groups may be pending}}
  "tirx.await"() : () -> ()
  // expected-error@+1 {{expected a ring that 'tirx.ring' defines, found a value of type index}}
  tirx.async_next %n engine(clc)
  %r = tirx.ring slots(1) stations(a) : !tirx.ring<>
  // expected-error@+1 {{expected a ring of answers, !tirx.ring<tile_id>, found !tirx.ring<>}}
  tirx.async_next %r engine(clc)
  %r2 = tirx.ring slots(1) stations(a, b) : !tirx.ring<tile_id>
  // expected-error@+1 {{expected engine(clc), found engine(tma)}}
  tirx.async_next %r2 engine(tma)
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %c = tirx.alloc : !tirx.tile<128x64xf32, register>
  // expected-error@+1 {{expected a result of type !tirx.pending<!tirx.tile<128x64xf32, register>> for an accumulator in registers, found none}}
  tirx.async_mma %a, %b, %c : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, register>
  // expected-error@+1 {{expected a result of type !tirx.pending<!tirx.tile<128x64xf32, register>> for an accumulator in registers, found one of type !tirx.tile<128x64xf32, register>}}
  %x = tirx.async_mma %a, %b, %c : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, register> -> !tirx.tile<128x64xf32, register>
  %t = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  // expected-error@+1 {{expected no result for an accumulator in tensor memory, found one of type}}
  %x2 = tirx.async_mma %a, %b, %t : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, tensor> -> !tirx.tile<128x64xf32, register>
  // expected-error@+1 {{expected the accumulator in tensor memory or registers, found it in shared memory}}
  tirx.async_mma %a, %b, %a : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf16, shared>
  // expected-error@+1 {{expected B in shared memory for an accumulator in registers, found it in tensor memory}}
  tirx.async_mma %a, %t, %c : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x64xf32, register>
  // expected-error@+1 {{expected A in shared memory or tensor memory for an accumulator in tensor memory, found it in registers}}
  tirx.async_mma %c, %b, %t : !tirx.tile<128x64xf32, register>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{Expected `tma`, `tma_multicast`,}}
  tirx.async_copy %g, %s engine(dma) : !tirx.tile<8x64xf16, global>, !tirx.tile<8x64xf16, shared>
}

// -----

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{expected pending(k), how many groups may be unfinished}}
  tirx.await wgmma
}

// -----

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{Expected `tma`, `store`,}}
  tirx.await mma pending(0)
}

// -----

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{expected a pending tile, found !tirx.tile<8x64xf16, shared>}}
  %x = tirx.await %s : !tirx.tile<8x64xf16, shared>
}

// -----

tirx.kernel @k() threads(32) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %t = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  // expected-error@+1 {{expected B as 64x64, found 128x64}}
  tirx.async_mma %a, %a, %t : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf32, tensor>
  %b = tirx.alloc : !tirx.tile<64x64xf16, shared>
  // expected-error@+1 {{expected SFA in tensor memory for an accumulator in tensor memory, found it in shared memory}}
  tirx.async_mma %a, %b, %t scales(%a, %t) : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf32, tensor>
  %c = tirx.alloc : !tirx.tile<128x64xf32, register>
  // expected-error@+1 {{expected an accumulator in tensor memory for weight_stationary, found one in registers}}
  %x = tirx.async_mma %a, %b, %c weight_stationary : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, register> -> !tirx.pending<!tirx.tile<128x64xf32, register>>
  %x2 = tirx.async_mma %a, %b, %c : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<128x64xf32, register> -> !tirx.pending<!tirx.tile<128x64xf32, register>>
  // expected-error@+1 {{expected a tile, found a value of type !tirx.pending<}}
  tirx.mma %a, %b, %x2 : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.pending<!tirx.tile<128x64xf32, register>>
  tirx.return
}

// -----

tirx.kernel @forms() threads(128) {
  // expected-error@+1 {{expected a pending tile, or a queue and how many groups may be pending}}
  "tirx.await"() <{queue = #tirx<queue wgmma>}> : () -> ()
  tirx.return
}
