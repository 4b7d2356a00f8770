// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-lower-rings

// What is not lowered says so.

tirx.kernel @signed(%c: si32) target("sm_90a") threads(64) {
  // expected-error@+1 {{expected integers of index, i1, i8, i16, i32, i64, found si32}}
  %r = tirx.ring slots(2) stations(write, read) : !tirx.ring<si32>
  tirx.roles {
    tirx.role @one warps(1) {
      tirx.acquire %r at(write)
      tirx.release %r at(write) with(%c)
    }
    tirx.role @two warps(1) {
      %x = tirx.acquire %r at(read)
      tirx.release %r at(read)
    }
  }
  tirx.return
}

// -----

tirx.kernel @other_blocks(%c: i32) target("sm_90a") threads(64) cluster(2) per_cta {
  // expected-error@+1 {{expected integers for the roles of one block, found across(cluster)}}
  %r = tirx.ring slots(2) stations(write, read) across(cluster) : !tirx.ring<i32>
  tirx.roles {
    tirx.role @one warps(1) {
      tirx.acquire %r at(write)
      tirx.release %r at(write) with(%c)
    }
    tirx.role @two warps(1) {
      %x = tirx.acquire %r at(read)
      tirx.release %r at(read)
    }
  }
  tirx.return
}

// -----

!s = !tirx.tile<8x64xf16, shared>
!v = !tirx.tile<8x64xf16, register>

tirx.kernel @layout() target("sm_90a") threads(32) {
  // expected-error@+1 {{expected a layout on the slots of a ring, found !tirx.tile<8x64xf16, shared>}}
  %r = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %v = tirx.zero : !v
  %s = tirx.acquire %r at(fill)
  tirx.store %v, %s : !v, !s
  tirx.release %r at(fill)
  %u = tirx.acquire %r at(use)
  %w = tirx.load %u : !s -> !v
  tirx.release %r at(use)
  tirx.return
}

// -----

tirx.kernel @baton() target("sm_90a") threads(384) {
  // expected-error@+1 {{expected a ring with at(self) to be used by one role, and only so, found other uses}}
  %turn = tirx.ring slots(1) stations(wg0, wg1) : !tirx.ring<>
  tirx.roles {
    tirx.role @math warps(4) unit(warpgroup) {
      tirx.acquire %turn at(wg1)
      tirx.release %turn at(wg1)
    }
    tirx.role @more warps(8) unit(warpgroup) {
      tirx.acquire %turn at(self)
      tirx.release %turn at(self)
    }
  }
  tirx.return
}

// -----

tirx.kernel @target(%n: index) threads(32) {
  // expected-error@-1 {{expected a target}}
  tirx.for @k %k = 0 to %n {
  }
  tirx.return
}

// -----

// A store is missing.

!s = !tirx.tile<64x64xf32, shared, #tirx.tile_layout<S[64, 64]>>
!v = !tirx.tile<64x64xf32, register>
tirx.kernel @no_store(%n: index) target("sm_90a") threads(128) {
  %out = tirx.ring slots(1) stations(write, store) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n {
    %v = tirx.zero : !v
    %o = tirx.acquire %out at(write)
    tirx.store %v, %o : !v, !s
    tirx.release %out at(write)
    %full = tirx.acquire %out at(store)
    // expected-error@+1 {{expected work of store on the slot in front of after(store), found none}}
    tirx.release %out at(store) after(store)
    tirx.await store pending(0)
  }
  tirx.return
}
