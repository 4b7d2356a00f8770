// RUN: tirx-opt --lower-to-ptx
ptx.entry @k(n : u32) target("sm_80") {
  %n = ptx.ld.param @n : f32
  ptx.ret
}
