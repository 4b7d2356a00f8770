// Warnings have names, which -Wno- takes.

// RUN: tirx-opt %s --tirx-check-layouts 2>&1 | filecheck %s
// RUN: tirx-opt %s --tirx-check-layouts -Wno-never-runs 2>&1 | filecheck %s --check-prefix QUIET
// RUN: tirx-opt %s --tirx-check-layouts --verify-diagnostics

// CHECK: warning: the loop from 4 to 4 never runs [-Wnever-runs]
// QUIET-NOT: warning
tirx.kernel @empty_loop() target("sm_100a") threads(128) {
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  // expected-warning@+1 {{the loop from 4 to 4 never runs}}
  scf.for %i = %c4 to %c4 step %c1 {
  }
  tirx.return
}
