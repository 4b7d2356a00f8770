"""Loops of which several iterations become one: the sums of all numbers of iterations, with rings."""

from __future__ import annotations

import numpy as np
import pytest

import tirx

_KERNEL = """
!g = memref<?x64xf32>
!s = !tirx.tile<16x64xf32, shared>
!r = !tirx.tile<16x64xf32, register>
tirx.kernel @add(%x: !g, %d: !g, %from: index, %to: index) target("sm_90a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = tirx.zero : !r
  %sum = scf.for %k = %from to %to step %c1 iter_args(%t = %zero) -> (!r) {
    %s = tirx.alloc copy(%x[%k * 16, 0] clipped) : !g, !s
    %v = tirx.load %s : !s -> !r
    %u = tirx.map ins(%t, %v : !r, !r) (%a, %b) { %a * 2.0 + %b } -> !r
    scf.yield %u : !r
  } {tirx.unroll = FACTOR}
  tirx.store %sum, %d[0, 0] clipped : !r, !g
}
"""


@pytest.mark.parametrize("factor", (2, 3))
def test_any_number_of_iterations(factor: int) -> None:
    kernel = tirx.build(_KERNEL.replace("FACTOR", str(factor))).kernels["add"]
    assert kernel.launch.schedule is not None and len(kernel.launch.schedule.rings) == factor
    x = np.random.default_rng(0).integers(-9, 10, (8 * 16, 64)).astype(np.float32)
    for start, stop in ((0, 0), (2, 1), (3, 4), (0, factor), (1, 2 * factor), (1, 8)):
        d = np.ones((16, 64), np.float32)
        kernel.simulate(x, d, start, stop, check="strict")
        expected = np.zeros((16, 64))
        for k in range(start, stop):
            expected = 2 * expected + x[16 * k : 16 * k + 16]
        np.testing.assert_array_equal(d, expected)
