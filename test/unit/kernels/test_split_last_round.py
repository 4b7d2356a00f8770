"""The last round of tiles, shared out by parts of K: the same sums, in integers bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.assembled import assembled_well

import tirx

_SUM = """
!s = !tirx.tile<64x32xf16, shared>
!g = !tirx.tile<64x32xf16, global>
!acc = !tirx.tile<64x64xf32, accumulator>
!gd = !tirx.tile<64x64xf32, global>
tirx.kernel @sum(%a: memref<?x512xf16>, %b: memref<?x512xf16>, %d: memref<?x?xf32>, %n: index) target("sm_80")
    grid(ceildiv(size(1, 0), 64), ceildiv(size(0, 0), 64)) threads(128) attributes {tirx.split = "last"} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %c = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %n step %c32 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x512xf16> -> !g
    %gb = tirx.view %b[%c, %k] clipped : memref<?x512xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc : !s, !s, !acc
  }
  %gd = tirx.view %d[%m, %c] clipped : memref<?x?xf32> -> !gd
  tirx.copy %acc, %gd reduce(add) : !acc, !gd
  tirx.return
}
"""


# Rows, columns, multiprocessors and K: 3 tiles in a round of 8, fewer iterations than parts, 6 tiles in rounds of 4.
_SIZES = ((150, 64, 8, 96), (64, 60, 3, 32), (128, 130, 4, 96), (64, 64, 2, 0))


@pytest.mark.sample(1)
@pytest.mark.parametrize("size", _SIZES, ids=str)
@pytest.mark.parametrize("target", ("sm_90a", "sm_100a", "sm_80"))
def test_parts_of_tiles_add_up(target: str, size: tuple[int, int, int, int]) -> None:
    program = tirx.build(_SUM, target)
    assembled_well(program.ptx)
    rng = np.random.default_rng(0)
    rows, columns, blocks, depth = size
    a, b = (rng.integers(-3, 4, (extent, 512)).astype(np.float16) for extent in (rows, columns))
    d = rng.integers(-9, 9, (rows, columns)).astype(np.float32)
    expected = d + a[:, :depth].astype(np.float32) @ b[:, :depth].astype(np.float32).T
    program.kernels["sum"].simulate(a, b, d, depth, sm_count=blocks, check="strict")
    np.testing.assert_array_equal(d, expected)
