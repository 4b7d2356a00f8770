// RUN: tirx-opt %s --tirx-check-layouts --split-input-file --verify-diagnostics

// Register tiles and bounds of views; which tiles overlap, and which are read before they are written.

tirx.kernel @beyond_threads() target("sm_80") threads(64) {
  // expected-error@+1 {{expected a register tile within the 64 threads of the kernel, found one that reaches thread 95: S[(2, 32) : (1@warpid, 1@laneid)] + 1@warpid}}
  %r = tirx.alloc : !tirx.tile<2x32xf32, register, #tirx.tile_layout<S[(2, 32) : (1@warpid, 1@laneid)] + 1@warpid>>
  tirx.return
}

tirx.kernel @other_threads() target("sm_80") threads(64) {
  // expected-error@+1 {{expected axes that count threads of a block, found bx in S[(2, 32) : (1@bx, 1@laneid)]}}
  %r = tirx.alloc : !tirx.tile<2x32xf32, register, #tirx.tile_layout<S[(2, 32) : (1@bx, 1@laneid)]>>
  tirx.return
}

// -----

// Bounds of views.

tirx.kernel @k(%a: memref<64x64xf32>, %a2: memref<2x64x64xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c-8 = arith.constant -8 : index
  // negative: expected-error@+1 {{expected dimension 1 to start at 0 or later, found -8}}
  %g = tirx.view %a[%c0, %c-8] : memref<64x64xf32> -> !tirx.tile<64x8xf32, global>
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %in = tirx.view %a2[%c1, %c0, %c0] : memref<2x64x64xf32> -> !tirx.tile<64x64xf32, global>
  // beyond: expected-error@+1 {{expected dimension 0 of the view within 2 elements, found one that reaches element 2}}
  %out = tirx.view %a2[%c2, %c0, %c0] : memref<2x64x64xf32> -> !tirx.tile<64x64xf32, global>
  tirx.return
}

tirx.kernel @last_block(%a: memref<96x64xf32>) target("sm_80") grid(1, 4) threads(32) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %y = tirx.block_id y
  %m = arith.muli %y, %c32 : index
  // expected-error@+1 {{expected dimension 0 of the view within 96 elements, found one that reaches element 127}}
  %g = tirx.view %a[%m, %c0] : memref<96x64xf32> -> !tirx.tile<32x64xf32, global>
  tirx.return
}

tirx.kernel @last_step(%a: memref<64x64xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.for %k = %c0 to %c64 step %c16 {
    // expected-error@+1 {{expected dimension 1 of the view within 64 elements, found one that reaches element 79}}
    %g = tirx.view %a[%c0, %k] : memref<64x64xf32> -> !tirx.tile<64x32xf32, global>
  }
  tirx.return
}

tirx.kernel @overlapping_views(%a: memref<128x64xf16>, %i: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %next = arith.addi %i, %c1 : index
  %later = arith.addi %i, %c64 : index
  %x = tirx.view %a[%i, %c0] : memref<128x64xf16> -> !tirx.tile<64x64xf16, global>
  %y = tirx.view %a[%next, %c0] : memref<128x64xf16> -> !tirx.tile<64x64xf16, global>
  %z = tirx.view %a[%later, %c0] : memref<128x64xf16> -> !tirx.tile<64x64xf16, global>
  tirx.copy %x, %z : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, global>
  // expected-error@+1 {{expected two tiles that do not overlap, found two that share elements}}
  tirx.copy %x, %y : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, global>
  tirx.return
}

!s = !tirx.tile<16x8xf16, shared, #tirx.tile_layout<S[(16, 8) : (8, 1)]>>
!low = !tirx.tile<8x8xf16, shared, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>
!middle = !tirx.tile<8x8xf16, shared, #tirx.tile_layout<S[(8, 8) : (8, 1)] + 32>>
!high = !tirx.tile<8x8xf16, shared, #tirx.tile_layout<S[(8, 8) : (8, 1)] + 64>>
tirx.kernel @overlapping_parts() target("sm_80") threads(32) {
  %s = tirx.alloc : !s
  %low = tirx.subview %s[0, 0] : !s -> !low
  %middle = tirx.subview %s[4, 0] : !s -> !middle
  %high = tirx.subview %s[8, 0] : !s -> !high
  tirx.copy %low, %high : !low, !high
  // expected-error@+1 {{expected two tiles that do not overlap, found two that share elements}}
  tirx.copy %low, %middle : !low, !middle
  tirx.return
}

// -----

tirx.kernel @views_that_may_overlap(%a: memref<128x64xf16>, %i: index, %j: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %x = tirx.view %a[%i, %c0] : memref<128x64xf16> -> !tirx.tile<32x64xf16, global>
  %y = tirx.view %a[%j, %c0] : memref<128x64xf16> -> !tirx.tile<32x64xf16, global>
  // expected-warning@+1 {{the two views of one memref may overlap; what they share would be undefined}}
  tirx.copy %x, %y : !tirx.tile<32x64xf16, global>, !tirx.tile<32x64xf16, global>
  tirx.return
}

// -----

// Somebody has to write a tile before it is read: the fill of this accumulator was forgotten.

tirx.kernel @nothing_in_the_accumulator(%x: f16) target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x16xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x128xf32, tensor>
  tirx.fill %a, %x : f16, !tirx.tile<128x16xf16, shared>
  // expected-error@+1 {{expected a tile that is written before it is read, found no write of !tirx.tile<128x128xf32, tensor>}}
  tirx.mma %a, %a, %acc : !tirx.tile<128x16xf16, shared>, !tirx.tile<128x16xf16, shared>, !tirx.tile<128x128xf32, tensor>
  tirx.return
}

tirx.kernel @nothing_in_shared_memory(%d: memref<8x8xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !tirx.tile<8x8xf32, shared>
  %g = tirx.view %d[%c0, %c0] : memref<8x8xf32> -> !tirx.tile<8x8xf32, global>
  // expected-error@+1 {{expected a tile that is written before it is read, found no write of !tirx.tile<8x8xf32, shared>}}
  tirx.copy %s, %g : !tirx.tile<8x8xf32, shared>, !tirx.tile<8x8xf32, global>
  tirx.return
}

tirx.kernel @no_step(%n: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected a positive step, found 0}}
  scf.for %k = %c0 to %n step %c0 {
  }
  tirx.return
}

// -----

tirx.kernel @bounds_the_wrong_way_round(%a: memref<64x64xf16>) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  // expected-warning@+1 {{the loop from 64 to 0 never runs}}
  scf.for %k = %c64 to %c0 step %c64 {
    %t = tirx.view %a[%k, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
  }
  tirx.return
}

// -----

// All rows of the destination are one: which of them stays is nobody's choice.

tirx.kernel @rows_in_one_place(%a: memref<8x8xf32>, %b: memref<8x8xf32, strided<[0, 1]>>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %x = tirx.view %a[%c0, %c0] : memref<8x8xf32> -> !tirx.tile<8x8xf32, global>
  %y = tirx.view %b[%c0, %c0] : memref<8x8xf32, strided<[0, 1]>> -> !tirx.tile<8x8xf32, global, #tirx.tile_layout<S[(8, 8) : (0, 1)]>>
  // expected-error@+1 {{expected a destination that has an address for every element, found S[(8, 8) : (0, 1)]}}
  tirx.copy %x, %y : !tirx.tile<8x8xf32, global>, !tirx.tile<8x8xf32, global, #tirx.tile_layout<S[(8, 8) : (0, 1)]>>
  tirx.return
}

// -----

// The codes of a sparse A are so many to the elements of K: an unsigned division of an index keeps its bounds.

tirx.kernel @divided_index(%e: memref<128x8xi4>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %c96 = arith.constant 96 : index
  scf.for %k = %c0 to %c96 step %c32 {
    %code = arith.divui %k, %c4 : index
    // expected-error@+1 {{expected dimension 1 of the view within 8 elements, found one that reaches element 23}}
    %ge = tirx.view %e[%c0, %code] : memref<128x8xi4> -> !tirx.tile<128x8xi4, global>
  }
  tirx.return
}

// -----

// A write that comes too late, and a loop whose second time round reads what the first one wrote.

!acc = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!out = !tirx.tile<128x64xf32, global>

tirx.kernel @write_after_read(%d: memref<128x64xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %out = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !out
  %carried = tirx.alloc : !acc
  scf.for %i = %c0 to %c4 step %c1 {
    tirx.copy %carried, %out : !acc, !out
    tirx.fill %carried, %zero : f32, !acc
  }
  %late = tirx.alloc : !acc
  // expected-error@+1 {{expected a tile that is written before it is read, found no write of !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>}}
  tirx.copy %late, %out : !acc, !out
  tirx.fill %late, %zero : f32, !acc
  tirx.return
}
