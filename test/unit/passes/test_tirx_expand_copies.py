"""Cutting tiles into pieces that the registers of the threads hold."""

from __future__ import annotations

from math import prod

import pytest

from tirx.layout import TileLayout
from tirx.passes.tirx_expand_copies import (
    _largest_divisor,  # pyright: ignore[reportPrivateUsage]
    _pieces,  # pyright: ignore[reportPrivateUsage]
    _power_pieces,  # pyright: ignore[reportPrivateUsage]
    _ways_to_cut,  # pyright: ignore[reportPrivateUsage]
)

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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
