// RUN: tirx-opt --split-input-file --verify-diagnostics %s

%dst, %src = "test.op"() : () -> (i32, i64)
// expected-error@+1 {{expected bytes of cp.async.cg to be one of 16, found 8}}
ptx.cp.async "cg" %dst, %src bytes 8
%dst2, %src2 = "test.op"() : () -> (i32, i64)
// expected-error@+1 {{expected cache to be one of ca, cg, found cs}}
ptx.cp.async "cs" %dst2, %src2 bytes 16
// expected-error@+1 {{expected 0 or more pending groups, found -1}}
ptx.cp.async.wait_group -1

ptx.entry @bytes_of_the_source(d : u32, a : u64) target("sm_80") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %n = ptx.constant 17 : i32
  // expected-error@+1 {{expected 0 to 16 source_bytes, found 17}}
  ptx.cp.async "cg" %d, %a bytes 16 source_bytes %n
  ptx.ret
}
