// RUN: tirx-opt--lower-to-ptx
ptx.entry@folds(x:u32)target("sm_90"){%x=ptx.ld.param@x:i32%zero=ptx.constant 0:i32%one=ptx.constant 1:i32%ones=ptx.constant-1:i32%a=ptx.add%zero,%x:i32%b=ptx.sub%a,%zero:i32%c=ptx.mul.lo%one,%b:i32%d=ptx.and%c,%ones:i32
  ptx.ret}ptx.entry@absorbs(x:u32)target("sm_90"){%x=ptx.ld.param@x:i32%zero=ptx.constant 0:i32%e=ptx.sub%zero,%x:i32
  ptx.st shared%x,%e:i32,i32
  ptx.ret}ptx.entry@x(x:f32,p:u32)target("sm_90"){ptx.ret}