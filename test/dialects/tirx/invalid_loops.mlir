// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// Loops of the scheduled level.

tirx.kernel @k(%n: index) threads(32) {
  // expected-error@+1 {{expected iterations that count from 0, found 1}}
  tirx.for @k %k = 1 to %n {
  }
}

// -----

tirx.kernel @k(%n: index, %x: i32) threads(32) {
  // expected-error@+1 {{expected 0 or more iterations, found -1}}
  tirx.for @k %k = 0 to -1 {
  }
  // expected-error@+1 {{expected a skew of at most 256, found 257}}
  tirx.for @k %k2 = 0 to %n skew(257) {
  }
  // expected-error@+1 {{expected a skew of 0 or more, found -1}}
  tirx.for @k %k3 = 0 to %n skew(-1) {
  }
  // expected-error@+1 {{expected only 'tirx.at' in the body of a loop that is split into parts, found 'arith.addi'}}
  tirx.for @k %k4 = 0 to %n skew(1) {
    %y = arith.addi %x, %x : i32
  }
  // expected-error@+1 {{expected values to yield of the types of iter, (i32), found ()}}
  %r = tirx.for @k %k5 = 0 to %n iter(%a = %x) {
  }
  // expected-error@+1 {{expected a value of type i64 to start iter, found i32}}
  %r2 = tirx.for @k %k6 = 0 to %n iter(%a2 : i64 = %x) {
    tirx.yield %a2
  }
  %s = tirx.alloc : !tirx.tile<8x64xf16, shared>
  // expected-error@+1 {{expected register tiles, pending tiles or scalars in iter, found !tirx.tile<8x64xf16, shared>; slots of a ring are acquired in every iteration}}
  %r3 = tirx.for @k %k7 = 0 to %n iter(%a3 = %s) {
    tirx.yield %a3
  }
  tirx.for @k %k8 = 0 to %n skew(1) {
    // expected-error@+1 {{expected at(s) with s from 0 to the skew of the loop, 1, found at(2)}}
    tirx.at(2) {
    }
  }
  tirx.for @k %k9 = 0 to %n {
    // expected-error@+1 {{expected at(s) with s from 0 to the skew of the loop, 0, found at(1)}}
    tirx.at(1) {
    }
  }
  // expected-error@+1 {{expected %v, computed at(1), part 1 of the body, to be used later in the iteration, found a use at(0), part 2 of the body}}
  tirx.for @k %k10 = 0 to %n skew(1) {
    %v = tirx.at(1) {
      tirx.yield %x
    }
    tirx.at(0) {
      %w = arith.addi %v, %x : i32
    }
  }
  tirx.return
}

// expected-error@+1 {{'tirx.at' expects parent op 'tirx.for'}}
tirx.at(0) {
}

tirx.kernel @k2(%n: index, %x: i32, %x2: memref<?x2xi32>, %x3: memref<?x3xi32>) threads(32) {
  // expected-error@+1 {{expected %v, computed at(1), part 2 of the body, to be used later in the iteration, found a use at(1), part 1 of the body}}
  tirx.for @k2 %k = 0 to %n skew(1) {
    tirx.at(1) {
      %w = arith.addi %v, %x : i32
    }
    %v = tirx.at(1) {
      tirx.yield %x
    }
  }
  // The next value comes in round j + 2, and iteration j + 1 wants it in round j + 1.
  // expected-error@+1 {{expected the next %a, computed at(2), part 2 of the body, to be used by a later iteration behind it, found a use at(0), part 1 of the body}}
  %r = tirx.for @k %k2 = 0 to %n skew(2) iter(%a = %x) {
    tirx.at(0) {
      %w2 = arith.addi %a, %x : i32
    }
    %v2 = tirx.at(2) {
      tirx.yield %x
    }
    tirx.yield %v2
  }
  // expected-error@+1 {{expected a body with arguments (index, index) for row, found (index)}}
  tirx.tiles @t %i = order(row) of (%n, %n) {
  }
  // expected-error@+1 {{expected 2 numbers of tiles for row, found 1}}
  tirx.tiles @t %i2, %j = order(row) of (%n) {
  }
  // expected-error@+1 {{expected n of 1 or more for order(group n), and for no other order, found group}}
  tirx.tiles @t %i3, %j2 = order(group 0) of (%n, %n) {
  }
  // expected-error@+1 {{expected a table in memory for table, memref<?xi32>, found i32}}
  tirx.tiles @t %i4, %j3 = order(table %x : i32) of (%n, %n) {
  }
  // expected-error@+1 {{expected a table in memory for table, memref<?xi32>, found memref<?x2xi32>}}
  tirx.tiles @t %i5, %j4 = order(table %x2 : memref<?x2xi32>) of (%n, %n) {
  }
  // expected-error@+1 {{expected a table in memory for items, memref<?x4xi32>, found memref<?x3xi32>}}
  tirx.tiles @t %i6, %j5, %k0, %k1 = items(%x3 : memref<?x3xi32>) {
  }
  tirx.return
}

// -----

tirx.kernel @k(%n: index) threads(32) {
  // expected-error@+1 {{expected a value that is defined above, found %missing}}
  tirx.for @k %k = 0 to %n iter(%a = %missing) {
  }
}

// -----

tirx.kernel @k(%n: index, %x: i32) threads(32) {
  // Two iterations later it is there.
  %r, %s = tirx.for @k %k = 0 to %n skew(2) iter(%a = %x, %b = %x) {
    %v = tirx.at(2) {
      tirx.yield %x
    }
    tirx.at(0) {
      %w = arith.addi %b, %x : i32
    }
    tirx.yield %v, %a
  }
  tirx.return
}

// -----

tirx.kernel @k(%n: index) threads(32) {
  // expected-error@+1 {{expected hardware(...) in the place of order(...)}}
  tirx.tiles @t %i, %j = order(hardware) of (%n, %n) {
  }
}

// -----

tirx.kernel @k(%n: index) threads(32) {
  // expected-error@+1 {{Expected `row`, `group`,}}
  tirx.tiles @t %i, %j = order(spiral) of (%n, %n) {
  }
}

// -----

tirx.kernel @k(%n: index) threads(32) {
  // expected-error@+1 {{expected a ring of answers, !tirx.ring<tile_id>, found index}}
  tirx.tiles @t %i, %j = hardware(%n, read) {
  }
  %r = tirx.ring slots(1) stations(ask, read) : !tirx.ring<tile_id>
  // expected-error@+1 {{expected a station where answers are read (read), found ask}}
  tirx.tiles @t %i2, %j2 = hardware(%r, ask) {
  }
  tirx.return
}
