// RUN: tirx-opt--tirx-tile-linalg="tile=32,32,16 threads=32 " --lower-to-ptx
#mk=affine_map<(m,n,k)->(m,k)>#kn=affine_map<(m,n,k)->(k,n)>#mn=affine_map<(m,n,k)->(m,n)>#id=affine_map<(m,n)->(m,n)>#column=affine_map<(m,n)->(n)>func.func@dense(%a:memref<128x64xtf32>,%w:memref<64x128xtf32>,%bias:memref<128xf32>,%d:memref<128x128xf32>){arith.constant 0.0linalg.generic{indexing_maps=[#mk,#kn,#mn],iterator_types=["parallel","parallel","reduction"]}ins(%a,%w:memref<128x64xtf32>,memref<64x128xtf32>)outs(%d:memref<128x128xf32>){^bb0(%x:tf32,%y:tf32,%acc:f32):%xe=arith.extf%x:tf32 to f32%ye= arith.extf %y : tf32 to f32
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
#bmk = affine_map<(b, m, n, k) -> (b, m, k)>
#nbk = affine_map<(b, m, n, k) -> (n, b, k)>
#bmn = affine_map<(b, m, n, k) -> (b, m, n)>
#bid = affine_map<(b, m, n) -> (b, m, n)>
#brow = affine_map<(b, m, n) -> (b, n)>
func.func @batch(%a: memref<3x128x64xtf32>, %w: memref<128x3x64xtf32>, %bias: memref<3x128xf32>, %d: memref<3x128x128xtf32>) {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<3x128x128xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<3x128x128xf32>)
  linalg.generic {indexing_maps = [#bmk, #nbk, #bmn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %w : memref<3x128x64xtf32>, memref<128x3x64xtf32>) outs(%sums : memref<3x128x128xf32>) {
  ^bb0(%x: tf32, %y: tf32, %acc: f32):
    %xe = arith.extf %x : tf32 to f32
    %ye = arith.extf %y : tf32 to f32
    %p = arith.mulf %xe, %ye : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#bid, #brow, #bid], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%sums, %bias : memref<3x128x128xf32>, memref<3x128xf32>) outs(%d : memref<3x128x128xtf32>) {
  ^bb0(%x: f32, %b: f32, %old: tf32):
    %s = arith.addf %x, %b : f32
    %h = arith.truncf %s : f32 to tf32
    linalg.yield %h : tf32
  }
  func.return
}
func.func @host() {
}
