"""Two of the cases of `test/sweeps/example_sizes.py`, one without `--all-cases`: sizes that end inside of tiles."""

from __future__ import annotations

import pytest
from sweeps.example_sizes import all_cases, check

CASES = {case.name: case for case in all_cases()}


@pytest.mark.parametrize("name", ["wgmma_any_size_gemm (65, 33, 77)", "quantize 3"])
@pytest.mark.sample(1)
def test_example_in_other_sizes(name: str) -> None:
    assert check(CASES[name]) is None


def test_names_are_unique() -> None:
    assert len(CASES) == len(all_cases()) > 200
