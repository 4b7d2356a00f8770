// RUN: tirx-opt --convert-arith-to-ptx
ptx.entry @floats(x : f32) target("sm_90") {
  %x = ptx.ld.param @x : f32
  %0 = arith.bitcast %x : f32 to index
  ptx.ret
}
