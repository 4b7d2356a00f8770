"""Cooperative groups, <cuda/barrier>, bulk copies and clusters, compiled by nvcc for sm_90."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.cuda_programs import Program, program
from unit.sim.strict import run

from tirx.sim import SimError

_SEEDS = (None, 1, 2)


def _rng() -> np.random.Generator:
    return np.random.default_rng(12)


@program("groups")
def test_tiles_of_a_warp(program: Program) -> None:
    x = _rng().integers(-20, 20, 64).astype(np.int32)
    sums, scans, ranks = (np.zeros(64, np.int32) for _ in range(3))
    run(program.ptx, "tiles", 1, 64, [x, sums, scans, ranks])
    tiles = x.reshape(8, 8)
    np.testing.assert_array_equal(sums, np.repeat(tiles.sum(axis=1), 8))
    np.testing.assert_array_equal(scans, np.cumsum(tiles, axis=1).reshape(-1))
    positive = (x > 0).reshape(2, 32)
    before = np.cumsum(positive, axis=1) - positive
    wanted = np.where(positive, before + 100 * positive.sum(axis=1, keepdims=True), -1)
    np.testing.assert_array_equal(ranks, wanted.reshape(-1))


@pytest.mark.sample(1)
@program("groups")
@pytest.mark.parametrize("seed", _SEEDS)
def test_split_arrive_and_wait(program: Program, seed: int | None) -> None:
    x = _rng().integers(0, 9, (2, 96)).astype(np.int32)
    out = np.zeros_like(x)
    run(program.ptx, "split_barrier", 2, 96, [x, out, 5], seed=seed)
    for r in range(5):
        x = 3 * x + r + np.roll(x, -1, axis=1)
    np.testing.assert_array_equal(out, x)


@pytest.mark.sample(1)
@program("groups")
@pytest.mark.parametrize("seed", _SEEDS)
def test_bulk_copies(program: Program, seed: int | None) -> None:
    x = _rng().integers(-999, 999, (3, 512)).astype(np.int32)
    out = np.zeros_like(x)
    run(program.ptx, "bulk_copies", 3, 64, [x, out, 7], seed=seed)
    np.testing.assert_array_equal(out, 2 * x + 7)


@pytest.mark.sample(1)
@program("groups")
@pytest.mark.parametrize("seed", _SEEDS)
def test_copies_by_threads(program: Program, seed: int | None) -> None:
    x = _rng().standard_normal((2, 128, 4)).astype(np.float32)
    out = np.zeros_like(x)
    run(program.ptx, "thread_copies", 2, 128, [x, out], seed=seed, check=False)
    np.testing.assert_array_equal(out, x[:, ::-1])
    # cuda::memcpy_async does not fence the initialisation of the barrier, which the bulk copy uses in the async proxy.
    with pytest.raises(SimError, match="thread 0 has not executed fence.mbarrier_init or fence.proxy.async"):
        run(program.ptx, "thread_copies", 2, 128, [x, out], seed=seed)


@program("groups")
@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.sample(1)
def test_distributed_shared_memory(program: Program, seed: int | None) -> None:
    x = _rng().integers(0, 64, 700).astype(np.int32)
    bins = np.zeros(64, np.int32)
    run(program.ptx, "cluster_histogram", 8, 64, [x, bins, 700, 16], dynamic_shared=64, cluster=4, seed=seed)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=64))


@program("groups")
def test_clusters_in_two_dimensions(program: Program) -> None:
    x = _rng().integers(0, 999, (2, 4, 64)).astype(np.int32)
    out = np.zeros_like(x)
    run(program.ptx, "cluster_ring", (4, 2), 64, [x, out])
    for row in range(2):
        for column in range(4):
            rank = column % 2 + 2 * row
            following = (rank + 1) % 4
            other = x[following // 2, column // 2 * 2 + following % 2]
            np.testing.assert_array_equal(out[row, column], other + 1000 * rank + 10000 * following)


@program("groups")
def test_a_cluster_that_the_kernel_does_not_ask_for(program: Program) -> None:
    x = np.zeros(256, np.int32)
    with pytest.raises(SimError, match=r"expected cluster \(2, 2, 1\)"):
        run(program.ptx, "cluster_ring", (4, 2), 64, [x, x.copy()], cluster=(4, 1, 1))
