// RUN: tirx-opt %s -p "tirx-tile-loop{multiprocessors=3}" | filecheck %s --check-prefix=LOOP
// RUN: tirx-opt %s -p "tirx-tile-loop{multiprocessors=4}" | filecheck %s --check-prefix=FITS
// RUN: tirx-opt %s -p "tirx-tile-loop{order=row multiprocessors=4}" | filecheck %s --check-prefix=ASKED
// RUN: tirx-opt %s -p "tirx-split-last-round{split=last multiprocessors=3}" | filecheck %s --check-prefix=SPLIT
// RUN: tirx-opt %s --lower-to-ptx="target=sm_90a multiprocessors=3 cluster=rows" --print-after tirx-multicast-copies 2>&1 | filecheck %s --check-prefix=PAIRS
// RUN: not tirx-opt %s -p "tirx-tile-loop{multiprocessors=0}" 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not tirx-opt %s -p "tirx-tile-loop{order=hardware multiprocessors=2}" 2>&1 | filecheck %s --check-prefix=HARDWARE

// Four tiles are more than three multiprocessors, of which a launch may have fewer.

// LOOP:      tirx.kernel @sum(
// LOOP-SAME:   grid(min(4, min(sm_count(), 3))) threads(128) {
// LOOP:        tirx.tiles @tile %{{.*}}, %{{.*}} = order(group 8) of

// FITS:      tirx.kernel @sum(
// FITS-SAME:   grid(2, 2) threads(128) {

// ASKED:      tirx.kernel @sum(
// ASKED-SAME:   grid(min(4, min(sm_count(), 4))) threads(128) {

// SPLIT:      tirx.kernel @sum(
// SPLIT-SAME:   grid(add(mul(add(ceildiv(5, min(sm_count(), 3)), -1), min(sm_count(), 3)), mul(

// PAIRS: grid(min(2, ceildiv(min(sm_count(), 3), 2))) cluster(2) per_cta

// NONE: error: expected multiprocessors to be 1 or more, found 0

// HARDWARE: error: expected a kernel that can loop over its tiles, found that the GPU hands out tiles to all of its multiprocessors, not to 2

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!gd = !tirx.tile<64x64xf32, global>
tirx.kernel @sum(%a: memref<128x512xf16>, %b: memref<128x512xf16>, %d: memref<128x128xf32>) target("sm_100a")
    grid(2, 2) threads(128) {
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
    %ga = tirx.view %a[%m, %k] : memref<128x512xf16> -> !g
    %gb = tirx.view %b[%n, %k] : memref<128x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %gd = tirx.view %d[%m, %n] : memref<128x128xf32> -> !gd
  tirx.copy %acc, %gd reduce(add) : !acc, !gd
  tirx.return
}
