// RUN: tirx-opt %s --tirx-mem2reg --tirx-pick-layouts --tirx-expand-exchanges | filecheck %s
// RUN: tirx-opt %s --tirx-mem2reg --tirx-pick-layouts --tirx-expand-exchanges --tirx-mem2reg | filecheck %s

!t = !tirx.tile<8x32xf32, register>
!i = !tirx.tile<8x32xi32, register>

// Warps hold whole rows: the result gets the layout of the value that it is gathered from.

// CHECK-LABEL: tirx.kernel @columns
// CHECK-NOT: shared
// CHECK: %y = tirx.view %x[{{.*}} clipped : {{.*}}#tirx.tile_layout<S[(64, 4) : (1@tx, 1)]>> -> !tirx.tile<8x32xf32, register, #tirx.tile_layout<S[(64, 4) : (1@tx, 1)]>>
// CHECK-NOT: shared
tirx.kernel @columns(%a: memref<8x32xf32>, %at: memref<8x32xi32>, %b: memref<8x32xf32>) target("sm_80") grid(1) threads(64) {
  %x = tirx.load %a[0, 0] : memref<8x32xf32> -> !t
  %i = tirx.load %at[0, 0] : memref<8x32xi32> -> !i
  %y = tirx.view %x[0, [%i]] clipped : !t, !i -> !t
  tirx.store %y, %b[0, 0] : !t, memref<8x32xf32>
}

// Rows of other warps come through shared memory.

// CHECK-LABEL: tirx.kernel @rows
// CHECK: [[M:%.*]] = tirx.alloc : !tirx.tile<8x32xf32, shared,
// CHECK: tirx.store %x, [[M]]
// CHECK: [[V:%.*]] = tirx.view [[M]][
// CHECK: %y = tirx.load [[V]]
tirx.kernel @rows(%a: memref<8x32xf32>, %at: memref<8x32xi32>, %b: memref<8x32xf32>) target("sm_80") grid(1) threads(64) {
  %x = tirx.load %a[0, 0] : memref<8x32xf32> -> !t
  %i = tirx.load %at[0, 0] : memref<8x32xi32> -> !i
  %y = tirx.view %x[[%i], 0] clipped : !t, !i -> !t
  tirx.store %y, %b[0, 0] : !t, memref<8x32xf32>
}

// So is a shared tile that is stored once and gathered from once; one that is read again stays.

// CHECK-LABEL: tirx.kernel @stored_once
// CHECK-NOT: tirx.alloc
// CHECK: tirx.view %x[
tirx.kernel @stored_once(%a: memref<8x32xf32>, %at: memref<8x32xi32>, %b: memref<8x32xf32>) target("sm_80") grid(1) threads(64) {
  %x = tirx.load %a[0, 0] : memref<8x32xf32> -> !t
  %i = tirx.load %at[0, 0] : memref<8x32xi32> -> !i
  %m = tirx.alloc : !tirx.tile<8x32xf32, shared>
  tirx.store %x, %m : !t, !tirx.tile<8x32xf32, shared>
  %g = tirx.view %m[0, [%i]] : !tirx.tile<8x32xf32, shared>, !i -> !tirx.tile<8x32xf32, shared>
  %y = tirx.load %g : !tirx.tile<8x32xf32, shared> -> !t
  tirx.store %y, %b[0, 0] : !t, memref<8x32xf32>
}

// CHECK-LABEL: tirx.kernel @read_twice
// CHECK: tirx.alloc
// CHECK-NOT: tirx.view %x[
tirx.kernel @read_twice(%a: memref<8x32xf32>, %at: memref<8x32xi32>, %b: memref<8x32xf32>) target("sm_80") grid(1) threads(64) {
  %x = tirx.load %a[0, 0] : memref<8x32xf32> -> !t
  %i = tirx.load %at[0, 0] : memref<8x32xi32> -> !i
  %m = tirx.alloc : !tirx.tile<8x32xf32, shared>
  tirx.store %x, %m : !t, !tirx.tile<8x32xf32, shared>
  %g = tirx.view %m[0, [%i]] : !tirx.tile<8x32xf32, shared>, !i -> !tirx.tile<8x32xf32, shared>
  %y = tirx.load %g : !tirx.tile<8x32xf32, shared> -> !t
  tirx.copy %m, %b[0, 0] : !tirx.tile<8x32xf32, shared>, memref<8x32xf32>
  tirx.store %y, %b[0, 0] : !t, memref<8x32xf32>
}

// Each load has the store before it, as a pipelined loop leaves them; where two loads read one store, the tile stays.

// CHECK-LABEL: tirx.kernel @stored_twice
// CHECK-NOT: tirx.alloc
// CHECK: %y = tirx.view %x[
// CHECK: %z = tirx.view %y[
tirx.kernel @stored_twice(%a: memref<8x32xf32>, %at: memref<8x32xi32>, %b: memref<8x32xf32>) target("sm_80") grid(1) threads(64) {
  %x = tirx.load %a[0, 0] : memref<8x32xf32> -> !t
  %i = tirx.load %at[0, 0] : memref<8x32xi32> -> !i
  %m = tirx.alloc : !tirx.tile<8x32xf32, shared>
  %g = tirx.view %m[0, [%i]] : !tirx.tile<8x32xf32, shared>, !i -> !tirx.tile<8x32xf32, shared>
  tirx.store %x, %m : !t, !tirx.tile<8x32xf32, shared>
  %y = tirx.load %g : !tirx.tile<8x32xf32, shared> -> !t
  tirx.store %y, %m : !t, !tirx.tile<8x32xf32, shared>
  %z = tirx.load %g : !tirx.tile<8x32xf32, shared> -> !t
  tirx.store %z, %b[0, 0] : !t, memref<8x32xf32>
}

// CHECK-LABEL: tirx.kernel @loaded_twice
// CHECK: tirx.alloc
// CHECK-NOT: tirx.view %x[
tirx.kernel @loaded_twice(%a: memref<8x32xf32>, %at: memref<8x32xi32>, %b: memref<8x32xf32>) target("sm_80") grid(1) threads(64) {
  %x = tirx.load %a[0, 0] : memref<8x32xf32> -> !t
  %i = tirx.load %at[0, 0] : memref<8x32xi32> -> !i
  %m = tirx.alloc : !tirx.tile<8x32xf32, shared>
  %g = tirx.view %m[0, [%i]] : !tirx.tile<8x32xf32, shared>, !i -> !tirx.tile<8x32xf32, shared>
  tirx.store %x, %m : !t, !tirx.tile<8x32xf32, shared>
  %y = tirx.load %g : !tirx.tile<8x32xf32, shared> -> !t
  %z = tirx.load %g : !tirx.tile<8x32xf32, shared> -> !t
  tirx.store %z, %b[0, 0] : !t, memref<8x32xf32>
  tirx.store %y, %b[0, 0] : !t, memref<8x32xf32>
}

// Part of the tile may be from another store.

// CHECK-LABEL: tirx.kernel @stored_in_part
// CHECK: tirx.alloc
// CHECK-NOT: tirx.view %x[
tirx.kernel @stored_in_part(%a: memref<8x32xf32>, %at: memref<8x32xi32>, %b: memref<8x32xf32>, %n: index) target("sm_80") grid(1) threads(64) {
  %x = tirx.load %a[0, 0] : memref<8x32xf32> -> !t
  %i = tirx.load %at[0, 0] : memref<8x32xi32> -> !i
  %m = tirx.alloc : !tirx.tile<8x32xf32, shared>
  %p = tirx.view %m[%n, 0] clipped : !tirx.tile<8x32xf32, shared> -> !tirx.tile<8x32xf32, shared>
  %g = tirx.view %m[0, [%i]] : !tirx.tile<8x32xf32, shared>, !i -> !tirx.tile<8x32xf32, shared>
  tirx.store %x, %m : !t, !tirx.tile<8x32xf32, shared>
  tirx.store %x, %p : !t, !tirx.tile<8x32xf32, shared>
  %y = tirx.load %g : !tirx.tile<8x32xf32, shared> -> !t
  tirx.store %y, %b[0, 0] : !t, memref<8x32xf32>
}

// CHECK-LABEL: tirx.kernel @stored_before
// CHECK: tirx.alloc
// CHECK-NOT: tirx.view %x[
// CHECK: tirx.load {{.*}}shared
// CHECK-NOT: tirx.view %x[
// CHECK: tirx.store {{.*}}shared
// CHECK: tirx.load {{.*}}shared
tirx.kernel @stored_before(%a: memref<8x32xf32>, %at: memref<8x32xi32>, %b: memref<8x32xf32>, %n: index) target("sm_80") grid(1) threads(64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tirx.load %a[0, 0] : memref<8x32xf32> -> !t
  %i = tirx.load %at[0, 0] : memref<8x32xi32> -> !i
  %m = tirx.alloc : !tirx.tile<8x32xf32, shared>
  %g = tirx.view %m[0, [%i]] : !tirx.tile<8x32xf32, shared>, !i -> !tirx.tile<8x32xf32, shared>
  tirx.store %x, %m : !t, !tirx.tile<8x32xf32, shared>
  scf.for %k = %c0 to %n step %c1 {
    %y = tirx.load %g : !tirx.tile<8x32xf32, shared> -> !t
    tirx.store %y, %m : !t, !tirx.tile<8x32xf32, shared>
    %z = tirx.load %g : !tirx.tile<8x32xf32, shared> -> !t
    tirx.store %z, %b[0, 0] : !t, memref<8x32xf32>
  }
}
