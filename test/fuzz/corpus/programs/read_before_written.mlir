// pipeline: 
!acc=!tirx.tile<128x64xf32,tensor,#tirx.tile_layout<S[(128,64):(1@TLane,1@TCol)]>>!out=!tirx.tile<128x64xf32,global>tirx.kernel@write_after_read(%d:memref<128x64xf32>)target("sm_100a")threads(128){%c0=arith.constant 0:index%c1=arith.constant 1:index%c4=arith.constant 4:index%zero=arith.constant 0.0:f32%out=tirx.view%d[%c0,%c0]:memref<128x64xf32>->!out%carried=tirx.alloc:!acc
  scf.for%i=%c0 to%c4 step%c1{tirx.copy%carried,%out:!acc,!out
    tirx.fill%carried,%zero:f32,!acc}tirx.return}