// RUN: tirx-opt --tirx-tile-linalg="tile=64,64,32 threads=128 target=\"sm_80\"" %s | filecheck %s

// A contraction and what follows it elementwise are one kernel; other functions stay.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#column = affine_map<(m, n) -> (n)>

// CHECK-LABEL: tirx.kernel @dense(%a: memref<128x64xf16>, %w: memref<128x64xf16, strided<[1, 128]>>, %bias: memref<1x128xf32>, %d: memref<128x128xf32>) target("sm_80") grid(2, 2) threads(128)
// CHECK:         [[ACC:%.*]] = tirx.alloc : !tirx.tile<64x64xf32, accumulator>
// CHECK-NEXT:    tirx.fill [[ACC]], %zero
// CHECK:         scf.for
// CHECK:           tirx.mma {{%.*}}, {{%.*}}, [[ACC]]
// CHECK:         tirx.view %bias
// CHECK:         [[OUT:%.*]] = tirx.map
// CHECK:         arith.addf
// CHECK:         [[D:%.*]] = tirx.view %d
// CHECK-NEXT:    tirx.copy [[OUT]], [[D]]
// CHECK-NEXT:    tirx.return
func.func @dense(%a: memref<128x64xf16>, %w: memref<64x128xf16>, %bias: memref<128xf32>, %d: memref<128x128xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%d : memref<128x128xf32>)
  linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : memref<128x64xf16>, memref<64x128xf16>) outs(%d : memref<128x128xf32>) {
  ^bb0(%x: f16, %y: f16, %acc: f32):
    %xe = arith.extf %x : f16 to f32
    %ye = arith.extf %y : f16 to f32
    %p = arith.mulf %xe, %ye : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%bias : memref<128xf32>) outs(%d : memref<128x128xf32>) {
  ^bb0(%b: f32, %y: f32):
    %s = arith.addf %y, %b : f32
    linalg.yield %s : f32
  }
  func.return
}

// CHECK-LABEL: func.func @host
// CHECK-NEXT:    func.return
func.func @host() {
  func.return
}
