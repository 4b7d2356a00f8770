"""Loops within each other that both copy to shared memory: the inner one has the ring."""

from __future__ import annotations

import numpy as np
import pytest

import tirx

_KERNEL = """
!g = memref<160x32xf32>
!s = !tirx.tile<8x32xf32, shared>
!r = !tirx.tile<8x32xf32, register>
tirx.kernel @k(%x: !g, %d: memref<8x32xf32>) target("TARGET") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %zero = tirx.zero : !r
  %sum = scf.for %k = %c0 to %c5 step %c1 iter_args(%t = %zero) -> (!r) {
    %outer = tirx.alloc copy(%x[%k * 8, 0]) : !g, !s
    %u = scf.for %j = %c0 to %c3 step %c1 iter_args(%q = %t) -> (!r) {
      %inner = tirx.alloc copy(%x[%j * 8 + 80, 0]) : !g, !s
      %v = tirx.load %outer : !s -> !r
      %w = tirx.load %inner : !s -> !r
      %n = tirx.map ins(%q, %v, %w : !r, !r, !r) (%a, %b, %c) { %a * 2.0 + %b * %c } -> !r
      scf.yield %n : !r
    } STAGES
    scf.yield %u : !r
  }
  tirx.store %sum, %d[0, 0] : !r, memref<8x32xf32>
}
"""


@pytest.mark.parametrize("stages", ["", "{tirx.stages = 2}"])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_the_inner_loop_has_the_ring(target: str, stages: str) -> None:
    kernel = tirx.build(_KERNEL.replace("TARGET", target).replace("STAGES", stages)).kernels["k"]
    assert kernel.launch.schedule is not None
    assert [ring.name for ring in kernel.launch.schedule.rings] == ["inner"]
    x, d = np.random.default_rng(0).integers(-3, 4, (160, 32)).astype(np.float32), np.zeros((8, 32), np.float32)
    kernel.simulate(x, d, check="strict")
    tiles, expected = x.reshape(20, 8, 32), np.zeros((8, 32), np.float32)
    for k in range(5):
        for j in range(3):
            expected = expected * 2 + tiles[k] * tiles[10 + j]
    np.testing.assert_array_equal(d, expected)
