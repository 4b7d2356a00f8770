"""Warpgroups that read parts of a tile at equal distances."""

from __future__ import annotations

from unit.cases import together

from tirx.passes.layouts.tirx_materialize_descriptors import _grid  # pyright: ignore[reportPrivateUsage]


@together(
    ("starts", "grid"),
    [
        ([3], (1, 0, 0)),
        ([3, 10], (1, 7, 0)),
        ([8, 3], (1, -5, 0)),
        ([6, 6, 6], (1, 0, 0)),
        ([5, 12, 19], (1, 7, 0)),
        ([5, 12, 20], None),
        ([2, 9, 40, 47], (2, 38, 7)),
        ([4, 4, 8, 8], (2, 4, 0)),
        ([4, 9, 4, 9], (2, 0, 5)),
        ([2, 9, 40, 48], None),
        ([1, 4, 7, 30, 33, 36], (3, 29, 3)),
        ([1, 4, 30, 33, 59, 62], (2, 29, 3)),
        ([1, 4, 30, 33, 60, 63], None),
    ],
)
def test_grids(starts: list[int], grid: tuple[int, int, int] | None) -> None:
    """The number along the inner dimension, the distance along the outer and along the inner one."""
    assert _grid(starts) == grid
