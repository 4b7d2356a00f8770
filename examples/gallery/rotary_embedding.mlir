// Rotary embedding of heads of 128: the halves of a row are the two coordinates that are turned.
!m = memref<?x128xf16>
!a = memref<?x64xf32>
!g = !tirx.tile<16x128xf16, global>
!ga = !tirx.tile<16x64xf32, global>
!x = !tirx.tile<16x128xf16, register>
!h = !tirx.tile<16x64xf16, register>
!f = !tirx.tile<16x64xf32, register>

tirx.kernel @rotary_embedding(%x: !m, %cos: !a, %sin: !a, %y: !m) target("sm_90a")
    grid(ceildiv(size(0, 0), 16)) threads(128) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %b = tirx.block_id x
  %i = arith.muli %b, %c16 : index
  %gx = tirx.view %x[%i, %c0] clipped : !m -> !g
  %gc = tirx.view %cos[%i, %c0] clipped : !a -> !ga
  %gs = tirx.view %sin[%i, %c0] clipped : !a -> !ga
  %gy = tirx.view %y[%i, %c0] clipped : !m -> !g
  %v = tirx.load %gx : !g -> !x
  %c = tirx.load %gc : !ga -> !f
  %s = tirx.load %gs : !ga -> !f
  %left = tirx.subview %v[0, 0] : !x -> !h
  %right = tirx.subview %v[0, 64] : !x -> !h
  %p, %q = tirx.map ins(%left, %right, %c, %s : !h, !h, !f, !f) {
  ^bb0(%a: f16, %o: f16, %f: f32, %g: f32):
    %l = arith.extf %a : f16 to f32
    %r = arith.extf %o : f16 to f32
    %lf = arith.mulf %l, %f : f32
    %lg = arith.mulf %l, %g : f32
    %n = arith.negf %g : f32
    %u = math.fma %r, %n, %lf : f32
    %w = math.fma %r, %f, %lg : f32
    %hu = arith.truncf %u : f32 to f16
    %hw = arith.truncf %w : f32 to f16
    tirx.yield %hu, %hw : f16, f16
  } -> !h, !h
  %z = tirx.concat %p, %q dim(1) : !h, !h -> !x
  tirx.store %z, %gy : !x, !g
  tirx.return
}
