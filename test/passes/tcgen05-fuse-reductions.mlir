// RUN: tirx-opt %s --allow-unregistered-dialect --tcgen05-fuse-reductions | filecheck %s

!t = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!s = !tirx.tile<128x64xf32, register, #tirx.tile_layout<S[(4, 32, 64) : (1@warpid, 1@laneid, 1)]>>
!row = !tirx.tile<128x1xf32, register, #tirx.tile_layout<S[(4, 32) : (1@warpid, 1@laneid)]>>
!column = !tirx.tile<1x64xf32, register, #tirx.tile_layout<S[64 : 1] + R[(4, 32) : (1@warpid, 1@laneid)]>>

// The branch that changes the scores reduces them, the other one has the largest from the load.

// CHECK-LABEL: @scores
// CHECK:       %[[MOST:.*]], %[[S:.*]] = tcgen05.ld.red max "32x32b" %t
// CHECK-NEXT:  tcgen05.wait ld
// CHECK-NEXT:  %{{.*}}, %[[M:.*]] = scf.if %masked
// CHECK:         %[[OWN:.*]] = tirx.reduce %[[MAP:.*]] dim(1) max
// CHECK-NEXT:    scf.yield %[[MAP]], %[[OWN]]
// CHECK:         scf.yield %[[S]], %[[MOST]]
// CHECK:       "use"(%[[M]])
tirx.kernel @scores(%masked: i1, %base: i32) target("sm_103a") threads(128) {
  %low = arith.constant 0.0 : f32
  %t = tcgen05.tile %base, 0 : i32 -> !t
  %s = tcgen05.ld "32x32b" %t : !t -> !s
  tcgen05.wait ld
  %seen = scf.if %masked -> (!s) {
    %r = tirx.map ins(%s : !s) {
    ^bb0(%x: f32):
      %y = arith.minnumf %x, %low : f32
      tirx.yield %y : f32
    } -> !s
    scf.yield %r : !s
  } else {
    scf.yield %s : !s
  }
  %m = tirx.reduce %seen dim(1) max : !s -> !row
  "use"(%m) : (!row) -> ()
  tirx.return
}

// CHECK-LABEL: @least
// CHECK:       %[[L:.*]], %{{.*}} = tcgen05.ld.red min "32x32b" %t
// CHECK-NEXT:  tcgen05.wait ld
// CHECK-NEXT:  "use"(%[[L]])
tirx.kernel @least(%base: i32) target("sm_107a") threads(128) {
  %t = tcgen05.tile %base, 0 : i32 -> !t
  %s = tcgen05.ld "32x32b" %t : !t -> !s
  tcgen05.wait ld
  %m = tirx.reduce %s dim(1) min : !s -> !row
  "use"(%m) : (!row) -> ()
  tirx.return
}

// Sums, reductions across threads, and targets without the instruction.

// CHECK-LABEL: @sum
// CHECK-NOT:   ld.red
// CHECK-LABEL: @across
// CHECK-NOT:   ld.red
// CHECK-LABEL: @older
// CHECK-NOT:   ld.red
tirx.kernel @sum(%base: i32) target("sm_103a") threads(128) {
  %t = tcgen05.tile %base, 0 : i32 -> !t
  %s = tcgen05.ld "32x32b" %t : !t -> !s
  tcgen05.wait ld
  %m = tirx.reduce %s dim(1) add : !s -> !row
  "use"(%m) : (!row) -> ()
  tirx.return
}
tirx.kernel @across(%base: i32) target("sm_103a") threads(128) {
  %t = tcgen05.tile %base, 0 : i32 -> !t
  %s = tcgen05.ld "32x32b" %t : !t -> !s
  tcgen05.wait ld
  %m = tirx.reduce %s dim(0) max : !s -> !column
  "use"(%m) : (!column) -> ()
  tirx.return
}
tirx.kernel @older(%base: i32) target("sm_100a") threads(128) {
  %t = tcgen05.tile %base, 0 : i32 -> !t
  %s = tcgen05.ld "32x32b" %t : !t -> !s
  tcgen05.wait ld
  %m = tirx.reduce %s dim(1) max : !s -> !row
  "use"(%m) : (!row) -> ()
  tirx.return
}
