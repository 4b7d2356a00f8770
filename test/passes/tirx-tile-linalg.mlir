// RUN: tirx-opt --tirx-tile-linalg="tile=64,64,32 threads=128 target=\"sm_80\"" %s | filecheck %s
// RUN: tirx-opt --tirx-tile-linalg="tile=16,64,32 threads=128 target=\"sm_90a\" exchanged=true" %s | filecheck %s --check-prefix EXCHANGED

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

// Sums of B A^T are transposed once they are in registers; arguments and all behind the product are as before.

// EXCHANGED-LABEL: tirx.kernel @dense(%a: memref<128x64xf16>, %w: memref<128x64xf16, strided<[1, 128]>>, %bias: memref<1x128xf32>, %d: memref<128x128xf32>) target("sm_90a") grid(2, 8) threads(128)
// EXCHANGED:         [[A:%.*]] = tirx.alloc : !tirx.tile<16x32xf16, shared>
// EXCHANGED-NEXT:    [[B:%.*]] = tirx.alloc : !tirx.tile<64x32xf16, shared>
// EXCHANGED-NEXT:    [[ACC:%.*]] = tirx.alloc : !tirx.tile<64x16xf32, accumulator>
// EXCHANGED:           tirx.mma [[B]], [[A]], [[ACC]]
// EXCHANGED:         [[SUMS:%.*]] = tirx.alloc : !tirx.tile<64x16xf32, register>
// EXCHANGED-NEXT:    tirx.copy [[ACC]], [[SUMS]]
// EXCHANGED-NEXT:    [[TURNED:%.*]] = tirx.transpose [[SUMS]] [1, 0] : {{.*}} -> !tirx.tile<16x64xf32, register>
// EXCHANGED-NEXT:    [[OUT:%.*]] = tirx.map ins({{%.*}}, [[TURNED]] :
// EXCHANGED:         tirx.copy [[OUT]], {{%.*}} : !tirx.tile<16x64xf32, register>, !tirx.tile<16x64xf32, global>
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

// A dimension in front of the two that tiles have counts a batch, along z of the grid. What memref.alloc holds is in
// registers.

#bmk = affine_map<(b, m, n, k) -> (b, m, k)>
#nbk = affine_map<(b, m, n, k) -> (n, b, k)>
#bmn = affine_map<(b, m, n, k) -> (b, m, n)>
#bid = affine_map<(b, m, n) -> (b, m, n)>
#brow = affine_map<(b, m, n) -> (b, n)>

// CHECK-LABEL: tirx.kernel @batch(%a: memref<3x128x64xf16>, %w: memref<3x128x64xf16, strided<[64, 192, 1]>>, %bias: memref<3x1x128xf32>, %d: memref<3x128x128xf16>) target("sm_80") grid(2, 2, 3) threads(128)
// CHECK:         [[B:%.*]] = tirx.block_id z
// CHECK:         [[ACC:%.*]] = tirx.alloc : !tirx.tile<64x64xf32, accumulator>
// CHECK:         scf.for [[K:%.*]] =
// CHECK:           tirx.view %a{{\[}}[[B]], [[M:%.*]], [[K]]] : memref<3x128x64xf16> -> !tirx.tile<64x32xf16, global>
// CHECK:           tirx.view %w{{\[}}[[B]], [[N:%.*]], [[K]]] : memref<3x128x64xf16, strided<[64, 192, 1]>> -> !tirx.tile<64x32xf16, global>
// CHECK:           tirx.mma {{%.*}}, {{%.*}}, [[ACC]]
// CHECK:         tirx.view %bias{{\[}}[[B]], {{%.*}}, [[N]]] : memref<3x1x128xf32> -> !tirx.tile<1x64xf32, global>
// CHECK:         tirx.map
// CHECK:           arith.truncf
// CHECK:         tirx.view %d{{\[}}[[B]], [[M]], [[N]]]
// CHECK-NEXT:    tirx.copy
// CHECK-NEXT:    tirx.return
func.func @batch(%a: memref<3x128x64xf16>, %w: memref<128x3x64xf16>, %bias: memref<3x128xf32>, %d: memref<3x128x128xf16>) {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<3x128x128xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<3x128x128xf32>)
  linalg.generic {indexing_maps = [#bmk, #nbk, #bmn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %w : memref<3x128x64xf16>, memref<128x3x64xf16>) outs(%sums : memref<3x128x128xf32>) {
  ^bb0(%x: f16, %y: f16, %acc: f32):
    %xe = arith.extf %x : f16 to f32
    %ye = arith.extf %y : f16 to f32
    %p = arith.mulf %xe, %ye : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#bid, #brow, #bid], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%sums, %bias : memref<3x128x128xf32>, memref<3x128xf32>) outs(%d : memref<3x128x128xf16>) {
  ^bb0(%x: f32, %b: f32, %old: f16):
    %s = arith.addf %x, %b : f32
    %h = arith.truncf %s : f32 to f16
    linalg.yield %h : f16
  }
  func.return
}

// CHECK-LABEL: func.func @host
// CHECK-NEXT:    func.return
func.func @host() {
  func.return
}
