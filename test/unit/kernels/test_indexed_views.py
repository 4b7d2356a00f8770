"""Views with index tiles: rows that a number of the launch leaves out, and registers with gaps."""

from __future__ import annotations

import numpy as np

import tirx

_SOME_ROWS = """
!t = !tirx.tile<16xi32, register>
!rows = !tirx.tile<16x32xf32, global>
tirx.kernel @k(%x: memref<100x32xf32>, %i: memref<16xi32>, %n: index, %y: memref<16x32xf32>) grid(1) threads(32) {
  %t = tirx.load %i[0] : memref<16xi32> -> !t
  %v = tirx.view %x[[%t], 0] clipped to [%n, *] : memref<100x32xf32>, !t -> !rows
  %g = tirx.load %v : !rows -> !tirx.tile<16x32xf32, register>
  tirx.store %g, %y[0, 0] : !tirx.tile<16x32xf32, register>, memref<16x32xf32>
}
"""


def test_rows_that_are_left_out() -> None:
    """Rows of indices outside are zero, and rows behind the first n."""
    rng = np.random.default_rng(0)
    x, i = rng.random((100, 32), np.float32), np.arange(16, dtype=np.int32) * 7
    i[[3, 5]] = -1, 100
    kernel = tirx.build(_SOME_ROWS, "sm_90a").kernels["k"]
    for n in (0, 5, 16):
        y = np.ones((16, 32), np.float32)
        kernel.simulate(x, i, n, y)
        exists = (np.arange(16) < n) & (i >= 0) & (i < 100)
        np.testing.assert_array_equal(y, np.where(exists[:, None], x[np.clip(i, 0, 99)], 0))


_WITH_GAPS = """
!i = !tirx.tile<4xi32, register, #tirx.tile_layout<S[4 : 1] + R[32 : 1@laneid]>>
!r = !tirx.tile<4x32xf32, register, #tirx.tile_layout<S[(2, 2, 32) : (3, 1, 1@laneid)]>>
!x = !tirx.tile<8x32xf32, register, #tirx.tile_layout<S[(8, 32) : (STEP, 1@laneid)] + FIRST>>
tirx.kernel @k(%x: memref<8x32xf32>, %i: memref<4xi32>, %y: memref<4x32xf32>) grid(1) threads(32) {
  %t = tirx.load %i[0] : memref<4xi32> -> !i
  %v = tirx.load %x[0, 0] : memref<8x32xf32> -> !x
  %g = tirx.view %v[[%t], 0] clipped : !x, !i -> !r
  tirx.store %g, %y[0, 0] : !r, memref<4x32xf32>
}
"""


def test_registers_with_gaps() -> None:
    """Slot 2 of the result has no element. Registers may come in the other order."""
    x, i = np.random.default_rng(0).random((8, 32), np.float32), np.array([7, 0, -1, 3], np.int32)
    for step, first in ((1, 0), (-1, 7)):
        program = tirx.build(_WITH_GAPS.replace("STEP", str(step)).replace("FIRST", str(first)), "sm_90a")
        assert ".shared" not in program.ptx
        y = np.ones((4, 32), np.float32)
        program.kernels["k"].simulate(x, i, y)
        np.testing.assert_array_equal(y, np.where((i >= 0)[:, None], x[i], 0))
