"""Cutting tiles into pieces that the registers of the threads hold."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from unit.cases import together
from unit.passes.parsed import parsed

from tirx.dialects.tirx import CopyOp, kernels
from tirx.layout import TileLayout
from tirx.passes.copies.tirx_expand_copies import (
    _Expander,  # pyright: ignore[reportPrivateUsage]
    _largest_divisor,  # pyright: ignore[reportPrivateUsage]
    _pieces,  # pyright: ignore[reportPrivateUsage]
    _power_pieces,  # pyright: ignore[reportPrivateUsage]
    _ways_to_cut,  # pyright: ignore[reportPrivateUsage]
)
from tirx.rules import RegisterLayoutError

Pieces = list[tuple[tuple[int, ...], tuple[int, ...]]]


def test_largest_divisors() -> None:
    assert [_largest_divisor(12, limit) for limit in (0, 1, 2, 3, 4, 5, 6, 11, 12, 100)] == [
        1, 1, 2, 3, 4, 4, 6, 6, 12, 12,
    ]  # fmt: skip
    assert _largest_divisor(7, 6) == 1


def test_ways_to_cut() -> None:
    """Few pieces first: 12 at once, in halves of 6, and so on; powers of two with what is left of them."""
    assert list(_ways_to_cut(12, 7)) == [
        ((0, 6), (6, 12)),
        ((0, 4), (4, 8), (8, 12)),
        ((0, 4), (4, 8), (8, 12)),
        ((0, 3), (3, 6), (6, 9), (9, 12)),
        tuple((i, i + 2) for i in range(0, 12, 2)),
        tuple((i, i + 2) for i in range(0, 12, 2)),
        tuple((i, i + 1) for i in range(12)),
        tuple((i, i + 1) for i in range(12)),
    ]
    assert next(_ways_to_cut(13, 8)) == ((0, 8), (8, 12), (12, 13))
    assert list(_ways_to_cut(3, 1)) == [((0, 1), (1, 2), (2, 3))] * 2


def _shapes(pieces: Pieces) -> list[tuple[int, ...]]:
    return [shape for _, shape in pieces]


@together(
    ("shape", "limit", "first", "count"),
    [
        ((6, 10), 60, (6, 10), 1),
        ((6, 10), 59, (3, 10), 2),
        ((6, 10), 29, (2, 10), 3),
        ((6, 10), 19, (1, 10), 6),
        ((6, 10), 4, (1, 10), 6),
        ((3, 4, 5), 59, (2, 4, 5), 2),
        ((3, 4, 5), 20, (1, 4, 5), 3),
        ((3, 4, 5), 19, (1, 2, 5), 6),
        ((3, 4, 5), 5, (1, 1, 5), 12),
        ((2, 7, 5), 20, (1, 4, 5), 6),
    ],
)
def test_pieces(shape: tuple[int, ...], limit: int, first: tuple[int, ...], count: int) -> None:
    found = _pieces(shape, limit, [TileLayout.row_major(shape)])
    assert _shapes(found)[0] == first and len(found) == count
    assert sum(map(prod, _shapes(found))) == prod(shape)


def test_pieces_have_layouts_of_their_own() -> None:
    """Rows 0 to 3 and 4 to 7 are two iters: pieces of three rows would end inside of one."""
    layout = TileLayout.parse("S[(2, 4, 10) : (100, 10, 1)]")
    assert _shapes(_pieces((8, 10), 79, [layout])) == [(4, 10)] * 2
    assert _shapes(_pieces((8, 10), 39, [layout])) == [(2, 10)] * 4


@together(
    ("shape", "limit", "bits", "pieces"),
    [
        ((5, 12), 8, 16, [(1, 8), (1, 4)] * 5),
        ((5, 12), 7, 16, [(1, 4)] * 15),
        ((5, 12), 16, 16, [(2, 8), (2, 4)] * 2 + [(1, 8), (1, 4)]),
        ((3, 5, 2), 8, 16, [(1, 4, 2), (1, 1, 2)] * 3),
        ((5, 12), 4, 4, [(1, 4)] * 15),
        ((2, 5), 8, 4, None),
        ((2, 5), 8, 8, [(2, 4), (2, 1)]),
        ((3, 3), 1, 8, [(1, 1)] * 9),
    ],
)
def test_pieces_of_powers_of_two(shape: tuple[int, ...], limit: int, bits: int, pieces: Pieces | None) -> None:
    found = _power_pieces(shape, limit, [TileLayout.row_major(shape)], bits)
    assert (None if found is None else _shapes(found)) == pieces


def _copy_of(source: str, threads: int) -> tuple[_Expander, CopyOp]:
    module = parsed(
        f"tirx.kernel @k() threads({threads}) {{\n  %s = tirx.alloc : {source}\n  %d = tirx.alloc : {source}\n"
        f"  tirx.copy %s, %d : {source}, {source}\n  tirx.return\n}}"
    )
    (kernel,) = kernels(module)
    (copy,) = (op for op in module.walk() if isinstance(op, CopyOp))
    return _Expander(kernel), copy


@together(
    ("threads", "registers", "room"),
    [
        (32, 255, 256),
        (256, 255, 256),
        (288, 227, 256),
        (512, 128, 256),
        (544, 120, 240),
        (640, 102, 204),
        (1024, 64, 128),
    ],
)
def test_registers_of_a_thread(threads: int, registers: int, room: int) -> None:
    """A piece has at most half of them, and at most 64."""
    expander, _ = _copy_of("!tirx.tile<8xf32, shared>", threads)
    assert (expander.registers, expander.room) == (registers, room)
    assert [expander.fits(4 * registers + more) for more in (-1, 0, 1)] == [True, True, False]


@together(
    ("tile", "layout", "threads", "whole", "part"),
    [
        ("128x64xf32", "S[(128, 64) : (1@TLane, 1@TCol)]", 128, (128, 64), (128, 64)),
        ("128x256xf32", "S[(128, 256) : (1@TLane, 1@TCol)]", 128, (128, 256), (128, 64)),
        ("128x64xf32", "S[(128, 64) : (1@TLane, 1@TCol)]", 256, (128, 64), (128, 32)),
        ("128x64xf32", "S[(128, 64) : (1@TLane, 1@TCol)]", 512, (128, 64), (128, 16)),
        ("128x256xf32", "S[(128, 256) : (1@TLane, 1@TCol)]", 1024, (128, 256), (128, 32)),
        ("128x512xf32", "S[(128, 512) : (1@TLane, 1@TCol)]", 1024, (128, 512), (128, 32)),
        ("128x512xf32", "S[(128, 512) : (1@TLane, 1@TCol)]", 640, (128, 512), (128, 32)),
        # 72 columns of two elements: in steps of 8 columns, of which 3 divide them.
        ("128x144xf16", "S[(128, 144) : (1@TLane, 1@TCol)]", 128, (128, 144), (128, 48)),
        ("128x256xf16", "S[(128, 256) : (1@TLane, 1@TCol)]", 128, (128, 256), (128, 128)),
        ("128x256xf16", "S[(128, 256) : (1@TLane, 2@TCol)]", 128, (128, 256), (128, 64)),
        ("128x1xf32", "S[(128) : (1@TLane)]", 128, (128, 1), (128, 1)),
        # Columns that are folded onto lanes, and those of two accumulators.
        ("64x256xf32", "S[(64, 2, 128) : (1@TLane, 64@TLane, 1@TCol)]", 128, (64, 2, 128), (64, 2, 64)),
        ("32x64xf32", "S[(32, 4, 16) : (1@TLane, 32@TLane, 1@TCol)]", 128, (32, 4, 16), (32, 4, 16)),
        ("2x128x32xf32", "S[(2, 128, 32) : (256@TCol, 1@TLane, 1@TCol)]", 128, (2, 128, 32), (1, 128, 32)),
        ("128x128xf32", "S[(128, 2, 64) : (1@TLane, 256@TCol, 1@TCol)]", 128, (128, 2, 64), (128, 1, 64)),
    ],
)  # fmt: skip
def test_pieces_of_tensor_tiles(
    tile: str, layout: str, threads: int, whole: tuple[int, ...], part: tuple[int, ...]
) -> None:
    expander, copy = _copy_of(f"!tirx.tile<{tile}, tensor, #tirx.tile_layout<{layout}>>", threads)
    found, pieces = expander._tensor_pieces(copy, copy.source)  # pyright: ignore[reportPrivateUsage]
    assert found == whole and {shape for _, shape in pieces} == {part}
    assert [offsets for offsets, _ in pieces] == [*product(*(range(0, n, m) for n, m in zip(whole, part, strict=True)))]


def test_tensor_tiles_without_columns() -> None:
    expander, copy = _copy_of(
        "!tirx.tile<8x16xf32, tensor, #tirx.tile_layout<S[(8, 16) : (16@TLane, 1@TLane)]>>", threads=128
    )
    with pytest.raises(
        RegisterLayoutError, match="expected a tensor tile with neighbouring elements in columns, found"
    ):
        expander._tensor_pieces(copy, copy.source)  # pyright: ignore[reportPrivateUsage]


Demands = dict[tuple[int, ...], tuple[int, int]]


def _chosen(tile: str, demands: Demands) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The largest piece that is chosen where a thread may hold 10 bytes, and the pieces that were looked at."""
    elements = prod(map(int, tile.split("x")[:-1]))
    expander, copy = _copy_of(f"!tirx.tile<{tile}, shared, #tirx.tile_layout<S[{elements} : 1]>>", threads=32)
    expander.room = 10
    asked: list[tuple[int, ...]] = []

    def demand(_op: object, _types: object, pieces: Pieces) -> tuple[int, int]:
        asked.append(max(_shapes(pieces), key=prod))
        return demands[asked[-1]]

    expander._demand = demand  # pyright: ignore
    pieces = expander._memory_pieces(copy, copy.source, copy.destination)  # pyright: ignore[reportPrivateUsage]
    assert sum(prod(shape) for _, shape in pieces) == elements
    return max((shape for _, shape in pieces), key=prod), asked


_ROWS: list[tuple[int, ...]] = [(n, 10) for n in (4, 3, 2, 1)]


@together(
    ("tile", "demands", "chosen", "asked"),
    [
        # Of 4 bytes, 32 threads hold 80.
        ("12x10xf32", {(6, 10): (10, 5)}, (6, 10), [(6, 10)]),
        ("20x8xf32", {(10, 8): (10, 5)}, (10, 8), [(10, 8)]),
        ("18x5xf32", {(9, 5): (10, 5)}, (9, 5), [(9, 5)]),
        # Few accesses count among those for which there is room; the first of those that are alike.
        (
            "12x10xf32",
            {(6, 10): (11, 5), (8, 8): (10, 41), (4, 10): (10, 40)},
            (4, 10),
            [(6, 10), (8, 8), (4, 10)],
        ),
        ("12x10xf32", {(6, 10): (11, 1), (8, 8): (3, 30), (4, 10): (9, 29)}, (4, 10), [(6, 10), (8, 8), (4, 10)]),
        ("12x10xf32", {(6, 10): (11, 1), (8, 8): (9, 29), (4, 10): (3, 30)}, (8, 8), [(6, 10), (8, 8), (4, 10)]),
        ("12x10xf32", {(6, 10): (11, 1), (8, 8): (9, 30), (4, 10): (3, 30)}, (8, 8), [(6, 10), (8, 8), (4, 10)]),
        # Without room for any, the fewest registers.
        (
            "12x10xf32",
            {(6, 10): (40, 9), (8, 8): (30, 9), **dict(zip(_ROWS, [(35, 1), (31, 1), (32, 2), (30, 10)], strict=True))},
            (8, 8),
            [(6, 10), (8, 8), *_ROWS, (1, 10)],
        ),
        # Whole runs of one dimension are compared with powers of two.
        ("120xf32", {(120,): (9, 20), (64,): (10, 19)}, (64,), [(120,), (64,)]),
        ("120xf32", {(120,): (9, 20), (64,): (10, 20)}, (120,), [(120,), (64,)]),
    ],
)
def test_pieces_of_tiles_in_memory(
    tile: str, demands: Demands, chosen: tuple[int, ...], asked: list[tuple[int, ...]]
) -> None:
    assert _chosen(tile, demands) == (chosen, asked)


def test_tiles_that_threads_cannot_share_out() -> None:
    rows = dict.fromkeys(_ROWS, (2000, 1))
    assert _chosen("12x10xf32", {(6, 10): (1021, 1), (8, 8): (1020, 9), **rows})[0] == (8, 8)
    with pytest.raises(RegisterLayoutError) as error:
        _chosen("12x10xf32", {(6, 10): (1021, 1), (8, 8): (1022, 9), **rows})
    assert error.value.message == (
        "expected a tile that 32 threads can share out, found one of which a thread has to move 1021 bytes at once; "
        "extents with more divisors in common with the threads help"
    )
