// RUN: tirx-opt %s -p "tirx-pick-layouts,tirx-select-instructions,tirx-select-copies,tirx-pipeline-loops{stages=3},tirx-specialize-warps" | filecheck %s

// Metadata of sparse products: the threads of the epilogue store that of the next iteration while products read this one.

!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<64x128xf16, shared>
!e = !tirx.tile<128x32xi4, tensor>
!acc = !tirx.tile<128x64xf32, tensor>
!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x128xf16, global>
!ge = !tirx.tile<128x32xi4, global>
!gd = !tirx.tile<128x64xf32, global>

// CHECK:      %codes = tirx.ring slots(2) stations(fill, use) : !tirx.ring<codes: !tirx.tile<128x32xi4, tensor,
// CHECK:      tirx.role @epilogue warps(4) {
// CHECK:        tirx.for @k
// CHECK:          [[SLOT:%.*]] = tirx.acquire %codes at(fill)
// CHECK-NEXT:     tirx.copy %ge, [[SLOT]] engine tcgen05_st
// CHECK-NEXT:     tirx.release %codes at(fill)
// CHECK:      tirx.role @load warps(1) {
// CHECK:      tirx.role @mma warps(1) {
// CHECK:        [[READ:%.*]] = tirx.acquire %codes at(use)
// CHECK:        tirx.async_mma {{.*}} metadata([[READ]])
// CHECK:        tirx.release %codes at(use) after(tcgen05)
tirx.kernel @sparse(%a: memref<128x2048xf16>, %e: memref<128x1024xi4>, %b: memref<64x4096xf16>, %d: memref<128x64xf32>,
    %n: index) target("sm_100a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %codes = tirx.alloc : !e
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %n step %c1 {
    %ka = arith.muli %k, %c64 : index
    %ke = arith.muli %k, %c32 : index
    %kb = arith.muli %k, %c128 : index
    %ga = tirx.view %a[%c0, %ka] : memref<128x2048xf16> -> !ga
    %ge = tirx.view %e[%c0, %ke] : memref<128x1024xi4> -> !ge
    %gb = tirx.view %b[%c0, %kb] : memref<64x4096xf16> -> !gb
    tirx.copy %ga, %sa : !ga, !a
    tirx.copy %ge, %codes : !ge, !e
    tirx.copy %gb, %sb : !gb, !b
    tirx.mma %sa, %sb, %acc metadata(%codes) : !a, !b, !acc, !e
  }
  %gd = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !gd
  tirx.copy %acc, %gd : !acc, !gd
  tirx.return
}
