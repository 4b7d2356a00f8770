// RUN: tirx-opt'--tirx-tile-linalg=tile=64,64,32 threads=128'
#mk=affine_map<(m,n,k)->(m,k)>#kn=affine_map<(m,n,k)->(k,n)>#mn=affine_map<(m,n,k)->(m,n)>#id=affine_map<(m,n)->(m,n)>#column=affine_map<(m,n)->(n)>func.func@dense(%a:memref<128x64xf16>,%w:memref<64x128xf16>,%bias:memref<128xtf32>,%d:memref<128x128xtf32>){%zero=arith.constant 0.0:tf32
  linalg.generic{indexing_maps=[#mk,#kn,#mn],iterator_types=["parallel","parallel","reduction"]}ins(%a,%w:memref<128x64xf16>,memref<64x128xf16>)outs(%d:memref<128x128xtf32>){^bb0(%x:f16,%y:f16,%acc:tf32):%xe=arith.extf%x:f16 to tf32%ye=arith.extf%y:f16 to tf32%p=arith.mulf%xe,%ye:tf32%s=arith.addf %acc, %p : tf32
    linalg.yield %s : tf32
  }
  linalg.generic {indexing_maps = [#column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%bias : memref<128xtf32>) outs(%d : memref<128x128xtf32>) {
  ^bb0(%b: tf32, %y: tf32):
    %s = arith.addf %y, %b : tf32
    linalg.yield %s : tf32
  }
  func.return
}
#bmk = affine_map<(b, m, n, k) -> (b, m, k)>
#nbk = affine_map<(b, m, n, k) -> (n, b, k)>
#bmn = affine_map<(b, m, n, k) -> (b, m, n)>
#bid = affine_map<(b, m, n) -> (b, m, n)>
#brow = affine_map<(b, m, n) -> (b, n)>
func.func @batch(%a: memref<3x128x64xf16>, %w: memref<128x3x64xf16>, %bias: memref<3x128xtf32>, %d: memref<3x128x128xf16>) {
  %zero = arith.constant 0.0 : tf32
  %sums = memref.alloc() : memref<3x128x128xtf32>
  linalg.fill ins(%zero : tf32) outs(%sums : memref<3x128x128xtf32>)
  linalg.generic {indexing_maps = [#bmk, #nbk, #bmn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %w : memref<3x128x64xf16>, memref<128x3x64xf16>) outs(%sums : memref<3x128x128xtf32>) {
  ^bb0(%x: f16, %y: f16, %acc: tf32):
    %xe = arith.extf %x : f16 to tf32
    %ye = arith.extf %y : f16 to tf32
    %p = arith.mulf %xe, %ye : tf32
    %s = arith.addf %acc, %p : tf32
    linalg.yield %s : tf32
  }
  linalg.generic {indexing_maps = [#bid, #brow, #bid], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%sums, %bias : memref<3x128x128xtf32>, memref<3x128xtf32>) outs(%d : memref<3x128x128xf16>) {
  ^bb0(%x: tf32, %b: tf32, %old: f16):
    %s = arith.addf %x, %b : tf32
    %h = arith.truncf %s : tf32 to f16
    linalg.yield %h : f16
  }
  func.return
}
func.func @host() 