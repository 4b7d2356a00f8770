"""Shuffles, reductions of a warp and powers of 2, in the simulator."""

import numpy as np

import tirx
from tirx.sim import run

KERNEL = """
ptx.entry @k(d : u64 ptr) target("sm_90") reqntid(32) {
  %d = ptx.ld.param @d : i64
  %g = ptx.cvta.to.global %d
  %x = ptx.read_special tid.x
  %c = ptx.constant 4 : i32
  %0 = ptx.shfl.sync down %x, %c : i32
  %1 = ptx.redux.sync add %x : i32
  %f = ptx.cvt %x : i32 -> f32
  %2 = ptx.ex2.approx %f : f32
  %3 = ptx.cvt unsigned %2 : f32 -> i32
  %16 = ptx.constant 16 : i32
  %o = ptx.mul.wide unsigned %x, %16 : i32 -> i64
  %a = ptx.add %g, %o : i64
  ptx.st global %a, %0, %1, %3, %x : i64, i32, i32, i32, i32
  ptx.ret
}
"""


def test_lanes_and_powers():
    out = np.zeros((32, 4), np.uint32)
    run(tirx.compile(KERNEL), "k", 1, 32, [out])
    lanes = np.arange(32)
    assert out[:, 0].tolist() == [i + 4 if i < 28 else i for i in lanes]
    assert set(out[:, 1].tolist()) == {sum(range(32))}
    assert out[:, 2].tolist() == [1 << int(i) for i in lanes]
