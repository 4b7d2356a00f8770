"""Kernels with rings compute the same numbers as numpy, for all numbers of slots, iterations and tiles."""

from __future__ import annotations

import numpy as np
import pytest
from unit.examples import EXAMPLES
from unit.kernels.ring_kernels import RingKernel, check

import tirx

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


@pytest.mark.parametrize("name", ["wgmma_ring_gemm", "wgmma_roles_gemm"])
def test_examples(name: str):
    """Products of warpgroups that stay pending while the next slot is filled."""
    kernel = tirx.build((EXAMPLES / f"{name}.mlir").read_text()).kernels[name]
    rng = np.random.default_rng(0)
    a = rng.integers(-3, 4, (128, 256)).astype(np.float16)
    b = rng.integers(-3, 4, (256, 256)).astype(np.float16)
    d = np.zeros((128, 512), np.float32)
    kernel.simulate(a, b, d, 1, 1, 3, grid=(1, 1, 1), check="strict")
    expected = a[:, :192].astype(np.float32) @ b[:, :192].astype(np.float32).T
    np.testing.assert_array_equal(d[:, :256], expected)
