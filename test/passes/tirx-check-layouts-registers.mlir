// RUN: tirx-opt %s --tirx-pick-layouts --tirx-check-layouts --split-input-file --verify-diagnostics

// A loop carries one tile and uses another in every iteration.
!global = !tirx.tile<64x128xf32, global>
!held = !tirx.tile<64x128xf32, register>
tirx.kernel @carried(%a: memref<64x128xf32>, %b: memref<64x128xf32>, %d: memref<64x128xf32>, %n: index) target("sm_80") grid(1) threads(64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ga = tirx.view %a[%c0, %c0] : memref<64x128xf32> -> !global
  %gb = tirx.view %b[%c0, %c0] : memref<64x128xf32> -> !global
  %gd = tirx.view %d[%c0, %c0] : memref<64x128xf32> -> !global
  %x = tirx.load %ga : !global -> !held
  %y = tirx.load %gb : !global -> !held
  // expected-warning@below {{expected register tiles that are alive together of at most 255 registers in each of 64 threads, found 256 of 64x128xf32 (128), 64x128xf32 (128): ptxas spills 4 bytes of each thread or more; take smaller tiles or more threads}}
  %z = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!held) {
    %q = tirx.map ins(%p, %y : !held, !held) {
    ^bb0(%e: f32, %f: f32):
      %s = arith.addf %e, %f : f32
      tirx.yield %s : f32
    } -> !held
    scf.yield %q : !held
  }
  tirx.store %z, %gd : !held, !global
  tirx.return
}

// -----

// 192 registers of the two.
!global = !tirx.tile<64x96xf32, global>
!held = !tirx.tile<64x96xf32, register>
tirx.kernel @fewer(%a: memref<64x96xf32>, %b: memref<64x96xf32>, %d: memref<64x96xf32>, %n: index) target("sm_80") grid(1) threads(64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ga = tirx.view %a[%c0, %c0] : memref<64x96xf32> -> !global
  %gb = tirx.view %b[%c0, %c0] : memref<64x96xf32> -> !global
  %gd = tirx.view %d[%c0, %c0] : memref<64x96xf32> -> !global
  %x = tirx.load %ga : !global -> !held
  %y = tirx.load %gb : !global -> !held
  %z = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!held) {
    %q = tirx.map ins(%p, %y : !held, !held) {
    ^bb0(%e: f32, %f: f32):
      %s = arith.addf %e, %f : f32
      tirx.yield %s : f32
    } -> !held
    scf.yield %q : !held
  }
  tirx.store %z, %gd : !held, !global
  tirx.return
}

// -----

// The loop needs the sum of the tiles, not them: 128 registers.
!global = !tirx.tile<64x128xf32, global>
!held = !tirx.tile<64x128xf32, register>
tirx.kernel @ends(%a: memref<64x128xf32>, %b: memref<64x128xf32>, %d: memref<64x128xf32>, %n: index) target("sm_80") grid(1) threads(64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ga = tirx.view %a[%c0, %c0] : memref<64x128xf32> -> !global
  %gb = tirx.view %b[%c0, %c0] : memref<64x128xf32> -> !global
  %gd = tirx.view %d[%c0, %c0] : memref<64x128xf32> -> !global
  %x = tirx.load %ga : !global -> !held
  %y = tirx.load %gb : !global -> !held
  %u = tirx.map ins(%x, %y : !held, !held) {
  ^bb0(%e: f32, %f: f32):
    %s = arith.addf %e, %f : f32
    tirx.yield %s : f32
  } -> !held
  %z = scf.for %i = %c0 to %n step %c1 iter_args(%p = %u) -> (!held) {
    %q = tirx.map ins(%p, %p : !held, !held) {
    ^bb0(%e: f32, %f: f32):
      %s = arith.addf %e, %f : f32
      tirx.yield %s : f32
    } -> !held
    scf.yield %q : !held
  }
  tirx.store %z, %gd : !held, !global
  tirx.return
}

// -----

// The sum of the row is not known before all of both tiles, and they are used with it.
!global = !tirx.tile<1x4096xf32, global>
!held = !tirx.tile<1x4096xf32, register>
tirx.kernel @row(%a: memref<1x4096xf32>, %b: memref<1x4096xf32>, %d: memref<1x4096xf32>, %n: index) target("sm_80") grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ga = tirx.view %a[%c0, %c0] : memref<1x4096xf32> -> !global
  %gb = tirx.view %b[%c0, %c0] : memref<1x4096xf32> -> !global
  %gd = tirx.view %d[%c0, %c0] : memref<1x4096xf32> -> !global
  %x = tirx.load %ga : !global -> !held
  %y = tirx.load %gb : !global -> !held
  %t = tirx.map ins(%x, %y : !held, !held) {
  ^bb0(%e: f32, %f: f32):
    %s = arith.addf %e, %f : f32
    tirx.yield %s : f32
  } -> !held
  // expected-warning@below {{expected register tiles that are alive together of at most 255 registers in each of 32 threads, found 256 of 1x4096xf32 (128), 1x4096xf32 (128): ptxas spills 4 bytes of each thread or more; take smaller tiles or more threads}}
  %r = tirx.reduce %t dim(1) add : !held -> !tirx.tile<1x1xf32, register>
  %w = tirx.broadcast %r : !tirx.tile<1x1xf32, register> -> !held
  %v = tirx.map ins(%t, %w : !held, !held) {
  ^bb0(%e: f32, %f: f32):
    %s = arith.divf %e, %f : f32
    tirx.yield %s : f32
  } -> !held
  %z = tirx.map ins(%v, %y : !held, !held) {
  ^bb0(%e: f32, %f: f32):
    %s = arith.addf %e, %f : f32
    tirx.yield %s : f32
  } -> !held
  tirx.store %z, %gd : !held, !global
  tirx.return
}

// -----

// A thread has several rows here, which ptxas may take one after the other.
!global = !tirx.tile<64x128xf32, global>
!held = !tirx.tile<64x128xf32, register>
tirx.kernel @rows(%a: memref<64x128xf32>, %b: memref<64x128xf32>, %d: memref<64x128xf32>, %n: index) target("sm_80") grid(1) threads(64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ga = tirx.view %a[%c0, %c0] : memref<64x128xf32> -> !global
  %gb = tirx.view %b[%c0, %c0] : memref<64x128xf32> -> !global
  %gd = tirx.view %d[%c0, %c0] : memref<64x128xf32> -> !global
  %x = tirx.load %ga : !global -> !held
  %y = tirx.load %gb : !global -> !held
  %t = tirx.map ins(%x, %y : !held, !held) {
  ^bb0(%e: f32, %f: f32):
    %s = arith.addf %e, %f : f32
    tirx.yield %s : f32
  } -> !held
  %r = tirx.reduce %t dim(1) add : !held -> !tirx.tile<64x1xf32, register>
  %w = tirx.broadcast %r : !tirx.tile<64x1xf32, register> -> !held
  %v = tirx.map ins(%t, %w : !held, !held) {
  ^bb0(%e: f32, %f: f32):
    %s = arith.divf %e, %f : f32
    tirx.yield %s : f32
  } -> !held
  %z = tirx.map ins(%v, %y : !held, !held) {
  ^bb0(%e: f32, %f: f32):
    %s = arith.addf %e, %f : f32
    tirx.yield %s : f32
  } -> !held
  tirx.store %z, %gd : !held, !global
  tirx.return
}

// -----

// ptxas loads both tiles part by part.
!global = !tirx.tile<64x128xf32, global>
!held = !tirx.tile<64x128xf32, register>
tirx.kernel @sum(%a: memref<64x128xf32>, %b: memref<64x128xf32>, %d: memref<64x128xf32>, %n: index) target("sm_80") grid(1) threads(64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ga = tirx.view %a[%c0, %c0] : memref<64x128xf32> -> !global
  %gb = tirx.view %b[%c0, %c0] : memref<64x128xf32> -> !global
  %gd = tirx.view %d[%c0, %c0] : memref<64x128xf32> -> !global
  %x = tirx.load %ga : !global -> !held
  %y = tirx.load %gb : !global -> !held
  %z = tirx.map ins(%x, %y : !held, !held) {
  ^bb0(%e: f32, %f: f32):
    %s = arith.addf %e, %f : f32
    tirx.yield %s : f32
  } -> !held
  tirx.store %z, %gd : !held, !global
  tirx.return
}

// -----

// Loops inside of loops carry one tile.
!held = !tirx.tile<64x128xf32, register>
tirx.kernel @nested(%d: memref<64x128xf32>, %n: index) target("sm_80") grid(1) threads(64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %gd = tirx.view %d[%c0, %c0] : memref<64x128xf32> -> !tirx.tile<64x128xf32, global>
  %zero = tirx.zero : !held
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (!held) {
    %t = scf.for %j = %c0 to %n step %c1 iter_args(%u = %s) -> (!held) {
      %v = tirx.map ins(%u : !held) {
      ^bb0(%e: f32):
        %f = arith.addf %e, %e : f32
        tirx.yield %f : f32
      } -> !held
      scf.yield %v : !held
    }
    scf.yield %t : !held
  }
  tirx.store %r, %gd : !held, !tirx.tile<64x128xf32, global>
  tirx.return
}

// -----

// %sum is made of more than a thread has registers for: it is kept, with %x, which the other two are made of.
!m = memref<64x128xf32>
!held = !tirx.tile<64x128xf32, register>
tirx.kernel @made_of_many(%a: !m, %b: !m, %c: !m, %d: !m, %n: index) target("sm_80") grid(1) threads(64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tirx.load %a[0, 0] : !m -> !held
  %y = tirx.load %b[0, 0] : !m -> !held
  %z = tirx.load %c[0, 0] : !m -> !held
  %sum = tirx.map ins(%x, %y, %z : !held, !held, !held) (%e, %f, %g) { %e + %f + %g } -> !held
  %minus = tirx.map ins(%x : !held) (%e) { -%e } -> !held
  %twice = tirx.map ins(%x : !held) (%e) { %e + %e } -> !held
  // expected-warning@below {{expected register tiles that are alive together of at most 255 registers in each of 64 threads, found 256 of 64x128xf32 (128), 64x128xf32 (128)}}
  scf.for %i = %c0 to %n step %c1 {
    %r = tirx.map ins(%sum, %minus, %twice : !held, !held, !held) (%e, %f, %g) { %e * %f * %g } -> !held
    tirx.store %r, %d[0, 0] : !held, !m
  }
}
