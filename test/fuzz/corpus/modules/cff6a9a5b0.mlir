// RUN: tirx-opt--lower-to-ptx
!d=!tirx.tile<128x128xf32,tensor,#tirx.tile_layout<S[(128,128):(1@TLane,1@TCol)]>>tirx.kernel@every_thread(%a:i64)target("sm_100a")threads(128){%p=arith.constant true%base=arith.constant 512:i32%d=tcgen05.tile%base,0:i32->!d%i=tcgen05.instruction_descriptor<kind="f16",a="f16",b="f16",d="f32",m=128,n=128>:i32
  tcgen05.mma f16 %d,%a,%a,%i,%p:!d,i64
  tirx.return}