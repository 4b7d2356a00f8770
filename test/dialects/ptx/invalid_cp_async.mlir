// RUN: tirx-opt --split-input-file --verify-diagnostics %s

%dst, %src = "test.op"() : () -> (i32, i64)
// expected-error@+1 {{expected bytes of cp.async.cg to be one of 16, found 8}}
ptx.cp.async "cg" %dst, %src bytes 8

// -----

%dst, %src = "test.op"() : () -> (i32, i64)
// expected-error@+1 {{expected cache to be one of ca, cg, found cs}}
ptx.cp.async "cs" %dst, %src bytes 16

// -----

// expected-error@+1 {{expected 0 or more pending groups, found -1}}
ptx.cp.async.wait_group -1
