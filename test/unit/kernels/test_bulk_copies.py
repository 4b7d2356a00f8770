"""Copies by the tensor memory accelerator and by cp.async move every element, over random shapes and layouts."""

from __future__ import annotations

import pytest
from unit.kernels.bulk_kernels import random_kernel

SEEDS = (8, 14, 23, 28, 30)
"""A sample of `python test/sweeps/bulk_copies.py`."""


@pytest.mark.parametrize("seed", SEEDS)
def test_random_kernels(seed: int):
    random_kernel(seed).check(seed)


def test_the_sample_has_all_engines():
    kernels = [random_kernel(seed) for seed in SEEDS]
    assert {kernel.load for kernel in kernels} >= {"tma", "cp_async"}
    assert {kernel.store for kernel in kernels} == {"tma_store", "ld_st"}
    # Tiles that reach beyond the last row.
    assert any(kernel.offset[0] + 2 * kernel.tile[0] > kernel.shape[0] for kernel in kernels)
