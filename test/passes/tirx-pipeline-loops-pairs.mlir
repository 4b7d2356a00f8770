// RUN: tirx-opt %s -p "tirx-split-pairs,tirx-pick-layouts,tirx-select-instructions,tirx-select-copies,tirx-pipeline-loops{stages=3},tirx-specialize-warps" | filecheck %s
// RUN: tirx-opt %s -p "tirx-split-pairs,tirx-pick-layouts,tirx-select-instructions,tirx-select-copies,tirx-pipeline-loops{stages=3},tirx-specialize-warps{roles=load},tirx-check-rings,tirx-lower-rings,tirx-check-rings" | filecheck %s --check-prefix=ROLES

// Each block of a pair fills its half of a slot; the first one multiplies when both halves are there.

!a = !tirx.tile<256x64xf16, shared>
!b = !tirx.tile<128x64xf16, shared>
!acc = !tirx.tile<256x128xf32, tensor>
!ga = !tirx.tile<256x64xf16, global>
!gb = !tirx.tile<128x64xf16, global>
!gd = !tirx.tile<256x128xf32, global>

// CHECK:      %sa_sb = tirx.ring slots(3) stations(fill, use) across(pair)
// CHECK-NEXT: %acc = tirx.ring slots(1) stations(init, sum, read) across(pair)
// CHECK:      tirx.role @epilogue warps(4) {
// CHECK:        tirx.release %acc at(init)
// CHECK:        tirx.acquire %acc at(read)
// CHECK:      tirx.role @load warps(1) {
// CHECK:        tirx.acquire %sa_sb at(fill)
// CHECK:        tirx.release %sa_sb at(fill) after(tma)
// CHECK:      tirx.role @mma warps(1) {
// CHECK:        tirx.acquire %acc at(sum)
// CHECK:        tirx.acquire %sa_sb at(use)
// CHECK-NEXT:   tirx.async_mma {{.*}} pair
// CHECK-NEXT:   tirx.release %sa_sb at(use) after(tcgen05)
// CHECK:        tirx.release %acc at(sum) after(tcgen05)

// Without a role for products, one thread of the first block waits for the slots of both, multiplies and passes them on.

// ROLES:      tirx.role @math warps(4) {
// ROLES:        [[LEADER:%.*]] = tirx.leader
// ROLES:        tirx.fill
// ROLES:        ptx.mbarrier.arrive {{.*}} remote
// ROLES:        scf.for
// ROLES:          scf.if [[LEADER]] {
// ROLES-NEXT:       ptx.read_special cluster_ctarank
// ROLES:            scf.if
// ROLES-NEXT:         ptx.mbarrier.wait_parity
// ROLES-NEXT:         tcgen05.fence after_thread_sync
// ROLES-NEXT:         tirx.async_mma {{.*}} pair
// ROLES-NEXT:         tcgen05.commit {{.*}}
// ROLES-NEXT:       }
// ROLES-NEXT:     }
// ROLES:        ptx.mbarrier.wait_parity
// ROLES:      tirx.role @load warps(1) {
tirx.kernel @pairs(%a: memref<256x4096xf16>, %b: memref<128x4096xf16>, %d: memref<256x128xf32>, %n: index)
    target("sm_100a") grid(1) cluster(2) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %n step %c1 {
    %c64 = arith.constant 64 : index
    %kk = arith.muli %k, %c64 : index
    %ga = tirx.view %a[%c0, %kk] : memref<256x4096xf16> -> !ga
    %gb = tirx.view %b[%c0, %kk] : memref<128x4096xf16> -> !gb
    tirx.copy %ga, %sa : !ga, !a
    tirx.copy %gb, %sb : !gb, !b
    tirx.mma %sa, %sb, %acc : !a, !b, !acc
  }
  %gd = tirx.view %d[%c0, %c0] : memref<256x128xf32> -> !gd
  tirx.copy %acc, %gd : !acc, !gd
  tirx.return
}
