// A product of bytes with a scale for each row of x and each row of w: exact sums in i32, scaled in f32.
!x = memref<?x?xi8>
!v = memref<?xf32>
!h = memref<?x?xf16>
!g = !tirx.tile<64x64xi8, global>
!s = !tirx.tile<64x64xi8, shared>
!sums = !tirx.tile<64x64xi32, register>
!c = !tirx.tile<64x1xf32, register>
!r = !tirx.tile<1x64xf32, register>
!d = !tirx.tile<64x64xf16, register>

tirx.kernel @int8_gemm(%x: !x, %w: !x, %sx: !v, %sw: !v, %d: !h)
    grid(ceildiv(size(1, 0), 64), ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c64 : index
  %size = memref.dim %x, %c1 : !x
  %a = tirx.alloc : !s
  %b = tirx.alloc : !s
  %acc = tirx.alloc : !sums
  tirx.fill %acc, %zero : i32, !sums
  scf.for %k = %c0 to %size step %c64 {
    %gx = tirx.view %x[%m, %k] clipped : !x -> !g
    %gw = tirx.view %w[%n, %k] clipped : !x -> !g
    tirx.copy %gx, %a : !g, !s
    tirx.copy %gw, %b : !g, !s
    tirx.mma %a, %b, %acc : !s, !s, !sums
  }
  %gsx = tirx.view %sx[%m] dims(0, _) clipped : !v -> !tirx.tile<64x1xf32, global>
  %gsw = tirx.view %sw[%n] dims(_, 0) clipped : !v -> !tirx.tile<1x64xf32, global>
  %rows = tirx.load %gsx : !tirx.tile<64x1xf32, global> -> !c
  %columns = tirx.load %gsw : !tirx.tile<1x64xf32, global> -> !r
  %y = tirx.map ins(%acc, %rows, %columns : !sums, !c, !r) {
  ^bb0(%e: i32, %u: f32, %v: f32):
    %f = arith.sitofp %e : i32 to f32
    %p = arith.mulf %f, %u : f32
    %q = arith.mulf %p, %v : f32
    %h = arith.truncf %q : f32 to f16
    tirx.yield %h : f16
  } -> !d
  %gd = tirx.view %d[%m, %n] clipped : !h -> !tirx.tile<64x64xf16, global>
  tirx.store %y, %gd : !d, !tirx.tile<64x64xf16, global>
  tirx.return
}
