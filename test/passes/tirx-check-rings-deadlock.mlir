// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-rings

// Filled two rounds ahead with one product pending, for which four slots are needed.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(3) stations(fill, use) : !tirx.ring<!s>
  %z = tirx.alloc : !r
  tirx.for @k %k = 0 to %n skew(2) {
    tirx.at(0) {
      // expected-error@+1 {{deadlock: k.wg0 waits for ever for use 3 at station fill of %ab, for a release by k.wg0, when every loop has 4 iterations}}
      %s = tirx.acquire %ab at(fill)
      %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
      tirx.async_copy %g, %s engine(tma) : !g, !s
      tirx.release %ab at(fill) after(tma)
    }
    tirx.at(2) {
      %u = tirx.acquire %ab at(use)
      %p = tirx.async_mma %u, %u, %z : !s, !s, !r -> !tirx.pending<!r>
      tirx.release %ab at(use) after(wgmma)
      tirx.await wgmma pending(1)
    }
  }
  tirx.await wgmma pending(0)
  tirx.return
}

// -----

// facebookexperimental/triton 1278: the slot is released while the product still reads it.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %z = tirx.alloc : !r
  tirx.for @k %k = 0 to %n skew(2) {
    tirx.at(0) {
      %s = tirx.acquire %ab at(fill)
      %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
      tirx.async_copy %g, %s engine(tma) : !g, !s
      tirx.release %ab at(fill) after(tma)
    }
    tirx.at(2) {
      %u = tirx.acquire %ab at(use)
      %p = tirx.async_mma %u, %u, %z : !s, !s, !r -> !tirx.pending<!r>
      // expected-error@+1 {{k.wg0 releases a slot of %ab while wgmma still reads it, when in round 2 of @k}}
      tirx.release %ab at(use)
      tirx.await wgmma pending(1)
    }
  }
  tirx.await wgmma pending(0)
  tirx.return
}

// -----

// CUTLASS 3636: one role goes on under a condition.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %c: i1) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        scf.if %c {
          %s = tirx.acquire %ab at(fill)
          %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
          tirx.async_copy %g, %s engine(tma) : !g, !s
          tirx.release %ab at(fill) after(tma)
        }
      }
    }
    tirx.role @use warps(1) {
      tirx.for @k %k = 0 to %n {
        // expected-error@+1 {{deadlock: use waits for ever for use 0 at station use of %ab, for a release by load, when every loop has 1 iteration}}
        %u = tirx.acquire %ab at(use)
        %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
        tirx.release %ab at(use)
      }
    }
  }
  tirx.return
}

// -----

// The same condition in both roles.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %c: i1) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        scf.if %c {
          %s = tirx.acquire %ab at(fill)
          %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
          tirx.async_copy %g, %s engine(tma) : !g, !s
          tirx.release %ab at(fill) after(tma)
        }
      }
    }
    tirx.role @use warps(1) {
      tirx.for @k %k = 0 to %n {
        scf.if %c {
          %u = tirx.acquire %ab at(use)
          %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
          tirx.release %ab at(use)
        }
      }
    }
  }
  tirx.return
}

// -----

// Opposite conditions.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %c: i1) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        scf.if %c {
          %s = tirx.acquire %ab at(fill)
          %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
          tirx.async_copy %g, %s engine(tma) : !g, !s
          tirx.release %ab at(fill) after(tma)
        }
      }
    }
    tirx.role @use warps(1) {
      tirx.for @k %k = 0 to %n {
        scf.if %c {
        } else {
          // expected-error@+1 {{deadlock: use waits for ever for use 0 at station use of %ab, for a release by load, when every loop has 1 iteration}}
          %u = tirx.acquire %ab at(use)
          %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
          tirx.release %ab at(use)
        }
      }
    }
  }
  tirx.return
}

// -----

// TileLang 2566: the first round is peeled, also if there is none.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %o: index) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected the same number of uses of %ab at all stations, found 1 by load at station fill of %ab, 0 by use at station use of %ab, when every loop has 0 iterations}}
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @load warps(1) {
      %first = tirx.acquire %ab at(fill)
      %h = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
      tirx.async_copy %h, %first engine(tma) : !g, !s
      tirx.release %ab at(fill) after(tma)
      tirx.for @rest %k = 0 to %o {
        %s = tirx.acquire %ab at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %s engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.role @use warps(1) {
      tirx.for @k %k = 0 to %n {
        %u = tirx.acquire %ab at(use)
        %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
        tirx.release %ab at(use)
      }
    }
  }
  tirx.return
}

// -----

// One slot suffices for roles (triton 2868).

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(1) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        %s = tirx.acquire %ab at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %s engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.role @use warps(1) {
      tirx.for @k %k = 0 to %n {
        %u = tirx.acquire %ab at(use)
        %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
        tirx.release %ab at(use)
      }
    }
  }
  tirx.return
}

// -----

// Two rings, each role waits for the other.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %cd = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @one warps(1) {
      tirx.for @k %k = 0 to %n {
        // expected-error@+1 {{deadlock: one waits for ever for use 0 at station use of %cd, for a release by two, when every loop has 1 iteration}}
        %u = tirx.acquire %cd at(use)
        %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
        tirx.release %cd at(use)
        %s = tirx.acquire %ab at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %s engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.role @two warps(1) {
      tirx.for @k %k = 0 to %n {
        %u = tirx.acquire %ab at(use)
        %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
        tirx.release %ab at(use)
        %s = tirx.acquire %cd at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %s engine(tma) : !g, !s
        tirx.release %cd at(fill) after(tma)
      }
    }
  }
  tirx.return
}

// -----

// A baton held over two rounds.

!s = !tirx.tile<64x64xf16, shared>
!r = !tirx.tile<64x64xf32, register>

tirx.kernel @k(%n: index) target("sm_90a") threads(256) {
  %turn = tirx.ring slots(1) stations(wg0, wg1) : !tirx.ring<>
  tirx.for @k %k = 0 to %n skew(1) {
    tirx.at(0) {
      // expected-error@+1 {{deadlock: k.wg0 waits for ever for use 1 at station wg0 of %turn, for a release by k.wg1, when every loop has 2 iterations}}
      tirx.acquire %turn at(self)
    }
    tirx.at(1) {
      tirx.release %turn at(self)
    }
  }
  %z = tirx.alloc : !r
  %a = tirx.alloc : !s
  %p = tirx.async_mma %a, %a, %z : !s, !s, !r -> !tirx.pending<!r>
  tirx.await wgmma pending(0)
  tirx.return
}

// -----

// The accumulator is handed on before the commit.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!t = !tirx.tile<128x64xf32, tensor>
!a = !tirx.tile<128x64xf16, shared>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_100a") threads(192) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %acc = tirx.ring slots(2) stations(sum, read) : !tirx.ring<!t>
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        %s = tirx.acquire %ab at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %s engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.role @mma warps(1) {
      %w = tirx.alloc : !a
      %t = tirx.acquire %acc at(sum)
      tirx.for @k %k = 0 to %n {
        %a = tirx.acquire %ab at(use)
        tirx.async_mma %w, %a, %t : !a, !s, !t
        tirx.release %ab at(use) after(tcgen05)
      }
      // expected-error@+1 {{mma releases a slot of %acc while tcgen05 still writes it, when @k has 0 iterations}}
      tirx.release %acc at(sum)
    }
    tirx.role @epilogue warps(4) {
      %z = tirx.alloc : !tirx.tile<128x64xf32, register>
      %t = tirx.acquire %acc at(read)
      %x = tirx.load %t : !t -> !tirx.tile<128x64xf32, register>
      tirx.release %acc at(read)
      %none = arith.cmpi eq, %n, %c0 : index
      %y = arith.select %none, %z, %x : !tirx.tile<128x64xf32, register>
    }
  }
  tirx.return
}

// -----

// Without iterations the accumulator is undefined, and the epilogue stores it.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!t = !tirx.tile<128x64xf32, tensor>
!a = !tirx.tile<128x64xf16, shared>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_100a") threads(192) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %acc = tirx.ring slots(2) stations(sum, read) : !tirx.ring<!t>
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        %s = tirx.acquire %ab at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %s engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.role @mma warps(1) {
      %w = tirx.alloc : !a
      %t = tirx.acquire %acc at(sum)
      tirx.for @k %k = 0 to %n {
        %a = tirx.acquire %ab at(use)
        tirx.async_mma %w, %a, %t : !a, !s, !t
        tirx.release %ab at(use) after(tcgen05)
      }
      // expected-error@+1 {{mma passes on a slot of %acc that it did not fill, when @k has 0 iterations}}
      tirx.release %acc at(sum) after(tcgen05)
    }
    tirx.role @epilogue warps(4) {
      %z = tirx.alloc : !tirx.tile<128x64xf32, register>
      %t = tirx.acquire %acc at(read)
      %x = tirx.load %t : !t -> !tirx.tile<128x64xf32, register>
      tirx.release %acc at(read)
      "test.op"(%x) : (!tirx.tile<128x64xf32, register>) -> ()
    }
  }
  tirx.return
}

// -----

// Without iterations the accumulator is undefined, and the epilogue reads it just then.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!t = !tirx.tile<128x64xf32, tensor>
!a = !tirx.tile<128x64xf16, shared>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_100a") threads(192) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %acc = tirx.ring slots(2) stations(sum, read) : !tirx.ring<!t>
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        %s = tirx.acquire %ab at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %s engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.role @mma warps(1) {
      %w = tirx.alloc : !a
      %t = tirx.acquire %acc at(sum)
      tirx.for @k %k = 0 to %n {
        %a = tirx.acquire %ab at(use)
        tirx.async_mma %w, %a, %t : !a, !s, !t
        tirx.release %ab at(use) after(tcgen05)
      }
      // expected-error@+1 {{mma passes on a slot of %acc that it did not fill, when @k has 0 iterations}}
      tirx.release %acc at(sum) after(tcgen05)
    }
    tirx.role @epilogue warps(4) {
      %z = tirx.alloc : !tirx.tile<128x64xf32, register>
      %t = tirx.acquire %acc at(read)
      %some = arith.cmpi eq, %n, %c0 : index
      %x = scf.if %some -> (!tirx.tile<128x64xf32, register>) {
        %y = tirx.load %t : !t -> !tirx.tile<128x64xf32, register>
        scf.yield %y : !tirx.tile<128x64xf32, register>
      } else {
        scf.yield %z : !tirx.tile<128x64xf32, register>
      }
      tirx.release %acc at(read)
      "test.op"(%x) : (!tirx.tile<128x64xf32, register>) -> ()
    }
  }
  tirx.return
}

// -----

// Without iterations the accumulator is undefined, and the epilogue does not read it.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!t = !tirx.tile<128x64xf32, tensor>
!a = !tirx.tile<128x64xf16, shared>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_100a") threads(192) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %acc = tirx.ring slots(2) stations(sum, read) : !tirx.ring<!t>
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        %s = tirx.acquire %ab at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %s engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.role @mma warps(1) {
      %w = tirx.alloc : !a
      %t = tirx.acquire %acc at(sum)
      tirx.for @k %k = 0 to %n {
        %a = tirx.acquire %ab at(use)
        tirx.async_mma %w, %a, %t : !a, !s, !t
        tirx.release %ab at(use) after(tcgen05)
      }
      tirx.release %acc at(sum) after(tcgen05)
    }
    tirx.role @epilogue warps(4) {
      %z = tirx.alloc : !tirx.tile<128x64xf32, register>
      %t = tirx.acquire %acc at(read)
      %some = arith.cmpi ne, %n, %c0 : index
      %x = scf.if %some -> (!tirx.tile<128x64xf32, register>) {
        %y = tirx.load %t : !t -> !tirx.tile<128x64xf32, register>
        scf.yield %y : !tirx.tile<128x64xf32, register>
      } else {
        scf.yield %z : !tirx.tile<128x64xf32, register>
      }
      tirx.release %acc at(read)
      "test.op"(%x) : (!tirx.tile<128x64xf32, register>) -> ()
    }
  }
  tirx.return
}

// -----

// A value read behind the own write in place.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_100a") threads(96) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, change, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        %s = tirx.acquire %ab at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %s engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.role @change warps(1) {
      tirx.for @k %k = 0 to %n {
        %s = tirx.acquire %ab at(change)
        %v = tirx.load %s : !s -> !tirx.tile<64x64xf16, register>
        tirx.store %v, %s : !tirx.tile<64x64xf16, register>, !s
        // expected-error@+1 {{change reads in %ab what it has overwritten itself, when in round 0 of @k}}
        %w = tirx.load %s : !s -> !tirx.tile<64x64xf16, register>
        tirx.release %ab at(change)
      }
    }
    tirx.role @use warps(1) {
      tirx.for @k %k = 0 to %n {
        %u = tirx.acquire %ab at(use)
        %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
        tirx.release %ab at(use)
      }
    }
  }
  tirx.return
}

// -----

// Copies that wgmma reads need a wait and a fence of the threads that copied.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %z = tirx.alloc : !r
  tirx.for @k %k = 0 to %n {
    %s = tirx.acquire %ab at(fill)
    %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
    tirx.async_copy %g, %s engine(cp_async) : !g, !s
    tirx.release %ab at(fill) after(cp_async)
    // expected-error@+1 {{deadlock: k.wg0 waits for ever for use 0 at station use of %ab, for a release by k.wg0 and k.wg1, when every loop has 1 iteration}}
    %u = tirx.acquire %ab at(use)
    %p = tirx.async_mma %u, %u, %z : !s, !s, !r -> !tirx.pending<!r>
    tirx.release %ab at(use) after(wgmma)
    tirx.await wgmma pending(0)
  }
  tirx.return
}
