"""
A few of the random programs of `test/sweeps/programs.py` and `test/sweeps/handed_on.py`.

The sweeps once found something with some of them.
"""

from __future__ import annotations

import pytest
from sweeps.handed_on import KINDS, checked
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


_SEED = 0


@pytest.mark.parametrize("number", range(len(KINDS)), ids=[f"{family}, {target}" for family, target in KINDS])
@pytest.mark.sample(2)
def test_handed_on_through_global_memory(number: int) -> None:
    found = checked(number, _SEED)
    assert found.verdict in ("equal", "refused"), f"{found.message}\n{found.text}"
