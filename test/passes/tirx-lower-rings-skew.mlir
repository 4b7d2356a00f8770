// RUN: tirx-opt %s --allow-unregistered-dialect --tirx-lower-rings | filecheck %s

// Values live for as many rounds as the parts that use them are behind.

// CHECK-LABEL: tirx.kernel @chains
// CHECK:         scf.for %56 = %12 to %n step %47 iter_args(%57 = %18, %58 = %19, %59 = %20, %60 = %21, %61 = %22, %62 = %23, %63 = %24, %64 = %25)
// CHECK-NEXT:      %x_1 = "test.first"(%56)
// CHECK-NEXT:      %y_1 = "test.second"(%56)
// CHECK:           %z_1 = "test.use"(%57, %66)
// CHECK:           "test.last"(%59, %62, %64, %68)
// CHECK-NEXT:      scf.yield %x_1, %57, %58, %y_1, %60, %61, %z_1, %63 :
tirx.kernel @chains(%n: index) target("sm_90a") threads(128) {
  tirx.for @k %k = 0 to %n skew(3) {
    %v, %w = tirx.at(0) {
      %x = "test.first"(%k) : (index) -> i32
      %y = "test.second"(%k) : (index) -> i64
      tirx.yield %x, %y
    }
    %u = tirx.at(1) {
      %z = "test.use"(%v, %k) : (i32, index) -> f32
      tirx.yield %z
    }
    tirx.at(3) {
      "test.last"(%v, %w, %u, %k) : (i32, i64, f32, index) -> ()
    }
  }
  tirx.return
}

// As many iterations as rounds ahead: no round in which all parts run.

// CHECK-LABEL: tirx.kernel @known
// CHECK:         %16, %17 = scf.for %18 = %10 to %11 step %15 iter_args(%19 = %8, %20 = %8) -> (i32, i32) {
// CHECK-NEXT:      %x = "test.first"(%18)
// CHECK-NEXT:      scf.yield %x, %19 :
// CHECK:         scf.for %24 = %13 to %14 step %21 iter_args(%25 = %16, %26 = %17) -> (i32, i32) {
// CHECK:           "test.last"(%26, %28)
// CHECK-NEXT:      scf.yield %25, %25 :
tirx.kernel @known() target("sm_90a") threads(128) {
  tirx.for @k %k = 0 to 2 skew(2) {
    %v = tirx.at(0) {
      %x = "test.first"(%k) : (index) -> i32
      tirx.yield %x
    }
    tirx.at(2) {
      "test.last"(%v, %k) : (i32, index) -> ()
    }
  }
  tirx.for @l %l = 0 to 1 skew(2) {
    %v = tirx.at(0) {
      %x = "test.first"(%l) : (index) -> i32
      tirx.yield %x
    }
    %w = tirx.at(1) {
      %x = "test.second"(%l) : (index) -> i32
      tirx.yield %x
    }
    tirx.at(2) {
      "test.last"(%v, %w, %l) : (i32, i32, index) -> ()
    }
  }
  tirx.return
}

// What a part adds up lives on to the next round; a value that stays the same is none of the loop.

// CHECK-LABEL: tirx.kernel @carried
// CHECK:         "test.first"(%{{.*}}, %b, %{{.*}})
// CHECK:         "test.behind"(%{{.*}}, %b)
tirx.kernel @carried(%n: index, %a: i32, %b: i64) target("sm_90a") threads(128) {
  %r, %s = tirx.for @k %k = 0 to %n skew(2) iter(%x = %a, %y = %b) {
    %v = tirx.at(0) {
      %z = "test.first"(%x, %y, %k) : (i32, i64, index) -> i32
      tirx.yield %z
    }
    tirx.at(2) {
      "test.last"(%v, %y, %k) : (i32, i64, index) -> ()
    }
    tirx.yield %v, %y
  }
  "test.behind"(%r, %s) : (i32, i64) -> ()
  tirx.return
}
