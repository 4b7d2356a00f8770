// RUN: tirx-opt %s --tirx-tile-linalg="tile=8,8,8 threads=32 target=\"sm_80\"" --split-input-file --verify-diagnostics --allow-unregistered-dialect

// Tensors are values, which have no place.

#id = affine_map<(m, n) -> (m, n)>
#t = affine_map<(m, n) -> (n, m)>
#row = affine_map<(m, n) -> (m)>
func.func @f(%a: tensor<16x16xf32>, %d: tensor<16x16xf32>) {
  // expected-error@+1 {{expected a memref, found tensor<16x16xf32>; bufferize tensors first}}
  %r = linalg.exp ins(%a : tensor<16x16xf32>) outs(%d : tensor<16x16xf32>) -> tensor<16x16xf32>
  func.return
}

// -----

// Windows.

#x = affine_map<(m) -> (m)>
func.func @f(%a: memref<16xf32>, %d: memref<16xf32>) {
  // expected-error@+1 {{expected parallel and reduction iterators, found window}}
  linalg.generic {indexing_maps = [#x, #x], iterator_types = ["window"]}
      ins(%a : memref<16xf32>) outs(%d : memref<16xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

// A kernel is launched, not called.

func.func @f(%a: memref<16x16xf32>, %d: memref<16x16xf32>) attributes {tirx.kernel} {
  "memref.copy"(%a, %d) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  func.return
}
func.func @g(%a: memref<16x16xf32>, %d: memref<16x16xf32>) {
  // expected-error@+1 {{expected no calls of @f, which becomes a kernel; launch it}}
  func.call @f(%a, %d) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  func.return
}

// -----

// Memory that somebody else has.

func.func @f(%p: i64, %d: memref<16x16xf32>) {
  %a = "test.op"(%p) : (i64) -> memref<16x16xf32>
  func.return
}
func.func @g(%d: memref<16x16xf32>) attributes {tirx.kernel} {
  // expected-error@+1 {{expected operations of linalg, memref.copy, constants and memref.alloc in a function that becomes a kernel, found 'test.op'}}
  %a = "test.op"() : () -> memref<16x16xf32>
  "memref.copy"(%a, %d) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  func.return
}

// -----

// A reduction reads what it writes.

#id = affine_map<(m, k) -> (m, k)>
#m = affine_map<(m, k) -> (m)>
func.func @f(%a: memref<16x16xf32>, %d: memref<16xf32>) {
  // expected-error@+1 {{expected a reduction of other memrefs than it writes, found one of both}}
  linalg.generic {indexing_maps = [#id, #m, #m], iterator_types = ["parallel", "reduction"]}
      ins(%a, %d : memref<16x16xf32>, memref<16xf32>) outs(%d : memref<16xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

// An output that is turned.

#id = affine_map<(m, n) -> (m, n)>
#t = affine_map<(m, n) -> (n, m)>
#row = affine_map<(m, n) -> (m)>
func.func @f(%a: memref<16x16xf32>, %d: memref<16x16xf32>) {
  // expected-error@+1 {{expected outputs indexed by the parallel dimensions in order, found (1, 0)}}
  linalg.generic {indexing_maps = [#id, #t], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<16x16xf32>) outs(%d : memref<16x16xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

// An argument that is turned for one operation and not for the other.

#id = affine_map<(m, n) -> (m, n)>
#t = affine_map<(m, n) -> (n, m)>
#row = affine_map<(m, n) -> (m)>
func.func @f(%a: memref<16x16xf32>, %d: memref<16x16xf32>) {
  "memref.copy"(%a, %d) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  // expected-error@+1 {{expected an argument to be indexed in one way, found it as it is and as it is turned to (1, 0)}}
  linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<16x16xf32>) outs(%d : memref<16x16xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

// A layout without strides.

#id = affine_map<(m, n) -> (m, n)>
#t = affine_map<(m, n) -> (n, m)>
#row = affine_map<(m, n) -> (m)>
func.func @f(%a: memref<16x16xf32, affine_map<(d0, d1) -> (d0 * 16, d1)>>, %d: memref<16x16xf32>) {
  // expected-error@+1 {{expected a memref with a strided layout of its rank, found memref<16x16xf32, affine_map<(d0, d1) -> ((d0 * 16), d1)>>}}
  linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<16x16xf32, affine_map<(d0, d1) -> (d0 * 16, d1)>>) outs(%d : memref<16x16xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  func.return
}

// -----

// Branches.

// expected-error@+1 {{expected a function of one block, found 2}}
func.func @f(%a: memref<16x16xf32>, %d: memref<16x16xf32>) attributes {tirx.kernel} {
  "memref.copy"(%a, %d) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  "cf.br"()[^bb1] : () -> ()
^bb1:
  func.return
}

// -----

// Nothing to do.

func.func @f(%a: memref<0x16xf32>, %d: memref<0x16xf32>) attributes {tirx.kernel} {
  // expected-error@+1 {{expected extents of 1 or more, found memref<0x16xf32>}}
  "memref.copy"(%a, %d) : (memref<0x16xf32>, memref<0x16xf32>) -> ()
  func.return
}

// -----

// A batch that no grid has.

// expected-error@+1 {{expected a grid of 1 to 3 positive extents of at most 2147483647, 65535, 65535, found (2, 2, 70000)}}
func.func @f(%a: memref<70000x16x16xf32>, %d: memref<70000x16x16xf32>) {
  linalg.exp ins(%a : memref<70000x16x16xf32>) outs(%d : memref<70000x16x16xf32>)
  func.return
}

// -----

// Elements that a map does not compute with as they are: between operations, as a sum, and as a result.

#id = affine_map<(m, n) -> (m, n)>
func.func @f(%a: memref<16x16xtf32>, %d: memref<16x16xtf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<16x16xtf32>) outs(%d : memref<16x16xtf32>) {
  ^bb0(%x: tf32, %old: tf32):
    // expected-error@+1 {{expected arithmetic on floats and on integers without a sign, found tf32}}
    %s = arith.addf %x, %x : tf32
    linalg.yield %s : tf32
  }
  func.return
}

#m = affine_map<(m, n) -> (m)>
func.func @f2(%a: memref<16x16xtf32>, %d: memref<16xtf32>) {
  linalg.generic {indexing_maps = [#id, #m], iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<16x16xtf32>) outs(%d : memref<16xtf32>) {
  ^bb0(%x: tf32, %sum: tf32):
    // expected-error@+1 {{expected arithmetic on floats and on integers without a sign, found tf32}}
    %s = arith.addf %sum, %x : tf32
    linalg.yield %s : tf32
  }
  func.return
}

func.func @f3(%d: memref<16x16xui32>, %x: ui32) {
  // expected-error@+1 {{expected arithmetic on floats and on integers without a sign, found ui32}}
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
      outs(%d : memref<16x16xui32>) {
  ^bb0(%old: ui32):
    linalg.yield %x : ui32
  }
  func.return
}

// -----

// Blocks work on one grid of tiles: dimensions of other sizes are of other kernels.

#id = affine_map<(m, n) -> (m, n)>

func.func @sizes(%a: memref<8x8xf32>, %b: memref<300x300xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%a : memref<8x8xf32>)
  // expected-error@+1 {{expected 8 elements along dimension 0 of 'b', as along dimension 0 of 'a', found 300; operations of other sizes need a function of their own}}
  linalg.fill ins(%one : f32) outs(%b : memref<300x300xf32>)
  func.return
}

// -----

#id = affine_map<(m, n) -> (m, n)>
#m = affine_map<(m, n) -> (m)>

func.func @rows(%a: memref<?x32xf32>, %d: memref<16xf32>, %b: memref<16x16xf32>) {
  // expected-error@+1 {{expected 32 elements along dimension 1 of 'b', as along dimension 1 of 'a', found 16}}
  linalg.generic {indexing_maps = [#id, #id, #m], iterator_types = ["parallel", "reduction"]}
      ins(%a, %b : memref<?x32xf32>, memref<16x16xf32>) outs(%d : memref<16xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
