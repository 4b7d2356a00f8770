// RUN: tirx-opt %s --split-input-file --convert-tirx-to-ptx | filecheck %s

// Threads look at the bounds of a clipped view only where not all of the tile exists; the number of rows is a parameter.

#rows = #tirx.tile_layout<S[(128, 4) : (4, 1)]>
#threads = #tirx.tile_layout<S[(4, 32, 4) : (4, 1@tx, 1)]>

// CHECK-LABEL: ptx.entry @rows(a : u64 ptr align 16 from memref<?x4xf32>, d : u64 ptr align 16 from memref<?x4xf32>,
// CHECK-SAME: a_size0 : u64 from #ptx.formula<size(0, 0)>, d_size0 : u64 from #ptx.formula<size(1, 0)>)
tirx.kernel @rows(%a: memref<?x4xf32>, %d: memref<?x4xf32>) target("sm_80") grid(ceildiv(size(0, 0), 128)) threads(32) {
  // CHECK: ptx.ld.param @d_size0
  // CHECK: %[[D_ROWS:.*]] = arith.index_cast
  %c0 = arith.constant 0 : index
  %i = tirx.block_id x
  %ga = tirx.view %a[%i, %c0] clipped : memref<?x4xf32> -> !tirx.tile<128x4xf32, global, #rows>
  %gd = tirx.view %d[%i, %c0] clipped : memref<?x4xf32> -> !tirx.tile<128x4xf32, global, #rows>
  // All rows of the tile exist, or each thread asks for its own.
  // CHECK: scf.if
  // CHECK-NOT: scf.if
  // CHECK: ptx.ld global
  // CHECK: } else {
  // CHECK: arith.cmpi ult
  // CHECK: scf.if
  // CHECK-NEXT: ptx.ld global {{.*}} -> f32, f32, f32, f32
  // CHECK: } else {
  // CHECK: ptx.constant 0.000000e+00 : f32
  // CHECK: ptx.bar.warp.sync
  %r = tirx.load %ga : !tirx.tile<128x4xf32, global, #rows> -> !tirx.tile<128x4xf32, register, #threads>
  // CHECK: arith.cmpi sle, %{{.*}}, %[[D_ROWS]]
  // CHECK: scf.if
  // CHECK: ptx.st global
  // CHECK: } else {
  // CHECK: scf.if
  // CHECK-NEXT: ptx.st global
  tirx.store %r, %gd : !tirx.tile<128x4xf32, register, #threads>, !tirx.tile<128x4xf32, global, #rows>
  tirx.return
}

// -----

// Fewer bytes are read than are written where not all of the tile exists.
// CHECK-LABEL: ptx.entry @cp_async
!g = !tirx.tile<16x64xf16, global, #tirx.tile_layout<S[(16, 64) : (64, 1)]>>
!s = !tirx.tile<16x64xf16, shared, #tirx.tile_layout<S[(16, 64) : (64, 1)]>>
tirx.kernel @cp_async(%a: memref<20x64xf16>) target("sm_80") grid(4) threads(128) memory(shared = 2048, alignment = 128) {
  %i = tirx.block_id x
  %c0 = arith.constant 0 : index
  %s = tirx.alloc at 0 : !s
  %ga = tirx.view %a[%i, %c0] clipped : memref<20x64xf16> -> !g
  // CHECK: scf.if
  // CHECK: ptx.cp.async "cg" %{{[0-9]+}}, %{{[0-9]+}} bytes 16
  // CHECK: } else {
  // CHECK: %[[FULL:.*]] = arith.constant 16 : i32
  // CHECK: %[[EXISTS:.*]] = arith.cmpi ult
  // CHECK-NEXT: %[[COUNT:.*]] = arith.select %[[EXISTS]], %[[FULL]], %{{.*}} : i32
  // CHECK-NEXT: ptx.cp.async "cg" %{{.*}}, %{{.*}} bytes 16 source_bytes %[[COUNT]]
  tirx.cp_async %ga, %s : !g, !s
  tirx.return
}

// -----

// Bounds of places that 32 bits may not hold are looked at in 64: of an index that a caller passes, beyond 2^31 - 2^20
// elements, and behind a constant. Sizes need nothing then.

#threads = #tirx.tile_layout<S[(4, 32, 4) : (4, 1@tx, 1)]>
#rows = #tirx.tile_layout<S[(128, 4) : (4, 1)]>
!g = !tirx.tile<128x4xf32, global, #rows>
!r = !tirx.tile<128x4xf32, register, #threads>

// CHECK-LABEL: ptx.entry @wide(
// CHECK-NOT: tirx.requires
tirx.kernel @wide(%a: memref<?x4xf32>, %b: memref<2146435073x4xf32>, %c: memref<?x4xf32>, %n: index) target("sm_80") grid(9) threads(32) {
  // CHECK: %[[ROWS:.*]] = arith.index_cast %{{.*}} : index to i64
  // CHECK: %[[MORE:.*]] = arith.constant 2146435073 : i64
  %c0 = arith.constant 0 : index
  %far = arith.constant 4294967296 : index
  %i = tirx.block_id x
  %ga = tirx.view %a[%n, %c0] clipped : memref<?x4xf32> -> !g
  %gb = tirx.view %b[%i, %c0] clipped : memref<2146435073x4xf32> -> !g
  %gc = tirx.view %c[%far, %c0] clipped : memref<?x4xf32> -> !g
  // CHECK: arith.cmpi sge, %[[START:[0-9]+]], %{{.*}} : i64
  // CHECK: %[[LESS:.*]] = arith.constant -128 : i64
  // CHECK: %[[LAST:.*]] = arith.addi %[[ROWS]], %[[LESS]] : i64
  // CHECK: arith.cmpi sle, %[[START]], %[[LAST]] : i64
  // CHECK: %[[PLACE:[0-9]+]] = arith.addi %[[START]], %{{[0-9]+}} : i64
  // CHECK: arith.cmpi ult, %[[PLACE]], %[[ROWS]] : i64
  %x = tirx.load %ga : !g -> !r
  // CHECK: arith.cmpi ult, %{{.*}}, %[[MORE]] : i64
  %y = tirx.load %gb : !g -> !r
  // CHECK: arith.constant 4294967296 : i64
  // CHECK: arith.cmpi ult, %{{.*}} : i64
  tirx.store %x, %gc : !r, !g
  tirx.return
}

// -----

// In 32 bits where the grid, loops and sizes keep them; a launch checks the sizes. A single access looks at its own bounds.

#threads = #tirx.tile_layout<S[(32, 4) : (1@tx, 1)]>
!g = !tirx.tile<32x4xf32, global>
!r = !tirx.tile<32x4xf32, register, #threads>

// CHECK-LABEL: ptx.entry @narrow(
// CHECK-SAME: attributes {tirx.requires = [
// CHECK-SAME: [#ptx.formula<size(1, 1)>, "at_most", #ptx.formula<2146435072>, "expected at most 2146435072 elements along dimension 1 of 'b', where tiles are found by 32-bit coordinates"],
// CHECK-SAME: [#ptx.formula<size(0, 0)>, "at_most", #ptx.formula<2146435072>, "expected at most 2146435072 elements along dimension 0 of 'a', where tiles are found by 32-bit coordinates"]]}
// CHECK-NOT: arith.cmpi {{.*}} i64
// CHECK-NOT: arith.cmpi s
// CHECK: arith.cmpi ult, %{{.*}} : i32
// CHECK-NEXT: scf.if
tirx.kernel @narrow(%a: memref<?x4xf32>, %b: memref<4x?xf32>) target("sm_80") grid(ceildiv(size(1, 1), 32)) threads(32) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %i = tirx.block_id x
  %row = arith.muli %i, %c32 : index
  %ga = tirx.view %a[%row, %c0] clipped : memref<?x4xf32> -> !tirx.tile<32x4xf32, global, #tirx.tile_layout<S[(32, 4) : (4, 1)]>>
  %x = tirx.load %ga : !tirx.tile<32x4xf32, global, #tirx.tile_layout<S[(32, 4) : (4, 1)]>> -> !r
  tirx.return
}
