"""Orders of tiles visit every tile once, and go where their names say."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.passes.evaluation import Lanes, evaluated
from xdsl.dialects.builtin import UnknownLoc, i32
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

import tirx
from tirx.dialects.tirx import TileOrder
from tirx.passes.ir.emitter import Emitter
from tirx.passes.rings.tile_order import coordinates_of

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


def test_blocks_share_the_tiles():
    counts = np.bincount(visited("group 2", 5, 7, 3).ravel())
    np.testing.assert_array_equal(counts, [12, 12, 11])


def hilbert(side: int) -> list[tuple[int, int]]:
    """The cells of the curve through a square, by its definition: four smaller ones, the two at its ends turned."""
    if side == 1:
        return [(0, 0)]
    half = side // 2
    cells = hilbert(half)
    return [
        *((y, x) for x, y in cells),
        *((x, y + half) for x, y in cells),
        *((x + half, y + half) for x, y in cells),
        *((side - 1 - y, half - 1 - x) for x, y in cells),
    ]


def by_columns(rows: range, columns: range) -> list[tuple[int, int]]:
    return [(i, j) for j in columns for i in rows]


def in_groups(group: int, rows: int, columns: int) -> list[tuple[int, int]]:
    firsts = range(0, rows, group)
    return [each for i in firsts for each in by_columns(range(i, min(i + group, rows)), range(columns))]


def along_curves(rows: int, columns: int) -> list[tuple[int, int]]:
    """Squares of 8 x 8 tiles, and at the edges what is left, column by column."""
    found: list[tuple[int, int]] = []
    for i in range(0, rows, 8):
        for j in range(0, columns, 8):
            whole = rows - i >= 8 and columns - j >= 8
            rest = by_columns(range(i, min(i + 8, rows)), range(j, min(j + 8, columns)))
            found += [(i + x, j + y) for x, y in hilbert(8)] if whole else rest
    return found


def by_rows(rows: int, columns: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(rows) for j in range(columns)]


Places = Callable[[int, int], list[tuple[int, int]]]

ORDERS: tuple[tuple[TileOrder, int | None, Places], ...] = (
    (TileOrder.ROW, None, by_rows),
    (TileOrder.GROUP, 1, partial(in_groups, 1)),
    (TileOrder.GROUP, 3, partial(in_groups, 3)),
    (TileOrder.HILBERT, None, along_curves),
)


@pytest.mark.parametrize("order, group, places", ORDERS)
def test_orders(order: TileOrder, group: int | None, places: Places):
    """The tile of each number, by the definition of the order."""
    block = Block(arg_types=[i32, i32, i32])
    number, *extents = block.args
    found = coordinates_of(order, Emitter(InsertPoint.at_end(block), UnknownLoc()), number, extents, group)
    for rows, columns in ((5, 7), (8, 8), (3, 1), (17, 19)):
        expected = places(rows, columns)
        for first in range(0, len(expected), 32):
            numbers = np.minimum(np.arange(first, first + 32), len(expected) - 1)
            values: dict[SSAValue, Lanes] = {
                arg: np.broadcast_to(np.asarray(given, np.uint32), 32)
                for arg, given in zip(block.args, (numbers, rows, columns), strict=True)
            }
            evaluated(block.ops, values)
            pairs = np.stack([values[each] for each in found], axis=1)
            np.testing.assert_array_equal(pairs, np.array(expected)[numbers])
