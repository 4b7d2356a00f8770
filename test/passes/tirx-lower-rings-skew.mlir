// RUN: tirx-opt %s --allow-unregistered-dialect --tirx-lower-rings | filecheck %s

// Values live for as many rounds as the parts that use them are behind.

// CHECK-LABEL: tirx.kernel @chains
// CHECK:         scf.for %52 = %11 to %n step %15 iter_args(%53 = %16, %54 = %17, %55 = %18, %56 = %19, %57 = %20, %58 = %21, %59 = %22, %60 = %23)
// CHECK-NEXT:      %x_1 = "test.first"(%52)
// CHECK-NEXT:      %y_1 = "test.second"(%52)
// CHECK:           %z_1 = "test.use"(%53, %62)
// CHECK:           "test.last"(%55, %58, %60, %64)
// CHECK-NEXT:      scf.yield %x_1, %53, %54, %y_1, %56, %57, %z_1, %59 :
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
// CHECK:         %12, %13 = scf.for %14 = %9 to %8 step %11 iter_args(%15 = %7, %16 = %7) -> (i32, i32) {
// CHECK-NEXT:      %x = "test.first"(%14)
// CHECK-NEXT:      scf.yield %x, %15 :
// CHECK:         scf.for %19 = %8 to %10 step %11 iter_args(%20 = %12, %21 = %13) -> (i32, i32) {
// CHECK:           "test.last"(%21, %23)
// CHECK-NEXT:      scf.yield %20, %20 :
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
