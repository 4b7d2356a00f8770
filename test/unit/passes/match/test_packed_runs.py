"""Threads that hold the runs of 16 neighbours of rows of 6-bit elements."""

from __future__ import annotations

from math import prod

import pytest

from tirx.hw.errors import OperandLayoutError
from tirx.passes.match.packed_runs import run_distribution


def test_runs_of_rows() -> None:
    for dims in ((4, 64), (2, 4, 32), (8, 16)):
        layout = run_distribution(dims, 32)
        assert layout.size() == prod(dims)
        assert (layout.shard[-1].extent, layout.shard[-1].stride, layout.shard[-1].axis) == (16, 1, "m")
        assert all(it.stride % 16 == 0 for it in layout.shard[:-1] if it.axis == "m")
    for columns in (8, 24, 72):
        said = f"^expected rows of a multiple of 16 elements of 6 bits, found {columns}$"
        with pytest.raises(OperandLayoutError, match=said):
            run_distribution((4, columns), 32)
