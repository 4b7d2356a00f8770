// RUN: tirx-opt %s -p "tirx-split-k{parts=4}" | filecheck %s
// RUN: tirx-opt %s -p "tirx-split-k" | filecheck %s --check-prefix=ALONE
// RUN: tirx-opt %s --lower-to-ptx="parts=4" | filecheck %s --check-prefix=PTX

// Four blocks have two of eight steps each, and then sixteen of the columns: of the bias, the map and D.

// CHECK-LABEL: tirx.kernel @product
// CHECK-SAME:    grid(2) cluster(4) per_cta threads(128)
// CHECK:         %[[RANK:.*]] = tirx.cta_rank
// CHECK:         arith.constant 4 : i32
// CHECK:         %[[C4:.*]] = arith.constant 4 : index
// CHECK-NEXT:    %[[FIRST:.*]] = arith.shli %[[RANK]], %[[C4]] : index
// CHECK-NEXT:    scf.for %k = %{{.*}} to %{{.*}} step %c64 {
// CHECK:         tirx.copy %acc, %[[HELD:.*]] :
// CHECK-NEXT:    %[[SUM:.*]] = tirx.cluster_sum %[[HELD]], %{{.*}} : !tirx.tile<64x64xf32, register>, !tirx.tile<64x64xf32, shared> -> !tirx.tile<64x16xf32, register>
// CHECK-NEXT:    tirx.copy %[[SUM]], %[[SHARE:.*]] :
// CHECK-NEXT:    %[[AT:.*]] = arith.addi %n, %[[FIRST]]
// CHECK-NEXT:    tirx.view %x[%c0, %[[AT]]] : memref<1x128xf32> -> !tirx.tile<1x16xf32, global>
// CHECK:         tirx.map ins(%[[SHARE]], %bias : !tirx.tile<64x16xf32, register>, !tirx.tile<1x16xf32, register>)
// CHECK:         -> !tirx.tile<64x16xf16, register>
// CHECK:         %[[AT:.*]] = arith.addi %n, %[[FIRST]]
// CHECK-NEXT:    tirx.view %d[%c0, %[[AT]]] : memref<64x128xf16> -> !tirx.tile<64x16xf16, global>

// ALONE-NOT: cluster

// PTX:         .reqnctapercluster 4, 1, 1
// PTX:         fence.mbarrier_init.release.cluster;
// PTX:         barrier.cluster.arrive.relaxed.aligned;
// PTX-NEXT:    barrier.cluster.wait.acquire.aligned;
// PTX:         st.shared.v4.f32
// PTX:         barrier.cluster.arrive.release.aligned;
// PTX-NEXT:    barrier.cluster.wait.acquire.aligned;
// PTX:         mapa.shared::cluster.u32 %[[OF:.*]], %[[MINE:.*]], 0;
// PTX-NEXT:    ld.shared::cluster.v4.f32 {{.*}}, [%[[OF]]];
// PTX-NEXT:    ld.shared::cluster.v4.f32 {{.*}}, [%[[OF]]+2048];
// PTX-NEXT:    mapa.shared::cluster.u32 %{{.*}}, %[[MINE]], 1;
// PTX:         add.rn.f32
// PTX:         barrier.cluster.arrive.release.aligned;
// PTX-NEXT:    barrier.cluster.wait.acquire.aligned;
// PTX-NOT:     barrier.cluster
// PTX:         ret;

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!r = !tirx.tile<64x64xf32, register>
!h = !tirx.tile<64x64xf16, register>
tirx.kernel @product(%a: memref<64x512xf16>, %b: memref<128x512xf16>, %x: memref<1x128xf32>, %d: memref<64x128xf16>) target("sm_90a")
    grid(2) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %j = tirx.block_id x
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x512xf16> -> !g
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %gx = tirx.view %x[%c0, %n] : memref<1x128xf32> -> !tirx.tile<1x64xf32, global>
  %bias = tirx.load %gx : !tirx.tile<1x64xf32, global> -> !tirx.tile<1x64xf32, register>
  %y = tirx.map ins(%acc, %bias : !acc, !tirx.tile<1x64xf32, register>) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    %t = arith.truncf %s : f32 to f16
    tirx.yield %t : f16
  } -> !h
  %gd = tirx.view %d[%c0, %n] : memref<64x128xf16> -> !g
  tirx.copy %y, %gd : !h, !g
  tirx.return
}

// What is loaded in front of the loop is of the columns of the rank, too.

// CHECK-LABEL: tirx.kernel @bias_first
// CHECK:         %[[RANK:.*]] = tirx.cta_rank
// CHECK:         %[[FIRST:.*]] = arith.shli %[[RANK]]
// CHECK:         %[[AT:.*]] = arith.addi %n, %[[FIRST]]
// CHECK-NEXT:    %gx = tirx.view %x[%c0, %[[AT]]] : memref<1x128xf32> -> !tirx.tile<1x16xf32, global>
// CHECK:         scf.for
tirx.kernel @bias_first(%a: memref<64x512xf16>, %b: memref<128x512xf16>, %x: memref<1x128xf32>, %d: memref<64x128xf16>) target("sm_90a")
    grid(2) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %j = tirx.block_id x
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  %gx = tirx.view %x[%c0, %n] : memref<1x128xf32> -> !tirx.tile<1x64xf32, global>
  %bias = tirx.load %gx : !tirx.tile<1x64xf32, global> -> !tirx.tile<1x64xf32, register>
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<64x512xf16> -> !g
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %y = tirx.map ins(%acc, %bias : !acc, !tirx.tile<1x64xf32, register>) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    %t = arith.truncf %s : f32 to f16
    tirx.yield %t : f16
  } -> !h
  %gd = tirx.view %d[%c0, %n] : memref<64x128xf16> -> !g
  tirx.copy %y, %gd : !h, !g
  tirx.return
}

// Sixteen columns are two shares, of which the blocks of rank 2 and 3 have none: what they write is behind the end of D.
// Behind a transposition the columns are rows.

// CHECK-LABEL: tirx.kernel @transposed
// CHECK-SAME:    cluster(4) per_cta
// CHECK:         %[[RANK:.*]] = tirx.cta_rank
// CHECK:         %[[C3:.*]] = arith.constant 3 : index
// CHECK-NEXT:    %[[FIRST:.*]] = arith.shli %[[RANK]], %[[C3]] : index
// CHECK:         %[[C2:.*]] = arith.constant 2 : index
// CHECK-NEXT:    %[[WRITES:.*]] = arith.cmpi ult, %[[RANK]], %[[C2]] : index
// CHECK:         tirx.cluster_sum {{.*}} -> !tirx.tile<64x8xf32, register>
// CHECK:         tirx.transpose %held [1, 0] : !tirx.tile<64x8xf32, register> -> !tirx.tile<8x64xf32, register>
// CHECK:         %[[AT:.*]] = arith.addi %c0, %[[FIRST]] : index
// CHECK:         %[[END:.*]] = arith.constant 16 : index
// CHECK-NEXT:    %[[PLACE:.*]] = arith.select %[[WRITES]], %[[AT]], %[[END]] : index
// CHECK-NEXT:    tirx.view %d[%[[PLACE]], %n] clipped begins_inside : memref<16x128xf32> -> !tirx.tile<8x64xf32, global>
tirx.kernel @transposed(%a: memref<16x512xf16>, %b: memref<128x512xf16>, %d: memref<16x128xf32>) target("sm_90a")
    grid(2) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %j = tirx.block_id x
  %n = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !tirx.tile<16x64xf16, shared>
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !tirx.tile<64x16xf32, accumulator>
  tirx.fill %acc, %zero : f32, !tirx.tile<64x16xf32, accumulator>
  scf.for %k = %c0 to %c512 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<16x512xf16> -> !tirx.tile<16x64xf16, global>
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !g
    tirx.copy %ga, %sa : !tirx.tile<16x64xf16, global>, !tirx.tile<16x64xf16, shared>
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sb, %sa, %acc : !s, !tirx.tile<16x64xf16, shared>, !tirx.tile<64x16xf32, accumulator>
  }
  %held = tirx.alloc : !tirx.tile<64x16xf32, register>
  tirx.copy %acc, %held : !tirx.tile<64x16xf32, accumulator>, !tirx.tile<64x16xf32, register>
  %t = tirx.transpose %held [1, 0] : !tirx.tile<64x16xf32, register> -> !tirx.tile<16x64xf32, register>
  %gd = tirx.view %d[%c0, %n] : memref<16x128xf32> -> !tirx.tile<16x64xf32, global>
  tirx.copy %t, %gd : !tirx.tile<16x64xf32, register>, !tirx.tile<16x64xf32, global>
  tirx.return
}
