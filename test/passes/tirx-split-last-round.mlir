// RUN: tirx-opt %s -p "tirx-split-last-round{split=last}" | filecheck %s
// RUN: tirx-opt %s -p "tirx-split-last-round" | filecheck %s --check-prefix=NONE

// 12 tiles, of which the last round of B blocks has 12 mod B: blocks count whole tiles and parts of those. A part runs over
// its share of the iterations along K, and its coordinates are those of its tile.

// CHECK-LABEL: tirx.kernel @sum
// CHECK-SAME:    grid(add(mul(add(ceildiv(13, sm_count()), -1), sm_count()), mul(add(12, mul(
// CHECK:         %[[ITEM:.*]] = tirx.block_id x
// CHECK:         %[[WHOLE:.*]] = tirx.launch_value mul(add(ceildiv(13, sm_count()), -1), sm_count())
// CHECK:         %[[PARTS:.*]] = tirx.launch_value max(min(
// CHECK:         %[[IS_PART:.*]] = arith.cmpi sge
// CHECK:         %[[BEHIND:.*]] = arith.subi
// CHECK-NEXT:    arith.divui %[[BEHIND]]
// CHECK:         %[[TILE:.*]] = arith.select %[[IS_PART]]
// CHECK-NEXT:    arith.remui %[[BEHIND]]
// CHECK:         %[[I:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK-NEXT:    %[[J:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK:         %m = arith.muli %[[I]], %c64
// CHECK-NEXT:    %c = arith.muli %[[J]], %c64
// CHECK:         %[[FIRST:.*]] = arith.addi %c0
// CHECK:         %[[LAST:.*]] = arith.addi %c0
// CHECK-NEXT:    scf.for %k = %[[FIRST]] to %[[LAST]] step %c64 {
// CHECK:         tirx.copy %acc, %gd reduce(add)

// NONE: grid(4, 3)
// NONE: scf.for %k = %c0 to %n

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!gd = !tirx.tile<64x64xf32, global>
tirx.kernel @sum(%a: memref<?x512xf16>, %b: memref<?x512xf16>, %d: memref<?x?xf32>, %n: index) target("sm_90a")
    grid(4, 3) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %c = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %n step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x512xf16> -> !g
    %gb = tirx.view %b[%c, %k] clipped : memref<?x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %gd = tirx.view %d[%m, %c] clipped : memref<?x?xf32> -> !gd
  tirx.copy %acc, %gd reduce(add) : !acc, !gd
  tirx.return
}
