// RUN: tirx-opt--convert-tirx-to-ptx
#r=#tirx.tile_layout<S[(32,4):(1,1)]>!r=!tirx.tile<32x4xf64,register,#r>!g=!tirx.tile<32x4xf64,global>tirx.kernel@strides(%a:memref<?x?xf64>,%f:f64)target("sm_90a")threads(32){%c0=arith.constant 4294967296:index%v=tirx.view%a[%c0,%c0]clipped:memref<?x?xf64>->!g%s=tirx.splat%f:f64->!r
  tirx.store%s,%v:!r,!g
  tirx.return}