"""Threads that wait for each other, compiled by nvcc for sm_90."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.cuda_programs import Program, program
from unit.sim.strict import run

from tirx.sim import SimError
from tirx.sim.core import schedule

_SEEDS = (None, 1)


@program("locks")
@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.sample(1)
def test_lock_by_thread(program: Program, seed: int | None) -> None:
    lock, counter, out = np.zeros(1, np.int32), np.zeros(1, np.int32), np.full((2, 20), -1, np.int32)
    run(program.ptx, "lock_by_thread", 2, 20, [lock, counter, out], seed=seed)
    assert counter[0] == 80 and lock[0] == 0
    assert len(np.unique(out)) == 40 and out.min() >= 0 and out.max() == 79


@pytest.mark.sample(1)
@program("locks")
@pytest.mark.parametrize("seed", _SEEDS)
def test_barrier_by_hand(program: Program, seed: int | None) -> None:
    x = np.arange(6, dtype=np.int32) + 1
    sums, arrived, out = np.zeros(6, np.int32), np.zeros(1, np.int32), np.zeros(6 * 64, np.int32)
    run(program.ptx, "barrier_by_hand", 6, 64, [x, sums, arrived, out], seed=seed)
    np.testing.assert_array_equal(out, x.sum())


@program("locks")
def test_barriers_that_nobody_completes(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "_QUIET_INSTRUCTIONS", 20_000)
    x, sums, out = np.zeros(3, np.int32), np.zeros(3, np.int32), np.zeros(96, np.int32)
    arrived = np.array([-1], np.int32)
    with pytest.raises(SimError, match="deadlock: no thread can go on"):
        run(program.ptx, "barrier_by_hand", 1, 32, [x, sums, arrived, out])
    arrived[0] = 0
    with pytest.raises(SimError, match="deadlock of the 2 clusters that may run at once"):
        run(program.ptx, "barrier_by_hand", 3, 32, [x, sums, arrived, out], max_resident=2)


@pytest.mark.sample(1)
@program("locks")
@pytest.mark.parametrize("seed", _SEEDS)
def test_barrier_of_the_grid(program: Program, seed: int | None) -> None:
    x = np.random.default_rng(1).standard_normal(500).astype(np.float32)
    parts, out = np.zeros_like(x), np.zeros_like(x)
    run(program.ptx, "barrier_of_grid", 4, 64, [x, parts, out, 500], seed=seed)
    np.testing.assert_array_equal(out, 2 * x[::-1])


@pytest.mark.sample(1)
@program("locks")
@pytest.mark.parametrize("seed", _SEEDS)
def test_tiles_of_several_warps(program: Program, seed: int | None) -> None:
    x = np.arange(256, dtype=np.int32)
    out = np.zeros_like(x)
    run(program.ptx, "tiles_of_warps", 1, 256, [x, out], seed=seed)
    np.testing.assert_array_equal(out, np.repeat(x.reshape(4, 64).sum(axis=1), 64))


@program("locks")
def test_orders(program: Program) -> None:
    most, flags, out = np.array([7], np.uint64), np.array([5, 4] * 16, np.int32), np.zeros(32, np.int32)
    run(program.ptx, "orders", 1, 32, [most, flags, out])
    assert most[0] == 93
    np.testing.assert_array_equal(out, [100, 4] * 16)
    np.testing.assert_array_equal(flags, [6, 4] * 16)


@pytest.mark.sample(1)
@program("locks")
@pytest.mark.parametrize("seed", _SEEDS)
def test_wait_by_a_function(program: Program, seed: int | None) -> None:
    x = np.random.default_rng(3).integers(-9, 9, (3, 64)).astype(np.int32)
    out = np.zeros(64, np.int32)
    run(program.ptx, "wait_by_function", 1, 64, [x, out], seed=seed)
    np.testing.assert_array_equal(out, x.sum(axis=0)[::-1])
