// RUN: tirx-opt --lower-to-ptx
ptx.entry @w(n : u32) target("sm_80") {
  %n = ptx.ld.param @n : i32
  %c0 = ptx.constant 0 : i32
  %r = scf.while (%a = %n) : (i32) -> (i32) { %p = ptx.setp lt %n, %c0 : i32
 scf.condition(%p) %a : i32 } do { }
  ptx.ret
}
