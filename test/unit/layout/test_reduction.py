"""Layouts of reduced tiles, against the definition: a thread holds a result if it holds any of what it combines."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.cases import together

from tirx.copy.slots import projected
from tirx.layout import LayoutError, TileLayout
from tirx.layout.ownership import held_elements
from tirx.layout.reduction import by_warp_and_lane, reduced, row_layout

THREADS = 64

CASES = [
    (
        "S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)]",
        (8, 16),
        (1,),
        "S[8 : 4@laneid] + R[(2, 4) : (1@warpid, 1@laneid)]",
    ),
    ("S[(4, 32, 2) : (2, 1@laneid, 1)]", (4, 64), (1,), "S[4 : 1] + R[32 : 1@laneid]"),
    ("S[(4, 32, 2) : (2, 1@laneid, 1)]", (4, 64), (0,), "S[(32, 2) : (1@laneid, 1)]"),
    ("S[(2, 4, 8) : (8, 16, 1)]", (2, 4, 8), (1,), "S[(2, 8) : (8, 1)]"),
]


@together(("layout", "shape", "dims", "expected"), CASES)
def test_examples(layout: str, shape: tuple[int, ...], dims: tuple[int, ...], expected: str) -> None:
    assert reduced(TileLayout.parse(layout), shape, dims).equivalent(TileLayout.parse(expected))


@settings(max_examples=40, deadline=None)
@given(
    shape=st.tuples(st.sampled_from([1, 2, 4, 6, 16]), st.sampled_from([1, 3, 8, 32])),
    dims=st.sampled_from([(0,), (1,), (0, 1)]),
    contiguous=st.integers(0, 1),
)
def test_threads_hold_what_their_elements_are_reduced_to(
    shape: tuple[int, int], dims: tuple[int, ...], contiguous: int
) -> None:
    layout = row_layout(shape, dims, contiguous, 32, THREADS)
    part = reduced(layout, shape, dims)
    part_shape = tuple(1 if d in dims else n for d, n in enumerate(shape))
    whole, left = held_elements(layout, shape, THREADS), held_elements(part, part_shape, THREADS)
    wanted = projected(whole, shape, part_shape)
    for thread in range(THREADS):
        assert set(left[thread][left[thread] >= 0]) == set(wanted[thread][wanted[thread] >= 0])


def test_rows_stay_within_warps() -> None:
    """Four rows for four warps, in vectors of 16 bytes; one row is shared out among the warps."""
    expected = "S[(4, 8, 32, 4) : (1@warpid, 4, 1@laneid, 1)]"
    assert row_layout((4, 1024), (1,), 1, 32, 128).equivalent(TileLayout.parse(expected))
    assert "warpid" in row_layout((1, 4096), (1,), 1, 32, 128).axes


def test_threads_as_warps_and_lanes() -> None:
    split = by_warp_and_lane(TileLayout.parse("S[(2, 128) : (1, 1@tx)] + 32@tx"))
    assert str(split) == "S[(2, 4, 32) : (1, 1@warpid, 1@laneid)] + 1@warpid"
    with pytest.raises(LayoutError, match="expected thread iters that divide into warps, found 48"):
        by_warp_and_lane(TileLayout.parse("S[48 : 1@tx]"))
