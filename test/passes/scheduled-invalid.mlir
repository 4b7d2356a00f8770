// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-insert-barriers
// RUN: tirx-opt %s --split-input-file --verify-diagnostics --convert-tirx-to-ptx

// Passes behind tirx-lower-rings say that it has to run before.

tirx.kernel @ring() target("sm_90a") threads(32) {
  // expected-error@+1 {{expected rings, their loops and queues to be lowered before, found 'tirx.ring'}}
  %r = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!tirx.tile<8x64xf16, shared>>
  tirx.return
}

// -----

tirx.kernel @loop(%n: index) target("sm_90a") threads(32) {
  // expected-error@+1 {{expected rings, their loops and queues to be lowered before, found 'tirx.for'}}
  tirx.for @k %k = 0 to %n {
  }
  tirx.return
}

// -----

tirx.kernel @wait() target("sm_90a") threads(32) {
  // expected-error@+1 {{expected rings, their loops and queues to be lowered before, found 'tirx.await'}}
  tirx.await store pending(0)
  tirx.return
}
