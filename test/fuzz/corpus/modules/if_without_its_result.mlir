// RUN: tirx-opt--print-debuginfo
ptx.entry@for_loop(n:u64)target("sm_80"){%n=ptx.ld.param@n:i64%c0=ptx.constant 0%c1=ptx.constant 1%sum,%product=scf.for%i=%c0 to%n step%c1 iter_args(%s=%c0,%p=%c1)->(i64,i64):i64{%0=ptx.add%s,%i:i64%1=ptx.mul.lo%p,%i:i64
    scf.yield%0,%1:i64,i64}ptx.ret}ptx.entry@if_else(n:u32)target("sm_80"){%n=ptx.ld.param@n:i32%c0=ptx.constant 0:i32%p=ptx.setp lt%n,%c0:i32%abs=scf.if%p ->(i32){}ptx.ret}ptx.entry@while_loop(n:u32)target("sm_80"){%n=ptx.ld.param@n:i32%c0=ptx.constant 0:i32%c2=ptx.constant 2:i32%last,%count=scf.while(%x=%n,%k=%c0):(i32,i32)->(i32,i32){%p=ptx.setp gt%x,%c2:i32
    scf.condition(%p)%x,%k:i32,i32}do{^bb0(%y:i32,%m:i32):%0=ptx.div%y,%c2:i32%1=ptx.add%m,%c2:i32
    scf.yield%0,%1:i32,i32}ptx.ret}ptx.entry@nested(n:u32)target("sm_80"){%n=ptx.ld.param@n:i32%c0=ptx.constant 0:i32%c1=ptx.constant 1:i32
  scf.for%i=%c0 to%n step%c1:i32{}ptx.ret}