// RUN: tirx-opt %s -p "tirx-mem2reg,tirx-pick-layouts,tirx-fold-zero-fill,tirx-select-instructions,tirx-select-copies,tirx-pipeline-loops{stages=3},tirx-check-rings" | filecheck %s
// RUN: tirx-opt %s -p "tirx-mem2reg,tirx-pick-layouts,tirx-fold-zero-fill,tirx-select-instructions,tirx-select-copies,tirx-pipeline-loops{stages=3},tirx-specialize-warps,tirx-check-rings,tirx-lower-rings,tirx-check-rings" | filecheck %s --check-prefix=LOWERED

// What threads read while a product runs that they wait for comes with its operands, in one ring: TMA brings all of it
// at the same time. Threads fence beside the product, and pass the slot on behind it.

!x = !tirx.tile<64x64xf16, shared>
!s = !tirx.tile<64x64xf32, shared>
!f = !tirx.tile<64x64xf32, register>

// CHECK-LABEL: tirx.kernel @beside
// LOWERED-LABEL: tirx.kernel @beside
tirx.kernel @beside(%a: memref<64x512xf16>, %b: memref<64x512xf32>, %d: memref<64x64xf32>) target("sm_90a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %x = tirx.alloc : !x
  %s = tirx.alloc : !s
  %none = tirx.zero : !f
  // CHECK: %x_s = tirx.ring slots(3) stations(fill, use) : !tirx.ring<x: {{.*}}, s: {{.*}}>
  // CHECK-NOT: tirx.ring slots
  %total = scf.for %k = %c0 to %c512 step %c64 iter_args(%t = %none) -> (!f) {
    %ga = tirx.view %a[%c0, %k] : memref<64x512xf16> -> !tirx.tile<64x64xf16, global>
    %gb = tirx.view %b[%c0, %k] : memref<64x512xf32> -> !tirx.tile<64x64xf32, global>
    tirx.copy %ga, %x : !tirx.tile<64x64xf16, global>, !x
    tirx.copy %gb, %s : !tirx.tile<64x64xf32, global>, !s
    // CHECK: = tirx.acquire %x_s at(use)
    // CHECK: [[SUMS:%.*]] = tirx.async_mma
    // CHECK: tirx.load
    // CHECK: [[READY:%.*]] = tirx.await [[SUMS]]
    // CHECK-NEXT: tirx.release %x_s at(use)
    // CHECK-NEXT: tirx.map ins({{.*}}, [[READY]], {{.*}})
    // LOWERED: tirx.async_mma
    // LOWERED: tirx.load
    // LOWERED-NEXT: ptx.fence.proxy.async "shared::cta"
    // LOWERED: tirx.await
    // LOWERED-NOT: ptx.fence.proxy.async
    // LOWERED: ptx.mbarrier.arrive
    // LOWERED: tirx.map
    %zero = tirx.zero : !f
    %sums = tirx.mma %x, %x, %zero : !x, !x, !f -> !f
    %scale = tirx.load %s : !s -> !f
    %next = tirx.map ins(%t, %sums, %scale : !f, !f, !f) {
    ^bb0(%p: f32, %q: f32, %u: f32):
      %r = math.fma %q, %u, %p : f32
      tirx.yield %r : f32
    } -> !f
    scf.yield %next : !f
  }
  %gd = tirx.view %d[%c0, %c0] : memref<64x64xf32> -> !tirx.tile<64x64xf32, global>
  tirx.store %total, %gd : !f, !tirx.tile<64x64xf32, global>
  tirx.return
}

// What threads read in front of the product keeps a ring of its own: they need not wait for operands.

// CHECK-LABEL: tirx.kernel @in_front
// CHECK-COUNT-2: = tirx.ring slots(3)
// CHECK: tirx.load
// CHECK-NEXT: tirx.release %s at(use)
// CHECK: tirx.async_mma
// CHECK-NEXT: tirx.release %x at(use) after(wgmma)
tirx.kernel @in_front(%a: memref<64x512xf16>, %b: memref<64x512xf32>, %d: memref<64x64xf32>) target("sm_90a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %x = tirx.alloc : !x
  %s = tirx.alloc : !s
  %none = tirx.zero : !f
  %total = scf.for %k = %c0 to %c512 step %c64 iter_args(%t = %none) -> (!f) {
    %ga = tirx.view %a[%c0, %k] : memref<64x512xf16> -> !tirx.tile<64x64xf16, global>
    %gb = tirx.view %b[%c0, %k] : memref<64x512xf32> -> !tirx.tile<64x64xf32, global>
    tirx.copy %ga, %x : !tirx.tile<64x64xf16, global>, !x
    tirx.copy %gb, %s : !tirx.tile<64x64xf32, global>, !s
    %scale = tirx.load %s : !s -> !f
    %zero = tirx.zero : !f
    %sums = tirx.mma %x, %x, %zero : !x, !x, !f -> !f
    %next = tirx.map ins(%t, %sums, %scale : !f, !f, !f) {
    ^bb0(%p: f32, %q: f32, %u: f32):
      %r = math.fma %q, %u, %p : f32
      tirx.yield %r : f32
    } -> !f
    scf.yield %next : !f
  }
  %gd = tirx.view %d[%c0, %c0] : memref<64x64xf32> -> !tirx.tile<64x64xf32, global>
  tirx.store %total, %gd : !f, !tirx.tile<64x64xf32, global>
  tirx.return
}

// So does what they read beside a product whose sum another one goes on with: they do not wait for it by itself.

// CHECK-LABEL: tirx.kernel @chained
// CHECK-COUNT-2: = tirx.ring slots(3)
// CHECK: [[FIRST:%.*]] = tirx.async_mma
// CHECK-NEXT: tirx.release %x at(use) after(wgmma)
// CHECK: tirx.load
// CHECK-NEXT: tirx.release %s at(use)
// CHECK: [[SUMS:%.*]] = tirx.async_mma %w, %w, [[FIRST]]
// CHECK-NEXT: = tirx.await [[SUMS]]
tirx.kernel @chained(%a: memref<64x512xf16>, %b: memref<64x512xf16>, %d: memref<64x64xf32>) target("sm_90a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %x = tirx.alloc : !x
  %s = tirx.alloc : !x
  %w = tirx.alloc : !x
  %none = tirx.zero : !f
  %total = scf.for %k = %c0 to %c512 step %c64 iter_args(%t = %none) -> (!f) {
    %ga = tirx.view %a[%c0, %k] : memref<64x512xf16> -> !tirx.tile<64x64xf16, global>
    %gb = tirx.view %b[%c0, %k] : memref<64x512xf16> -> !tirx.tile<64x64xf16, global>
    tirx.copy %ga, %x : !tirx.tile<64x64xf16, global>, !x
    tirx.copy %gb, %s : !tirx.tile<64x64xf16, global>, !x
    %first = tirx.mma %x, %x, %t : !x, !x, !f -> !f
    %h = tirx.load %s : !x -> !tirx.tile<64x64xf16, register>
    tirx.store %h, %w : !tirx.tile<64x64xf16, register>, !x
    %sums = tirx.mma %w, %w, %first : !x, !x, !f -> !f
    %next = tirx.map ins(%sums : !f) (%p) { %p * 0.5 } -> !f
    scf.yield %next : !f
  }
  %gd = tirx.view %d[%c0, %c0] : memref<64x64xf32> -> !tirx.tile<64x64xf32, global>
  tirx.store %total, %gd : !f, !tirx.tile<64x64xf32, global>
  tirx.return
}
