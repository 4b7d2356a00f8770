// RUN: tirx-opt %s --convert-scf-to-ptx --split-input-file --verify-diagnostics

ptx.entry @index_loop() target("sm_80") {
  %0 = arith.constant 0 : index
  // expected-error@+1 {{'scf.for': no PTX register holds index; run convert-arith-to-ptx first}}
  scf.for %i = %0 to %0 step %0 {
  }
  ptx.ret
}

// -----

ptx.entry @no_rule() target("sm_80") {
  // expected-error@+1 {{no PTX form for 'scf.execute_region'; convert-scf-to-ptx lowers scf.for, scf.if, scf.while}}
  scf.execute_region {
    scf.yield
  }
  ptx.ret
}
