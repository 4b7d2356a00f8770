// RUN: tirx-opt %s --split-input-file --verify-diagnostics --lower-to-ptx
// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-insert-barriers
// RUN: tirx-opt %s --split-input-file --verify-diagnostics --convert-tirx-to-ptx

// Nothing lowers kernels of the scheduled level yet, and every way says so.

tirx.kernel @ring() target("sm_90a") threads(32) {
  // expected-error@+1 {{expected a sequential kernel, found 'tirx.ring': rings, roles, their loops and asynchronous operations are not lowered yet}}
  %r = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!tirx.tile<8x64xf16, shared>>
  tirx.return
}

// -----

tirx.kernel @roles() target("sm_90a") threads(32) {
  // expected-error@+1 {{expected a sequential kernel, found 'tirx.roles'}}
  tirx.roles {
    tirx.role @all warps(1) {
    }
  }
  tirx.return
}

// -----

tirx.kernel @loop(%n: index) target("sm_90a") threads(32) {
  // expected-error@+1 {{expected a sequential kernel, found 'tirx.for'}}
  tirx.for @k %k = 0 to %n {
  }
  tirx.return
}

// -----

tirx.kernel @tiles(%n: index) target("sm_90a") threads(32) {
  // expected-error@+1 {{expected a sequential kernel, found 'tirx.tiles'}}
  tirx.tiles @tile %i, %j = order(row) of (%n, %n) {
  }
  tirx.return
}

// -----

tirx.kernel @wait() target("sm_90a") threads(32) {
  // expected-error@+1 {{expected a sequential kernel, found 'tirx.await'}}
  tirx.await store pending(0)
  tirx.return
}

// -----

tirx.kernel @flag(%flags: memref<?xi32>, %n: index) target("sm_90a") threads(32) {
  // expected-error@+1 {{expected a sequential kernel, found 'tirx.global_post'}}
  tirx.global_post %flags[%n] : memref<?xi32>
  tirx.return
}

// -----

tirx.kernel @copy(%m: memref<8x64xf16>) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %m[%c0, %c0] : memref<8x64xf16> -> !tirx.tile<8x64xf16, global>
  %s = tirx.alloc : !tirx.tile<8x64xf16, shared>
  // expected-error@+1 {{expected a sequential kernel, found 'tirx.async_copy'}}
  tirx.async_copy %g, %s engine(cp_async) : !tirx.tile<8x64xf16, global>, !tirx.tile<8x64xf16, shared>
  tirx.await cp_async pending(0)
  tirx.return
}
