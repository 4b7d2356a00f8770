"""Orders of tiles visit every tile once, and go where their names say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tirx

Matrix = NDArray[Any]


def visited(order: str, rows: int, columns: int, blocks: int) -> Matrix:
    """The number of the block that comes to each tile, -1 for none: with as many blocks as tiles, the order."""
    text = f"""
    !one = !tirx.tile<1x4xi32, register, #tirx.tile_layout<S[4 : 1] + R[32 : 1@laneid]>>
    tirx.kernel @tiles(%d: memref<?x64xi32>, %tm: index, %tn: index) target("sm_80") threads(32) {{
      %c4 = arith.constant 4 : index
      %block = tirx.block_id x
      %number = arith.index_cast %block : index to i32
      tirx.tiles @tile %i, %j = order({order}) of (%tm, %tn) {{
        %v = tirx.splat %number : i32 -> !one
        %n = arith.muli %j, %c4 : index
        %to = tirx.view %d[%i, %n] : memref<?x64xi32> -> !tirx.tile<1x4xi32, global>
        tirx.store %v, %to : !one, !tirx.tile<1x4xi32, global>
      }}
      tirx.return
    }}
    """
    d: Matrix = np.full((rows, 64), -1, np.int32)
    tirx.build(text).kernels["tiles"].simulate(d, rows, columns, grid=(blocks, 1, 1))
    return d[:, : 4 * columns : 4]


@pytest.mark.parametrize("order", ["row", "group 3", "hilbert"])
def test_every_tile_is_visited_once(order: str):
    found = np.sort(visited(order, 5, 7, 35).ravel())
    np.testing.assert_array_equal(found, np.arange(35))


def test_blocks_share_the_tiles():
    counts = np.bincount(visited("group 2", 5, 7, 3).ravel())
    np.testing.assert_array_equal(counts, [12, 12, 11])


def test_hilbert_goes_to_neighbours():
    order = visited("hilbert", 8, 8, 64)
    places = np.argwhere(order >= 0)[np.argsort(order.ravel())]
    np.testing.assert_array_equal(np.abs(np.diff(places, axis=0)).sum(axis=1), 1)


def test_groups_go_column_by_column():
    np.testing.assert_array_equal(visited("group 2", 3, 2, 6), [[0, 2], [1, 3], [4, 5]])
