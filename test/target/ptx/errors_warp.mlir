// RUN: tirx-opt %s -t ptx --split-input-file --verify-diagnostics

ptx.entry @elected() target("sm_100a") reqntid(32) {
  %p = ptx.elect.sync
  ptx.cond_bra %p, ^one, ^end
^one:
  %x = ptx.read_special tid.x
  // expected-error@+1 {{expected all threads of a warp to execute 'ptx.redux.sync', found the one that elect.sync chose; leave its branch first}}
  %0 = ptx.redux.sync add %x : i32
  ptx.bra ^end
^end:
  ptx.ret
}

// -----

ptx.entry @old() target("sm_90") reqntid(32) {
  %x = ptx.constant 1.0 : f32
  // expected-error@+1 {{'ptx.redux.sync' needs redux.sync.f32, which sm_90 lacks; supported on}}
  %0 = ptx.redux.sync max %x : f32
  ptx.ret
}
