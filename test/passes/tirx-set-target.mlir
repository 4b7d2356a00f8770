// RUN: tirx-opt --tirx-set-target="target=sm_103a" %s | filecheck %s

// CHECK: tirx.kernel @one() target("sm_103a") threads(128)
tirx.kernel @one() target("sm_100a") threads(128) {
  tirx.return
}

// CHECK: tirx.kernel @none() target("sm_103a") threads(32)
tirx.kernel @none() threads(32) {
  tirx.return
}
