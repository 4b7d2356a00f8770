// RUN: tirx-opt --allow-unregistered-dialect --tirx-lower-rings
tirx.kernel @k(%n: index) target("sm_90a") threads(128) {
  tirx.for @k %k = 0 to %n skew(3) {
    tirx.at(0) {
      "test.unknown"(%k) : (index) -> ()
    }
  }
  tirx.return
}
