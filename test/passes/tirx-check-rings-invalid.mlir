// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-rings

// Products that nobody awaits.

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
      // expected-error@+1 {{k.wg0: work of wgmma is not awaited at the end, when @k has 1 iteration}}
    %p = tirx.async_mma %u, %u, %z : !s, !s, !r -> !tirx.pending<!r>
      tirx.release %ab at(use) after(wgmma)
      tirx.await wgmma pending(1)
    }
  }
  tirx.return
}

// -----

// A box that fills half of the tile.

!s = !tirx.tile<64x64xf16, shared>
!half = !tirx.tile<32x64xf16, shared>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        %s = tirx.acquire %ab at(fill)
        %h = tirx.subview %s[0, 0] : !s -> !half
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !tirx.tile<32x64xf16, global>
        tirx.async_copy %g, %h engine(tma) : !tirx.tile<32x64xf16, global>, !half
        // expected-error@+1 {{load: expected 8192 bytes by TMA in every slot of %ab, found 4096, when in round 0 of @k}}
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

// A tile of the slot that nobody fills.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<a: !s, b: !s>
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        %s, %t = tirx.acquire %ab at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %s engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.role @use warps(1) {
      tirx.for @k %k = 0 to %n {
        %u, %v = tirx.acquire %ab at(use)
        // expected-error@+1 {{expected tile 1 of %ab to be written before it is read, found no write at an earlier station}}
        %x = tirx.load %v : !s -> !tirx.tile<64x64xf16, register>
        tirx.release %ab at(use)
      }
    }
  }
  tirx.return
}

// -----

// CUTLASS 1801: numbers of iterations differ.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %o: index) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
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
      // expected-error@+1 {{the numbers of iterations of @k may differ between load and use}}
      tirx.for @k %k = 0 to %o {
        %u = tirx.acquire %ab at(use)
        %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
        tirx.release %ab at(use)
      }
    }
  }
  tirx.return
}

// -----

// Equal terms are equal numbers.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %o: index) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @load warps(1) {
      %t = arith.addi %n, %o : index
      tirx.for @k %k = 0 to %t {
        %s = tirx.acquire %ab at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %s engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.role @use warps(1) {
      %t = arith.addi %n, %o : index
      tirx.for @k %k = 0 to %t {
        %u = tirx.acquire %ab at(use)
        %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
        tirx.release %ab at(use)
      }
    }
  }
  tirx.return
}

// -----

// A condition in a loop with a skew.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %c: i1) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n skew(1) {
    tirx.at(0) {
      // expected-error@+1 {{k: cannot decide: a condition around operations of a ring in a loop with a skew}}
      scf.if %c {
        %s = tirx.acquire %ab at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %s engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.at(1) {
      scf.if %c {
        %u = tirx.acquire %ab at(use)
        %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
        tirx.release %ab at(use)
      }
    }
  }
  tirx.return
}

// -----

// Loops in different order.

tirx.kernel @k(%n: index) target("sm_100a") threads(64) {
    %t = tirx.ring slots(1) stations(a, b) : !tirx.ring<>
  tirx.roles {
    tirx.role @load warps(1) {
      // expected-error@+1 {{cannot decide: the loops @k, @l stand in different order in different roles}}
      tirx.for @k %k = 0 to %n {
        tirx.acquire %t at(a)
        tirx.release %t at(a)
      }
      tirx.for @l %l = 0 to %n {
        tirx.acquire %t at(a)
        tirx.release %t at(a)
      }
    }
    tirx.role @use warps(1) {
      tirx.for @l %l = 0 to %n {
        tirx.acquire %t at(b)
        tirx.release %t at(b)
      }
      tirx.for @k %k = 0 to %n {
        tirx.acquire %t at(b)
        tirx.release %t at(b)
      }
    }
  }
  tirx.return
}

// -----

// A baton whose stations have other names.

!s = !tirx.tile<64x64xf16, shared>
!r = !tirx.tile<64x64xf32, register>

tirx.kernel @k() target("sm_90a") threads(256) {
  // expected-error@+1 {{expected stations that are named after the parties of @k, found a, b and the party wg0}}
  %turn = tirx.ring slots(1) stations(a, b) : !tirx.ring<>
  tirx.acquire %turn at(self)
  tirx.release %turn at(self)
  %z = tirx.alloc : !r
  %a = tirx.alloc : !s
  %p = tirx.async_mma %a, %a, %z : !s, !s, !r -> !tirx.pending<!r>
  tirx.await wgmma pending(0)
  tirx.return
}

// -----

// A fill under a condition.

!s = !tirx.tile<64x64xf16, shared>

tirx.kernel @k(%n: index, %c: i1) target("sm_100a") threads(64) {
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        %s = tirx.acquire %ab at(fill)
        %v = tirx.alloc : !tirx.tile<64x64xf16, register>
        scf.if %c {
          // expected-error@+1 {{expected every use of %ab to be filled, found a fill under a condition}}
          tirx.store %v, %s : !tirx.tile<64x64xf16, register>, !s
        }
        tirx.release %ab at(fill)
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

// Two warps overwrite a slot that both read.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{several parties (k.w0, k.w1) read and write at station use of %ab, so that one may overwrite what another still reads}}
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %z = tirx.alloc : !r
  tirx.for @k %k = 0 to %n {
    %s = tirx.acquire %ab at(fill)
    %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
    tirx.async_copy %g, %s engine(tma) : !g, !s
    tirx.release %ab at(fill) after(tma)
    %u = tirx.acquire %ab at(use)
    %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
    %d = tirx.mma %x, %x, %z : !tirx.tile<64x64xf16, register>, !tirx.tile<64x64xf16, register>, !r -> !r
    tirx.store %x, %u : !tirx.tile<64x64xf16, register>, !s
    tirx.release %ab at(use)
  }
  tirx.return
}

// -----

// A station where nobody works.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected a role that works at station use of %ab, found none}}
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.for @k %k = 0 to %n {
        %s = tirx.acquire %ab at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %s engine(tma) : !g, !s
        tirx.release %ab at(fill) after(tma)
      }
    }
    tirx.role @idle warps(1) {
      tirx.for @k %k = 0 to %n {
        tirx.await store pending(0)
      }
    }
  }
  tirx.return
}

// -----

// Ring operations beside the roles.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  // expected-error@+1 {{expected 'tirx.acquire' inside of a role, found it beside 'tirx.roles'}}
  %s = tirx.acquire %ab at(fill)
  %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
  tirx.async_copy %g, %s engine(tma) : !g, !s
  tirx.release %ab at(fill) after(tma)
  tirx.roles {
    tirx.role @load warps(1) {
      tirx.await store pending(0)
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

// A store that no release commits.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !s
  %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
  // expected-error@+1 {{k: expected a release after(store) behind work of store, which commits it, found none}}
  tirx.async_copy %s, %g engine(tma_store) : !s, !g
  tirx.return
}

// -----

// TMA that no ring waits for.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !s
  %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
  // expected-error@+1 {{k: work of tma is not awaited at the end}}
  tirx.async_copy %g, %s engine(tma) : !g, !s
  tirx.return
}

// -----

// A role that does not take part in the loop over the tiles that hardware gives.

tirx.kernel @k(%n: index, %o: index) target("sm_100a") threads(64) {
  %clc = tirx.ring slots(1) stations(ask, read) : !tirx.ring<tile_id>
  %t = tirx.ring slots(1) stations(a, b) : !tirx.ring<>
  tirx.roles {
    tirx.role @sched warps(1) {
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        tirx.acquire %clc at(ask)
        tirx.async_next %clc engine(clc)
        tirx.release %clc at(ask) after(tma)
        tirx.acquire %t at(a)
        tirx.release %t at(a)
      }
    }
    tirx.role @work warps(1) {
      // expected-error@+1 {{the numbers of iterations of @tile may differ between sched and work}}
      tirx.tiles @tile %i, %j = order(row) of (%n, %o) {
        tirx.acquire %t at(b)
        tirx.release %t at(b)
      }
    }
  }
  tirx.return
}

// -----

// Work that the check cannot follow.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n {
    %s = tirx.acquire %ab at(fill)
    %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
    tirx.async_copy %g, %s engine(tma) : !g, !s
    tirx.release %ab at(fill) after(tma)
    // expected-error@+1 {{cannot decide: operations of a ring inside of 'test.op'}}
    "test.op"() ({
      %u = tirx.acquire %ab at(use)
      %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
      tirx.release %ab at(use)
      "test.termop"() : () -> ()
    }) : () -> ()
  }
  tirx.return
}

// -----

// A slot that is read behind its release.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
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
        tirx.release %ab at(use)
        // expected-error@+1 {{use reads a slot of %ab that it does not hold, when in round 0 of @k}}
        %x = tirx.load %u : !s -> !tirx.tile<64x64xf16, register>
      }
    }
  }
  tirx.return
}

// -----

// The same in the parts of a skewed loop: the slot of iteration j is released a round before part at(2) reads it.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_100a") threads(64) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
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
      tirx.for @k %k = 0 to %n skew(2) {
        %t = tirx.at(0) {
          %u = tirx.acquire %ab at(use)
          tirx.yield %u
        }
        tirx.at(1) {
          tirx.release %ab at(use)
        }
        tirx.at(2) {
          // expected-error@+1 {{use reads a slot of %ab that it does not hold, when in round 2 of @k}}
          %x = tirx.load %t : !s -> !tirx.tile<64x64xf16, register>
        }
      }
    }
  }
  tirx.return
}

// -----

// The first block multiplies for both; the other one would fill slots that nobody there uses.

!s = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>>
!b = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!r = !tirx.tile<128x128xf32, register>
!gs = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
tirx.kernel @own_slots(%a: memref<256x4096xf16>, %b: memref<128x4096xf16>, %n: index) target("sm_100a") cluster(2) per_cta threads(128) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected a role that works at station use of %ab, found none}}
  %ab = tirx.ring slots(2) stations(fill, use) : !tirx.ring<a: !s, b: !b>
  %acc = tirx.ring slots(1) stations(sum, read) : !tirx.ring<!t>
  %t = tirx.acquire %acc at(sum)
  tirx.for @k %k = 0 to %n {
    %sa, %sb = tirx.acquire %ab at(fill)
    %ga = tirx.view %a[%c0, %k] : memref<256x4096xf16> -> !gs
    %gb = tirx.view %b[%c0, %k] : memref<128x4096xf16> -> !gb
    tirx.async_copy %ga, %sa engine(tma) : !gs, !s
    tirx.async_copy %gb, %sb engine(tma) : !gb, !b
    tirx.release %ab at(fill) after(tma)
    %ua, %ub = tirx.acquire %ab at(use)
    %more = arith.cmpi ne, %k, %c0 : index
    tirx.async_mma %ua, %ub, %t pair accumulate(%more) : !s, !b, !t
    tirx.release %ab at(use) after(tcgen05)
  }
  tirx.release %acc at(sum) after(tcgen05)
  %d = tirx.acquire %acc at(read)
  %v = tirx.load %d : !t -> !r
  tirx.release %acc at(read)
  tirx.return
}
