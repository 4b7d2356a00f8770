"""Kernels that Python writes: what they compute, as the tile level runs them, with numpy beside it."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.cases import together

import tirx as tx
from tirx import f16, f32, i32, u32
from tirx.builder.calls import type_of_array
from tirx.builder.dtypes import ArrayType
from tirx.dialects.tirx import MmaOp, TileType, kernels
from tirx.interp import run_kernel
from tirx.runtime.tune import Trial, Tuned


def _run(kernel: tx.Kernel, *arguments: Any, types: Sequence[Any] = (), **constants: Any) -> str:
    """Runs a kernel on whole tiles; returns its IR."""
    module = kernel.ir(*types, **constants)
    module.verify()
    run_kernel(next(iter(kernels(module))), arguments)
    return str(module)


def _numbers(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


@tx.jit(f16[None, None], f16[None, None], f32[None, None], threads=128, target="sm_80")
def product(a: tx.Array, b: tx.Array, d: tx.Array, BM: int = tx.param(32, 64), BN: int = 16, BK: int = 16) -> None:
    m, n = tx.grid((a.shape[0], BM), (b.shape[0], BN))
    acc = tx.zeros(f32, BM, BN)
    for k in tx.tiles(a.shape[1], BK):
        acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
    d[m, n] = acc


@pytest.mark.parametrize("rows", [32, 64])
def test_a_product_accumulates_in_place(rows: int) -> None:
    a, b, d = _numbers(70, 40).astype(np.float16), _numbers(33, 40, seed=1).astype(np.float16), _numbers(70, 33)
    text = _run(product, a, b, d, BM=rows)
    assert np.array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T)
    assert "iter_args" not in text and f"{rows}x16xf32, accumulator" in text and text.count("tirx.mma") == 1


@tx.jit(f32[None, 16], f32[None, 16], tx.index, threads=64, target="sm_80")
def branches(x: tx.Array, y: tx.Array, n: tx.Scalar) -> None:
    m = tx.grid((x.shape[0], 32))
    kept, a = tx.shared(x[m, :]), x[m, :]
    if n > 3:
        a = a + kept
    else:
        a = a * kept
    y[m, :] = a


@pytest.mark.parametrize("n", [3, 4])
def test_each_branch_reads_what_both_know(n: int) -> None:
    x, y = _numbers(40, 16), np.zeros((40, 16), np.float32)
    _run(branches, x, y, n)
    assert np.array_equal(y, x + x if n > 3 else x * x)


@tx.jit(f32[None, None], f32[None, None], threads=64, target="sm_80")
def softmax(x: tx.Array, y: tx.Array) -> None:
    m = tx.grid((x.shape[0], 4))
    e = x[m, tx.tile(0, 64)].load(pad=-float("inf"))
    p = tx.exp(e - e.max(1))
    y[m, tx.tile(0, 64)] = p / p.sum(1)


def test_elementwise_operations_are_one_map_each_use() -> None:
    x, y = _numbers(6, 50), np.zeros((6, 50), np.float32)
    text = _run(softmax, x, y)
    p = np.exp(x - x.max(1, keepdims=True))
    assert np.allclose(y, p / p.sum(1, keepdims=True), rtol=1e-5)
    assert text.count("tirx.map") == 2


@tx.jit(f32[None, 32], f32[None, 32], i32[None], threads=32, target="sm_80")
def online(x: tx.Array, y: tx.Array, lengths: tx.Array) -> None:
    """The carried values of a loop with a branch, and of a loop that ends by a condition."""
    rows = tx.grid((lengths.shape[0], 1))
    n = lengths[rows.start].load().to(tx.index)
    top, total, count = tx.full(f32, -100.0, 1, 1), tx.zeros(f32, 1, 1), 0
    for r in tx.range(n):
        e = x[r : r + 1, :]
        new = tx.maximum(top, e.max(1))
        total = total * tx.exp(top - new) + tx.exp(e - new).sum(1)
        top = new
        if r > 2 and r < 5:
            count = count + 2
        elif r == 0:
            count += 1
    steps = 0
    while steps * steps < n:
        steps += 1
    y[rows.start : rows.start + 1, :] = (top + tx.log(total) + count + tx.f32(steps)).broadcast(1, 32)


def test_values_that_loops_rebind_are_carried() -> None:
    lengths = np.array([7, 1, 4], np.int32)
    x, y = _numbers(7, 32), np.zeros((3, 32), np.float32)
    text = _run(online, x, y, lengths)
    for i, n in enumerate(lengths):
        counts = sum(2 if 2 < r < 5 else 1 if r == 0 else 0 for r in range(n))
        part = x[:n].astype(np.float64)
        expected = np.log(np.exp(part).sum()) + counts + int(np.ceil(np.sqrt(n)))
        assert np.allclose(y[i], expected, rtol=1e-5), i
    assert text.count("scf.for") == 1 and text.count("scf.while") == 1 and text.count("scf.if") == 2


@tx.fn
def larger(a: Any, i: Any, b: Any, j: Any) -> tuple[Any, Any]:
    first = (a > b) | ((a == b) & (i < j))
    return tx.where(first, a, b), tx.where(first, i, j)


@tx.jit(f32[None, 32], f32[None, 3], i32[None, 3], threads=32, target="sm_80")
def top(x: tx.Array, values: tx.Array, places: tx.Array, K: int = 3) -> None:
    m = tx.grid((x.shape[0], 4))
    e, at = x[m, :].load(pad=-float("inf")), tx.indices(1, 4, 32).to(i32)
    for k in range(K):
        v, i = tx.reduce((e, at), 1, larger)
        values[m, k : k + 1] = v
        places[m, k : k + 1] = i
        e = tx.where(at == i, -float("inf"), e)


def test_a_python_loop_is_written_out_and_a_function_folds_two_tiles() -> None:
    x = np.random.default_rng(0).permutation(32 * 6).reshape(6, 32).astype(np.float32)
    values, places = np.zeros((6, 3), np.float32), np.zeros((6, 3), np.int32)
    text = _run(top, x, values, places)
    order = np.argsort(-x, 1)[:, :3]
    assert np.array_equal(places, order) and np.array_equal(values, np.take_along_axis(x, order, 1))
    assert text.count("tirx.reduce") == 3 and "scf.for" not in text


@tx.jit(f32[None], f32[None], tx.index, threads=32, target="sm_80")
def rotating(x: tx.Array, y: tx.Array, n: tx.Scalar) -> None:
    tx.grid(1)
    first = tx.tile(0, 32)
    same, sums = x[first], x[first]
    for _ in tx.range(n):
        same, sums = same, sums + same
    y[first.index] = sums - same


def test_names_that_a_loop_binds_to_what_they_were_are_not_carried() -> None:
    x, y = _numbers(32), np.zeros(32, np.float32)
    text = _run(rotating, x, y, 3)
    assert np.array_equal(y, 3 * x) and text.count("iter_args(%") == 1 and "-> (!tirx.tile" in text


@tx.jit(i32[None], i32[16], f32[None, 32], f32[None, 32], i32[None], threads=32, target="sm_80")
def gathered(x: tx.Array, h: tx.Array, table: tx.Array, y: tx.Array, ids: tx.Array) -> None:
    tx.grid(1)
    counts = tx.shared(i32, 16)
    counts[x[tx.tile(0, 64)].load(pad=-1)] += 1
    h[:] += counts[:]
    rows = tx.tile(0, 8, end=ids.shape[0])
    y[rows, :] = 2.0 * table[ids[rows].load(pad=-1), :]
    y[ids[rows].load(pad=-1), :] += table[rows, :]


def test_tiles_of_indices_gather_and_scatter() -> None:
    x, ids = np.array([3, 5, 3, 15, 0], np.int32), np.array([4, 0, 2], np.int32)
    table, h = _numbers(5, 32), np.ones(16, np.int32)
    y = np.zeros((3, 32), np.float32)
    _run(gathered, x, h, table, y, ids)
    expected = 2 * table[ids]
    for i, at in enumerate(ids):
        if at < 3:
            expected[at] += table[i]
    assert np.array_equal(h, 1 + np.bincount(x, minlength=16)) and np.array_equal(y, expected)


@tx.jit(f32[16, 64], f32[16, 64], f32[64, 16], threads=128, target="sm_80")
def parts(a: tx.Array, d: tx.Array, t: tx.Array) -> None:
    tx.grid(1)
    x = a[:, :].load()
    rotated = tx.concat([-x[:, 32:], x[:, :32]], 1)
    d[:, :] = rotated * tx.indices(1, 16, 64).to(f32) + x[:, ::-1]
    pairs = x.reshape(16, 32, 2)
    t[:, :] = tx.concat([pairs[:, :, 1:2], pairs[:, :, 0:1]], 2).reshape(16, 64).T


def test_parts_of_values() -> None:
    a, d, t = _numbers(16, 64), np.zeros((16, 64), np.float32), np.zeros((64, 16), np.float32)
    _run(parts, a, d, t)
    assert np.array_equal(d, np.concatenate([-a[:, 32:], a[:, :32]], 1) * np.arange(64) + a[:, ::-1])
    assert np.array_equal(t, a.reshape(16, 32, 2)[:, :, ::-1].reshape(16, 64).T)


@tx.fn
def philox(c0: Any, seed: Any, rounds: int = 10) -> Any:
    c1 = c2 = c3 = c0 ^ c0
    k0, k1 = seed, 0
    for _ in range(rounds):
        p, q = (c0, 0xD2511F53), (c2, 0xCD9E8D57)
        c0, c1, c2, c3 = tx.mulhi(*q) ^ c1 ^ k0, q[0] * q[1], tx.mulhi(*p) ^ c3 ^ k1, p[0] * p[1]
        k0, k1 = k0 + 0x9E3779B9, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0


@tx.jit(i32[None, 32], u32, threads=64, target="sm_80")
def random(y: tx.Array, seed: tx.Scalar) -> None:
    m = tx.grid((y.shape[0], 8))
    at = m.index.to(u32)[:, None] * 32 + tx.indices(0, 32).to(u32)[None, :]
    y[m, :] = philox(at, seed).to(i32)


def test_integers_without_a_sign_and_functions_that_kernels_call() -> None:
    y = np.zeros((9, 32), np.int32)
    text = _run(random, y, 7)
    counters = np.arange(9 * 32, dtype=np.uint64).reshape(9, 32)
    c = [counters, *(np.zeros_like(counters) for _ in range(3))]
    k0, k1 = np.uint64(7), np.uint64(0)
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        p, q = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(q >> np.uint64(32)) ^ c[1] ^ k0, q & low, (p >> np.uint64(32)) ^ c[3] ^ k1, p & low]
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & low, (k1 + np.uint64(0xBB67AE85)) & low
    assert np.array_equal(y.view(np.uint32), c[0].astype(np.uint32))
    assert text.count("tirx.map") == 1


def test_the_simulator_runs_them() -> None:
    a, b, d = _numbers(64, 32).astype(np.float16), _numbers(32, 32, seed=1).astype(np.float16), _numbers(64, 32)
    tx.build(product.module).kernels["product"].simulate(a, b, d)
    assert np.array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T)


@together(
    ("dtype", "name"),
    [
        ("int8", "si8"),
        ("uint8", "u8"),
        ("int16", "i16"),
        ("int32", "i32"),
        ("uint32", "u32"),
        ("int64", "i64"),
        ("float16", "f16"),
        ("float64", "f64"),
    ],
)
def test_types_of_arrays(dtype: str, name: str) -> None:
    assert str(type_of_array(np.zeros((2, 3), dtype))) == f"{name}[None, None]"


def test_types_of_numbers() -> None:
    assert [str(type_of_array(number)) for number in (3, True, 2.0, np.float16(2.0))] == ["i32", "i32", "f32", "f16"]


@tx.jit(f32[None, 4], f32[None], threads=1, target="sm_80", grid=[1])
def from_the_end(x: tx.Array, y: tx.Array) -> None:
    y[-1] = x[-2, -3] + x[-1, 0]


def test_places_from_the_end_of_extents_that_the_launch_knows() -> None:
    x, y = _numbers(5, 4), np.zeros(6, np.float32)
    _run(from_the_end, x, y)
    assert y.tolist() == [0, 0, 0, 0, 0, x[3, 1] + x[4, 0]]


@tx.jit(f16[16, 16], f32[16, 16], threads=32, target="sm_80", grid=[1])
def powers(a: tx.Array, d: tx.Array) -> None:
    acc, n = tx.zeros(f32, 16, 16), 0
    while n < 2:
        acc += tx.shared(a[:, :]) @ tx.shared(a[:, :]).T
        n += 1
    d[:, :] = acc


def test_a_loop_whose_rounds_python_knows_accumulates_in_place() -> None:
    a, d = _numbers(16, 16).astype(np.float16), _numbers(16, 16)
    text = _run(powers, a, d)
    assert np.array_equal(d, 2 * a.astype(np.float32) @ a.astype(np.float32).T)
    assert text.count("tirx.mma") == 2 and text.count("tirx.fill") == 1 and "scf.while" not in text


@tx.jit(threads=32)
def of_elements(x: tx.Array, y: tx.Array) -> None:
    a, b, total = x[0], x[1], x[1]
    for i in tx.range(3):
        total = total + x[i]
    y[0], y[1], y[2], y[3] = a + b, a // 3, total, tx.where(a < b, a, b)
    if b != a:
        y[4] = b >> 1
    y[8:16] = tx.full(x.dtype, a, 8) + x[8:16].load(pad=b)
    if x.dtype.bits >= 32:
        y[5] = tx.atomic(x[2], "max", a)
        y[6], y[7] = x[2], tx.atomic(x[3], "cas", b, expected=x[3]) // 2


@pytest.mark.parametrize("name", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"])
def test_elements_of_integers(name: str) -> None:
    """Elements with a sign, or none, in the IR are numbers in Python, and are stored again."""
    highest, wide = np.iinfo(name).max, np.dtype(name).itemsize >= 4
    x = np.array([highest - 1, highest, 5, 9, *range(8)], name)
    y = np.zeros(16, name)
    a, b, c, d = map(int, x[:4])
    old = [c, a, d // 2] if wide else [0, 0, 0]
    some = [a + each for each in (*x[8:].tolist(), *[b] * 4)]
    expected = [a + b, a // 3, a + 2 * b + c, a, b >> 1, *old, *some]
    _run(of_elements, x, y, types=[x, y])
    assert np.array_equal(y, np.array([each % 2**64 for each in expected], np.uint64).astype(name))


@tx.jit(f32[None, None], f32[None, None], threads=32, target="sm_80")
def differences(x: tx.Array, y: tx.Array) -> None:
    i, j = tx.grid(x.shape[0] - 1, x.shape[1] // 3)
    y[i, j] = x[i + 1, j * 3] - x[i, j * 3]


@together("shape", [(5, 11), (4, 9), (1, 4), (3, 2)])
def test_grids_of_differences_and_quotients(shape: tuple[int, int]) -> None:
    x, y = _numbers(*shape), _numbers(*shape)
    expected = y.copy()
    expected[: shape[0] - 1, : shape[1] // 3] = np.diff(x, axis=0)[:, : shape[1] // 3 * 3 : 3]
    _run(differences, x, y)
    assert np.array_equal(y, expected)


def test_strides_of_arrays() -> None:
    """None in row-major order, whatever the stride of an extent of 1; else those that are 1 stay."""
    whole = np.zeros((4, 8), np.float32)
    arrays = (whole, whole[:1, :6], whole[:2, :6], whole.T, whole[:, :1], whole[:, None, ::2])
    strides = [cast(ArrayType, type_of_array(each)).strides for each in arrays]
    assert strides == [None, None, (None, 1), (1, None), (None, 1), (None, None, None)]


@tx.jit(threads=64)
def shifted(x: tx.Array, w: tx.Array, y: tx.Array, by: tx.Scalar, BM: int = 4) -> None:
    m = tx.grid((x.shape[0], BM))
    total = tx.zeros(f32, BM, 1)
    for k in range(w.shape[0]):
        total = total + w[k]
    y[m, :] = x[m, :] * total + by


def test_a_call_specialises_and_simulates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIRX_CACHE", str(tmp_path))
    for rows, columns in ((5, 32), (9, 32), (3, 64)):
        x, w, y = _numbers(rows, columns), _numbers(3, seed=1), np.zeros((rows, columns), np.float32)
        shifted(x, w, y, 2.0)
        assert np.array_equal(y, x * w.sum() + 2)
    assert len(list(tmp_path.iterdir())) == 2  # a program for each number of columns, not of rows
    with pytest.raises(tx.BuildError, match=r"expected x.shape\[0\] and y.shape\[0\] to be equal.*found 4 and 5"):
        shifted(_numbers(4, 32), _numbers(3), np.zeros((5, 32), np.float32), 2.0)


def test_ptx_says_the_lines_of_python() -> None:
    kernel = tx.jit(f32[64], threads=32, target="sm_80", grid=[1], options="lines=on")(_negated)
    lines = kernel.ptx().splitlines()
    assert f'.file 1 "{__file__}"' in lines
    at = next(i for i, line in enumerate(lines) if "neg.f32" in line)
    place = next(line.split() for line in reversed(lines[:at]) if ".loc" in line)
    assert linecache.getline(__file__, int(place[2]))[int(place[3]) - 1 :].startswith("-a[:]")


def _negated(a: tx.Array) -> None:
    a[:] = -a[:]


def test_what_a_kernel_says_of_itself() -> None:
    assert ".entry product" in product.ptx() and "remark: " in product.explain(target="sm_90a")


@tx.jit(threads=32)
def summed(x: tx.Array, y: tx.Array) -> None:
    m = tx.grid((x.shape[0], 4))
    total = tx.zeros(f32, 4, 1)
    for k in tx.tiles(x.shape[1], 8):
        part = x[m, k].load()
        total = total + part.sum(1)
    y[m, :] = total


def test_breakpoints_have_the_tiles_by_their_names() -> None:
    x, y = _numbers(6, 16), np.zeros((6, 1), np.float32)
    first = summed.function.__code__.co_firstlineno
    seen: list[dict[str, Any]] = []
    lines: list[int] = []
    summed.debug(x, y, at=[first + 6], see=lambda line, names: seen.append(names))
    summed.debug(x, y, see=lambda line, names: lines.append(line - first))
    padded = np.pad(x, ((0, 2), (0, 0)))
    tiles = [padded[i : i + 4, k : k + 8] for i in (0, 4) for k in (0, 8)]
    assert np.array_equal([each["part"] for each in seen], tiles)
    assert np.array_equal(y, x.sum(1, keepdims=True)) and [lines.count(n) for n in (5, 6, 7)] == [4, 4, 2]
    assert np.array_equal(seen[1]["total"], tiles[0].sum(1, keepdims=True))


def test_a_simulation_is_traced_by_the_names_of_tiles() -> None:
    x, y = _numbers(6, 16), np.zeros((6, 1), np.float32)
    at = summed.function.__code__.co_firstlineno + 6
    seen: list[Any] = []
    summed.simulate(x, y, trace=lambda line, names: seen.append((line, names["part"].shape)), at=[at])
    assert np.array_equal(y, x.sum(1, keepdims=True)) and seen == [(at, (4, 8))] * 4


@tx.jit(threads=128, target="sm_90a")
def chosen(
    a: tx.Array, b: tx.Array, d: tx.Array, BM: int = tx.param(64, 100, 128), BN: int = tx.param(64, 256)
) -> None:
    m, n = tx.grid((a.shape[0], BM), (b.shape[0], BN))
    acc = tx.zeros(f32, BM, BN)
    for k in tx.tiles(a.shape[1], 64):
        acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
    d[m, n] = acc if BM % 64 == 0 else acc.reshape(BM + 1, BN)


def test_the_timing_model_chooses_parameters_for_the_sizes_of_arrays() -> None:
    def tile(rows: int, columns: int, **given: int) -> tuple[int, ...]:
        a, b = np.zeros((rows, 512), np.float16), np.zeros((columns, 512), np.float16)
        (kernel,) = kernels(chosen.ir(a, b, np.zeros((rows, columns), np.float32), **given))
        return next(TileType.of(op.accumulator).dims for op in kernel.walk() if isinstance(op, MmaOp))

    assert tile(64, 64) == (64, 64)
    assert tile(4096, 8192)[1] == 256
    assert tile(4096, 8192, BM=64, BN=64) == (64, 64)
    with pytest.raises(tx.BuildError, match="expected extents of 6400 elements"):
        tile(64, 64, BM=100)


def test_calls_take_what_was_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIRX_CACHE", "")
    measured: list[str] = []

    def fake(texts: dict[str, str], arguments: Any, **options: Any) -> Tuned:
        assert options == {"target": "sm_90a", "report": None, "rounds": 5, "knobs": {}}
        measured.extend(texts)
        text = texts["BM=128, BN=64"].replace("@chosen", "@tuned")
        return Tuned(text, Trial("BM=128, BN=64", {}, 1.0), ())

    monkeypatch.setattr("tirx.runtime.tune.tune", fake)
    a, b, d = np.ones((64, 64), np.float16), np.ones((64, 64), np.float16), np.zeros((64, 64), np.float32)
    assert chosen.tune(a, b, d, knobs={}).best.seconds == 1.0
    assert measured == [f"BM={m}, BN={n}" for m in (64, 128) for n in (64, 256)]
    assert chosen.ptx(a, b, d, BM=64, BN=64).count(".entry chosen") == 1
    chosen(a, b, d)
    calls = chosen._calls  # pyright: ignore[reportPrivateUsage]
    assert (d == 64).all() and calls.compiled((a, b, d), {}).launch.entry == "tuned"


@tx.jit(threads=32)
def scaled(x: tx.Array, y: tx.Array, s: tx.Scalar, B: int = 8) -> None:
    m = tx.grid((x.shape[0], B))
    y[m] = x[m] * s


def test_numbers_of_numpy_and_names_of_arrays_in_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIRX_CACHE", "")
    x, y = _numbers(20), np.zeros(20, np.float32)
    scaled(x, y, np.float64(2))
    assert np.array_equal(y, 2 * x)
    for given in ({"x": x, "y": y, "s": 2.0}, {"B": [8]}):
        with pytest.raises(tx.BuildError, match="expected constants that are hashable"):
            scaled(x, y, 2.0, **given)


@tx.jit(threads=32)
def of_constants(x: tx.Array, y: tx.Array, c: Any = 1) -> None:
    m = tx.grid((x.shape[0], 8))
    y[m] = x[m] * (3.0 if "True" in repr(c) else c if "." in repr(c) else 5.0)


def test_constants_that_are_equal_in_python_are_programs_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIRX_CACHE", "")
    for constant, factor in ((1, 5), (1.0, 1), (True, 3), ((1,), 5), ((True,), 3), (0.0, 0.0), (-0.0, -0.0)):
        y = np.zeros(8, np.float32)
        of_constants(np.ones(8, np.float32), y, c=constant)
        assert str(y.tolist()) == str([float(factor)] * 8)


def test_arrays_without_strides_are_in_row_major_order() -> None:
    array = SimpleNamespace(shape=(2, 3), dtype=np.dtype("float32"), stride=None)
    assert str(type_of_array(array)) == "f32[None, None]"


def test_programs_are_kept_where_caches_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TIRX_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    scaled(_numbers(20), np.zeros(20, np.float32), 2.0, B=4)
    assert list(tmp_path.glob("tirx/*"))
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")  # a user whose home cannot be written computes, too
    scaled(_numbers(20), np.zeros(20, np.float32), 2.0, B=2)


def _sizes_of_grids(o: Any) -> None:
    y, x = tx.grid(2, 3)
    o[y, x] = (tx.grid_dim("x") * 10 + tx.grid_dim("y")).to(f32)


def test_blocks_know_how_many_there_are() -> None:
    found = np.zeros((2, 3), np.float32)
    program = tx.build(tx.jit(f32[2, 3], threads=32, target="sm_80")(_sizes_of_grids).module)
    program.kernels["_sizes_of_grids"].simulate(found)
    assert (found == 32).all()


_PART = tx.attribute("memref<?x64xf32, strided<[64, 1], offset: ?>>")


def _rows_behind(a: Any, n: Any) -> Any:
    """`n` rows from row `n` on."""
    open_ = -9223372036854775808
    return tx.op.memref.subview(
        a,
        [n],
        [n],
        static_offsets=tx.attribute(f"array<i64: {open_}, 0>"),
        static_sizes=tx.attribute(f"array<i64: {open_}, 64>"),
        static_strides=tx.attribute("array<i64: 1, 1>"),
        to=_PART,
    )


def test_arrays_that_operations_make_are_no_arguments() -> None:
    """Their extents are neither those of arguments, nor found at a call."""

    @tx.jit(f32[None, 64], f32[None, 64], tx.index, threads=32, target="sm_80", grid=[1])
    def rows(a: Any, b: Any, n: Any) -> None:
        part = _rows_behind(a, n)
        for m in tx.tiles(a.shape[0], 16):
            b[m, :] = part[m, :].load(pad=7.0)

    a, b = np.arange(32 * 64, dtype=np.float32).reshape(32, 64), np.zeros((32, 64), np.float32)
    rows.simulate(a, b, 8)
    assert np.array_equal(b[:8], a[8:16]) and (b[8:] == 7).all()

    @tx.jit(threads=32, target="sm_80", grid=[1])
    def whole(a: Any, b: Any, n: Any) -> None:
        b[0:16, :] = _rows_behind(a, n.to(tx.index))[:, :].load()

    with pytest.raises(
        tx.BuildError, match="expected an extent that is a number, found `:` of one that the launch knows"
    ):
        whole.simulate(a, b, 8)
