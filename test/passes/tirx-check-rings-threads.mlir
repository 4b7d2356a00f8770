// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-rings

// A release behind work of wgmma, of stores or of TMA says nothing of what threads did to the slot.

// Threads read beside a product; a lane that has waited for the product would arrive for all.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register>

tirx.kernel @beside_products(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(160) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @math warps(4) {
      %z = tirx.alloc : !r
      tirx.for @k %k = 0 to %n {
        %u = tirx.acquire %ab at(use)
        %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
        %p = tirx.async_mma %u, %u, %z : !s, !s, !r -> !tirx.pending<!r>
        // expected-error@+1 {{math releases a slot of %ab after wgmma, which does not wait for accesses by threads; expected a release behind tirx.await, when in round 0 of @k}}
        tirx.release %ab at(use) after(wgmma)
        tirx.await wgmma pending(0)
      }
    }
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        %f = tirx.acquire %ab at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %f engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
  }
  tirx.return
}

// -----

// The same with a release behind the wait.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register>

tirx.kernel @behind_await(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(160) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @math warps(4) {
      %z = tirx.alloc : !r
      tirx.for @k %k = 0 to %n {
        %u = tirx.acquire %ab at(use)
        %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
        %p = tirx.async_mma %u, %u, %z : !s, !s, !r -> !tirx.pending<!r>
        tirx.await wgmma pending(0)
        tirx.release %ab at(use)
      }
    }
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        %f = tirx.acquire %ab at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %f engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
  }
  tirx.return
}

// -----

// Threads read behind the start of a bulk store, whose thread arrives; and a fence for one ring is none for another.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @beside_stores(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(160) {
  %c0 = arith.constant 0 : index
  %a = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %b = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @use warps(4) {
      tirx.for @k %k = 0 to %n {
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        %u = tirx.acquire %a at(use)
        %v = tirx.acquire %b at(use)
        tirx.async_copy %u, %g engine(tma_store) : !s, !g
        %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
        %y = tirx.load %v : !s -> !tirx.tile<64x64xf16, register>
        tirx.release %b at(use)
        // expected-error@+1 {{use releases a slot of %a after store, which does not wait for accesses by threads; expected these at a station in front of it, when in round 0 of @k}}
        tirx.release %a at(use) after(store)
        tirx.await store pending(0)
      }
    }
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        %f = tirx.acquire %a at(fill)
        tirx.async_copy %g, %f engine(tma) : !g, !s
        tirx.release %a at(fill) after(tma)
        %h = tirx.acquire %b at(fill)
        tirx.async_copy %g, %h engine(tma) : !g, !s
        tirx.release %b at(fill) after(tma)
      }
    }
  }
  tirx.return
}

// -----

// Where one role writes, stores and reads, its threads meet before they write again.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>

tirx.kernel @within_role(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %a = tirx.ring slots(1) stations(fill, use) : !tirx.ring<!s>
  %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
  %r = tirx.load %g : !g -> !r
  tirx.for @k %k = 0 to %n {
    %f = tirx.acquire %a at(fill)
    tirx.store %r, %f : !r, !s
    tirx.release %a at(fill)
    %u = tirx.acquire %a at(use)
    tirx.async_copy %u, %g engine(tma_store) : !s, !g
    %x = tirx.load %u : !s -> !r
    tirx.release %a at(use) after(store)
    tirx.await store pending(0)
  }
  tirx.return
}

// -----

// Threads write behind the start of a copy by TMA, or by cp.async, which all threads start.

!s = !tirx.tile<32x64xf16, shared>
!g = !tirx.tile<32x64xf16, global>
!r = !tirx.tile<32x64xf16, register>

tirx.kernel @beside_copies(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %a = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s, !s>
  %b = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s, !s>
  tirx.roles {
    tirx.role @load warps(4) {
      %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
      %r = tirx.load %g : !g -> !r
      tirx.for @k %k = 0 to %n {
        %f:2 = tirx.acquire %a at(fill)
        tirx.async_copy %g, %f#0 engine(cp_async) : !g, !s
        tirx.store %r, %f#1 : !r, !s
        tirx.release %a at(fill) after(cp_async)
        %h:2 = tirx.acquire %b at(fill)
        tirx.async_copy %g, %h#0 engine(tma) : !g, !s
        tirx.store %r, %h#1 : !r, !s
        // expected-error@+1 {{load releases a slot of %b after tma, which does not wait for accesses by threads; expected these at a station in front of it, when in round 0 of @k}}
        tirx.release %b at(fill) after(tma)
      }
    }
    tirx.role @use warps(4) {
      tirx.for @k %k = 0 to %n {
        %u:2 = tirx.acquire %a at(use)
        %x = tirx.load %u#0 : !s -> !r
        %y = tirx.load %u#1 : !s -> !r
        tirx.release %a at(use)
        %v:2 = tirx.acquire %b at(use)
        %z = tirx.load %v#0 : !s -> !r
        %w = tirx.load %v#1 : !s -> !r
        tirx.release %b at(use)
      }
    }
  }
  tirx.return
}
