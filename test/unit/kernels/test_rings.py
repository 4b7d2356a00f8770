"""Kernels with rings compute the same numbers as numpy, for all numbers of slots, iterations and tiles."""

from __future__ import annotations

import pytest
from unit.kernels.ring_kernels import RingKernel, check


@pytest.mark.parametrize(
    ("kernel", "trips"),
    [
        (RingKernel(slots=3, skew=2), (0, 1, 3, 4)),
        (RingKernel(slots=1, skew=0), (2,)),
        (RingKernel(slots=2, skew=0, roles=True, target="sm_90a"), (0, 1, 5)),
    ],
)
def test_numbers_of_iterations(kernel: RingKernel, trips: tuple[int, ...]):
    for seed, count in enumerate(trips):
        check(kernel, count, seed=seed)


@pytest.mark.parametrize("roles", [False, True])
def test_counters_go_on_from_tile_to_tile(roles: bool):
    """3 iterations with 2 slots: the phase of the second tile is not that of the first."""
    kernel = RingKernel(slots=2, skew=0 if roles else 1, roles=roles, tiles=True)
    check(kernel, 3, blocks=2, extents=(3, 2))
