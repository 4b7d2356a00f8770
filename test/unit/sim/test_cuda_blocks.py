"""CUB's collectives of blocks and warps, compiled by nvcc for sm_100."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.cuda_programs import Program, program
from unit.sim.strict import run

_SEEDS = (None, 1)


@program("blocks")
@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.sample(1)
def test_radix_sort(program: Program, seed: int | None) -> None:
    keys = np.random.default_rng(1).standard_normal(128).astype(np.float32)
    values, order = np.arange(128, dtype=np.int32), np.argsort(keys)
    found = keys.copy()
    run(program.ptx, "radix_sort", 1, 64, [found, values], seed=seed)
    np.testing.assert_array_equal(found, keys[order])
    np.testing.assert_array_equal(values, order)


@program("blocks")
@pytest.mark.parametrize("n", [1, 31, 50, 96])
def test_reduce_of_some(program: Program, n: int) -> None:
    x, out = np.random.default_rng(3).integers(-9, 9, (2, n)).astype(np.float32), np.zeros(2, np.float32)
    run(program.ptx, "partial_reduce", 2, 96, [x, out, n])
    np.testing.assert_array_equal(out, x.sum(axis=1))


@pytest.mark.sample(1)
@program("blocks")
@pytest.mark.parametrize("seed", _SEEDS)
def test_scans(program: Program, seed: int | None) -> None:
    x = np.random.default_rng(4).integers(-9, 9, 128).astype(np.int32)
    exclusive, segments = np.zeros_like(x), np.zeros_like(x)
    total = np.zeros(1, np.int32)
    run(program.ptx, "scans", 1, 128, [x, exclusive, total, segments], seed=seed)
    np.testing.assert_array_equal(exclusive, np.cumsum(x) - x)
    assert total[0] == x.sum()
    heads = [i for i in range(128) if i % 5 == 0 or i % 32 == 0]
    wanted = np.zeros_like(x)
    for first, last in zip(heads, [*heads[1:], 128], strict=True):
        wanted[first] = x[first:last].sum()
    np.testing.assert_array_equal(segments, wanted)
