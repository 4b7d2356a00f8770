// RUN: tirx-opt %s --tirx-select-copies --split-input-file --verify-diagnostics

#t = #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>
#s = #tirx.tile_layout<S[(128, 32) : (32, 1)]>

tirx.kernel @wrong_engine(%x: memref<128x32xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<128x32xf32> -> !tirx.tile<128x32xf32, global, #s>
  %s = tirx.alloc : !tirx.tile<128x32xf32, shared, #s>
  // expected-error@+1 {{expected engine ld_st on a copy from global memory to shared memory, found tma_store}}
  tirx.copy %g, %s engine tma_store : !tirx.tile<128x32xf32, global, #s>, !tirx.tile<128x32xf32, shared, #s>
  tirx.return
}

// -----

#r = #tirx.tile_layout<S[(128, 32) : (1@tx, 1)]>

tirx.kernel @registers() target("sm_100a") threads(128) {
  %r = tirx.alloc : !tirx.tile<128x32xf32, register, #r>
  %q = tirx.alloc : !tirx.tile<128x32xf32, register, #r>
  // expected-error@+1 {{expected no engine on a copy from registers to registers, found ld_st}}
  tirx.copy %r, %q engine ld_st : !tirx.tile<128x32xf32, register, #r>, !tirx.tile<128x32xf32, register, #r>
  tirx.return
}

// -----

!a = !tirx.tile<128x128xf8E4M3FN, shared, #tirx.tile_layout<S[(16, 8, 8, 16) : (128, 16, 2048, 1)]>>
!d = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!t = !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]>>
!g = !tirx.tile<128x4xf8E8M0FNU, global, #tirx.tile_layout<S[(128, 4) : (4, 1)]>>

tirx.kernel @scales(%m: memref<128x4xf8E8M0FNU>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %a = tirx.alloc : !a
  %acc = tirx.alloc : !d
  %t = tirx.alloc : !t
  %g = tirx.view %m[%c0, %c0] : memref<128x4xf8E8M0FNU> -> !g
  // expected-error@+1 {{expected scale factors from a shared tile, which tcgen05.cp copies to all four partitions of lanes, found one in global memory}}
  tirx.copy %g, %t : !g, !t
  tirx.mma %a, %a, %acc scales(%t, %t) : !a, !a, !d, !t, !t
  tirx.return
}

// -----

#rows = #tirx.tile_layout<S[(16, 64) : (64, 1)]>
#vectors = #tirx.tile_layout<S[(32, 32) : (1@laneid, 1)]>

tirx.kernel @no_fragments() target("sm_80") threads(32) {
  %s = tirx.alloc : !tirx.tile<16x64xf16, shared, #rows>
  // expected-error@+1 {{expected rows of 16 bytes of shared memory in the fragments of ldmatrix}}
  %a = tirx.load %s engine ldmatrix : !tirx.tile<16x64xf16, shared, #rows> -> !tirx.tile<16x64xf16, register, #vectors>
  tirx.return
}

// -----

#rows = #tirx.tile_layout<S[(16, 64) : (64, 1)]>
#fragment = #tirx.tile_layout<S[(2, 8, 8, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>

tirx.kernel @no_stmatrix() target("sm_80") threads(32) {
  %s = tirx.alloc : !tirx.tile<16x64xf16, shared, #rows>
  %a = tirx.load %s : !tirx.tile<16x64xf16, shared, #rows> -> !tirx.tile<16x64xf16, register, #fragment>
  // expected-error@+1 {{stmatrix}}
  tirx.store %a, %s engine stmatrix : !tirx.tile<16x64xf16, register, #fragment>, !tirx.tile<16x64xf16, shared, #rows>
  tirx.return
}

// -----

#rows = #tirx.tile_layout<S[(16, 64) : (64, 1)]>
#fragment = #tirx.tile_layout<S[(2, 8, 8, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>

tirx.kernel @of_shared_memory_only(%x: memref<16x64xf16>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<16x64xf16> -> !tirx.tile<16x64xf16, global, #rows>
  // expected-error@+1 {{expected engine ld_st for a tile in global memory, found ldmatrix}}
  %a = tirx.load %g engine ldmatrix : !tirx.tile<16x64xf16, global, #rows> -> !tirx.tile<16x64xf16, register, #fragment>
  tirx.return
}

// -----

#s = #tirx.tile_layout<S[(128, 32) : (33, 1)]>

tirx.kernel @no_box(%x: memref<128x32xf32>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<128x32xf32> -> !tirx.tile<128x32xf32, global>
  %s = tirx.alloc : !tirx.tile<128x32xf32, shared, #s>
  // expected-error@+1 {{expected a copy that engine tma can do: expected every box to start at a multiple of 128 bytes in shared memory}}
  tirx.copy %g, %s engine tma : !tirx.tile<128x32xf32, global>, !tirx.tile<128x32xf32, shared, #s>
  tirx.return
}

// -----

#s = #tirx.tile_layout<S[(128, 32) : (32, 1)]>

tirx.kernel @old(%x: memref<128x32xf32>) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<128x32xf32> -> !tirx.tile<128x32xf32, global>
  %s = tirx.alloc : !tirx.tile<128x32xf32, shared, #s>
  // expected-error@+1 {{expected a copy that engine tma_store can do: expected sm_90 or later, found sm_80}}
  tirx.copy %s, %g engine tma_store : !tirx.tile<128x32xf32, shared, #s>, !tirx.tile<128x32xf32, global>
  tirx.return
}

// -----

#s = #tirx.tile_layout<S[(128, 32) : (32, 1)]>

tirx.kernel @asynchronous(%x: memref<128x36xf32, strided<[34, 1]>>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<128x36xf32, strided<[34, 1]>> -> !tirx.tile<128x32xf32, global>
  %s = tirx.alloc : !tirx.tile<128x32xf32, shared, #s>
  // expected-error@+1 {{found a stride of 34 f32 elements in dimension 0 of the memref}}
  tirx.async_copy %g, %s engine(tma) : !tirx.tile<128x32xf32, global>, !tirx.tile<128x32xf32, shared, #s>
  tirx.return
}

// -----

#s = #tirx.tile_layout<S[(128, 32) : (32, 1)]>

tirx.kernel @reduce_min(%x: memref<128x32xf32>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<128x32xf32> -> !tirx.tile<128x32xf32, global>
  %s = tirx.alloc : !tirx.tile<128x32xf32, shared, #s>
  // expected-error@+1 {{expected elements of u32, s32, u64, s64, f16, bf16 for min in a bulk tensor copy, found f32}}
  tirx.copy %s, %g reduce(min) : !tirx.tile<128x32xf32, shared, #s>, !tirx.tile<128x32xf32, global>
  tirx.return
}

// -----

#r = #tirx.tile_layout<S[(128, 32) : (1@tx, 1)]>
!m = memref<128x32xf32, strided<[?, 2251799813685248]>>

tirx.kernel @run_time_strides(%x: !m) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : !m -> !tirx.tile<128x32xf32, global>
  // expected-error@+1 {{expected a tile whose offsets have at most 56 bits, found !tirx.tile<128x32xf32, global> in memref<128x32xf32, strided<[?, 2251799813685248]>>}}
  %r = tirx.load %g : !tirx.tile<128x32xf32, global> -> !tirx.tile<128x32xf32, register, #r>
  tirx.return
}

// -----

#s = #tirx.tile_layout<S[(128, 32) : (32, 1)]>

tirx.kernel @in_a_role(%x: memref<128x32xf32>) target("sm_90") threads(256) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<128x32xf32> -> !tirx.tile<128x32xf32, global>
  %s = tirx.alloc : !tirx.tile<128x32xf32, shared, #s>
  tirx.roles {
    tirx.role @load warps(4) {
      // expected-error@+1 {{expected a copy that engine tma can do: expected a copy by all threads of the kernel, which meet before it; a role starts bulk tensor copies by tirx.async_copy}}
      tirx.copy %g, %s engine tma : !tirx.tile<128x32xf32, global>, !tirx.tile<128x32xf32, shared, #s>
    }
    tirx.role @rest warps(4) {
    }
  }
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!i = !tirx.tile<64xi32, register, #tirx.tile_layout<S[64 : 1@tx] + R[2 : 64@tx]>>

tirx.kernel @rows_by_index(%x: memref<?x64xf16>, %i: memref<64xi32>) target("sm_90a") threads(128) {
  %s = tirx.alloc : !s
  %rows = tirx.load %i[0] : memref<64xi32> -> !i
  // expected-error@+1 {{expected a copy that engine tma can do: expected sm_100 or later, found sm_90a}}
  tirx.copy %x[[%rows], 0] clipped, %s engine tma : memref<?x64xf16>, !s
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!i = !tirx.tile<64xi32, register, #tirx.tile_layout<S[64 : 1@tx] + R[2 : 64@tx]>>

tirx.kernel @columns_by_index(%x: memref<64x64xf16>, %i: memref<64xi32>) target("sm_100a") threads(128) {
  %s = tirx.alloc : !s
  %at = tirx.load %i[0] : memref<64xi32> -> !i
  // expected-error@+1 {{expected an index for each row of a memref of two dimensions, whose rows are neighbours, in a bulk tensor copy with an index tile, found another view}}
  tirx.copy %x[0, [%at]] clipped, %s engine tma : memref<64x64xf16>, !s
  tirx.return
}
