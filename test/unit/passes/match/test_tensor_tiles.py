"""Tiles of tensor memory: which cells they have, and the layouts of those that no product uses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from unit.cases import together
from xdsl.dialects.builtin import f16, f32, i8
from xdsl.ir import Attribute

from tirx.dialects.tirx import MemorySpace, TileType
from tirx.hw.errors import MissingLayoutError, TensorMemoryError, TensorProductError
from tirx.layout import TileLayout
from tirx.passes.layouts.tensor_layouts import (
    _repeated,  # pyright: ignore[reportPrivateUsage]
    _span,  # pyright: ignore[reportPrivateUsage]
    plain_tensor_layout,
)
from tirx.passes.match.tcgen05_product import code_of_k
from tirx.passes.match.tensor_tiles import TensorTile

Cell = Callable[[int, int], set[tuple[int, int]]]
"""The (lane, element of the columns) of an element, copies included."""


CELLS: list[tuple[tuple[int, int], str, int, Cell]] = [
        ((128, 24), "S[(128, 24) : (1@TLane, 1@TCol)]", 32, lambda i, j: {(i, j)}),
        ((128, 24), "S[(128, 24) : (1@TLane, 1@TCol)] + 40@TCol", 16, lambda i, j: {(i, j + 40)}),
        ((32, 3), "S[(32, 3) : (1@TLane, 2@TCol)] + R[4 : 32@TLane]", 16,
         lambda i, j: {(i + 32 * k, 2 * j) for k in range(4)}),
        ((64, 5), "S[(2, 32, 5) : (64@TLane, 1@TLane, 3@TCol)] + R[2 : 32@TLane]", 8,
         lambda i, j: {(i // 32 * 64 + i % 32 + 32 * k, 3 * j) for k in range(2)}),
        ((32, 2), "S[(32, 2) : (1@TLane, 1@TCol)] + R[3 : 7@TCol] + 64@TLane", 32,
         lambda i, j: {(i + 64, j + 7 * k) for k in range(3)}),
    ]  # fmt: skip


@together(("dims", "layout", "bits", "cell"), CELLS)
def test_cells(dims: tuple[int, int], layout: str, bits: int, cell: Cell) -> None:
    tile = TensorTile(dims, TileLayout.parse(layout), bits)
    expected = np.zeros((4, 32, 512, 32 // bits), np.bool_)
    for i in range(dims[0]):
        for j in range(dims[1]):
            for lane, at in cell(i, j):
                expected[lane // 32, lane % 32, at // (32 // bits), at % (32 // bits)] = True
    assert np.array_equal(tile.cells(), expected)


def test_whole_columns_are_written() -> None:
    """Of halves of a column, both: tcgen05.st of 32 lanes and 32 bits of a column."""
    tile = TensorTile((128, 6), TileLayout.parse("S[(128, 6) : (1@TLane, 1@TCol)]"), 16)
    written = tile.written("32x32b")
    assert written.shape == (4, 32, 512, 2)
    assert np.array_equal(np.argwhere(written.any((0, 1, 3))).ravel(), np.arange(3)) and written[:, :, :3].all()


@together(
    ("dims", "layout"),
    [
        ((128, 24), "S[(128, 24) : (1@TLane, 1@TCol)]"),
        ((384, 24), "S[(3, 128, 24) : (24@TCol, 1@TLane, 1@TCol)]"),
        ((3, 5, 256, 24), "S[(3, 5, 2, 128, 24) : (240@TCol, 48@TCol, 24@TCol, 1@TLane, 1@TCol)]"),
        ((3, 5, 64, 7), "S[(3, 5, 4, 16, 7) : (35@TCol, 7@TCol, 32@TLane, 1@TLane, 1@TCol)]"),
        ((192, 9), "S[(3, 4, 16, 9) : (9@TCol, 32@TLane, 1@TLane, 1@TCol)]"),
    ],
)
def test_layouts_of_tiles_that_no_product_uses(dims: tuple[int, ...], layout: str) -> None:
    assert plain_tensor_layout(dims).equivalent(TileLayout.parse(layout))


@pytest.mark.parametrize(("dims", "rows"), [((24,), 1), ((96, 24), 96), ((2, 32, 24), 32)])
def test_rows_that_lanes_do_not_have(dims: tuple[int, ...], rows: int) -> None:
    with pytest.raises(TensorMemoryError) as error:
        plain_tensor_layout(dims)
    assert str(error.value) == (
        f"expected rows in multiples of 64 for a tensor tile that no product uses, or a layout on it, found {rows}"
    )


def test_stages_start_where_metadata_may() -> None:
    """At even columns: 7 columns of f32 take 8, 9 halves of columns 12."""
    for element, columns, stages in ((f32, 7, "120@TCol, 24@TCol, 8"), (f16, 9, "180@TCol, 36@TCol, 12")):
        plain = TileLayout.parse(f"S[(128, {columns}) : (1@TLane, 1@TCol)]")
        type_ = TileType.get((2, 5, 3, 128, columns), element, MemorySpace.TENSOR)
        found = _repeated(plain, type_, (2, 5, 3))
        assert found == TileLayout.parse(f"S[(2, 5, 3, 128, {columns}) : ({stages}@TCol, 1@TLane, 1@TCol)]")


@together("step", [1, 2, 4, 8])
@together(("type_", "bits"), [(f32, 32), (f16, 16), (i8, 8)])
def test_steps_of_parts_and_stages(type_: Attribute, bits: int, step: int) -> None:
    """Elements in whole steps of so many columns of 32 bits, the fewest that hold the part."""
    for first, count in ((0, 5), (0, 16), (0, 17), (3, 13), (0, 48), (7, 42)):
        layout = TileLayout.parse(f"S[(128, {count}) : (1@TLane, 1@TCol)] + {first}@TCol")
        tile = TileType.get((128, count), type_, MemorySpace.TENSOR)
        unit = step * (32 // bits)
        assert _span(layout, tile, step) == next(n for n in range(0, 100, unit) if n >= first + count)


def test_what_has_no_place() -> None:
    with pytest.raises(
        MissingLayoutError, match="^expected a layout on !tirx.tile<128x8xf32, tensor>; tirx-pick-layouts"
    ):
        TensorTile.of(TileType.get((128, 8), f32, MemorySpace.TENSOR))


@pytest.mark.parametrize(
    ("sparse", "said"), [(False, "kind f16: expected K = 16"), (True, "kind f16, sparse: expected K = 32")]
)
def test_depths_that_no_instruction_has(sparse: bool, said: str) -> None:
    with pytest.raises(TensorProductError, match=f"^{said}, found 24$"):
        code_of_k("f16", 24, sparse)
