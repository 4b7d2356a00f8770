// RUN: tirx-opt --allow-unregistered-dialect --lower-to-ptx
tirx.kernel @k(%n: index) target("sm_90a") threads(128) {
  tirx.for @k %k = 0 to %n skew(2) {
    %v = tirx.at(0) {
      %x = "test.op"(%k) : (index) -> f8E8M0FNU
      tirx.yield %x
    }
    tirx.at(2) {
      "test.op"(%v) : (f8E8M0FNU) -> ()
    }
  }
  tirx.return
}
