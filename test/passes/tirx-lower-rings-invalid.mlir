// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-lower-rings

// What is not lowered says so.

tirx.kernel @scalars(%n: index) target("sm_90a") threads(64) {
  // expected-error@+1 {{expected a ring of tiles or without contents, found !tirx.ring<i32>: not lowered yet}}
  %r = tirx.ring slots(2) stations(write, read) : !tirx.ring<i32>
  %c = arith.constant 1 : i32
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

tirx.kernel @order(%t: memref<?xi32>, %n: index) target("sm_90a") threads(32) {
  // expected-error@+1 {{expected an order of tiles that is lowered (row, group, hilbert), found table}}
  tirx.tiles @tile %i, %j = order(table %t : memref<?xi32>) of (%n, %n) {
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
