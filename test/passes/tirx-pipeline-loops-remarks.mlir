// RUN: tirx-opt %s --split-input-file --verify-diagnostics --remarks --tirx-pipeline-loops

// A tile that is read and then overwritten keeps one buffer; the other one of the same loop becomes a ring.

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
// expected-remark@+1 {{start values: none}}
tirx.kernel @state(%a: memref<64x4096xf16>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sk = tirx.alloc : !s
  %state = tirx.alloc : !s
  // expected-remark@+1 {{a ring of 4 slots of 8192 bytes for %sk, filled 3 iterations ahead by tma}}
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sk : !g, !s
    %old = tirx.load %state : !s -> !f
    tirx.store %old, %state : !f, !s
    %fa = tirx.load %sk : !s -> !f
    "test.op"(%fa) : (!f) -> ()
  }
  tirx.return
}

// -----

// One that is filled behind its first read as well.

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
tirx.kernel @read_first(%a: memref<64x4096xf16>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sa = tirx.alloc : !s
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    %fa = tirx.load %sa : !s -> !f
    "test.op"(%fa) : (!f) -> ()
    // expected-remark@+1 {{%sa keeps one buffer: 'tirx.copy' writes it behind 'tirx.load', which reads it}}
    tirx.copy %ga, %sa : !g, !s
  }
  tirx.return
}

// -----

// One that is filled twice: copies into a slot are not in order.

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
tirx.kernel @twice(%a: memref<64x4096xf16>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sa = tirx.alloc : !s
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    // expected-remark@+1 {{%sa keeps one buffer: 'tirx.copy' writes elements that another copy fills}}
    tirx.copy %ga, %sa : !g, !s
    %fa = tirx.load %sa : !s -> !f
    "test.op"(%fa) : (!f) -> ()
  }
  tirx.return
}

// -----

// One that holds more than is copied, from the iteration before.

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<32x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
tirx.kernel @half(%a: memref<64x4096xf16>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sa = tirx.alloc : !s
  %half = tirx.subview %sa[32, 0] : !s -> !tirx.tile<32x64xf16, shared, #tirx.tile_layout<S[2048 : 1] + 2048>>
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %half : !g, !tirx.tile<32x64xf16, shared, #tirx.tile_layout<S[2048 : 1] + 2048>>
    // expected-remark@+1 {{%sa keeps one buffer: 'tirx.load' reads more than is copied to it}}
    %fa = tirx.load %sa : !s -> !f
    "test.op"(%fa) : (!f) -> ()
  }
  tirx.return
}

// -----

// One whose fill a condition may leave out, and one that is used behind the loop.

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
tirx.kernel @elsewhere(%a: memref<64x4096xf16>, %p: i1) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    scf.if %p {
      // expected-remark@+1 {{%sa keeps one buffer: 'tirx.copy' fills it inside of 'scf.if'}}
      tirx.copy %ga, %sa : !g, !s
    }
    %fa = tirx.load %sa : !s -> !f
    "test.op"(%fa) : (!f) -> ()
  }
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sb : !g, !s
    %fb = tirx.load %sb : !s -> !f
    "test.op"(%fb) : (!f) -> ()
  }
  // expected-remark@+1 {{%sb keeps one buffer: 'tirx.load' uses it outside of the loop}}
  %last = tirx.load %sb : !s -> !f
  "test.op"(%last) : (!f) -> ()
  tirx.return
}

// -----

// Sources that are not known ahead: from memory that the kernel writes, or that is none of its arguments, carried, or
// written meanwhile.

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
!rows = !tirx.tile<64xi32, register>
!list = !tirx.tile<64xi32, shared, #tirx.tile_layout<S[64]>>
tirx.kernel @sources(%a: memref<64x4096xf16>, %t: memref<64xi32>, %u: memref<8xindex>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %sc = tirx.alloc : !s
  %sd = tirx.alloc : !s
  %order = tirx.alloc : !list
  %gt = tirx.view %t[%c0] : memref<64xi32> -> !tirx.tile<64xi32, global>
  %kept = tirx.load %gt : !tirx.tile<64xi32, global> -> !rows
  tirx.store %kept, %order : !rows, !list
  scf.for %k = %c0 to %c8 step %c1 {
    // expected-remark@+1 {{'tirx.copy' cannot run ahead: 'tirx.view' needs the result of 'tirx.load' from %t, which 'tirx.store' may write}}
    %where = tirx.load %gt : !tirx.tile<64xi32, global> -> !rows
    %ga = tirx.view %a[[%where], %c0] : memref<64x4096xf16>, !rows -> !g
    tirx.copy %ga, %sa engine cp_async : !g, !s
    %fa = tirx.load %sa : !s -> !f
    "test.op"(%fa) : (!f) -> ()
  }
  scf.for %k = %c0 to %c8 step %c1 {
    // expected-remark@+1 {{'tirx.copy' cannot run ahead: 'tirx.view' needs the result of 'tirx.load', which reads no argument of the kernel}}
    %where = tirx.load %order : !list -> !rows
    %ga = tirx.view %a[[%where], %c0] : memref<64x4096xf16>, !rows -> !g
    tirx.copy %ga, %sd engine cp_async : !g, !s
    %fa = tirx.load %sd : !s -> !f
    tirx.store %where, %gt : !rows, !tirx.tile<64xi32, global>
    "test.op"(%fa) : (!f) -> ()
  }
  %end = scf.for %k = %c0 to %c8 step %c1 iter_args(%at = %c0) -> (index) {
    // expected-remark@+1 {{'tirx.copy' cannot run ahead: 'tirx.view' needs a value that the loop carries}}
    %ga = tirx.view %a[%c0, %at] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sb : !g, !s
    %fb = tirx.load %sb : !s -> !f
    "test.op"(%fb) : (!f) -> ()
    %next = arith.addi %at, %k : index
    scf.yield %next : index
  }
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sc : !g, !s
    %fc = tirx.load %sc : !s -> !f
    // expected-remark@+1 {{'tirx.copy' cannot run ahead: 'tirx.store' may write %a, which it reads}}
    tirx.store %fc, %ga : !f, !g
  }
  tirx.return
}

// -----

// Targets and copies without an engine, and what threads would have to wait for.

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
tirx.kernel @engines(%a: memref<64x4096xf16>) target("sm_75") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sa = tirx.alloc : !s
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    // expected-remark@+1 {{%sa keeps one buffer: nothing fills it asynchronously, no tma: expected sm_90 or later, found sm_75; no cp_async: expected sm_80 or later, found sm_75}}
    tirx.copy %ga, %sa : !g, !s
    %fa = tirx.load %sa : !s -> !f
    "test.op"(%fa) : (!f) -> ()
  }
  tirx.return
}

// -----

// Products that something else in the loop needs, or whose operand is no slot, are awaited one by one.

!s = !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>>
!g = !tirx.tile<128x64xf16, global>
!t = !tirx.tile<128x128xf32, tensor>
!r = !tirx.tile<128x128xf32, register>
// expected-remark@+1 {{start values: tcgen05}}
tirx.kernel @awaited(%a: memref<128x4096xf16>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sq = tirx.alloc : !s
  %sa = tirx.alloc : !s
  %acc = tirx.alloc : !t
  // expected-remark@+2 {{a ring of 6 slots of 16384 bytes for %sa, filled 5 iterations ahead by tma}}
  // expected-remark@+1 {{each product is awaited: 'tirx.mma' reads %sq, which is in no ring}}
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<128x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.mma %sq, %sa, %acc : !s, !s, !t
    %x = tirx.load %acc : !t -> !r
    "test.op"(%x) : (!r) -> ()
  }
  tirx.return
}

// -----

// What cp.async copies for such products stays where it is; other tiles have rings.

!s = !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>>
!g = !tirx.tile<128x64xf16, global>
!t = !tirx.tile<128x128xf32, tensor>
!r = !tirx.tile<128x128xf32, register>
// expected-remark@+1 {{start values: tcgen05}}
tirx.kernel @awaited_beside(%a: memref<128x4096xf16>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sq = tirx.alloc : !s
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !t
  // expected-remark@+2 {{a ring of 6 slots of 16384 bytes for %sb, filled 5 iterations ahead by tma}}
  // expected-remark@+1 {{each product is awaited: 'tirx.mma' reads %sq, which is in no ring}}
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<128x4096xf16> -> !g
    tirx.copy %ga, %sa engine cp_async : !g, !s
    tirx.copy %ga, %sb : !g, !s
    // expected-remark@+1 {{%sa keeps one buffer: 'tirx.mma' reads by the asynchronous proxy what cp_async copies, and threads wait for it}}
    tirx.mma %sq, %sa, %acc : !s, !s, !t
    tirx.mma %sq, %sb, %acc : !s, !s, !t
    %x = tirx.load %acc : !t -> !r
    "test.op"(%x) : (!r) -> ()
  }
  tirx.return
}

// -----

!s = !tirx.tile<128x64xf16, shared, #tirx.tile_layout<S[128, 64]>>
!g = !tirx.tile<128x64xf16, global>
!t = !tirx.tile<128x128xf32, tensor>
tirx.kernel @awaited_alone(%a: memref<128x4096xf16>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sq = tirx.alloc : !s
  %sa = tirx.alloc : !s
  %acc = tirx.alloc : !t
  // expected-remark@+1 {{each product is awaited: 'tirx.mma' reads %sq, which is in no ring}}
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<128x4096xf16> -> !g
    tirx.copy %ga, %sa engine cp_async : !g, !s
    // expected-remark@+1 {{%sa keeps one buffer: 'tirx.mma' reads by the asynchronous proxy what cp_async copies, and threads wait for it}}
    tirx.mma %sq, %sa, %acc : !s, !s, !t
  }
  tirx.return
}

// -----

// No room for three slots.

!s = !tirx.tile<256x256xf16, shared, #tirx.tile_layout<S[256, 256]>>
!g = !tirx.tile<256x256xf16, global>
!f = !tirx.tile<256x256xf16, register>
tirx.kernel @room(%a: memref<256x4096xf16>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sa = tirx.alloc : !s
  // expected-remark@+1 {{the loop stays sequential: no room for 3 slots of 131072 bytes, with 231424 bytes of shared memory left on sm_90}}
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<256x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    %fa = tirx.load %sa : !s -> !f
    "test.op"(%fa) : (!f) -> ()
  }
  tirx.return
}

// -----

// Parts of a reshaped tile are not followed.

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!p = !tirx.tile<64x2x32xf16, shared, #tirx.tile_layout<S[64, 64]>>
!h = !tirx.tile<64x1x32xf16, shared, #tirx.tile_layout<S[(64, 32) : (64, 1)]>>
!g = !tirx.tile<64x1x32xf16, global>
!f = !tirx.tile<64x64xf16, register>
tirx.kernel @part_of_a_reshape(%a: memref<64x2x4096xf16>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %sa = tirx.alloc : !s
  %sp = tirx.reshape %sa : !s -> !p
  %sh = tirx.subview %sp[0, 0, 0] : !p -> !h
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %c0, %k] : memref<64x2x4096xf16> -> !g
    tirx.copy %ga, %sh : !g, !h
    // expected-remark@+1 {{%sa keeps one buffer: 'tirx.load' reads more than is copied to it}}
    %fa = tirx.load %sa : !s -> !f
    "test.op"(%fa) : (!f) -> ()
  }
  tirx.return
}

// -----

// Slots of one loop leave room for the tile of the other, which gets none: three of 24576 bytes beside 28672 would not.

!s = !tirx.tile<128x96xf16, shared, #tirx.tile_layout<S[128, 96]>>
!t = !tirx.tile<128x112xf16, shared, #tirx.tile_layout<S[128, 112]>>
!g = !tirx.tile<128x96xf16, global>
!h = !tirx.tile<128x112xf16, global>
tirx.kernel @no_room_for_both(%a: memref<128x4096xf16>) target("sm_120a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = tirx.alloc : !s
  %t = tirx.alloc : !t
  // expected-remark@+1 {{no room for 3 slots of 24576 bytes, with 71680 bytes of shared memory left on sm_120a}}
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<128x4096xf16> -> !g
    tirx.copy %ga, %s : !g, !s
    %fa = tirx.load %s : !s -> !tirx.tile<128x96xf16, register>
    "test.op"(%fa) : (!tirx.tile<128x96xf16, register>) -> ()
  }
  // expected-remark@+1 {{no room for 3 slots of 28672 bytes, with 75776 bytes of shared memory left on sm_120a}}
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<128x4096xf16> -> !h
    tirx.copy %ga, %t : !h, !t
    %fa = tirx.load %t : !t -> !tirx.tile<128x112xf16, register>
    "test.op"(%fa) : (!tirx.tile<128x112xf16, register>) -> ()
  }
  tirx.return
}

// -----

// Mbarriers count whole warps.

!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
tirx.kernel @part_of_a_warp(%a: memref<64x4096xf16>) target("sm_90a") threads(65) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = tirx.alloc : !s
  // expected-remark@-5 {{the 65 threads of the kernel are not whole warps of 32}}
  scf.for %k = %c0 to %c8 step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !tirx.tile<64x64xf16, global>
    tirx.copy %ga, %s : !tirx.tile<64x64xf16, global>, !s
    %fa = tirx.load %s : !s -> !tirx.tile<64x64xf16, register>
    "test.op"(%fa) : (!tirx.tile<64x64xf16, register>) -> ()
  }
  tirx.return
}
