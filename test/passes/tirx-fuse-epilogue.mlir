// RUN: tirx-opt %s --split-input-file --verify-diagnostics --remarks --tirx-fuse-epilogue | filecheck %s

// Rows of 256 bytes are two boxes of 128 bytes, swizzled.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!d = !tirx.tile<64x128xf16, register, #tirx.tile_layout<S[(4, 2, 8, 16, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
// CHECK-LABEL: tirx.kernel @through(
// CHECK-NEXT:    %out = tirx.alloc : !tirx.tile<64x128xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 2, 64) : (64, 4096, 1)]>>>
// CHECK:         tirx.store %v, %out
// CHECK-NEXT:    tirx.copy %out, %gd engine tma_store
tirx.kernel @through(%a: memref<64x4096xf16>, %d: memref<64x4096xf16>, %n: index) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %sa = tirx.alloc : !s
  scf.for %k = %c0 to %n step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
  }
  %v = tirx.zero : !d
  %gd = tirx.view %d[%c0, %c0] : memref<64x4096xf16> -> !tirx.tile<64x128xf16, global>
  // expected-remark@+1 {{stored through 16384 bytes of shared memory, by tma_store}}
  tirx.store %v, %gd : !d, !tirx.tile<64x128xf16, global>
  tirx.return
}

// -----

// Rows of 48 bytes: one box of whole rows, where boxes of 32 bytes would be many.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!d = !tirx.tile<64x24xf16, register, #tirx.tile_layout<S[(4, 2, 8, 3, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
// CHECK-LABEL: tirx.kernel @rows(
// CHECK-NEXT:    %out = tirx.alloc : !tirx.tile<64x24xf16, shared, #tirx.tile_layout<S[(64, 24) : (24, 1)]>>
// CHECK:         tirx.store %v, %out
// CHECK-NEXT:    tirx.copy %out, %gd engine tma_store
tirx.kernel @rows(%a: memref<64x4096xf16>, %d: memref<64x4096xf16>, %n: index) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %sa = tirx.alloc : !s
  scf.for %k = %c0 to %n step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
  }
  %v = tirx.zero : !d
  %gd = tirx.view %d[%c0, %c0] : memref<64x4096xf16> -> !tirx.tile<64x24xf16, global>
  // expected-remark@+1 {{stored through 3072 bytes of shared memory, by tma_store}}
  tirx.store %v, %gd : !d, !tirx.tile<64x24xf16, global>
  tirx.return
}

// -----

// Stores that stay: no room, rows that no box has, strides that no tensor map has.

!s = !tirx.tile<256x128xf16, shared>
!g = !tirx.tile<256x128xf16, global>
!big = !tirx.tile<128x256xf32, register>
!odd = !tirx.tile<64x12xf16, register>
!d = !tirx.tile<64x64xf16, register>
// CHECK-LABEL: tirx.kernel @direct(
// CHECK-NOT:     tma_store
tirx.kernel @direct(%a: memref<256x4096xf16>, %big: memref<128x256xf32>, %odd: memref<64x12xf16>, %d: memref<64x68xf16>, %n: index)
    target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %sa = tirx.alloc : !s
  scf.for %k = %c0 to %n step %c128 {
    %ga = tirx.view %a[%c0, %k] : memref<256x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
  }
  %v = tirx.zero : !big
  %w = tirx.zero : !odd
  %x = tirx.zero : !d
  %gv = tirx.view %big[%c0, %c0] : memref<128x256xf32> -> !tirx.tile<128x256xf32, global>
  %gw = tirx.view %odd[%c0, %c0] : memref<64x12xf16> -> !tirx.tile<64x12xf16, global>
  %gx = tirx.view %d[%c0, %c0] : memref<64x68xf16> -> !tirx.tile<64x64xf16, global>
  // expected-remark@+1 {{stored directly: 131072 bytes have no room beside 3 slots, 34816 are left}}
  tirx.store %v, %gv : !big, !tirx.tile<128x256xf32, global>
  // expected-remark@+1 {{stored directly: rows of 12 elements of 16 bits}}
  tirx.store %w, %gw : !odd, !tirx.tile<64x12xf16, global>
  // expected-remark@+1 {{stored directly: no tma_store: expected}}
  tirx.store %x, %gx : !d, !tirx.tile<64x64xf16, global>
  tirx.return
}

// -----

// Targets without bulk stores, kernels that stage nothing, and those that ask for it keep their stores.

!d = !tirx.tile<64x64xf16, register>
// CHECK-LABEL: tirx.kernel @plain(
// CHECK-NOT:     tma_store
tirx.kernel @plain(%d: memref<64x64xf16>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %v = tirx.zero : !d
  %gd = tirx.view %d[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
  tirx.store %v, %gd : !d, !tirx.tile<64x64xf16, global>
  tirx.return
}

// -----

// expected-error@+1 {{expected an epilogue of auto or direct, found shared}}
tirx.kernel @wrong() target("sm_90") threads(128) attributes {tirx.epilogue = "shared"} {
  tirx.return
}

// -----

// In a loop, what is added to memory goes through shared memory as well. Behind one, threads add it.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!d = !tirx.tile<64x32xf32, register, #tirx.tile_layout<S[(4, 2, 8, 4, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!out = !tirx.tile<64x32xf32, global>
// CHECK-LABEL: tirx.kernel @added(
// CHECK-NEXT:    %out = tirx.alloc : !tirx.tile<64x32xf32, shared
// CHECK:         scf.for
// CHECK:           tirx.store %v, %out : {{.*}}, shared
// CHECK-NEXT:      tirx.copy %out, %gd reduce(add) engine tma_reduce
// CHECK:         tirx.store %v, %ge reduce(add)
tirx.kernel @added(%a: memref<64x4096xf16>, %d: memref<64x4096xf32>, %e: memref<64x4096xf32>, %n: index) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %sa = tirx.alloc : !s
  %v = tirx.zero : !d
  scf.for %k = %c0 to %n step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    %gd = tirx.view %d[%c0, %k] : memref<64x4096xf32> -> !out
    // expected-remark@+1 {{stored through 8192 bytes of shared memory, by tma_reduce}}
    tirx.store %v, %gd reduce(add) : !d, !out
  }
  %ge = tirx.view %e[%c0, %c0] : memref<64x4096xf32> -> !out
  // expected-remark@+1 {{stored directly: it combines its elements with those that are there}}
  tirx.store %v, %ge reduce(add) : !d, !out
  tirx.return
}

// -----

// Bulk copies and threads do not add to the same memory, and bulk copies have no minimum of f32.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!d = !tirx.tile<64x32xf32, register, #tirx.tile_layout<S[(4, 2, 8, 4, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!out = !tirx.tile<64x32xf32, global>
// CHECK-LABEL: tirx.kernel @by_threads(
// CHECK-NOT:     tma_reduce
// CHECK:         tirx.return
tirx.kernel @by_threads(%a: memref<64x4096xf16>, %d: memref<64x4096xf32>, %e: memref<64x4096xf32>, %f: memref<64x4096xf32>, %n: index) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %c64 = arith.constant 64 : index
  %sa = tirx.alloc : !s
  %v = tirx.zero : !d
  scf.for %k = %c0 to %n step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    %gd = tirx.view %d[%c0, %k] : memref<64x4096xf32> -> !out
    // expected-remark@+1 {{stored directly: another operation combines elements of the same memory}}
    tirx.store %v, %gd reduce(add) : !d, !out
    %ga1 = tirx.view %f[%c0, %k] : memref<64x4096xf32> -> !out
    // expected-remark@+1 {{stored directly: another operation combines elements of the same memory}}
    tirx.store %v, %ga1 reduce(add) : !d, !out
    %place = tirx.view %f[%k, %c0] : memref<64x4096xf32> -> !tirx.tile<1xf32, global>
    %before = tirx.atomic add %one, %place : f32, !tirx.tile<1xf32, global> -> f32
    %gm = tirx.view %e[%c0, %k] : memref<64x4096xf32> -> !out
    // expected-remark@+1 {{stored directly: no tma_reduce: expected elements of u32, s32, u64, s64, f16, bf16 for min in a bulk tensor copy, found f32}}
    tirx.store %v, %gm reduce(min) : !d, !out
  }
  %ge = tirx.view %d[%c0, %c0] : memref<64x4096xf32> -> !out
  // expected-remark@+1 {{stored directly: it combines its elements with those that are there}}
  tirx.store %v, %ge reduce(add) : !d, !out
  tirx.return
}
