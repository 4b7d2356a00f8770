// RUN: tirx-opt %s --tirx-check-layouts --split-input-file --verify-diagnostics

// Both sides of each bound.

tirx.kernel @indices() target("sm_80") threads(32) {
  %least = arith.constant -9223372036854775808 : index
  // expected-error@+1 {{expected an index from -2^63 to 2^63 - 1, found -9223372036854775809}}
  %less = arith.constant -9223372036854775809 : index
  tirx.return
}

#all = #tirx.tile_layout<S[48 : 1@tx] + 48@tx>
#beyond = #tirx.tile_layout<S[48 : 1@tx] + 49@tx>
tirx.kernel @threads() target("sm_80") threads(96) {
  %0 = tirx.zero : !tirx.tile<48xf32, register, #all>
  // expected-error@+1 {{expected a register tile within the 96 threads of the kernel, found one that reaches thread 96: S[48 : 1@tx] + 49@tx}}
  %1 = tirx.zero : !tirx.tile<48xf32, register, #beyond>
  tirx.return
}

// -----

// Views that are not clipped have other bounds: those of the memref. Of one that a launch gives, only the start is known.

tirx.kernel @far(%a: memref<?x24xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c-1 = arith.constant -1 : index
  %far = arith.constant 2147483640 : index
  %0 = tirx.view %a[%far, %c0] : memref<?x24xf32> -> !tirx.tile<16x24xf32, global>
  // expected-error@+1 {{expected dimension 0 to start at 0 or later, found -1}}
  %1 = tirx.view %a[%c-1, %c0] : memref<?x24xf32> -> !tirx.tile<16x24xf32, global>
  tirx.return
}

!s = !tirx.tile<12x8xf32, shared, #tirx.tile_layout<S[(12, 8) : (8, 1)]>>
!p = !tirx.tile<4x8xf32, shared, #tirx.tile_layout<S[(4, 8) : (8, 1)]>>
tirx.kernel @k() target("sm_80") grid(9) threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tirx.alloc : !s
  %8 = tirx.block_id x
  %one = arith.minsi %8, %c0 : index
  %first = tirx.subview %s[%one, %c0] : !s -> !p
  %last = tirx.subview %s[%8, %c0] : !s -> !p
  %9 = arith.addi %8, %c1 : index
  // parts: expected-error@+1 {{expected an offset from 0 to 8 in dimension 0 of the part, found 9}}
  %more = tirx.subview %s[%9, %c0] : !s -> !p
  %less = arith.subi %8, %c1 : index
  // part before: expected-error@+1 {{expected an offset from 0 to 8 in dimension 0 of the part, found -1}}
  %p = tirx.subview %s[%less, %c0] : !s -> !p
  tirx.return
}

// -----

tirx.kernel @no_iteration() target("sm_80") threads(128) {
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  scf.for %k = %c8 to %c9 step %c8 {
  }
  // expected-warning@+1 {{the loop from 9 to 9 never runs}}
  scf.for %k = %c9 to %c9 step %c8 {
  }
  tirx.return
}

// -----

// A product that may overwrite its accumulator is its first write, and reads its operands all the same.

!a = !tirx.tile<128x16xf16, shared>
!acc = !tirx.tile<128x128xf32, tensor>
tirx.kernel @operands(%x: f16) target("sm_100a") threads(128) {
  %no = arith.constant false
  %a = tirx.alloc : !a
  %b = tirx.alloc : !a
  %acc = tirx.alloc : !acc
  tirx.fill %a, %x : f16, !a
  // expected-error@+1 {{expected a tile that is written before it is read, found no write of !tirx.tile<128x16xf16, shared>}}
  tirx.mma %a, %b, %acc accumulate(%no) : !a, !a, !acc
  tirx.return
}

// -----

// A copy within a tile reads what nobody wrote.

!s = !tirx.tile<16x8xf16, shared, #tirx.tile_layout<S[(16, 8) : (8, 1)]>>
!low = !tirx.tile<8x8xf16, shared, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>
!high = !tirx.tile<8x8xf16, shared, #tirx.tile_layout<S[(8, 8) : (8, 1)] + 64>>
tirx.kernel @within() target("sm_80") threads(32) {
  %s = tirx.alloc : !s
  %low = tirx.subview %s[0, 0] : !s -> !low
  %high = tirx.subview %s[8, 0] : !s -> !high
  // expected-error@+1 {{expected a tile that is written before it is read, found no write of !tirx.tile<16x8xf16, shared, #tirx.tile_layout<S[(16, 8) : (8, 1)]>>}}
  tirx.copy %low, %high : !low, !high
  tirx.return
}
