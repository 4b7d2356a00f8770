// RUN: tirx-opt %s -p "tirx-stream-k{split=stream}" | filecheck %s
// RUN: tirx-opt %s -p "tirx-stream-k" | filecheck %s --check-prefix=ALONE
// RUN: tirx-opt %s --lower-to-ptx="split=stream multiprocessors=6" | filecheck %s --check-prefix=PTX
// RUN: tirx-opt %s -p "tirx-split-last-round,tirx-stream-k{split=none}" | filecheck %s --check-prefix=NONE

// 132 blocks share out the iterations of all tiles: one adds what those before it hand on, in order, and clears flags.

// CHECK-LABEL: tirx.kernel @product
// CHECK-SAME:    %part: memref<132x64x64xf32>, %done: memref<132xi32>) target("sm_90a") grid(132) threads(128) in_order
// CHECK-SAME:    tirx.workspaces = [4096 : i64, 1024 : i64]
// CHECK:         %[[BLOCK:.*]] = tirx.block_id x
// CHECK:         %[[ROUNDS:.*]] = arith.maxsi
// CHECK:         %[[PER:.*]] = arith.ceildivui
// CHECK:         scf.while
// CHECK:           %[[TILE:.*]] = arith.divui %{{.*}}, %[[ROUNDS]] : index
// CHECK:           %j = arith.remui %[[TILE]]
// CHECK:           scf.for %k = %[[LOW:.*]] to %[[HIGH:.*]] step %c64 {
// CHECK:           tirx.copy %acc, %[[HELD:.*]] :
// CHECK-NEXT:      %[[ENDS:.*]] = arith.cmpi eq, %{{.*}}, %[[ROUNDS]] : index
// CHECK-NEXT:      scf.if %[[ENDS]] {
// CHECK:             scf.for %[[OTHER:.*]] = %{{.*}} to %[[BLOCK]] step
// CHECK-NEXT:          tirx.wait_until %done[%[[OTHER]]] sge
// CHECK-NEXT:          tirx.view %part[%[[OTHER]],
// CHECK:               arith.addf
// CHECK:               tirx.signal %done[%[[OTHER]]]
// CHECK:             tirx.map ins(%[[HELD]] :
// CHECK:             tirx.copy %y, %gd
// CHECK-NEXT:      } else {
// CHECK-NEXT:        tirx.view %part[%[[BLOCK]],
// CHECK-NEXT:        tirx.copy %[[HELD]], %{{.*}} engine ld_st
// CHECK-NEXT:        tirx.signal %done[%[[BLOCK]]]

// ALONE-LABEL: tirx.kernel @product
// ALONE-NOT:     scf.while
// ALONE-LABEL: tirx.kernel @in_any_order
// ALONE-SAME:    grid(132)
// ALONE:         scf.while
// ALONE:         tirx.mma %{{.*}} fastmath<reassoc> :
// ALONE-LABEL: tirx.kernel @as_written
// ALONE-NOT:     scf.while

// NONE-NOT: scf.while

// PTX:         ld.param.u64 %[[PART:.*]], [part];
// PTX:         add.s64 %{{.*}}, %{{.*}}, 4096;
// PTX:         add.s64 %{{.*}}, %{{.*}}, 1024;
// PTX:         ld.acquire.gpu.global.b32
// PTX:         st.release.gpu.global.b32

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!h = !tirx.tile<64x64xf16, register>
tirx.kernel @product(%a: memref<?x512xf16>, %b: memref<128x512xf16>, %d: memref<?x128xf16>) target("sm_90a")
    grid(2, ceildiv(size(0, 0), 64)) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x512xf16> -> !g
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %y = tirx.map ins(%acc : !acc) {
  ^bb0(%p: f32):
    %t = arith.truncf %p : f32 to f16
    tirx.yield %t : f16
  } -> !h
  %gd = tirx.view %d[%m, %n] clipped : memref<?x128xf16> -> !g
  tirx.copy %y, %gd : !h, !g
  tirx.return
}

// The model decides where the sums may be added in any order, unless it is written.

tirx.kernel @in_any_order(%a: memref<64x65536xf16>, %b: memref<64x65536xf16>, %d: memref<64x64xf32>) target("sm_90a")
    grid(1) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %end = arith.constant 65536 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %end step %c64 {
    tirx.copy %a[%c0, %k], %sa : memref<64x65536xf16>, !s
    tirx.copy %b[%c0, %k], %sb : memref<64x65536xf16>, !s
    tirx.mma %sa, %sb, %acc fastmath<reassoc> : !s, !s, !acc
  }
  tirx.copy %acc, %d[%c0, %c0] : !acc, memref<64x64xf32>
  tirx.return
}

tirx.kernel @as_written(%a: memref<64x65536xf16>, %b: memref<64x65536xf16>, %d: memref<64x64xf32>) target("sm_90a")
    grid(1) threads(128) attributes {tirx.split = "none"} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %end = arith.constant 65536 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %end step %c64 {
    tirx.copy %a[%c0, %k], %sa : memref<64x65536xf16>, !s
    tirx.copy %b[%c0, %k], %sb : memref<64x65536xf16>, !s
    tirx.mma %sa, %sb, %acc fastmath<reassoc> : !s, !s, !acc
  }
  tirx.copy %acc, %d[%c0, %c0] : !acc, memref<64x64xf32>
  tirx.return
}
