// RUN: tirx-opt --allow-unregistered-dialect --tirx-lower-rings
tirx.kernel @k(%n: index) target("sm_90a") threads(128) {
  tirx.for @k %k = 0 to %n skew(2) {
    %v = tirx.at(0) {
      %x = "test.first"(%k) : (index) -> f80
      tirx.yield %x
    }
    tirx.at(2) {
      "test.last"(%v) : (f80) -> ()
    }
  }
  tirx.return
}
