// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-rings

// Two copies fill a half each, by threads or by TMA.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>
!half = !tirx.tile<32x64xf16, shared>
!top = !tirx.tile<32x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n skew(1) {
    tirx.at(0) {
      %s = tirx.acquire %ab at(fill)
      %a = tirx.subview %s[0, 0] : !s -> !half
      %b = tirx.subview %s[32, 0] : !s -> !half
      %t = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !top
      tirx.async_copy %t, %a engine(cp_async) : !top, !half
      tirx.async_copy %t, %b engine(cp_async) : !top, !half
      tirx.release %ab at(fill) after(cp_async)
    }
    tirx.at(1) {
      %u = tirx.acquire %ab at(use)
      %x = tirx.load %u : !s -> !r
      tirx.release %ab at(use)
    }
  }
  tirx.return
}


tirx.kernel @k2(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k2 %k = 0 to %n skew(1) {
    tirx.at(0) {
      %s = tirx.acquire %ab at(fill)
      %a = tirx.subview %s[0, 0] : !s -> !half
      %b = tirx.subview %s[32, 0] : !s -> !half
      %t = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !top
      tirx.async_copy %t, %a engine(tma) : !top, !half
      tirx.async_copy %t, %b engine(tma) : !top, !half
      tirx.release %ab at(fill) after(tma)
    }
    tirx.at(1) {
      %u = tirx.acquire %ab at(use)
      %x = tirx.load %u : !s -> !r
      tirx.release %ab at(use)
    }
  }
  tirx.return
}

// -----

// Two roles do.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>
!half = !tirx.tile<32x64xf16, shared>
!top = !tirx.tile<32x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(96) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @one warps(1) {
      tirx.for @k %k = 0 to %n {
        %s = tirx.acquire %ab at(fill)
        %h = tirx.subview %s[0, 0] : !s -> !half
        %t = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !top
        tirx.async_copy %t, %h engine(cp_async) : !top, !half
        tirx.release %ab at(fill) after(cp_async)
      }
    }
    tirx.role @other warps(1) {
      tirx.for @k %k = 0 to %n {
        %s = tirx.acquire %ab at(fill)
        %h = tirx.subview %s[32, 0] : !s -> !half
        %t = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !top
        tirx.async_copy %t, %h engine(cp_async) : !top, !half
        tirx.release %ab at(fill) after(cp_async)
      }
    }
    tirx.role @use warps(1) {
      tirx.for @k %k = 0 to %n {
        %u = tirx.acquire %ab at(use)
        %x = tirx.load %u : !s -> !r
        tirx.release %ab at(use)
      }
    }
  }
  tirx.return
}

// -----

// One of two copies fills the second half.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>
!half = !tirx.tile<32x64xf16, shared>
!top = !tirx.tile<32x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %w: memref<64x4096xf16>, %n: index, %p: i1) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(1) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n {
    %t = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !top
    %v = tirx.view %w[%c0, %c0] : memref<64x4096xf16> -> !top
    %s = tirx.acquire %ab at(fill)
    %a = tirx.subview %s[0, 0] : !s -> !half
    %b = tirx.subview %s[32, 0] : !s -> !half
    tirx.async_copy %t, %a engine(cp_async) : !top, !half
    scf.if %p {
      tirx.async_copy %t, %b engine(cp_async) : !top, !half
    } else {
      tirx.async_copy %v, %b engine(cp_async) : !top, !half
    }
    tirx.release %ab at(fill) after(cp_async)
    %u = tirx.acquire %ab at(use)
    %x = tirx.load %u : !s -> !r
    tirx.release %ab at(use)
  }
  tirx.return
}

// -----

// Two copies of all threads to one tile: each has a group, which nobody waits for before the release.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n skew(1) {
    tirx.at(0) {
      %s = tirx.acquire %ab at(fill)
      %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
      tirx.async_copy %g, %s engine(cp_async) : !g, !s
      // expected-error@+1 {{expected one copy to each byte of a slot of %ab, found a second one, which may come before the first}}
      tirx.async_copy %g, %s engine(cp_async) : !g, !s
      tirx.release %ab at(fill) after(cp_async)
    }
    tirx.at(1) {
      %u = tirx.acquire %ab at(use)
      %x = tirx.load %u : !s -> !r
      tirx.release %ab at(use)
    }
  }
  tirx.return
}

// -----

// To wait in between does not help: the copies to a slot are committed when it is released.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n skew(1) {
    tirx.at(0) {
      %s = tirx.acquire %ab at(fill)
      %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
      tirx.async_copy %g, %s engine(cp_async) : !g, !s
      tirx.await cp_async pending(0)
      // expected-error@+1 {{expected one copy to each byte of a slot of %ab, found a second one, which may come before the first}}
      tirx.async_copy %g, %s engine(cp_async) : !g, !s
      tirx.release %ab at(fill) after(cp_async)
    }
    tirx.at(1) {
      %u = tirx.acquire %ab at(use)
      %x = tirx.load %u : !s -> !r
      tirx.release %ab at(use)
    }
  }
  tirx.return
}

// -----

// By TMA, a part of what another copy fills.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>
!half = !tirx.tile<32x64xf16, shared>
!top = !tirx.tile<32x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n skew(1) {
    tirx.at(0) {
      %s = tirx.acquire %ab at(fill)
      %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
      %t = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !top
      %h = tirx.subview %s[32, 0] : !s -> !half
      tirx.async_copy %g, %s engine(tma) : !g, !s
      // expected-error@+1 {{expected one copy to each byte of a slot of %ab, found a second one, which may come before the first}}
      tirx.async_copy %t, %h engine(tma) : !top, !half
      tirx.release %ab at(fill) after(tma)
    }
    tirx.at(1) {
      %u = tirx.acquire %ab at(use)
      %x = tirx.load %u : !s -> !r
      tirx.release %ab at(use)
    }
  }
  tirx.return
}

// -----

// Two views of the same bytes.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>
!v = !tirx.tile<32x128xf16, shared>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<x: !s | y: !v>
  tirx.for @k %k = 0 to %n skew(1) {
    tirx.at(0) {
      %s, %v = tirx.acquire %ab at(fill)
      %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
      tirx.async_copy %g, %s engine(cp_async) : !g, !s
      %w = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !tirx.tile<32x128xf16, global>
      // expected-error@+1 {{expected one copy to each byte of a slot of %ab, found a second one, which may come before the first}}
      tirx.async_copy %w, %v engine(cp_async) : !tirx.tile<32x128xf16, global>, !v
      tirx.release %ab at(fill) after(cp_async)
    }
    tirx.at(1) {
      %u, %o = tirx.acquire %ab at(use)
      %x = tirx.load %u : !s -> !r
      tirx.release %ab at(use)
    }
  }
  tirx.return
}

// -----

// A view of all bytes of a slot, then one of the first half of them.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>
!v = !tirx.tile<32x64xf16, shared>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<x: !s | y: !v>
  tirx.for @k %k = 0 to %n skew(1) {
    tirx.at(0) {
      %s, %v = tirx.acquire %ab at(fill)
      %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
      tirx.async_copy %g, %s engine(cp_async) : !g, !s
      %w = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !tirx.tile<32x64xf16, global>
      // expected-error@+1 {{expected one copy to each byte of a slot of %ab, found a second one, which may come before the first}}
      tirx.async_copy %w, %v engine(cp_async) : !tirx.tile<32x64xf16, global>, !v
      tirx.release %ab at(fill) after(cp_async)
    }
    tirx.at(1) {
      %u, %o = tirx.acquire %ab at(use)
      %x = tirx.load %u : !s -> !r
      tirx.release %ab at(use)
    }
  }
  tirx.return
}

// -----

// The half first.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>
!v = !tirx.tile<32x64xf16, shared>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<x: !s | y: !v>
  tirx.for @k %k = 0 to %n skew(1) {
    tirx.at(0) {
      %s, %v = tirx.acquire %ab at(fill)
      %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
      %w = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !tirx.tile<32x64xf16, global>
      tirx.async_copy %w, %v engine(cp_async) : !tirx.tile<32x64xf16, global>, !v
      // expected-error@+1 {{expected one copy to each byte of a slot of %ab, found a second one, which may come before the first}}
      tirx.async_copy %g, %s engine(cp_async) : !g, !s
      tirx.release %ab at(fill) after(cp_async)
    }
    tirx.at(1) {
      %u, %o = tirx.acquire %ab at(use)
      %x = tirx.load %u : !s -> !r
      tirx.release %ab at(use)
    }
  }
  tirx.return
}

// -----

// One copy in a loop inside of the fill.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %p: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n skew(1) {
    tirx.at(0) {
      %s = tirx.acquire %ab at(fill)
      %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
      tirx.for @again %i = 0 to %p {
        // expected-error@+1 {{expected one copy to each byte of a slot of %ab, found a second one, which may come before the first}}
        tirx.async_copy %g, %s engine(cp_async) : !g, !s
      }
      tirx.release %ab at(fill) after(cp_async)
    }
    tirx.at(1) {
      %u = tirx.acquire %ab at(use)
      %x = tirx.load %u : !s -> !r
      tirx.release %ab at(use)
    }
  }
  tirx.return
}

// -----

// Two iterations are enough.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n {
    %s = tirx.acquire %ab at(fill)
    %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
    tirx.for @again %i = 0 to 2 {
      // expected-error@+1 {{expected one copy to each byte of a slot of %ab, found a second one, which may come before the first}}
      tirx.async_copy %g, %s engine(cp_async) : !g, !s
    }
    tirx.release %ab at(fill) after(cp_async)
    %u = tirx.acquire %ab at(use)
    %x = tirx.load %u : !s -> !r
    tirx.release %ab at(use)
  }
  tirx.return
}

// -----

// One copies once.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n {
    %s = tirx.acquire %ab at(fill)
    %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
    tirx.for @again %i = 0 to 1 {
      tirx.async_copy %g, %s engine(cp_async) : !g, !s
    }
    tirx.release %ab at(fill) after(cp_async)
    %u = tirx.acquire %ab at(use)
    %x = tirx.load %u : !s -> !r
    tirx.release %ab at(use)
  }
  tirx.return
}

// -----

// Two roles fill the same half.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>
!half = !tirx.tile<32x64xf16, shared>
!top = !tirx.tile<32x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(96) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @one warps(1) {
      tirx.for @k %k = 0 to %n {
        %s = tirx.acquire %ab at(fill)
        %h = tirx.subview %s[0, 0] : !s -> !half
        %t = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !top
        tirx.async_copy %t, %h engine(cp_async) : !top, !half
        tirx.release %ab at(fill) after(cp_async)
      }
    }
    tirx.role @other warps(1) {
      tirx.for @k %k = 0 to %n {
        %s = tirx.acquire %ab at(fill)
        %h = tirx.subview %s[16, 0] : !s -> !half
        %t = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !top
        // expected-error@+1 {{expected one copy to each byte of a slot of %ab, found a second one, which may come before the first}}
        tirx.async_copy %t, %h engine(cp_async) : !top, !half
        tirx.release %ab at(fill) after(cp_async)
      }
    }
    tirx.role @use warps(1) {
      tirx.for @k %k = 0 to %n {
        %u = tirx.acquire %ab at(use)
        %x = tirx.load %u : !s -> !r
        tirx.release %ab at(use)
      }
    }
  }
  tirx.return
}

// -----

// Only a release after the queue commits copies: nobody can wait for those that are not.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf16, register>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n skew(1) {
    tirx.at(0) {
      %s = tirx.acquire %ab at(fill)
      %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
      tirx.async_copy %g, %s engine(cp_async) : !g, !s
      tirx.await cp_async pending(0)
      // expected-error@+1 {{k releases a slot of %ab while cp_async still writes it}}
      tirx.release %ab at(fill)
    }
    tirx.at(1) {
      %u = tirx.acquire %ab at(use)
      %x = tirx.load %u : !s -> !r
      tirx.release %ab at(use)
    }
  }
  tirx.return
}
