"""What is kept of flags in global memory."""

from __future__ import annotations

import numpy as np

from tirx.sim.hazards.global_access import Access, Kind, Scope
from tirx.sim.hazards.global_flags import GlobalFlags, Side
from tirx.sim.hazards.monitor import Monitor


def test_a_poll_is_one_acquisition() -> None:
    """The same threads that read the same records by the same scope say no more than they did before."""
    flags, side = GlobalFlags(), Side(0, 32, Monitor(), slice(None))
    polls = [
        ((0, 1), (5, 6), Scope.GPU, 1),
        ((0, 1), (5, 6), Scope.GPU, 1),
        ((0, 1), (5, 6), Scope.SYS, 2),
        ((0, 2), (5, 6), Scope.SYS, 3),
        ((0, 2), (5, 7), Scope.SYS, 4),
        ((0, 2), (5, 7), Scope.SYS, 4),
    ]
    for threads, records, scope, count in polls:
        flags.receive(side, np.array(threads), np.array(records), Access(Kind.STRONG, scope, acquires=True))
        assert flags._imports[0].count == count  # pyright: ignore[reportPrivateUsage]
