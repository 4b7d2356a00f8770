// RUN: tirx-opt--lower-to-ptx="target=sm_90a"
ptx.entry@first()target("sm_80")dynamic_shared(65536){%s=ptx.shared_alloc@dynamic_shared bytes 65536align 65536dynamic%b=ptx.shared_alloc@bar bytes 8align 8%c=ptx.constant 1:i32
  ptx.st shared%s,%c:i32,i32
  ptx.mbarrier.init%b,1ptx.ret}