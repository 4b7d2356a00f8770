// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-check-rings

// Rules of rings of answers of cluster launch control.

tirx.kernel @stations() target("sm_100a") threads(32) {
  // expected-error@+1 {{expected two stations of a ring of answers, one that asks and one that reads, found ask, read, again}}
  %clc = tirx.ring slots(1) stations(ask, read, again) : !tirx.ring<tile_id>
  tirx.tiles @tile %i, %j = hardware(%clc, read) {
    tirx.acquire %clc at(ask)
    tirx.async_next %clc engine(clc)
    tirx.release %clc at(ask) after(tma)
  }
  tirx.return
}

tirx.kernel @rings() target("sm_100a") threads(32) {
  %clc = tirx.ring slots(1) stations(ask, read) : !tirx.ring<tile_id>
  // expected-error@+1 {{expected one ring of answers in a kernel, found a second one}}
  %more = tirx.ring slots(1) stations(ask, read) : !tirx.ring<tile_id>
  tirx.tiles @tile %i, %j = hardware(%clc, read) {
    tirx.acquire %clc at(ask)
    tirx.async_next %clc engine(clc)
    tirx.release %clc at(ask) after(tma)
    tirx.acquire %more at(ask)
    tirx.async_next %more engine(clc)
    tirx.release %more at(ask) after(tma)
  }
  tirx.return
}

tirx.kernel @cluster() target("sm_100a") cluster(2) per_cta threads(32) {
  // expected-error@+1 {{expected across(cluster) of a ring of answers, since a cluster asks once for all of its blocks, found none}}
  %clc = tirx.ring slots(1) stations(ask, read) : !tirx.ring<tile_id>
  tirx.tiles @tile %i, %j = hardware(%clc, read) {
    tirx.acquire %clc at(ask)
    tirx.async_next %clc engine(clc)
    tirx.release %clc at(ask) after(tma)
  }
  tirx.return
}

tirx.kernel @reader() target("sm_100a") threads(32) {
  %clc = tirx.ring slots(2) stations(ask, read) : !tirx.ring<tile_id>
  tirx.tiles @tile %i, %j = hardware(%clc, read) {
    tirx.acquire %clc at(ask)
    tirx.async_next %clc engine(clc)
    tirx.release %clc at(ask) after(tma)
    // expected-error@+1 {{expected 'tirx.tiles' with hardware(...) to read the answers of a ring, found 'tirx.acquire'}}
    %more, %x, %y = tirx.acquire %clc at(read)
    tirx.release %clc at(read)
  }
  tirx.return
}

tirx.kernel @inside(%n: index) target("sm_100a") threads(32) {
  %clc = tirx.ring slots(1) stations(ask, read) : !tirx.ring<tile_id>
  tirx.for @k %k = 0 to %n {
    // expected-error@+1 {{expected the loop over tiles that hardware gives in no other loop, found 'tirx.for'}}
    tirx.tiles @tile %i, %j = hardware(%clc, read) {
      tirx.acquire %clc at(ask)
      tirx.async_next %clc engine(clc)
      tirx.release %clc at(ask) after(tma)
    }
  }
  tirx.return
}

tirx.kernel @twice() target("sm_100a") threads(32) {
  %clc = tirx.ring slots(1) stations(ask, read) : !tirx.ring<tile_id>
  tirx.tiles @tile %i, %j = hardware(%clc, read) {
    tirx.acquire %clc at(ask)
    tirx.async_next %clc engine(clc)
    tirx.release %clc at(ask) after(tma)
  }
  // expected-error@+1 {{expected one loop over tiles that hardware gives: behind it there are none left, found a second one}}
  tirx.tiles @more %i, %j = hardware(%clc, read) {
  }
  tirx.return
}

tirx.kernel @nobody() target("sm_100a") threads(32) {
  // expected-error@+1 {{expected 'tirx.async_next' in a loop over the tiles of this ring, found none}}
  %clc = tirx.ring slots(1) stations(ask, read) : !tirx.ring<tile_id>
  tirx.tiles @tile %i, %j = hardware(%clc, read) {
    tirx.acquire %clc at(ask)
    tirx.release %clc at(ask)
  }
  tirx.return
}

tirx.kernel @before() target("sm_100a") threads(32) {
  %clc = tirx.ring slots(1) stations(ask, read) : !tirx.ring<tile_id>
  tirx.acquire %clc at(ask)
  // expected-error@+1 {{expected one request in every tile, at the top of 'tirx.tiles' with hardware(...): behind the last answer it is undefined, found it in 'tirx.kernel'}}
  tirx.async_next %clc engine(clc)
  tirx.release %clc at(ask) after(tma)
  tirx.tiles @tile %i, %j = hardware(%clc, read) {
  }
  tirx.return
}

tirx.kernel @requests() target("sm_100a") threads(32) {
  %clc = tirx.ring slots(2) stations(ask, read) : !tirx.ring<tile_id>
  tirx.tiles @tile %i, %j = hardware(%clc, read) {
    tirx.acquire %clc at(ask)
    tirx.async_next %clc engine(clc)
    tirx.release %clc at(ask) after(tma)
    tirx.acquire %clc at(ask)
    // expected-error@+1 {{expected one request in every tile, found a second one: its tile would be lost}}
    tirx.async_next %clc engine(clc)
    tirx.release %clc at(ask) after(tma)
  }
  tirx.return
}

// -----

// The counts of uses still have to agree.

tirx.kernel @held(%n: index) target("sm_100a") threads(32) {
  %clc = tirx.ring slots(1) stations(ask, read) : !tirx.ring<tile_id>
  tirx.tiles @tile %i, %j = hardware(%clc, read) {
    tirx.acquire %clc at(ask)
    tirx.async_next %clc engine(clc)
    scf.for %k = %n to %n step %n {
      // expected-error@+1 {{held releases a slot of %clc that it does not hold}}
      tirx.release %clc at(ask) after(tma)
    }
  }
  tirx.return
}

// -----

// The first block asks for the whole cluster, but multiplies for its pair only.

!s = !tirx.tile<64x16xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(64, 16) : (16, 1)]>>>
!t = !tirx.tile<64x128xf32, tensor, #tirx.tile_layout<S[(64, 2, 64) : (1@TLane, 64@TLane, 1@TCol)]>>
tirx.kernel @pairs(%a: !s) target("sm_100a") cluster(4) per_cta threads(160) {
  // expected-error@+1 {{expected a cluster of one pair, to which hardware gives tiles, found cluster(4)}}
  %clc = tirx.ring slots(1) stations(ask, read) across(cluster) : !tirx.ring<tile_id>
  %sums = tirx.ring slots(1) stations(sum, read) across(pair) : !tirx.ring<!t>
  tirx.roles {
    tirx.role @mma warps(1) {
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        tirx.acquire %clc at(ask)
        tirx.async_next %clc engine(clc)
        tirx.release %clc at(ask) after(tma)
        %t = tirx.acquire %sums at(sum)
        tirx.async_mma %a, %a, %t pair : !s, !s, !t
        tirx.release %sums at(sum) after(tcgen05)
      }
    }
    tirx.role @epilogue warps(4) {
      tirx.tiles @tile %i, %j = hardware(%clc, read) {
        %t = tirx.acquire %sums at(read)
        tirx.release %sums at(read)
      }
    }
  }
  tirx.return
}
