// RUN: tirx-opt--lower-to-ptx="target=sm_80"
!d=!tirx.tile<128x128xf32,tensor,#tirx.tile_layout<S[(128,128):(1@TLane,1@TCol)]>>tirx.kernel@computed_descriptor(%start:i64,%base:i32)threads(128){%p=arith.constant true%d=tcgen05.tile%base,100:i32->!d%fields=arith.constant 4503599627370496%a=arith.ori%start,%fields:i64%i=tcgen05.instruction_descriptor<kind="f16",a="f16",b="f16",d="f32",m=128,n=128>:i32
  tcgen05.mma f16 %d,%a,%start,%i,%p:!d,i64
  tirx.return}