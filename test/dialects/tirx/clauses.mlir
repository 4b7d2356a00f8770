// RUN: tirx-opt %s --split-input-file --verify-diagnostics | filecheck %s

// Clauses are read in any order and printed in one.

!s = !tirx.tile<64x64xf16, shared>
!acc = !tirx.tile<64x64xf32, tensor>

// CHECK-LABEL: tirx.kernel @k() target("sm_100a") grid(2) threads(128)
tirx.kernel @k() threads(128) grid(2) target("sm_100a") {
  %p = arith.constant true
  %a = tirx.alloc : !s
  %m = tirx.alloc : !tirx.tile<64x32xi4, tensor>
  %acc = tirx.alloc : !acc
  // CHECK: tirx.mma %a, %a, %acc negate_a negate_b accumulate(%p) :
  tirx.mma %a, %a, %acc accumulate(%p) negate_b negate_a : !s, !s, !acc
  // CHECK: tirx.mma %a, %a, %acc weight_stationary zero_columns([1]) negate_a accumulate(%p) :
  tirx.mma %a, %a, %acc negate_a accumulate(%p) zero_columns([1]) weight_stationary : !s, !s, !acc
  tirx.return
}

!f = !tirx.tile<64x32xf32, shared>
!g = !tirx.tile<64x32xf32, global>
!r = !tirx.tile<64x32xf32, register>

// CHECK-LABEL: tirx.kernel @copies
tirx.kernel @copies(%d: memref<64x32xf32>) threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !f
  %v = tirx.zero : !r
  %gd = tirx.view %d[%c0, %c0] : memref<64x32xf32> -> !g
  // CHECK: tirx.copy %s, %gd reduce(add) engine tma_reduce :
  tirx.copy %s, %gd engine tma_reduce reduce(add) : !f, !g
  // CHECK: tirx.store %v, %gd reduce(add) engine ld_st :
  tirx.store %v, %gd engine ld_st reduce(add) : !r, !g
  tirx.return
}

// CHECK-LABEL: tirx.kernel @roles
tirx.kernel @roles() threads(128) {
  tirx.roles {
    // CHECK: tirx.role @all warps(4) registers(40) unit(warp) {
    tirx.role @all unit(warp) registers(40) warps(4) {
    }
  }
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared>
!acc = !tirx.tile<64x64xf32, tensor>

tirx.kernel @twice() threads(128) {
  %a = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  // expected-error@+1 {{expected the clause 'negate_a' once, found it again}}
  tirx.mma %a, %a, %acc negate_a saturate negate_a : !s, !s, !acc
  tirx.return
}
