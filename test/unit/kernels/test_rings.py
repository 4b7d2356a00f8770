"""Kernels with rings compute the same numbers as numpy, for all numbers of slots, iterations and tiles."""

from __future__ import annotations

import pytest
from unit.kernels.ring_kernels import RingKernel, check

TMA = {"engine": "tma", "target": "sm_90a"}
CP_ASYNC = {"engine": "cp_async"}


@pytest.mark.parametrize(
    ("kernel", "trips"),
    [
        (RingKernel(slots=3, skew=2), (0, 1, 4)),
        (RingKernel(slots=1, skew=0), (2,)),
        (RingKernel(slots=2, skew=0, roles=True, target="sm_90a"), (0, 5)),
        (RingKernel(slots=3, skew=2, **TMA), (0, 1, 4)),
        (RingKernel(slots=1, skew=0, roles=True, registers=(40, 232), output=1, **TMA), (0, 3)),
        (RingKernel(slots=3, skew=2, use_first=True, **CP_ASYNC), (0, 1, 4)),
        (RingKernel(slots=2, skew=0, roles=True, **CP_ASYNC), (5,)),
    ],
)
def test_numbers_of_iterations(kernel: RingKernel, trips: tuple[int, ...]):
    for seed, count in enumerate(trips):
        check(kernel, count, seed=seed)


@pytest.mark.parametrize(
    "kernel",
    [
        RingKernel(slots=2, skew=0, roles=True, tiles=True, **TMA),
        RingKernel(slots=2, skew=1, tiles=True, use_first=True, **CP_ASYNC),
    ],
)
def test_counters_go_on_from_tile_to_tile(kernel: RingKernel):
    """3 iterations with 2 slots: the phase of the second tile is not that of the first."""
    check(kernel, 3, blocks=2, extents=(2, 2))
