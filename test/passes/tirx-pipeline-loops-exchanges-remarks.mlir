// RUN: tirx-opt %s --split-input-file --verify-diagnostics --remarks --tirx-pipeline-loops

// Tiles of tensor memory that change hands in another way than rings do keep their place, and products are awaited.

!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!b = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!t = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!w = !tirx.tile<128x64xf16, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!r = !tirx.tile<128x64xf32, register>
!h = !tirx.tile<128x64xf16, register>
// expected-remark@+1 {{start values: tcgen05}}
tirx.kernel @kept_sums(%b: memref<64x4096xf16>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %no = arith.constant false
  %sb = tirx.alloc : !b
  %w = tirx.alloc : !w
  %acc = tirx.alloc : !t
  // expected-remark@+2 {{a ring of 6 slots of 8192 bytes for %sb}}
  // expected-remark@+1 {{each product is awaited: %acc is neither overwritten in each iteration and then read, nor filled before the loop, changed in front of the products and read behind the loop}}
  scf.for %k = %c0 to %n step %c64 {
    %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !gb
    tirx.copy %gb, %sb engine tma : !gb, !b
    %h = tirx.zero : !h
    tirx.store %h, %w : !h, !w
    tirx.mma %w, %sb, %acc : !w, !b, !t
    %x = tirx.load %acc : !t -> !r
  }
  tirx.return
}

// -----

!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!b = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!t = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!w = !tirx.tile<128x64xf16, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!r = !tirx.tile<128x64xf32, register>
!h = !tirx.tile<128x64xf16, register>
// expected-remark@+1 {{start values: tcgen05}}
tirx.kernel @once(%b: memref<64x4096xf16>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %no = arith.constant false
  %sb = tirx.alloc : !b
  %w = tirx.alloc : !w
  %acc = tirx.alloc : !t
  %h = tirx.zero : !h
  tirx.store %h, %w : !h, !w
  // expected-remark@+2 {{a ring of 6 slots of 8192 bytes for %sb}}
  // expected-remark@+1 {{each product is awaited: 'tirx.mma' reads %w, which the loop does not write}}
  scf.for %k = %c0 to %n step %c64 {
    %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !gb
    tirx.copy %gb, %sb engine tma : !gb, !b
    tirx.mma %w, %sb, %acc accumulate(%no) : !w, !b, !t
  }
  tirx.return
}

// -----

!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!b = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!t = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!w = !tirx.tile<128x64xf16, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!r = !tirx.tile<128x64xf32, register>
!h = !tirx.tile<128x64xf16, register>
// expected-remark@+1 {{start values: tcgen05}}
tirx.kernel @late(%b: memref<64x4096xf16>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %no = arith.constant false
  %sb = tirx.alloc : !b
  %w = tirx.alloc : !w
  %acc = tirx.alloc : !t
  // expected-remark@+2 {{a ring of 6 slots of 8192 bytes for %sb}}
  // expected-remark@+1 {{each product is awaited: %w is not written by each iteration before products read it}}
  scf.for %k = %c0 to %n step %c64 {
    %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !gb
    tirx.copy %gb, %sb engine tma : !gb, !b
    tirx.mma %w, %sb, %acc accumulate(%no) : !w, !b, !t
    %h = tirx.zero : !h
    tirx.store %h, %w : !h, !w
  }
  tirx.return
}

// -----

!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!b = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!t = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!w = !tirx.tile<128x64xf16, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!r = !tirx.tile<128x64xf32, register>
!h = !tirx.tile<128x64xf16, register>
// expected-remark@+1 {{start values: tcgen05}}
tirx.kernel @sometimes(%b: memref<64x4096xf16>, %n: index, %c: i1) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %no = arith.constant false
  %sb = tirx.alloc : !b
  %w = tirx.alloc : !w
  %acc = tirx.alloc : !t
  // expected-remark@+2 {{a ring of 6 slots of 8192 bytes for %sb}}
  // expected-remark@+1 {{each product is awaited: %w is not written by each iteration before products read it}}
  scf.for %k = %c0 to %n step %c64 {
    %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !gb
    tirx.copy %gb, %sb engine tma : !gb, !b
    scf.if %c {
      %h = tirx.zero : !h
      tirx.store %h, %w : !h, !w
    }
    tirx.mma %w, %sb, %acc accumulate(%no) : !w, !b, !t
  }
  tirx.return
}

// -----

!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!b = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!t = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!w = !tirx.tile<128x64xf16, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!r = !tirx.tile<128x64xf32, register>
!h = !tirx.tile<128x64xf16, register>
// expected-remark@+1 {{start values: tcgen05}}
tirx.kernel @both(%a: memref<128x64xf16>, %b: memref<64x4096xf16>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %no = arith.constant false
  %sb = tirx.alloc : !b
  %sa = tirx.alloc : !a
  %w = tirx.alloc : !w
  %acc = tirx.alloc : !t
  %sum = tirx.alloc : !t
  %ga = tirx.view %a[%c0, %c0] : memref<128x64xf16> -> !ga
  tirx.copy %ga, %sa engine tma : !ga, !a
  // expected-remark@+3 {{a slot of 16384 bytes for %sa}}
  // expected-remark@+2 {{a ring of 6 slots of 8192 bytes for %sb}}
  // expected-remark@+1 {{each product is awaited: 'tirx.mma' reads a tile that a product reads, too, which waits for threads}}
  scf.for %k = %c0 to %n step %c64 {
    %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !gb
    tirx.copy %gb, %sb engine tma : !gb, !b
    tirx.mma %sa, %sb, %acc accumulate(%no) : !a, !b, !t
    %x = tirx.load %acc : !t -> !r
    %h = tirx.zero : !h
    tirx.store %h, %w : !h, !w
    tirx.mma %w, %sb, %sum accumulate(%no) : !w, !b, !t
    %y = tirx.load %sum : !t -> !r
  }
  tirx.return
}

// -----

// Products in a branch may leave the sums as they are: the accumulator is no slot that they pass on.

!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!b = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!acc = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<128x64xf32, register>
// expected-remark@+1 {{start values: tcgen05}}
tirx.kernel @sums_in_a_branch(%x: memref<128x4096xf16>, %y: memref<64x4096xf16>, %p: i1) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %c = tirx.alloc : !a
  %d = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  // expected-remark@+2 {{a ring of 6 slots of 24576 bytes for %a, %b, filled 5 iterations ahead by tma}}
  // expected-remark@+1 {{each product is awaited: 'scf.if' may add nothing to the accumulator}}
  scf.for %k = %c0 to %c256 step %c64 {
    %ga = tirx.view %x[%c0, %k] : memref<128x4096xf16> -> !ga
    %gb = tirx.view %y[%c0, %k] : memref<64x4096xf16> -> !gb
    tirx.copy %ga, %a : !ga, !a
    tirx.copy %gb, %b : !gb, !b
    tirx.mma %a, %b, %acc : !a, !b, !acc
  }
  scf.if %p {
    tirx.mma %c, %d, %acc : !a, !b, !acc
  }
  %v = tirx.load %acc : !acc -> !r
  "test.op"(%v) : (!r) -> ()
  tirx.return
}
