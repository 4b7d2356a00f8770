"""A few of the random programs of `test/sweeps/programs.py`, some of which the sweep once found something with."""

from __future__ import annotations

import pytest
from sweeps.programs import check
from unit.sim.assembled import assembled

# 1066: one operand comes by TMA, the other by cp.async; 1013: no grid of warpgroups divides the sums.
_SEEDS = (2, 8, 14, 1013, 1066)


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.sample(1)
def test_random_program(seed: int) -> None:
    problem, ptx = check(seed)
    assert problem is None
    assembled(ptx)
