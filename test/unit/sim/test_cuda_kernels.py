"""Kernels of CUDA C++, compiled by nvcc: sums, transposition, histograms, prefix sums."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from unit.sim.cuda_programs import Program, program
from unit.sim.strict import run

from tirx.sim import SimError


def _rng() -> np.random.Generator:
    return np.random.default_rng(5)


# reduce.cu


@pytest.mark.sample(1)
@program("reduce")
@pytest.mark.parametrize("seed", [None, 1])
def test_sum_through_shared_memory(program: Program, seed: int | None) -> None:
    x = _rng().integers(-50, 50, 1000).astype(np.float32)
    out = np.zeros(3, np.float32)
    run(program.ptx, "reduce_shared", 3, 128, [x, out, len(x)], dynamic_shared=512, seed=seed)
    padded = np.concatenate([x, np.zeros(3 * 128 * 3 - len(x), np.float32)]).reshape(-1, 3, 128)
    np.testing.assert_array_equal(out, padded.sum(axis=(0, 2)))


@program("reduce")
def test_shared_memory_that_is_too_small(program: Program) -> None:
    out = np.zeros(1, np.float32)
    with pytest.raises(SimError, match="out-of-bounds shared store of 4 bytes at 0x5fc"):
        run(program.ptx, "reduce_shared", 1, 128, [out, out.copy(), 1], dynamic_shared=508)


@program("reduce")
@pytest.mark.parametrize(("name", "dtype"), [("f32", np.float32), ("f64", np.float64), ("s64", np.int64)])
@pytest.mark.sample(1)
def test_sum_by_shuffles(program: Program, name: str, dtype: Any) -> None:
    x = (_rng().integers(-(2**20), 2**20, (2, 300)) * (2**30 if name == "s64" else 1)).astype(dtype)
    out = np.zeros(2, dtype)
    run(program.ptx, f"reduce_shuffle_{name}", 2, 128, [x, out, 300])
    np.testing.assert_allclose(out, x.sum(axis=1), rtol=1e-6 if name == "f32" else 0)


@program("reduce")
def test_reductions_of_a_warp(program: Program) -> None:
    x = _rng().integers(-(2**31), 2**31, 32).astype(np.int32)
    out = np.zeros((6, 32), np.int32)
    run(program.ptx, "reduce_warp", 1, 32, [x, out])
    functions = (np.add, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    for row, function in zip(out, functions, strict=True):
        np.testing.assert_array_equal(row, function.reduce(x, dtype=np.int32))


@program("reduce")
@pytest.mark.parametrize("sign", [-1, 0, 1])
def test_votes(program: Program, sign: int) -> None:
    x = _rng().integers(-3, 4, 64).astype(np.int32) if sign == 0 else np.full(64, sign, np.int32)
    out, ballots, matches = np.zeros(3, np.int32), np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    run(program.ptx, "votes", 1, 64, [x, out, ballots, matches])
    assert out.tolist() == [(x < 0).sum(), (x < 0).all(), (x < 0).any()]
    for lane in range(64):
        warp, first = x[lane // 32 * 32 :][:32], lane // 32 * 32
        assert matches[lane] == sum(1 << i for i in range(32) if warp[i] == x[lane])
        ballot = sum(1 << i for i in range(32) if warp[i] < 0)
        assert ballots[lane] == (ballot & 0xAAAAAAAA | 1 if (lane - first) % 2 else ballot)


@pytest.mark.sample(1)
@program("reduce")
@pytest.mark.parametrize("seed", [None, 3, 4])
def test_last_block_adds(program: Program, seed: int | None) -> None:
    x = _rng().integers(-50, 50, (5, 70)).astype(np.float32)
    parts, out = np.zeros(5, np.float32), np.zeros(1, np.float32)
    run(program.ptx, "reduce_last_block", 5, 32, [x, parts, out, 70], seed=seed)
    assert out[0] == x.sum()


# transpose.cu


@program("transpose")
@pytest.mark.parametrize(
    ("name", "dtype"),
    [("u8", np.uint8), ("s16", np.int16), ("f32", np.float32), ("f64", np.float64), ("c64", np.complex64)],
)
@pytest.mark.sample(1)
def test_transpose(program: Program, name: str, dtype: Any) -> None:
    x = _rng().integers(0, 256, (40, 70)).astype(dtype)
    out = np.zeros((70, 40), dtype)
    run(program.ptx, f"transpose_{name}", (3, 2), (32, 8), [x, out, 40, 70])
    np.testing.assert_array_equal(out, x.T)


@pytest.mark.sample(1)
@program("transpose")
def test_transpose_swizzled(program: Program) -> None:
    x = _rng().standard_normal((64, 96)).astype(np.float32)
    out = np.zeros((96, 64), np.float32)
    run(program.ptx, "transpose_swizzled", (3, 2), (32, 8), [x, out, 64, 96])
    np.testing.assert_array_equal(out, x.T)


@program("transpose")
def test_vectors(program: Program) -> None:
    arrays: list[np.ndarray] = []
    for dtype, width in ((np.float32, 4), (np.uint8, 4), (np.int16, 2), (np.float64, 2)):
        x = _rng().integers(0, 100, (64, width)).astype(dtype)
        arrays += [x, np.zeros_like(x)]
    run(program.ptx, "copy_vectors", 2, 32, arrays)
    for x, out in zip(arrays[::2], arrays[1::2], strict=True):
        np.testing.assert_array_equal(out, x)


# histogram.cu


@program("histogram")
@pytest.mark.parametrize("name", ["histogram", "histogram_aggregated"])
def test_histogram(program: Program, name: str) -> None:
    x = (_rng().standard_normal(500) * 20 + 128).clip(0, 255).astype(np.uint8)
    bins = np.zeros(256, np.uint32)
    run(program.ptx, name, 4, 128, [x, bins, 500])
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=256))


@pytest.mark.sample(1)
@program("histogram")
@pytest.mark.parametrize("seed", [None, 7, 8])
def test_compare_and_swap_and_a_lock(program: Program, seed: int | None) -> None:
    x = _rng().random(256).astype(np.float32)
    most, counter = np.zeros(1, np.uint32), np.zeros(1, np.int32)
    run(program.ptx, "exchanges", 8, 32, [x, most, counter], seed=seed)
    assert most.view(np.float32)[0] == x.max() and counter[0] == 8


@program("histogram")
def test_atomics(program: Program) -> None:
    count = 128
    i, u, s = np.zeros(4, np.int32), np.zeros(7, np.uint32), np.zeros(2, np.int64)
    u[[0, 2]] = 0xFFFFFFFF
    longs = np.zeros(3, np.uint64)
    f, d = np.zeros(1, np.float32), np.zeros(1, np.float64)
    h, b = np.zeros(2, np.float16), np.zeros(2, ml_dtypes.bfloat16)
    run(program.ptx, "atomics", 2, 64, [i, u, longs, f, d, h, b, s])
    t = np.arange(count)
    x = t * 7919 % 1000 - 500
    assert i.tolist() == [x.sum(), -x.sum(), min(0, x.min()), max(0, x.max())]
    raw = x.astype(np.int32).view(np.uint32)
    assert u[:2].tolist() == [raw.min(), raw.max()]
    assert u[2:5].tolist() == [0, (1 << 29) - 1, np.bitwise_xor.reduce(raw)]
    assert u[5:].tolist() == [count % 10, -count % 12]
    xors = np.bitwise_xor.reduce(t.astype(np.uint64) * np.uint64(0x123456789ABCDEF))
    assert longs.tolist() == [int(x.sum()) % 2**64, (count - 1) << 40, int(xors)]
    assert f[0] == x.sum() and d[0] == x.sum() / 8
    assert h.tolist() == [count, (t % 3).sum()] and b.tolist() == [count // 2, count]
    assert s.tolist() == [int(x.min()) << 33, int(x.max()) << 33]


@pytest.mark.sample(1)
@program("histogram")
@pytest.mark.parametrize("seed", [None, 2])
def test_returned_values(program: Program, seed: int | None) -> None:
    following, taken = np.zeros(1, np.uint32), np.zeros(96, np.uint32)
    run(program.ptx, "tickets", 2, 48, [following, taken], seed=seed)
    assert following[0] == 96
    assert sorted(taken.tolist()) == sorted(2 * list(range(100, 196, 2)))


# scan.cu


@program("scan")
def test_scan(program: Program) -> None:
    x = _rng().integers(-100, 100, 128).astype(np.int32)
    out = np.zeros_like(x)
    run(program.ptx, "scan_block", 1, 128, [x, out])
    np.testing.assert_array_equal(out, np.cumsum(x))
    values, exclusive = x.astype(np.float32), np.zeros(128, np.float32)
    run(program.ptx, "scan_tree", 1, 64, [values, exclusive, 128], dynamic_shared=512)
    np.testing.assert_array_equal(exclusive, np.cumsum(values) - values)


@pytest.mark.sample(1)
@program("scan")
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_scan_of_blocks_that_wait_for_each_other(program: Program, seed: int | None) -> None:
    x = _rng().integers(0, 100, 6 * 64).astype(np.int32)
    out = np.zeros_like(x)
    run(program.ptx, "scan_grid", 6, 64, [x, out, np.zeros(6, np.uint64)], seed=seed)
    np.testing.assert_array_equal(out, np.cumsum(x))
