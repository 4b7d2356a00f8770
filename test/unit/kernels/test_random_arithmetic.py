"""A few of the random programs of `test/sweeps/random_arithmetic.py`."""

from __future__ import annotations

import pytest
from sweeps.random_arithmetic import check


@pytest.mark.parametrize("seed", (0, 1, 2, 3, 5, 7, 8))
@pytest.mark.sample(2)
def test_random_arithmetic(seed: int) -> None:
    assert check(seed) is None
