// Rows x w^T of heads of 128, turned in the epilogue of the product: the two coordinates of an angle are the halves of a
// head, or neighbours.
!m = memref<?x?xf16>
!a = memref<?x64xf32>
!sx = !tirx.tile<64x64xf16, shared>
!sw = !tirx.tile<128x64xf16, shared>
!sums = !tirx.tile<64x128xf32, accumulator>
!v = !tirx.tile<64x128xf32, register>
!f = !tirx.tile<64x64xf32, register>
!h = !tirx.tile<64x64xf16, register>
!y = !tirx.tile<64x128xf16, register>
!one = !tirx.tile<64x64x1xf32, register>
!half = !tirx.tile<64x64x1xf16, register>
!pairs = !tirx.tile<64x64x2xf32, register>
!turned = !tirx.tile<64x64x2xf16, register>

func.func private @product(%x: !m, %w: !m, %i: index, %j: index) -> !v {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %size = memref.dim %x, %c1 : !m
  %sx = tirx.alloc : !sx
  %sw = tirx.alloc : !sw
  %acc = tirx.alloc fill(0.0) : !sums
  scf.for %k = %c0 to %size step %c64 {
    tirx.copy %x[%i * 64, %k] clipped, %sx : !m, !sx
    tirx.copy %w[%j * 128, %k] clipped, %sw : !m, !sw
    tirx.mma %sx, %sw, %acc : !sx, !sw, !sums
  }
  %v = tirx.load %acc : !sums -> !v
  func.return %v : !v
}

tirx.kernel @rotary_gemm(%x: !m, %w: !m, %cos: !a, %sin: !a, %y: !m)
    grid(%j = ceildiv(size(1, 0), 128), %i = ceildiv(size(0, 0), 64)) threads(128) {
  %v = func.call @product(%x, %w, %i, %j) : (!m, !m, index, index) -> !v
  %c = tirx.load %cos[%i * 64, 0] clipped : !a -> !f
  %s = tirx.load %sin[%i * 64, 0] clipped : !a -> !f
  %left = tirx.subview %v[0, 0] : !v -> !f
  %right = tirx.subview %v[0, 64] : !v -> !f
  %p, %q = tirx.map ins(%left, %right, %c, %s : !f, !f, !f, !f) (%l, %r, %f, %g) {
    f16(fma(%r, -%g, %l * %f)), f16(fma(%r, %f, %l * %g))
  } -> !h, !h
  %z = tirx.concat %p, %q dim(1) : !h, !h -> !y
  tirx.store %z, %y[%i * 64, %j * 128] clipped : !y, !m
}

tirx.kernel @rotary_gemm_neighbours(%x: !m, %w: !m, %cos: !a, %sin: !a, %y: !m)
    grid(%j = ceildiv(size(1, 0), 128), %i = ceildiv(size(0, 0), 64)) threads(128) {
  %v = func.call @product(%x, %w, %i, %j) : (!m, !m, index, index) -> !v
  %c = tirx.load %cos[%i * 64, 0] dims(0, 1, _) clipped : !a -> !one
  %s = tirx.load %sin[%i * 64, 0] dims(0, 1, _) clipped : !a -> !one
  %pairs = tirx.reshape %v : !v -> !pairs
  %left = tirx.subview %pairs[0, 0, 0] : !pairs -> !one
  %right = tirx.subview %pairs[0, 0, 1] : !pairs -> !one
  %p, %q = tirx.map ins(%left, %right, %c, %s : !one, !one, !one, !one) (%l, %r, %f, %g) {
    f16(fma(%r, -%g, %l * %f)), f16(fma(%r, %f, %l * %g))
  } -> !half, !half
  %turned = tirx.concat %p, %q dim(2) : !half, !half -> !turned
  %z = tirx.reshape %turned : !turned -> !y
  tirx.store %z, %y[%i * 64, %j * 128] clipped : !y, !m
}
