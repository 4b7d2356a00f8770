// RUN: tirx-opt %s --tirx-pick-layouts --tirx-allocate-memory --tirx-insert-barriers --split-input-file --verify-diagnostics | filecheck %s

// A bulk copy of one role and an access of another one: a ring orders no global memory.

!m = memref<128x64xf16>
!g = !tirx.tile<64x64xf16, global>
!s = !tirx.tile<64x64xf16, shared>
!r = !tirx.tile<64x64xf16, register>

tirx.kernel @loaded(%d: !m, %v: f16, %at: i32) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !s
  %g = tirx.view %d[%c0, %c0] : !m -> !g
  tirx.roles lowered {
    tirx.role @put warps(2) {
      %x = tirx.splat %v : f16 -> !r
      tirx.store %x, %g : !r, !g
    }
    tirx.role @get warps(2) {
      %leader = tirx.leader
      scf.if %leader {
        tirx.tma_load %g, %s, %at : !g, !s  // expected-error {{memory that role @put does not write}}
      }
    }
  }
  tirx.return
}

// -----

!m = memref<128x64xf16>
!g = !tirx.tile<64x64xf16, global>
!s = !tirx.tile<64x64xf16, shared>
!r = !tirx.tile<64x64xf16, register>

tirx.kernel @stored(%d: !m) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !s
  %g = tirx.view %d[%c0, %c0] : !m -> !g
  tirx.roles lowered {
    tirx.role @get warps(2) {
      %x = tirx.load %g : !g -> !r  // expected-error {{memory that role @put does not write}}
    }
    tirx.role @put warps(2) {
      %leader = tirx.leader
      scf.if %leader {
        tirx.tma_store %s, %g : !s, !g
        ptx.cp.async.bulk.commit_group
      }
    }
  }
  tirx.return
}

// -----

// Other rows of the same argument.

!m = memref<128x64xf16>
!g = !tirx.tile<64x64xf16, global>
!s = !tirx.tile<64x64xf16, shared>
!r = !tirx.tile<64x64xf16, register>

// CHECK-LABEL: tirx.kernel @apart
tirx.kernel @apart(%d: !m) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %s = tirx.alloc : !s
  %g = tirx.view %d[%c0, %c0] : !m -> !g
  %rest = tirx.view %d[%c64, %c0] : !m -> !g
  tirx.roles lowered {
    tirx.role @get warps(2) {
      %x = tirx.load %rest : !g -> !r
    }
    tirx.role @put warps(2) {
      %leader = tirx.leader
      scf.if %leader {
        tirx.tma_store %s, %g : !s, !g
        ptx.cp.async.bulk.commit_group
      }
    }
  }
  tirx.return
}
