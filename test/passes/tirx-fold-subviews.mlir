// RUN: tirx-opt %s --tirx-fold-subviews | filecheck %s

// CHECK-LABEL: tirx.kernel @parts
tirx.kernel @parts(%a: memref<4x64x64xf16>, %i: index, %n: index) threads(32) {
  %c16 = arith.constant 16 : index
  %t = tirx.alloc : !tirx.tile<64x64xf16, shared>
  // CHECK: tirx.subview %t[%n, 16] : !tirx.tile<64x64xf16, shared> -> !tirx.tile<32x32xf16, shared>
  %p = tirx.subview %t[%n, %c16] : !tirx.tile<64x64xf16, shared> -> !tirx.tile<32x32xf16, shared>
  %g = tirx.view %a[%i, %n, %n] clipped : memref<4x64x64xf16> -> !tirx.tile<64x64xf16, global>
  %h = tirx.subview %g[0, 8] : !tirx.tile<64x64xf16, global> -> !tirx.tile<64x32xf16, global>
  // CHECK: %[[M:.*]] = arith.addi %n, %i : index
  // CHECK: %[[EIGHT:.*]] = arith.constant 8 : index
  // CHECK: %[[FROM:.*]] = arith.addi %n, %[[EIGHT]] : index
  // CHECK: %[[SIXTEEN:.*]] = arith.constant 16 : index
  // CHECK: %[[N:.*]] = arith.addi %[[FROM]], %[[SIXTEEN]] : index
  // CHECK: %q = tirx.view %a[%i, %[[M]], %[[N]]] clipped : memref<4x64x64xf16> -> !tirx.tile<32x16xf16, global>
  %q = tirx.subview %h[%i, %c16] : !tirx.tile<64x32xf16, global> -> !tirx.tile<32x16xf16, global>
  %c0 = arith.constant 0 : index
  %v = tirx.zero : !tirx.tile<64x64xf16, register>
  // CHECK: tirx.subview %v[0, 63] steps [2, -1] : !tirx.tile<64x64xf16, register> -> !tirx.tile<32x32xf16, register>
  %r = tirx.subview %v[%c0, 63] steps [2, -1] : !tirx.tile<64x64xf16, register> -> !tirx.tile<32x32xf16, register>
  tirx.return
}

// Views of parts of arguments, which end where the part does.

!a = memref<?x64xf32>
!p = memref<?x24xf32, strided<[64, 1], offset: ?>>
!q = memref<4x8xf32, strided<[64, 1], offset: ?>>

!rows = memref<?x24xf32, strided<[192, 2], offset: ?>>
!fewer = memref<?x8xf32, strided<[192, 4], offset: ?>>

// CHECK-LABEL: tirx.kernel @steps_of_parts
// CHECK: [[ROW:%.+]] = arith.muli %i, %{{.*}} : index
// CHECK: [[FROM:%.+]] = arith.addi [[ROW]], %{{.*}} : index
// CHECK: tirx.view %a{{\[}}[[FROM]], %{{.*}}] steps [6, 2] clipped to {{.*}} : memref<?x64xf32> -> !tirx.tile<8x16xf32, global>
// CHECK: tirx.view %a[%{{.*}}, %{{.*}}] steps [3, 4] : memref<?x64xf32> -> !tirx.tile<4x8xf32, global>
tirx.kernel @steps_of_parts(%a: !a, %n: index) target("sm_80") grid(8) threads(32) {
  %i = tirx.block_id x
  %s = memref.subview %a[1, 8] [%n, 24] [3, 2] : !a to !rows
  %v = tirx.view %s[%i, 4] steps [2, 1] clipped : !rows -> !tirx.tile<8x16xf32, global>
  %t = memref.subview %s[%i, 2] [%n, 8] [1, 2] : !rows to !fewer
  %z = tirx.view %t[0, 0] : !fewer -> !tirx.tile<4x8xf32, global>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @windows
// CHECK: [[ROW:%.+]] = arith.addi %{{.*}}, %i : index
// CHECK-NEXT: [[LEFT:%.+]] = arith.subi %n, %i : index
// CHECK: [[COLUMN:%.+]] = arith.addi %{{.*}}, %{{.*}} : index
// CHECK-NEXT: %v = tirx.view %a{{\[}}[[ROW]], [[COLUMN]]] clipped to {{\[}}[[LEFT]], *] : memref<?x64xf32> -> !tirx.tile<8x16xf32, global>
// CHECK: [[BOTH:%.+]] = arith.minsi %m, %{{.*}} : index
// CHECK: %w = tirx.view %a[{{.*}}] steps [3, 1] clipped to {{\[}}[[BOTH]], *] : memref<?x64xf32> -> !tirx.tile<8x16xf32, global>
// CHECK: [[SIX:%.+]] = arith.constant 6 : index
// CHECK: [[THIRD:%.+]] = arith.addi {{.*}}, [[SIX]] : index
// CHECK: tirx.view %a{{\[}}[[THIRD]], {{.*}}] steps [3, 1] clipped to {{.*}} : memref<?x64xf32> -> !tirx.tile<4x16xf32, global>
// CHECK: memref.load %a[{{.*}}] : memref<?x64xf32>
// CHECK: %z = tirx.view %a[{{.*}}] : memref<?x64xf32> -> !tirx.tile<4x8xf32, global>
// CHECK-NOT: memref.subview
tirx.kernel @windows(%a: !a, %n: index, %m: index) target("sm_80") grid(8) threads(32) {
  %i = tirx.block_id x
  %s = memref.subview %a[%i, 8] [%n, 24] [1, 1] : !a to !p
  %v = tirx.view %s[%i, 4] clipped : !p -> !tirx.tile<8x16xf32, global>
  %w = tirx.view %s[%i, 4] steps [3, 1] clipped to [%m, *] : !p -> !tirx.tile<8x16xf32, global>
  %c2 = arith.constant 2 : index
  %third = tirx.subview %w[%c2, 0] : !tirx.tile<8x16xf32, global> -> !tirx.tile<4x16xf32, global>
  %e = memref.load %s[%i, %i] : !p
  %t = memref.subview %s[1, 2] [4, 8] [1, 1] : !p to !q
  %z = tirx.view %t[0, 0] : !q -> !tirx.tile<4x8xf32, global>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @size_of_a_part
// CHECK: [[COLUMNS:%.+]] = arith.constant 24 : index
// CHECK: "test.op"(%n, [[COLUMNS]]) : (index, index) -> ()
tirx.kernel @size_of_a_part(%a: !a, %n: index) threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = memref.subview %a[0, 8] [%n, 24] [1, 1] : !a to memref<?x24xf32, strided<[64, 1], offset: 8>>
  %rows = memref.dim %s, %c0 : memref<?x24xf32, strided<[64, 1], offset: 8>>
  %columns = memref.dim %s, %c1 : memref<?x24xf32, strided<[64, 1], offset: 8>>
  "test.op"(%rows, %columns) : (index, index) -> ()
  tirx.return
}

// Another shape of a clipped view is one of the tile that is loaded, stored, copied or combined.

// CHECK-LABEL: tirx.kernel @shapes
// CHECK:         %v = tirx.view %a
// CHECK-NEXT:    [[X:%.+]] = tirx.load %v : !tirx.tile<4x16xi32, global> -> !tirx.tile<4x16xi32, register>
// CHECK-NEXT:    %p = tirx.reshape [[X]]
// CHECK:         %w = tirx.view %d
// CHECK-NEXT:    [[Y:%.+]] = tirx.reshape %p : !tirx.tile<64xi32, register> -> !tirx.tile<4x16xi32, register>
// CHECK-NEXT:    tirx.store [[Y]], %w
// CHECK-NEXT:    %s = tirx.alloc
// CHECK-NEXT:    [[S:%.+]] = tirx.reshape %s : !tirx.tile<64xi32, shared> -> !tirx.tile<4x16xi32, shared>
// CHECK-NEXT:    tirx.copy %v, [[S]]
// CHECK-NEXT:    [[Z:%.+]] = tirx.reshape %p
// CHECK-NEXT:    %old = tirx.atomic add [[Z]], %v
// CHECK-NEXT:    %{{.+}} = tirx.reshape %old
// CHECK-NEXT:    [[L:%.+]] = tirx.load %v
// CHECK-NEXT:    [[M:%.+]] = tirx.reshape [[L]]
// CHECK-NEXT:    [[N:%.+]] = tirx.reshape [[M]]
// CHECK-NEXT:    tirx.store [[N]], %w
// CHECK-NEXT:    tirx.return
!v = !tirx.tile<4x16xi32, global>
!r = !tirx.tile<64xi32, global>
!x = !tirx.tile<64xi32, register>
tirx.kernel @shapes(%a: memref<?x?xi32>, %d: memref<3x20xi32>) target("sm_80") grid(1) threads(64) {
  %v = tirx.view %a[0, 0] clipped : memref<?x?xi32> -> !v
  %r = tirx.reshape %v : !v -> !r
  %p = tirx.load %r : !r -> !x
  %w = tirx.view %d[0, 0] clipped : memref<3x20xi32> -> !v
  %o = tirx.reshape %w : !v -> !tirx.tile<8x8xi32, global>
  %q = tirx.reshape %o : !tirx.tile<8x8xi32, global> -> !r
  tirx.store %p, %q : !x, !r
  %s = tirx.alloc : !tirx.tile<64xi32, shared>
  tirx.copy %r, %s : !r, !tirx.tile<64xi32, shared>
  %old = tirx.atomic add %p, %r : !x, !r -> !x
  tirx.copy %r, %q : !r, !r
  tirx.copy %q, %q : !r, !r
}
