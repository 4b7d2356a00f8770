// RUN: tirx-opt--print-debuginfo
ptx.entry@core(a:u64 from memref<?x8xf32>,n:s32,map:b8[128]align 64)target("sm_110a")grid(ceildiv(size(0,0),8),min(sm_count(),4))reqntid(2)attributes{}{%n=ptx.ld.param@n:i32%p=ptx.constant true
  ptx.cond_bra%p,^next(%n:i32),^end^next(%x:i32):ptx.bra^end^end:ptx.ret}ptx.entry@arith()target("sm_100"){}ptx.entry@memory_and_sync(a:u64)target("sm_90"){ptx.fence.proxy.async
  ptx.ret}ptx.entry@tensor_cores(x:f64,t:u32,d:u64)target("sm_100a"){}