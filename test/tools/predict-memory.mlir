// All shared memory counts, slots of rings and other tiles, for how many blocks a multiprocessor has room.

// RUN: tirx-opt --predict --size 4096x4096x4096 --lower-to-ptx="stages=2" %s | filecheck %s
// CHECK: tiles of 64x64, 64 steps of 128 bytes of K, 2 slots, 2 blocks on a multiprocessor

// RUN: tirx-opt --predict --size 4096x4096x4096 --lower-to-ptx="stages=4" %s | filecheck %s --check-prefix=SLOTS
// SLOTS: tiles of 64x64, 64 steps of 128 bytes of K, 4 slots, 1 block on a multiprocessor

!t = !tirx.tile<64x64xf16, shared>
!acc = !tirx.tile<64x64xf32, register>
!big = !tirx.tile<256x64xf32, shared>
tirx.kernel @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %d: memref<?x?xf32>) target("sm_90a")
    grid(ceildiv(size(2, 1), 64), ceildiv(size(2, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c64 : index
  %k_end = memref.dim %a, %c1 : memref<?x?xf16>
  %sa = tirx.alloc : !t
  %sb = tirx.alloc : !t
  %more = tirx.alloc : !big
  tirx.fill %more, %zero : f32, !big
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %k_end step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x?xf16> -> !tirx.tile<64x64xf16, global>
    %gb = tirx.view %b[%n, %k] clipped : memref<?x?xf16> -> !tirx.tile<64x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<64x64xf16, global>, !t
    tirx.copy %gb, %sb : !tirx.tile<64x64xf16, global>, !t
    tirx.mma %sa, %sb, %acc : !t, !t, !acc
  }
  %gd = tirx.view %d[%m, %n] clipped : memref<?x?xf32> -> !tirx.tile<64x64xf32, global>
  tirx.copy %acc, %gd : !acc, !tirx.tile<64x64xf32, global>
  tirx.return
}
