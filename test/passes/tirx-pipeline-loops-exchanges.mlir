// RUN: tirx-opt %s -p "tirx-mem2reg,tirx-pick-layouts,tirx-fold-zero-fill,tirx-select-instructions,tirx-select-copies,tirx-pipeline-loops,tirx-check-rings,tirx-specialize-warps,tirx-check-rings" | filecheck %s

// Two products in a row, as in attention, with all of their tiles but one in tensor memory. The sums of the first product
// are read by threads, who write A of the second one and change its sums: each of these tiles is a ring between threads
// and products. The first product of an iteration runs while threads still work on the one before.

!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!gd = !tirx.tile<128x64xf32, global>
!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!t = !tirx.tile<128x64xf32, tensor>
!w = !tirx.tile<128x64xf16, tensor>
!r = !tirx.tile<128x64xf32, register>
!h = !tirx.tile<128x64xf16, register>

// CHECK-LABEL: tirx.kernel @chain(
// CHECK:         %s = tirx.ring slots(2) stations(sum, read) : !tirx.ring<s: !tirx.tile<128x64xf32, tensor
// CHECK:         %w = tirx.ring slots(2) stations(write, use) : !tirx.ring<w: !tirx.tile<128x64xf16, tensor
// CHECK:         %o = tirx.ring slots(1) stations(change, sum) carries : !tirx.ring<o: !tirx.tile<128x64xf32, tensor
// CHECK:         tirx.role @epilogue warps(4) {
// CHECK-NEXT:      [[O:%.*]] = tirx.acquire %o at(change)
// CHECK-NEXT:      tirx.fill [[O]]
// CHECK-NEXT:      tirx.release %o at(change)
// CHECK:           tirx.for @k {{.*}} {
// CHECK:             [[S:%.*]] = tirx.acquire %s at(read)
// CHECK-NEXT:        {{%.*}} = tirx.load [[S]]
// CHECK-NEXT:        tirx.release %s at(read)
// CHECK:             [[W:%.*]] = tirx.acquire %w at(write)
// CHECK-NEXT:        tirx.store {{%.*}}, [[W]]
// CHECK-NEXT:        tirx.release %w at(write)
// CHECK:             [[O:%.*]] = tirx.acquire %o at(change)
// CHECK-NEXT:        {{%.*}} = tirx.load [[O]]
// CHECK:             tirx.store {{%.*}}, [[O]]
// CHECK-NEXT:        tirx.release %o at(change)
// CHECK:           [[O:%.*]] = tirx.acquire %o at(change)
// CHECK-NEXT:      tirx.copy [[O]]
// CHECK-NEXT:      tirx.release %o at(change)
// CHECK:         tirx.role @mma warps(1) {
// CHECK:           tirx.acquire %o at(sum)
// CHECK-NEXT:      tirx.release %o at(sum) after(tcgen05)
// CHECK:           tirx.for @k {{.*}} skew(1) {
// CHECK-NEXT:        tirx.at(0) {
// CHECK:               [[S:%.*]] = tirx.acquire %s at(sum)
// CHECK:               tirx.async_mma {{%.*}}, {{%.*}}, [[S]] accumulate(
// CHECK-NEXT:          tirx.release %s at(sum) after(tcgen05)
// CHECK-NEXT:          tirx.release %sb at(use) after(tcgen05)
// CHECK:             tirx.at(1) {
// CHECK:               [[W:%.*]] = tirx.acquire %w at(use)
// CHECK-NEXT:          [[O:%.*]] = tirx.acquire %o at(sum)
// CHECK-NEXT:          tirx.async_mma [[W]], {{%.*}}, [[O]]
// CHECK-NEXT:          tirx.release %o at(sum) after(tcgen05)
// CHECK-NEXT:          tirx.release %w at(use) after(tcgen05)
// CHECK-NEXT:          tirx.release %sc at(use) after(tcgen05)
// CHECK:           tirx.acquire %o at(sum)
// CHECK-NEXT:      tirx.release %o at(sum) after(tcgen05)
tirx.kernel @chain(%a: memref<128x64xf16>, %b: memref<?x64xf16>, %c: memref<64x?xf16>, %d: memref<128x64xf32>, %n: index)
    target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %sc = tirx.alloc : !b
  %s = tirx.alloc : !t
  %w = tirx.alloc : !w
  %o = tirx.alloc : !t
  %ga = tirx.view %a[%c0, %c0] : memref<128x64xf16> -> !ga
  tirx.copy %ga, %sa engine tma : !ga, !a
  tirx.fill %o, %zero : f32, !t
  scf.for %k = %c0 to %n step %c64 {
    %gb = tirx.view %b[%k, %c0] : memref<?x64xf16> -> !gb
    %gc = tirx.view %c[%c0, %k] : memref<64x?xf16> -> !gb
    tirx.copy %gb, %sb engine tma : !gb, !b
    tirx.copy %gc, %sc engine tma : !gb, !b
    tirx.fill %s, %zero : f32, !t
    tirx.mma %sa, %sb, %s : !a, !b, !t
    %x = tirx.load %s : !t -> !r
    %y = tirx.map ins(%x : !r) {
    ^bb0(%e: f32):
      %r = arith.truncf %e : f32 to f16
      tirx.yield %r : f16
    } -> !h
    tirx.store %y, %w : !h, !w
    %old = tirx.load %o : !t -> !r
    %new = tirx.map ins(%old : !r) {
    ^bb0(%e: f32):
      %r = arith.addf %e, %e : f32
      tirx.yield %r : f32
    } -> !r
    tirx.store %new, %o : !r, !t
    tirx.mma %w, %sc, %o : !w, !b, !t
  }
  %gd = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !gd
  tirx.copy %o, %gd : !t, !gd
  tirx.return
}

// Sums that the epilogue changes and reads again pass from one station of it to the next.

// CHECK-LABEL: tirx.kernel @twice
// CHECK:         %acc = tirx.ring slots(1) stations(sum, read, read_1)
// CHECK:         tirx.role @epilogue warps(4) {
// CHECK-NEXT:      [[OLD:%.*]] = tirx.acquire %acc at(read)
// CHECK-NEXT:      tirx.load [[OLD]]
// CHECK:           tirx.store {{%.*}}, [[OLD]]
// CHECK-NEXT:      tirx.release %acc at(read)
// CHECK:           [[NEW:%.*]] = tirx.acquire %acc at(read_1)
// CHECK-NEXT:      tirx.copy [[NEW]], %gd
// CHECK-NEXT:      tirx.release %acc at(read_1)
tirx.kernel @twice(%a: memref<128x?xf16>, %b: memref<64x?xf16>, %d: memref<128x64xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %acc = tirx.alloc : !t
  tirx.fill %acc, %zero : f32, !t
  scf.for %k = %c0 to %c128 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<128x?xf16> -> !ga
    %gb = tirx.view %b[%c0, %k] : memref<64x?xf16> -> !gb
    tirx.copy %ga, %sa engine tma : !ga, !a
    tirx.copy %gb, %sb engine tma : !gb, !b
    tirx.mma %sa, %sb, %acc : !a, !b, !t
  }
  %x = tirx.load %acc : !t -> !r
  %y = tirx.map ins(%x : !r) {
  ^bb0(%e: f32):
    %r = arith.addf %e, %e : f32
    tirx.yield %r : f32
  } -> !r
  tirx.store %y, %acc : !r, !t
  %gd = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !gd
  tirx.copy %acc, %gd : !t, !gd
  tirx.return
}

// The ring of a tile that is allocated in the loop stands in front of the loop.

// CHECK-LABEL: tirx.kernel @inside
// CHECK:         %w = tirx.ring slots(2) stations(write, use) : !tirx.ring<w: !tirx.tile<128x64xf16, tensor
// CHECK:         tirx.role @epilogue warps(4) {
// CHECK:           tirx.for @k {{.*}} {
// CHECK:             [[W:%.*]] = tirx.acquire %w at(write)
// CHECK-NEXT:        tirx.fill [[W]]
// CHECK-NEXT:        tirx.release %w at(write)
// CHECK:         tirx.role @mma warps(1) {
// CHECK:             [[W:%.*]] = tirx.acquire %w at(use)
// CHECK:             tirx.async_mma [[W]], {{%.*}}
tirx.kernel @inside(%b: memref<64x?xf16>, %d: memref<128x64xf32>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f16
  %sb = tirx.alloc : !b
  %o = tirx.alloc : !t
  tirx.fill %o, %zero : f32, !t
  scf.for %k = %c0 to %n step %c64 {
    %gb = tirx.view %b[%c0, %k] : memref<64x?xf16> -> !gb
    tirx.copy %gb, %sb engine tma : !gb, !b
    %w = tirx.alloc : !w
    tirx.fill %w, %half : f16, !w
    tirx.mma %w, %sb, %o : !w, !b, !t
  }
  %gd = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !gd
  tirx.copy %o, %gd : !t, !gd
  tirx.return
}
