// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// Roles.

tirx.kernel @k() threads(32) {
  tirx.roles {
    // expected-error@+1 {{expected 1 to 32 warps, found 0}}
    tirx.role @a warps(0) {
    }
  }
  tirx.return
}

tirx.kernel @k2() threads(1024) {
  tirx.roles {
    // expected-error@+1 {{expected 1 to 32 warps, found 33}}
    tirx.role @a warps(33) {
    }
  }
  tirx.return
}

tirx.kernel @k3() threads(128) {
  tirx.roles {
    // expected-error@+1 {{expected registers in steps of 8 from 24 to 256, found 16}}
    tirx.role @a warps(4) registers(16) {
    }
  }
  tirx.roles {
    // expected-error@+1 {{expected registers in steps of 8 from 24 to 256, found 44}}
    tirx.role @a warps(4) registers(44) {
    }
  }
  tirx.roles {
    // expected-error@+1 {{expected registers in steps of 8 from 24 to 256, found 264}}
    tirx.role @a warps(4) registers(264) {
    }
  }
  tirx.return
}

tirx.kernel @k4() threads(64) {
  tirx.roles {
    // expected-error@+1 {{expected whole warpgroups of 4 warps in a role with registers(...), found 2 warps}}
    tirx.role @a warps(2) registers(40) {
    }
  }
  tirx.roles {
    // expected-error@+1 {{expected whole warpgroups of 4 warps for unit(warpgroup), found 2 warps from warp 0 on}}
    tirx.role @a warps(2) unit(warpgroup) {
    }
  }
  tirx.return
}

tirx.kernel @k5() threads(160) {
  tirx.roles {
    tirx.role @a warps(1) {
    }
    // expected-error@+1 {{expected whole warpgroups of 4 warps for unit(warpgroup), found 4 warps from warp 1 on}}
    tirx.role @b warps(4) unit(warpgroup) {
    }
  }
  tirx.return
}

tirx.kernel @k6() threads(64) {
  // expected-error@+1 {{expected a kernel with threads(96) for roles of 3 warps, found threads(64)}}
  tirx.roles {
    tirx.role @a warps(1) {
    }
    tirx.role @b warps(2) {
    }
  }
  tirx.return
}

tirx.kernel @k7() threads(1024) {
  // expected-error@+1 {{expected 1 to 32 warps in all roles together, found 40}}
  tirx.roles {
    tirx.role @a warps(20) {
    }
    tirx.role @b warps(20) {
    }
  }
  tirx.return
}

tirx.kernel @k8() threads(64) {
  // expected-error@+1 {{expected roles of different names, found @a twice}}
  tirx.roles {
    tirx.role @a warps(1) {
    }
    tirx.role @a warps(1) {
    }
  }
  tirx.return
}

tirx.kernel @k9() threads(256) {
  // expected-error@+1 {{expected registers(...) on every role or on none, found it on 1}}
  tirx.roles {
    tirx.role @a warps(4) registers(40) {
    }
    tirx.role @b warps(4) {
    }
  }
  tirx.return
}

tirx.kernel @k10() threads(384) {
  // expected-error@+1 {{expected at most 65536 registers in all roles together, found 98304}}
  tirx.roles {
    tirx.role @a warps(4) registers(256) {
    }
    tirx.role @b warps(8) registers(256) {
    }
  }
  tirx.return
}

tirx.kernel @k11(%m: memref<4xi32>) threads(32) {
  // expected-error@+1 {{expected only 'tirx.role' in 'tirx.roles', found 'tirx.barrier'}}
  tirx.roles {
    tirx.role @a warps(1) {
    }
    tirx.barrier
  }
  %t = tirx.alloc : !tirx.tile<8x64xf16, register>
  // expected-error@+1 {{expected %t to come into role @a through a ring, found a register tile}}
  tirx.roles {
    tirx.role @a warps(1) {
      "test.op"(%t) : (!tirx.tile<8x64xf16, register>) -> ()
    }
  }
  %c0 = arith.constant 0 : index
  %v = memref.load %m[%c0] : memref<4xi32>
  // expected-error@+1 {{expected %v to come into role @a through a ring, found a value that depends on memory}}
  tirx.roles {
    tirx.role @a warps(1) {
      "test.op"(%v) : (i32) -> ()
    }
  }
  // Nor is anything looked for inside of regions.
  %w = "test.pureop"() ({
    "test.termop"(%v) : (i32) -> ()
  }) : () -> i32
  // expected-error@+1 {{expected %w to come into role @a through a ring, found a value that depends on memory}}
  tirx.roles {
    tirx.role @a warps(1) {
      "test.op"(%w) : (i32) -> ()
    }
  }
  memref.store %v, %m[%c0] : memref<4xi32>
  tirx.return
}

// expected-error@+1 {{'tirx.role' expects parent op 'tirx.roles'}}
tirx.role @a warps(1) {
}

tirx.kernel @k12() threads(64) {
  %t = tirx.alloc : !tirx.tile<8x64xf16, shared>
  // expected-error@+1 {{expected a ring for %t, a tile in shared memory that the roles @a and @b use, found none}}
  tirx.roles {
    tirx.role @a warps(1) {
      "test.op"(%t) : (!tirx.tile<8x64xf16, shared>) -> ()
    }
    tirx.role @b warps(1) {
      "test.op"(%t) : (!tirx.tile<8x64xf16, shared>) -> ()
    }
  }
  tirx.return
}

tirx.kernel @ends() threads(256) {
  // expected-error@+1 {{expected no terminator in 'tirx.warpgroup', found 'ptx.ret'}}
  tirx.warpgroup 0 {
    ptx.ret
  }
  tirx.return
}

// -----

tirx.kernel @k() threads(64) {
  tirx.roles {
    // expected-error@+1 {{expected warps(n) behind the name of the role}}
    tirx.role @a unit(warp) {
    }
  }
}

// -----

tirx.kernel @k() threads(32) {
  tirx.roles {
    // expected-error@+1 {{Expected `warp`, `warpgroup`, or `thread`}}
    tirx.role @a warps(1) unit(block) {
    }
  }
}

// -----

tirx.kernel @k() threads(64) {
  // One role may use a tile of the kernel.
  %t = tirx.alloc : !tirx.tile<8x64xf16, shared>
  tirx.roles {
    tirx.role @a warps(1) {
      "test.op"(%t) : (!tirx.tile<8x64xf16, shared>) -> ()
    }
    tirx.role @b warps(1) {
    }
  }
  tirx.return
}
