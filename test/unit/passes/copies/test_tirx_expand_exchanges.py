"""`tirx-expand-exchanges`: the layouts of what warps give each other."""

from __future__ import annotations

from tirx.layout import Iter, TileLayout
from tirx.passes.copies.tirx_expand_exchanges import _gathered  # pyright: ignore[reportPrivateUsage]


def test_parts_of_two_dimensions_lie_in_slots_of_their_own() -> None:
    """The slots of a thread come first, then those of the first dimension of warps, then those of the second."""
    partial = TileLayout("S[(2, 3, 32, 5) : (1@warpid, 2@warpid, 1@laneid, 1)]")
    across = {0: Iter(2, 1, "warpid"), 1: Iter(3, 2, "warpid")}
    gathered = _gathered(partial, (2, 3, 32, 5), across)
    whole = TileLayout("S[(2, 3, 32, 5) : (5, 10, 1@laneid, 1)]")
    assert TileLayout(gathered.shard, (), gathered.offset).equivalent(whole)
