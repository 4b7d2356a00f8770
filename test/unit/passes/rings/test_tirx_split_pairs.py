"""Dimension of a reshaped tile that the blocks of a pair share out."""

from __future__ import annotations

from unit.cases import together

from tirx.passes.rings.tirx_split_pairs import _reshaped  # pyright: ignore[reportPrivateUsage]


@together(
    ("dims", "to", "dimension", "found"),
    [
        ((64, 32), (2, 32, 32), 0, 0),
        ((64, 32), (64, 4, 8), 0, 0),
        ((64, 32), (64, 4, 8), 1, 1),
        ((64, 32), (64, 1, 32), 1, 2),
        ((2, 32, 32), (64, 32), 0, 0),
        ((2, 32, 32), (64, 32), 1, None),
        ((2, 32, 32), (64, 32), 2, 1),
        ((6, 4), (3, 8), 0, None),
        ((1, 64), (64,), 0, None),
        ((1, 64), (64,), 1, 0),
        ((1, 64), (1, 2, 32), 0, None),
        ((2, 8), (2, 8), 0, 0),
        ((2, 8), (16,), 1, None),
    ],
)
def test_halves_of_reshaped_tiles(
    dims: tuple[int, ...], to: tuple[int, ...], dimension: int, found: int | None
) -> None:
    assert _reshaped(dims, to, dimension) == found
