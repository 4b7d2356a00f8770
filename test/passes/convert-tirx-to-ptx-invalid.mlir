// RUN: tirx-opt %s --tirx-allocate-memory --convert-tirx-to-ptx --split-input-file --verify-diagnostics

// expected-error@+1 {{expected a target, such as target("sm_100a"), on the kernel or on the command line}}
tirx.kernel @no_target() threads(32) {
  tirx.return
}

// -----

// expected-error@+1 {{expected kernel arguments of type memref, index, i32, i64, f32 or f64, found f16}}
tirx.kernel @argument(%x: f16) target("sm_80") threads(32) {
  tirx.return
}

// expected-error@+1 {{expected kernel arguments of type memref, index, i32, i64, f32 or f64, found ui32}}
tirx.kernel @unsigned(%x: ui32) target("sm_80") threads(32) {
  tirx.return
}

tirx.kernel @memref(%x: memref<8xf32>, %f: f32) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected only 'tirx.view', 'memref.load' and 'memref.store' on a memref argument, found 'memref.dim'}}
  %n = memref.dim %x, %c0 : memref<8xf32>
  tirx.return
}

tirx.kernel @scalar(%x: memref<8xi4>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected one of i1, i8, i16, i32, i64, si8, si16, si32, si64, ui8, ui16, ui32, ui64, index, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, tf32, f32, f64 in a memref with strides, found memref<8xi4>}}
  %v = memref.load %x[%c0] : memref<8xi4>
  tirx.return
}

tirx.kernel @view() target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : memref<8xf32>
  // expected-error@+1 {{expected a view of a kernel argument with strides}}
  %g = tirx.view %m[%c0] : memref<8xf32> -> !tirx.tile<8xf32, global>
  tirx.return
}

tirx.kernel @shared_without_layout() target("sm_80") threads(32) {
  // expected-error@+1 {{expected a shared tile with a layout at this point, found !tirx.tile<8xf32, shared>; earlier passes lower the others}}
  %s = tirx.alloc : !tirx.tile<8xf32, shared>
  tirx.return
}

tirx.kernel @register_alloc() target("sm_80") threads(32) {
  // expected-error@+1 {{expected a shared tile with a layout at this point, found !tirx.tile<32xf32, register, }}
  %r = tirx.alloc : !tirx.tile<32xf32, register, #tirx.tile_layout<S[32 : 1@laneid]>>
  tirx.return
}

#row = #tirx.tile_layout<S[32 : 1]>
tirx.kernel @copy(%x: memref<32xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0] : memref<32xf32> -> !tirx.tile<32xf32, global, #row>
  // expected-error@+1 {{expected 'tirx.copy' to be lowered by an earlier pass}}
  tirx.copy %g, %g : !tirx.tile<32xf32, global, #row>, !tirx.tile<32xf32, global, #row>
  tirx.return
}

tirx.kernel @global_without_layout(%x: memref<32xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0] : memref<32xf32> -> !tirx.tile<32xf32, global>
  // expected-error@+1 {{expected layouts on both tiles; tirx-pick-layouts chooses them}}
  %v = tirx.load %g : !tirx.tile<32xf32, global> -> !tirx.tile<32xf32, register, #tirx.tile_layout<S[32 : 1@laneid]>>
  tirx.return
}

tirx.kernel @nibbles(%x: memref<32xf4E2M1FN>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0] : memref<32xf4E2M1FN> -> !tirx.tile<32xf4E2M1FN, global, #row>
  // expected-error@+1 {{expected at least 2 consecutive 4-bit elements in the registers of every thread, to move whole bytes; found 1 from register 0 on with S[32 : 1@laneid]}}
  %v = tirx.load %g : !tirx.tile<32xf4E2M1FN, global, #row> -> !tirx.tile<32xf4E2M1FN, register, #tirx.tile_layout<S[32 : 1@laneid]>>
  tirx.return
}

tirx.kernel @half_a_byte(%x: memref<65xf4E2M1FN>, %i: index) target("sm_80") threads(32) {
  // expected-error@+1 {{expected a view of memref<65xf4E2M1FN> that starts on a whole byte, found steps of 4 bits}}
  %g = tirx.view %x[%i] : memref<65xf4E2M1FN> -> !tirx.tile<32xf4E2M1FN, global, #row>
  tirx.return
}

// -----


// -----

// A tile that comes from nowhere this pass knows.

#t = #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>
tirx.kernel @tensor(%base: i32) target("sm_100a") threads(128) {
  // expected-error@+1 {{expected no tiles after lowering, found !tirx.tile<128x32xf32, tensor, }}
  %t = tcgen05.tile %base, 0 : i32 -> !tirx.tile<128x32xf32, tensor, #t>
  tirx.return
}

#row = #tirx.tile_layout<S[32 : 1]>
tirx.kernel @unknown_tile() target("sm_80") threads(32) {
  %s = builtin.unrealized_conversion_cast to !tirx.tile<32xf32, shared, #row>
  // expected-error@+1 {{expected a tile of global or shared memory, found !tirx.tile<32xf32, shared, }}
  %v = tirx.load %s : !tirx.tile<32xf32, shared, #row> -> !tirx.tile<32xf32, register, #tirx.tile_layout<S[32 : 1@laneid]>>
  tirx.return
}

#twice = #tirx.tile_layout<S[32 : 1] + R[2 : 32]>
tirx.kernel @replicas() target("sm_80") threads(32) {
  %s = tirx.alloc : !tirx.tile<32xf32, shared, #twice>
  // expected-error@+1 {{expected every element once in memory, found replicas in S[32 : 1] + R[2 : 32]}}
  %v = tirx.load %s : !tirx.tile<32xf32, shared, #twice> -> !tirx.tile<32xf32, register, #tirx.tile_layout<S[32 : 1@laneid]>>
  tirx.return
}

// expected-error@+1 {{expected what one block of a pair does; run tirx-split-pairs first}}
tirx.kernel @whole_pair() target("sm_100a") cluster(2) threads(32) {
  tirx.return
}

tirx.kernel @barrier_of_some() target("sm_90a") threads(256) {
  tirx.warpgroup 1 {
    // expected-error@+1 {{expected no barrier where a part of the threads that could meet runs the region}}
    tirx.barrier
  }
  tirx.return
}

#x = #tirx.tile_layout<S[(32, 2) : (1@tx, 1)]>
tirx.kernel @narrow_to_narrow(%e: f32) target("sm_100a") threads(32) {
  %x = tirx.splat %e : f32 -> !tirx.tile<64xf32, register, #x>
  %y = tirx.map ins(%x : !tirx.tile<64xf32, register, #x>) {
  ^bb0(%v: f32):
    %n = arith.truncf %v : f32 to f4E2M1FN
    // expected-error@+1 {{expected f16, bf16, f32 or f64 to convert f4E2M1FN to, found f6E3M2FN}}
    %m = arith.extf %n : f4E2M1FN to f6E3M2FN
    %s = arith.extf %m : f6E3M2FN to f32
    tirx.yield %s : f32
  } -> !tirx.tile<64xf32, register, #x>
  tirx.return
}

// -----

// Roles without a barrier need none of the sixteen.

tirx.kernel @barriers() target("sm_90a") grid(1) threads(512) {
  tirx.roles lowered {
    tirx.role @r1 warps(1) {
    }
    tirx.role @r2 warps(1) {
    }
    tirx.role @r3 warps(1) {
    }
    tirx.role @r4 warps(1) {
    }
    tirx.role @r5 warps(1) {
    }
    tirx.role @r6 warps(1) {
    }
    tirx.role @r7 warps(1) {
    }
    tirx.role @r8 warps(1) {
    }
    tirx.role @r9 warps(1) {
    }
    tirx.role @r10 warps(1) {
    }
    tirx.role @r11 warps(1) {
    }
    tirx.role @r12 warps(1) {
    }
    tirx.role @r13 warps(1) {
    }
    tirx.role @r14 warps(1) {
    }
    tirx.role @r15 warps(1) {
    }
    tirx.role @r16 warps(1) {
      // expected-error@+1 {{expected a barrier in one of the first 15 roles, as a block has 16 and all threads meet at one, found it in role 16}}
      tirx.barrier
    }
  }
  tirx.return
}

// -----

#lanes = #tirx.tile_layout<S[(4, 32) : (1, 1@laneid)]>
#rows = #tirx.tile_layout<S[(4, 32) : (32, 1)]>
!numbers = !tirx.tile<4x32xi8, register, #lanes>
!indices = !tirx.tile<4x32xi32, register, #lanes>

tirx.kernel @gathered_bytes(%a: memref<4x32xi8>, %at: memref<4x32xi32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<4x32xi8> -> !tirx.tile<4x32xi8, global, #rows>
  %gi = tirx.view %at[%c0, %c0] : memref<4x32xi32> -> !tirx.tile<4x32xi32, global, #rows>
  %x = tirx.load %ga : !tirx.tile<4x32xi8, global, #rows> -> !numbers
  %i = tirx.load %gi : !tirx.tile<4x32xi32, global, #rows> -> !indices
  // expected-error@+1 {{expected a view of elements in the own warp; tirx-mem2reg takes others from memory}}
  %y = tirx.view %x[%c0, [%i]] : !numbers, !indices -> !numbers
  tirx.store %y, %ga : !numbers, !tirx.tile<4x32xi8, global, #rows>
  tirx.return
}
