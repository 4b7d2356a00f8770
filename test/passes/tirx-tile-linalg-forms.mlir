// RUN: tirx-opt --tirx-tile-linalg="tile=16,2,32 threads=1 target=\"sm_80\"" %s | filecheck %s

#mk = affine_map<(m, k) -> (m, k)>
#k = affine_map<(m, k) -> (k)>
#m = affine_map<(m, k) -> (m)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#column = affine_map<(m, n) -> (n)>
#turned = affine_map<(m, n) -> (n, m)>
#no = affine_map<(m, n) -> ()>

// A matrix times a vector is a reduction: of rows, in parts of the second tile size.

// CHECK-LABEL: tirx.kernel @vector(%a: memref<40x96xf32>, %v: memref<1x96xf32>, %d: memref<40x1xf32>) target("sm_80") grid(3) threads(1)
// CHECK:         %{{.*}} = tirx.alloc : !tirx.tile<16x1xf32, register>
// CHECK:         scf.for
// CHECK:         tirx.view %a[{{.*}}] clipped : memref<40x96xf32> -> !tirx.tile<16x2xf32, global>
// CHECK:         tirx.view %v[{{.*}}] : memref<1x96xf32> -> !tirx.tile<1x2xf32, global>
func.func @vector(%a: memref<40x96xf32>, %v: memref<96xf32>, %d: memref<40xf32>) {
  linalg.generic {indexing_maps = [#mk, #k, #m], iterator_types = ["parallel", "reduction"]}
      ins(%a, %v : memref<40x96xf32>, memref<96xf32>) outs(%d : memref<40xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  }
  func.return
}

// Vectors of rows and of columns, scalars, inputs and outputs that the body does not use; sizes of the launch.

// CHECK-LABEL: tirx.kernel @elementwise(%a: memref<?x?xf32>, %r: memref<?x1xf32>, %c: memref<1x?xf32>, %by: f32, %o: memref<?x?xf32, strided<[1, ?]>>, %d: memref<?x?xf32>) target("sm_80")
// CHECK-SAME:    grid(ceildiv(size(5, 1), 2), ceildiv(size(5, 0), 16)) threads(1)
// CHECK:         tirx.view %r[{{.*}}] clipped : memref<?x1xf32> -> !tirx.tile<16x1xf32, global>
// CHECK:         tirx.view %c[{{.*}}] clipped : memref<1x?xf32> -> !tirx.tile<1x2xf32, global>
// CHECK:         tirx.map
// CHECK-NOT:     tirx.view %o
func.func @elementwise(%a: memref<?x?xf32>, %r: memref<?xf32>, %c: memref<?xf32>, %by: f32, %o: memref<?x?xf32>, %d: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [#id, #row, #column, #no, #turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %r, %c, %by, %o : memref<?x?xf32>, memref<?xf32>, memref<?xf32>, f32, memref<?x?xf32>) outs(%d : memref<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32, %w: f32, %unused: f32, %old: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %0, %z : f32
    %2 = arith.mulf %1, %w : f32
    linalg.yield %2 : f32
  }
  func.return
}

// Constants, and elements that come from elsewhere.

// CHECK-LABEL: tirx.kernel @constants
// CHECK:         [[D:%.*]] = tirx.view %d
// CHECK-NEXT:    tirx.fill [[D]], %two
// CHECK-NEXT:    [[T:%.*]] = tirx.view %t
// CHECK-NEXT:    tirx.copy {{%.*}}, [[T]]
func.func @constants(%a: memref<48x7xf32>, %d: memref<33x6xf32>, %t: memref<33x6xf32>) {
  %two = arith.constant 2.0 : f32
  linalg.fill ins(%two : f32) outs(%d : memref<33x6xf32>)
  "memref.copy"(%d, %t) : (memref<33x6xf32>, memref<33x6xf32>) -> ()
  func.return
}

// CHECK-LABEL: tirx.kernel @turned(%a: memref<33x6xf32, strided<[1, 33]>>, %d: memref<33x6xf32>)
func.func @turned(%a: memref<6x33xf32>, %d: memref<33x6xf32>) {
  linalg.transpose ins(%a : memref<6x33xf32>) outs(%d : memref<33x6xf32>) permutation = [1, 0]
  func.return
}

// A batch of any size, one element of it for a block.

#batch = affine_map<(b, m, n) -> (b, m, n)>

// CHECK-LABEL: tirx.kernel @batch
// CHECK-SAME:    grid(ceildiv(size(1, 2), 2), ceildiv(size(1, 1), 16), size(1, 0)) threads(1)
func.func @batch(%a: memref<?x?x?xf32>, %d: memref<?x?x?xf32>) {
  linalg.generic {indexing_maps = [#batch, #batch], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a : memref<?x?x?xf32>) outs(%d : memref<?x?x?xf32>) {
  ^bb0(%x: f32, %old: f32):
    %0 = arith.addf %x, %x : f32
    linalg.yield %0 : f32
  }
  func.return
}

// The launch compares all sizes that only it knows, K of what no tensor core multiplies, too.

// CHECK-LABEL: tirx.kernel @open_sizes
// CHECK-SAME:    [#ptx.formula<size(2, 0)>, "equal", #ptx.formula<size(0, 0)>, "expected as many elements along dimension 0 of 'd' as along dimension 0 of 'a', {bound}, found {value}"]
// CHECK-SAME:    [#ptx.formula<size(1, 1)>, "equal", #ptx.formula<size(0, 1)>, "expected as many elements along dimension 0 of 'b' as along dimension 1 of 'a', {bound}, found {value}"]
// CHECK-NOT:     tirx.mma
func.func @open_sizes(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %d: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%d : memref<?x?xf32>)
  func.return
}

// Blocks for the largest of what is written: a launch of which one output is empty compares the sizes, too.

// CHECK-LABEL: tirx.kernel @two
// CHECK-SAME:    grid(ceildiv(max(size(2, 1), size(1, 1)), 2), ceildiv(max(size(2, 0), size(1, 0)), 16))
func.func @two(%a: memref<?x?xf32>, %d: memref<?x?xf32>, %e: memref<?x?xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%e : memref<?x?xf32>)
  linalg.copy ins(%a : memref<?x?xf32>) outs(%d : memref<?x?xf32>)
  func.return
}
