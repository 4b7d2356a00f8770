// Rotary embedding of heads of 128: the halves of a row are the two coordinates that are turned.
!m = memref<?x128xf16>
!a = memref<?x64xf32>
!x = !tirx.tile<16x128xf16, register>
!h = !tirx.tile<16x64xf16, register>
!f = !tirx.tile<16x64xf32, register>

tirx.kernel @rotary_embedding(%x: !m, %cos: !a, %sin: !a, %y: !m) target("sm_90a")
    grid(%b = ceildiv(size(0, 0), 16)) threads(128) {
  %v = tirx.load %x[%b * 16, 0] clipped : !m -> !x
  %c = tirx.load %cos[%b * 16, 0] clipped : !a -> !f
  %s = tirx.load %sin[%b * 16, 0] clipped : !a -> !f
  %left = tirx.subview %v[0, 0] : !x -> !h
  %right = tirx.subview %v[0, 64] : !x -> !h
  %p, %q = tirx.map ins(%left, %right, %c, %s : !h, !h, !f, !f) (%a, %o, %f, %g) {
    %l = f32(%a); %r = f32(%o);
    f16(fma(%r, -%g, %l * %f)), f16(fma(%r, %f, %l * %g))
  } -> !h, !h
  %z = tirx.concat %p, %q dim(1) : !h, !h -> !x
  tirx.store %z, %y[%b * 16, 0] clipped : !x, !m
}
