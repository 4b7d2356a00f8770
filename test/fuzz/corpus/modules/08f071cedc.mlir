// RUN: tirx-opt--lower-to-ptx="target=sm_90a"
ptx.entry@the_one_before(a:u64,out:u64)target("sm_90a")reqntid(128){%a=ptx.ld.param@a:i64
  wgmma.fence%0,%1,%2,%3=wgmma.mma_async"f16""f16"a(%a:i64)b(%a)->bf16,bf16,bf16,bf16
  ptx.ret}