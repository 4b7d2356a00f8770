"""Reductions and changes of layout of register tiles."""

from __future__ import annotations

import pytest

from tirx.copy.exchange import Way, plan_exchange, plan_reduction, plan_shuffles
from tirx.copy.slots import source_slots
from tirx.layout import TileLayout
from tirx.layout.ownership import AccessError

ROWS = TileLayout.parse("S[(4, 4, 32) : (1@warpid, 1, 1@laneid)]")


def test_lanes_that_differ_by_one_bit_are_combined() -> None:
    plan = plan_reduction(ROWS, (16, 32), (1,), 128)
    assert plan is not None
    assert plan.slots == (0, 1, 2, 3)
    assert plan.masks == (1, 2, 4, 8, 16)


def test_slots_are_combined_without_lanes() -> None:
    plan = plan_reduction(TileLayout.parse("S[(32, 4) : (1@laneid, 1)]"), (32, 4), (1,), 32)
    assert plan is not None
    assert (plan.slots, plan.masks) == ((0, 0, 0, 0), ())


@pytest.mark.parametrize(
    ("layout", "shape", "threads"),
    [
        (ROWS, (16, 32), 128),  # across warps
        (TileLayout.parse("S[(2, 3) : (1, 1@laneid)]"), (2, 3), 32),  # three lanes
        (TileLayout.parse("S[(2, 4) : (1, 1@laneid)] + 2@laneid"), (2, 4), 32),  # 2 ^ 1 is not 2 + 1, but 4 ^ 2 is
    ],
)
def test_no_reduction_within_warps(layout: TileLayout, shape: tuple[int, int], threads: int) -> None:
    dims = (0,) if layout is ROWS else (1,)
    assert plan_reduction(layout, shape, dims, threads) is None


def test_ways_to_change_a_layout() -> None:
    columns = TileLayout.parse("S[(4, 4, 32) : (1@warpid, 1, 1@laneid)] + R[1 : 1@laneid]")
    reversed_slots = TileLayout.parse("S[(4, 2, 2, 32) : (1@warpid, 1, 2, 1@laneid)]")
    neighbours = TileLayout.parse("S[(4, 4, 2, 16) : (1@warpid, 1, 1@laneid, 2@laneid)]")
    other_warps = TileLayout.parse("S[(4, 4, 32) : (1, 1@warpid, 1@laneid)]")
    others = (columns, reversed_slots, neighbours, other_warps)
    ways = [plan_exchange(ROWS, other, (16, 32), 32, 128) for other in others]
    assert [plan.way for plan in ways] == [Way.MOVES, Way.MOVES, Way.SHUFFLES, Way.SHARED]
    assert ways[2].cycles == 16.0
    assert ways[3].shared is not None
    assert plan_shuffles(ROWS, other_warps, (16, 32), 128) is None


def test_a_slot_for_every_slot() -> None:
    part = TileLayout.parse("S[(4, 4) : (1@warpid, 1)] + R[32 : 1@laneid]")
    assert source_slots(ROWS, (16, 32), part, (16, 1), 128) == (0, 1, 2, 3)
    missing = TileLayout.parse("S[(4, 4) : (1, 1@warpid)] + R[32 : 1@laneid]")
    with pytest.raises(AccessError, match="expected every thread to hold what it needs in one slot, found element"):
        source_slots(ROWS, (16, 32), missing, (16, 1), 128)


def test_parts_of_bytes_do_not_go_through_shared_memory() -> None:
    rows, columns = (
        TileLayout.parse("S[(32, 2) : (1@laneid, 1)]"),
        TileLayout.parse("S[(2, 16, 2) : (1, 1@laneid, 16@laneid)]"),
    )
    with pytest.raises(AccessError, match="expected neighbouring elements of whole bytes in threads, found 1 in S"):
        plan_exchange(rows, columns, (32, 2), 4, 32)
