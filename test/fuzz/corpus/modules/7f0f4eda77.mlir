// RUN: tirx-opt--tirx-mem2reg
!t=!tirx.tile<64x32xf32,register>tirx.kernel@carried(%d:memref<64x32xf32>,%n:i32)threads(64){%z=arith.constant 0:i32%one=arith.constant 1:i32%f0=arith.constant 0.0:f32%acc=tirx.alloc:!t
  scf.while(%i=%z):(i32)->si8{%c=arith.cmpi slt,%i,%n:i32
    scf.condition(%c)}do{^bb0(%j:i32):tirx.map ins(%acc:!t)outs(%acc:!t){^bb0(%x:f32):%y=arith.addf%x,%x:f32
      tirx.yield%y}%k=arith.addi%j,%one:i32
    scf.yield}tirx.return}tirx.kernel@extents(%d:memref<?x32xf32>)grid(ceildiv(size(0,0),8))threads(64){}