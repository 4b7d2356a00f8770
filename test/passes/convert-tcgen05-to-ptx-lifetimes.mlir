// RUN: tirx-opt %s --convert-tcgen05-to-ptx --split-input-file --verify-diagnostics

// The life of tensor memory: allocated in sizes that do not grow, used, given back once.

!t = !tirx.tile<128x32xf32, tensor, #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>>
!r = !tirx.tile<128x32xf32, register, #tirx.tile_layout<S[(4, 32, 32) : (1@warpid, 1@laneid, 1)]>>

tirx.kernel @legal(%p: i32) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : i32
  %first = arith.cmpi eq, %p, %c0 : i32
  %s0 = ptx.shared_alloc @s0 bytes 4 align 4
  %s1 = ptx.shared_alloc @s1 bytes 4 align 4
  tcgen05.alloc %s0 columns 256
  tcgen05.alloc %s1 columns 64
  %b0 = ptx.ld shared %s0 : i32 -> i32
  %b1 = ptx.ld shared %s1 : i32 -> i32
  %t0 = tcgen05.tile %b0, 0 : i32 -> !t
  %v = tcgen05.ld "32x32b" %t0 : !t -> !r
  scf.if %first {
    tcgen05.dealloc %b0 columns 256
  } else {
    tcgen05.dealloc %b0 columns 256
  }
  tcgen05.dealloc %b1 columns 64
  // The slot again, with another allocation behind it.
  tcgen05.alloc %s0 columns 64
  %b2 = ptx.ld shared %s0 : i32 -> i32
  %t2 = tcgen05.tile %b2, 0 : i32 -> !t
  %w = tcgen05.ld "32x32b" %t2 : !t -> !r
  tcgen05.dealloc %b2 columns 64
  tirx.return
}

// -----

tirx.kernel @never_given_back() target("sm_100a") threads(128) {
  %s0 = ptx.shared_alloc @s0 bytes 4 align 4
  %s1 = ptx.shared_alloc @s1 bytes 4 align 4
  tcgen05.alloc %s0 columns 256
  // expected-error@+1 {{expected a tcgen05.dealloc of these 64 columns before the kernel ends, found none; no other block could allocate them}}
  tcgen05.alloc %s1 columns 64
  %b0 = ptx.ld shared %s0 : i32 -> i32
  tcgen05.dealloc %b0 columns 256
  tirx.return
}

// -----

tirx.kernel @given_back_twice() target("sm_100a") threads(128) {
  %s0 = ptx.shared_alloc @s0 bytes 4 align 4
  tcgen05.alloc %s0 columns 256
  %b0 = ptx.ld shared %s0 : i32 -> i32
  tcgen05.dealloc %b0 columns 256
  // expected-error@+1 {{expected columns that are allocated, found some that were given back before}}
  tcgen05.dealloc %b0 columns 256
  tirx.return
}

// -----

!t = !tirx.tile<128x32xf32, tensor, #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>>
!part = !tirx.tile<128x16xf32, tensor, #tirx.tile_layout<S[(128, 16) : (1@TLane, 1@TCol)] + 16@TCol>>
!r = !tirx.tile<128x16xf32, register, #tirx.tile_layout<S[(4, 32, 16) : (1@warpid, 1@laneid, 1)]>>

tirx.kernel @used_after_the_end() target("sm_100a") threads(128) {
  %s0 = ptx.shared_alloc @s0 bytes 4 align 4
  tcgen05.alloc %s0 columns 256
  %b0 = ptx.ld shared %s0 : i32 -> i32
  %t = tcgen05.tile %b0, 0 : i32 -> !t
  %part = tirx.subview %t[0, 16] : !t -> !part
  tcgen05.dealloc %b0 columns 256
  // expected-error@+1 {{expected a tile in columns that are allocated, found !tirx.tile<128x16xf32, tensor, #tirx.tile_layout<S[(128, 16) : (1@TLane, 1@TCol)] + 16@TCol>> in some that were given back before}}
  %v = tcgen05.ld "32x32b" %part : !part -> !r
  tirx.return
}

// -----

tirx.kernel @given_back_in_a_loop() target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s0 = ptx.shared_alloc @s0 bytes 4 align 4
  tcgen05.alloc %s0 columns 256
  %b0 = ptx.ld shared %s0 : i32 -> i32
  scf.for %i = %c0 to %c1 step %c1 {
    // expected-error@+1 {{expected columns that are allocated in this loop, found some from before it; give them back after it}}
    tcgen05.dealloc %b0 columns 256
  }
  tirx.return
}

// -----

tirx.kernel @growing() target("sm_100a") threads(128) {
  %s0 = ptx.shared_alloc @s0 bytes 4 align 4
  %s1 = ptx.shared_alloc @s1 bytes 4 align 4
  tcgen05.alloc %s0 columns 64
  // expected-error@+1 {{expected at most the 64 columns of an allocation before this one, found 128: sizes must not grow; allocate the largest first}}
  tcgen05.alloc %s1 columns 128
  tirx.return
}

// -----

tirx.kernel @too_many() target("sm_100a") threads(128) {
  %s0 = ptx.shared_alloc @s0 bytes 4 align 4
  %s1 = ptx.shared_alloc @s1 bytes 4 align 4
  %s2 = ptx.shared_alloc @s2 bytes 4 align 4
  tcgen05.alloc %s0 columns 256
  tcgen05.alloc %s1 columns 128
  tcgen05.alloc %s2 columns 128
  // expected-error@+1 {{expected at most 0 columns next to the 512 that are allocated, found 32}}
  tcgen05.alloc %s0 columns 32
  tirx.return
}
