// RUN: tirx-opt--lower-to-ptx="target=sm_90a"
ptx.entry@copy()target("sm_80"){%dst=ptx.constant 0:i32%n=ptx.constant 2147483648:i32%src=ptx.constant 0:i64
  ptx.cp.async"ca"%dst offset 64,%src bytes 8source_bytes%n
  ptx.ret}