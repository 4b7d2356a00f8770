// RUN: tirx-opt %s --split-input-file --verify-diagnostics --remarks --tirx-check-rings

// A loop of all roles under one condition, which each of them computes, and a second one where it does not hold.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>
tirx.kernel @under_a_condition(%a: memref<64x4096xf16>, %n: index, %p: index) target("sm_90a") threads(160) {
  %c0 = arith.constant 0 : index
  // expected-remark@+1 {{%s is right with 1 or more slots, found 2}}
  %s = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @math warps(4) {
      %x = arith.cmpi ne, %p, %c0 : index
      scf.if %x {
        tirx.for @k %k = 0 to %n {
          %used = tirx.acquire %s at(use)
          %v = tirx.load %used : !s -> !r
          tirx.release %s at(use)
        }
      } else {
        tirx.for @l %k = 0 to %n {
          %used = tirx.acquire %s at(use)
          %v = tirx.load %used : !s -> !r
          tirx.release %s at(use)
        }
      }
    }
    tirx.role @load warps(1) {
      %x = arith.cmpi ne, %p, %c0 : index
      scf.if %x {
        tirx.for @k %k = 0 to %n {
          %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
          %filled = tirx.acquire %s at(fill)
          tirx.async_copy %ga, %filled engine(tma) : !g, !s
          tirx.release %s at(fill) after(tma)
        }
      } else {
        tirx.for @l %k = 0 to %n {
          %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
          %filled = tirx.acquire %s at(fill)
          tirx.async_copy %ga, %filled engine(tma) : !g, !s
          tirx.release %s at(fill) after(tma)
        }
      }
    }
  }
  tirx.return
}

// -----

// One role has the loop always.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>
tirx.kernel @always(%a: memref<64x4096xf16>, %n: index, %p: index) target("sm_90a") threads(160) {
  %c0 = arith.constant 0 : index
  %s = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @math warps(4) {
      tirx.for @k %k = 0 to %n {
        // expected-error@+1 {{deadlock: math waits for ever for use 0 at station use of %s, for a release by load}}
        %used = tirx.acquire %s at(use)
        %v = tirx.load %used : !s -> !r
        tirx.release %s at(use)
      }
    }
    tirx.role @load warps(1) {
      %x = arith.cmpi ne, %p, %c0 : index
      scf.if %x {
        tirx.for @k %k = 0 to %n {
          %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
          %filled = tirx.acquire %s at(fill)
          tirx.async_copy %ga, %filled engine(tma) : !g, !s
          tirx.release %s at(fill) after(tma)
        }
      }
    }
  }
  tirx.return
}

// -----

// The number of iterations of scf.while is unknown; what its condition does is not followed.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>
tirx.kernel @while(%a: memref<64x4096xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark@+1 {{%s is right with 1 or more slots, found 2}}
  %s = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %end = scf.while (%i = %c0) : (index) -> index {
    %more = arith.cmpi ult, %i, %n : index
    scf.condition(%more) %i : index
  } do {
  ^bb0(%i: index):
    %ga = tirx.view %a[%c0, %i] : memref<64x4096xf16> -> !g
    %filled = tirx.acquire %s at(fill)
    tirx.async_copy %ga, %filled engine(tma) : !g, !s
    tirx.release %s at(fill) after(tma)
    %used = tirx.acquire %s at(use)
    %v = tirx.load %used : !s -> !r
    tirx.release %s at(use)
    %next = arith.addi %i, %c1 : index
    scf.yield %next : index
  }
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>
tirx.kernel @in_the_condition(%a: memref<64x4096xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  // expected-error@+1 {{cannot decide: operations of a ring in the condition of 'scf.while'}}
  %end = scf.while (%i = %c0) : (index) -> index {
    %ga = tirx.view %a[%c0, %i] : memref<64x4096xf16> -> !g
    %filled = tirx.acquire %s at(fill)
    tirx.async_copy %ga, %filled engine(tma) : !g, !s
    tirx.release %s at(fill) after(tma)
    %more = arith.cmpi ult, %i, %n : index
    scf.condition(%more) %i : index
  } do {
  ^bb0(%i: index):
    %used = tirx.acquire %s at(use)
    %v = tirx.load %used : !s -> !r
    tirx.release %s at(use)
    %next = arith.addi %i, %c1 : index
    scf.yield %next : index
  }
  tirx.return
}

// -----

// A party of one role has the name of another role.

tirx.kernel @names() target("sm_90a") threads(288) {
  %turn = tirx.ring slots(1) stations(wg0, wg1) : !tirx.ring<>
  tirx.roles {
    tirx.role @math warps(8) unit(warpgroup) {
      tirx.acquire %turn at(self)
      tirx.release %turn at(self)
    }
    // expected-error@+1 {{expected another name of a role, found a second party math.wg0}}
    tirx.role @math.wg0 warps(1) {
    }
  }
  tirx.return
}
