"""Expressions and statements of kernels, as the tile level runs them, beside numpy and Python."""

# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false
# Kernels are Python in which numbers become scalars and tiles of the kernel.

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from unit.cases import together

import tirx as tx
from tirx import bf16, f16, f32, i8, i32, index
from tirx.dialects.tirx import kernels
from tirx.interp import run_kernel

_RNG = np.random.default_rng(0)
_X = _RNG.integers(-8, 9, (4, 8)).astype(np.float32) / 4
_I = _RNG.integers(-9, 10, (4, 8)).astype(np.int32)
_U = _RNG.integers(0, 1 << 32, (4, 8), dtype=np.uint32)
_J = np.arange(8, dtype=np.int32)[None, :].repeat(4, 0)


def _run(function: Callable[..., None], n: int = 4) -> Any:
    kernel = tx.jit(f32[4, 8], i32[4, 8], tx.u32[4, 8], f32[4, 8], i32, threads=32, target="sm_80", grid=[1])(function)
    kernel.module.verify()
    found = np.zeros((4, 8), np.float32)
    run_kernel(next(iter(kernels(kernel.module))), [_X.copy(), _I.copy(), _U.copy(), found, n])
    return found


_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    name: getattr(np, name)
    for name in (
        "exp exp2 expm1 cbrt sin cos tan sinh cosh tanh floor ceil trunc log log2 log10 log1p sqrt".split()
        + "arcsinh arccosh arctanh arcsin arccos arctan".split()
    )
}
_OF_POSITIVE = ("log", "log2", "log10", "sqrt", "rsqrt", "arccosh")


@together("name", [*_FUNCTIONS, "rsqrt", "erf", "round", "roundeven"])
def test_functions(name: str) -> None:
    own = getattr(tx, name.replace("arc", "a"))
    of = {"rsqrt": lambda x: 1 / np.sqrt(x), "erf": np.vectorize(math.erf), "roundeven": np.round,
          "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x)}.get(name) or _FUNCTIONS[name]  # fmt: skip
    low, scale = (1.0, 1.0) if name in _OF_POSITIVE else (0.0, 0.25 if name in ("arctanh", "arcsin", "arccos") else 1.0)

    def kernel(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
        x = a[:, :].load() * scale
        o[:, :] = own(tx.abs(x) + low if low else x)

    x = _X * scale
    with np.errstate(all="ignore"):
        expected = of((np.abs(x) + low if low else x).astype(np.float64))
    assert np.allclose(_run(kernel), expected, rtol=2e-5, atol=1e-6, equal_nan=True)


_EXPRESSIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "sub": (lambda x, i, u, n: 2.0 - x, 2 - _X),
    "div": (lambda x, i, u, n: (x / 2.0) / 0.5, _X),
    "pow": (lambda x, i, u, n: tx.pow(tx.abs(x) + 1.0, 2.0), (np.abs(_X) + 1) ** 2),
    "powers": (lambda x, i, u, n: x**4 + x**3 + x**1, _X**4 + _X**3 + _X),
    "atan2": (lambda x, i, u, n: tx.atan2(x, 0.5), np.arctan2(_X, 0.5)),
    "copysign": (lambda x, i, u, n: tx.copysign(x, -1.0), -np.abs(_X)),
    "fma": (lambda x, i, u, n: tx.fma(x, x, 3.0), _X * _X + 3),
    "neg": (lambda x, i, u, n: -x - (-i).to(f32), -_X + _I),
    "negative integers": (lambda x, i, u, n: tx.maximum(i, -i), np.abs(_I)),
    "maximum": (lambda x, i, u, n: tx.maximum(i, 2) + tx.maxnum(i, -2), np.maximum(_I, 2) + np.maximum(_I, -2)),
    "minimum": (lambda x, i, u, n: tx.minimum(x, 0.5) + tx.minnum(x, 0.0), np.minimum(_X, 0.5) + np.minimum(_X, 0)),
    "unsigned minimum": (lambda x, i, u, n: tx.minimum(u, 1 << 31) >> 16, np.minimum(_U, 1 << 31) >> 16),
    "bits of the other kind": (lambda x, i, u, n: ~u >> 24, ~_U >> 24),
    "a constant of another type": (lambda x, i, u, n: x + tx.full(i32, 3, 4, 8).to(f32), _X + 3),
    "floordiv": (lambda x, i, u, n: i // 3 + 100 * (i % 3), _I // 3 + 100 * (_I % 3)),
    "ceildiv": (lambda x, i, u, n: tx.ceildiv(i, 3), -(-_I // 3)),
    "unsigned": (lambda x, i, u, n: (u // 3 % 1000).to(i32) + (u % 7).to(i32), _U // 3 % 1000 + _U % 7),
    "bits": (lambda x, i, u, n: (i & 6 | 1) ^ 5, (_I & 6 | 1) ^ 5),
    "bits of numbers without a sign": (lambda x, i, u, n: (i & 0xFFFFFFF0) ^ (1 << 31), (_I & -16) ^ (-1 << 31)),
    "shifts": (lambda x, i, u, n: (i << 3) + (i >> 1) + (u >> 20).to(i32), (_I << 3) + (_I >> 1) + (_U >> 20)),
    "not": (lambda x, i, u, n: ~i, ~_I),
    "popcount": (lambda x, i, u, n: tx.popcount(u), np.bitwise_count(_U) if hasattr(np, "bitwise_count") else None),
    "mulhi": (
        lambda x, i, u, n: tx.mulhi(i, 1 << 30) + (tx.mulhi(u, u) >> 12).to(i32),
        (_I.astype(np.int64) << 30 >> 32) + (_U.astype(np.uint64) * _U >> np.uint64(44)).astype(np.int64),
    ),
    "comparisons": (
        lambda x, i, u, n: (
            (i < 0).to(i32) + 2 * (u >= 1 << 31).to(i32) + 4 * (x <= 0.25).to(i32) + 8 * (i == 1).to(i32)
        ),
        (_I < 0) + 2 * (_U >= 1 << 31) + 4 * (_X <= 0.25) + 8 * (_I == 1),
    ),
    "unequal": (lambda x, i, u, n: (i != 1) & (x > 0.0) | (u > 1 << 30), (_I != 1) & (_X > 0) | (_U > 1 << 30)),
    "where": (lambda x, i, u, n: tx.where(~(i > 0), x, 7.0), np.where(_I > 0, 7, _X)),
    "integers of floats": (lambda x, i, u, n: x.to(i32) + tx.abs(x).to(tx.u32).to(i32),
                           np.trunc(_X) + np.trunc(np.abs(_X))),
    "truths": (lambda x, i, u, n: (x.to(tx.i1).to(f32) + i.to(tx.i1).to(f32)) * 2.0, 2.0 * (_X != 0) + 2.0 * (_I != 0)),
    "narrow floats": (lambda x, i, u, n: x.to(bf16).to(tx.e4m3).to(f32) + x.to(f16).to(tx.e5m2).to(f16).to(f32),
                      2 * _X),
    "formats": (lambda x, i, u, n: (x / 3.0).to(bf16).to(f16).to(f32), None),
    "narrow": (lambda x, i, u, n: (i * 30).to(i8).to(i32), (_I * 30).astype(np.int8)),
    "wide": (lambda x, i, u, n: (i.to(tx.i64) * (1 << 33) >> 33) + (u.to(tx.i64) >> 20), _I + (_U >> 20)),
    "index": (lambda x, i, u, n: (i.to(index) * 2).to(i32) + (u >> 20).to(index).to(f32).to(i32), _I * 2 + (_U >> 20)),
    "bitcast": (lambda x, i, u, n: x.bitcast(i32) >> 20, _X.view(np.int32) >> 20),
    "bitcast of a sign": (lambda x, i, u, n: (u.bitcast(i32) >> 24) + (i.bitcast(tx.u32) >> 24).bitcast(i32),
                          (_U.view(np.int32) >> 24) + (_I.view(np.uint32) >> 24)),
    "natural": (lambda x, i, u, n: (tx.indices(1, 4, 8) % 3 - tx.indices(1, 4, 8) // 2).to(i32), _J % 3 - _J // 2),
    "negative": (lambda x, i, u, n: ((tx.indices(1, 4, 8) - 5) % 3 + (tx.indices(1, 4, 8) - 5) // 2).to(i32),
                 (_J - 5) % 3 + (_J - 5) // 2),
    "a row of its own": (lambda x, i, u, n: x * 0.0 + x[1, None, :], 0 * _X + _X[1, None]),
    "products": (lambda x, i, u, n: x * 0.0 + x.prod(1), 0 * _X + _X.prod(1, keepdims=True)),
    "indices of one row": (lambda x, i, u, n: x + tx.indices(0, 1, 8).to(f32), _X),
    "remainders of less than 0": (lambda x, i, u, n: (tx.indices(1, 4, 8) % (n.to(index) - 7)).to(f32), _J % -3),
    "the same bits": (lambda x, i, u, n: (i.to(tx.u32) >> 24).to(f32), _I.astype(np.uint32) >> 24),
    "powers of a number": (lambda x, i, u, n: x * 0.0 + (2.0 ** i.to(f32)), 2.0 ** _I),
    "scalars": (lambda x, i, u, n: x * 0.0 + ((n % 3 << 4) + (n // 3 | 8) + -n).to(f32), 0 * _X + (16 + 9 - 4)),
    "scalar of a type": (lambda x, i, u, n: x + n.to(f16).to(f32) + (n > 3).to(f32) + n.to(index).to(f32), _X + 9),
}  # fmt: skip


@together("name", _EXPRESSIONS)
def test_expressions(name: str) -> None:
    expression, expected = _EXPRESSIONS[name]

    def kernel(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
        o[:, :] = expression(a[:, :].load(), i[:, :].load(), u[:, :].load(), n).to(f32)

    if name == "formats":
        import ml_dtypes

        expected = (_X / 3).astype(ml_dtypes.bfloat16).astype(np.float16)
    if expected is not None:
        assert np.allclose(_run(kernel), np.asarray(expected).astype(np.float32), rtol=1e-6)


def test_indices_are_divided_without_signs() -> None:
    def kernel(o: Any) -> None:
        o[:] = (tx.indices(0, 8) % 3 - tx.indices(0, 8) // 2).to(f32)

    text = str(tx.jit(f32[8], threads=32, target="sm_80", grid=[1])(kernel).module)
    assert "arith.remui" in text and "arith.divui" in text and "divsi" not in text


# Control flow: every function leaves in `o` what Python computes with the numbers of numpy.


def _unrolled(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    total = tx.zeros(f32, 4, 8)
    for k in tx.range(1, 8, 3, unroll=True):
        total = total + a[:, k : k + 1].load().broadcast(4, 8)
    last = 5
    for last in tx.range(3, 3, unroll=True):
        total = total * float(last)
    o[:, :] = total + float(last)


def _steps(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    total, last = tx.zeros(f32, 4, 8), n * 0
    for k in tx.range(1, n + 1, 2):
        total = total + a[:, k : k + 1].load().broadcast(4, 8)
        last = k.to(i32)
    o[:, :] = total + last.to(f32)


def _spans(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    for k in tx.tiles(n, 8, 2):
        o[:, k] = a[:, k] + 1.0
    for k in tx.tiles(n, 2):
        o[:, k] = a[:, k] - 1.0
    for k in tx.tiles(1, 5, 3):
        o[0:1, k] = a[1:2, k]


def _structures(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    state = {"sum": tx.zeros(f32, 4, 8), "counts": [n * 0, 5]}
    for _ in tx.range(n):
        state = {"sum": state["sum"] + a[:, :].load(), "counts": [state["counts"][0] + 2, 5]}
    first, second = state["counts"]
    o[:, :] = state["sum"] + (first + second).to(f32)


def _carried_numbers(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    scale, found, small, count = f32(0.0), n * 0, False, 0
    for k in tx.range(3):
        scale = 1.5
        found = i[0, k]
        small = found < 3
        count += 2
    o[:, :] = tx.where(small, a[:, :].load() * scale, 0.0) + found.to(f32) + count


def _known_conditions(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    x, k, wide = a[:, :].load(), 0, True
    while k < 3:
        x = x + 1.0
        k += 1
    if wide and k == 3:
        x = x * 2.0
    else:
        x = x * 5.0
    assert wide, "wide"
    o[:, :] = x if not wide or k < 3 else x - 1.0


def _elements(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    x = a[:, :].load()
    if i[0, 0]:
        x = x + 1.0
    if not n:
        x = x + 2.0
    if n > 3 and not (n > 4) and i[1, 1] < 100:
        x = x + 4.0
    if n > 30 or n == 4:
        x = x + 8.0
    y = x * 2.0 if n > 3 else x
    o[:, :] = tx.where(not (x > 5.0), y, -1.0)


def _numbers_and_truths(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    found = (n > 3 and i[1, 1]) + (n > 30 or i[1, 1]) + (i[1, 1] or n > 3) + (n and n > 3) + (n > 3 or n)
    o[:, :] = a[:, :].load() + found.to(f32)


def _results_of_branches(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    pair, same, number = {"x": a[:, :].load(), "k": 3}, 7, 1
    if n > 3:
        pair = {"x": pair["x"] + 1.0, "k": 3}
        number = 5
    else:
        pair = {"x": pair["x"] - 1.0, "k": 3}
        number = n
    o[:, :] = pair["x"] + (number + pair["k"] + same).to(f32)


def _least(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    low, high = min(n, 3, 9), max(n, i[0, 0], 2)
    o[:, :] = a[:, :].load() + (low * 100 + high + min(3, 4)).to(f32)


def _chained(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    x = i[:, :].load()
    o[:, :] = ((-3 < x) & (x <= 4)).to(f32) + (1 < n < 5).to(f32) + (n + 3).to(f32)


_TOTAL = np.zeros((4, 8), np.float32)
_STATEMENTS: list[tuple[Callable[..., None], Any]] = [
    (_unrolled, _TOTAL + (_X[:, 1] + _X[:, 4] + _X[:, 7])[:, None] + 5),
    (_steps, _TOTAL + (_X[:, 1] + _X[:, 3])[:, None] + 3),
    (_spans, np.concatenate([[[*_X[0, :1] - 1, *_X[1, 1:5], *_X[0, 5:] + 1]], np.c_[_X[1:, :4] - 1, _X[1:, 4:] + 1]])),
    (_structures, 4 * _X + 8 + 5),
    (_carried_numbers, (1.5 * _X if _I[0, 2] < 3 else _TOTAL) + _I[0, 2] + 6),
    (_known_conditions, (_X + 3) * 2 - 1),
    (_elements, np.where((y := _X + (_I[0, 0] != 0) + 12) <= 5, 2 * y, -1)),
    (_numbers_and_truths, _X + 3 * _I[1, 1] + 2),
    (_results_of_branches, _X + 1 + 5 + 3 + 7),
    (_least, _X + 300 + max(4, _I[0, 0], 2) + 3),
    (_chained, ((_I > -3) & (_I <= 4)) + 1.0 + 7),
]


@pytest.mark.parametrize(("function", "expected"), _STATEMENTS, ids=lambda each: getattr(each, "__name__", "")[1:])
def test_control_flow(function: Callable[..., None], expected: Any) -> None:
    assert np.array_equal(_run(function), expected.astype(np.float32))


# Places, tiles and memory


def _ellipsis(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    o[..., 0:4] = a[..., 4:8]
    o[1:4, 4:8] = a[1:4, ...].load()[..., 0:4]
    o[0, ...] = a[0, :].load() * 2.0


def _steps_of_slices(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    x = a[:, 1:8:2].load()
    o[:, 0:4], o[:, 4:8] = x, a[:, :].load()[:, ::2]
    o[0:1, 0:4] = x[3:4, :] + x[1, :][None, :]


def _rows_by_number(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    k = n.to(index)
    o[n - 1, :], o[0, :], o[1:3, :] = a[0, :], a[n - 2, :].load() + a[1, n].load(), a[k - 3 : k - 1, :]


def _gathers(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    back = (3 - tx.indices(0, 4)).to(i32)
    o[:, :] = a[back, :]
    o[:, 0:4] = a[back[:, None] // 2, tx.tile(1, 4)]


def _scatters(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    o[:, 7 - tx.indices(0, 8)] = a[:, :].load()


def _moved_spans(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    s = tx.tile(n, 4)
    o[:, s] = a[:, s - 4]
    o[:, s - 4] = a[:, s - 2 + 4 - 2].load() + (s.end - s.start).to(f32)
    half = s // 2
    o[0, half] = half.index.to(f32)
    every_other = tx.tile(0, 3) * 2
    o[1, every_other] = every_other.index.to(f32)


def _carried_spans(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    s = tx.tile(0, 4, end=n - 1)
    for _ in tx.range(2):
        o[:, s] = a[:, s]
        s = s + 4


def _open_spans(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    s = tx.tile(n, 4, end=n + 3)
    x = a[:, s].load(pad=50.0)
    o[:, 4:8] = x
    o[:, 0:4] = tx.where(s.inside[None, :], x, -1.0)
    o[0, 0:1] = tx.full(f32, s.end.to(f32), 1)


def _spans_of_branches(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    start = n.to(index) - 3
    all_of_it, one = start + 4, start + 1
    s = tx.tile(start + 2, 4), tx.tile(start, 4, end=one), n + 2
    if n < 4:
        s = tx.tile(start, 4), tx.tile(start, 4, end=all_of_it), n
    o[:, :] = a[:, :]
    for row in (0, 1):
        o[row, s[row]] = tx.full(f32, s[2].to(f32), 4)


def _spans_made_in_branches(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    """A branch computes where they start and end; and of one that is not clipped, the half of it moved is not."""
    start = n.to(index) - 3
    s = [tx.tile(start, 4, end=start + 1)]
    if n > 3:
        first = n.to(index) // 2
        s = [tx.tile(first, 8, end=first + 3) // 2]
    o[:, :] = a[:, :]
    o[0, s[0]] = tx.full(f32, 5.0, 4)
    o[1, (tx.tile(2, 4) + 2) // 2] = tx.full(f32, 6.0, 2)


def _ends_of_spans(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    """Of spans of four indices, moved and spread; from 2 on, all of them or three are there."""
    o[:, :] = a[:, :]
    for row, limit in ((0, n + 4), (1, n + 1)):
        s = tx.tile(2, 4, end=limit)
        for column, span in ((0, s), (1, s + 1), (2, s * 3), (3, s // 2)):
            o[row, column] = span.end.to(f32)


def _shapes(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    x = a[:, :].load().reshape(8, 4).T + a[:, :].transpose(1, 0).load().reshape(4, 8)
    o[:, :] = x + x[:, None, :].sum(1).reshape(4, 8) + x.max(0) + x.min(1) + x[0:1, :].broadcast(4, 8) + x.prod(0)


def _turned(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    o[:, :] = a[:, :].load().reshape(2, 4, 4).T.reshape(4, 8)


def _other_shapes(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    flat = a[:, :].reshape(32)
    o[:, :] = flat[None, :].reshape(4, 8).load() + flat.reshape(4, 8)[:, None, :].reshape(4, 8).load()
    o[0, :] += flat.reshape(4, 8)[:, :, None].load()[2, :, 0]


def _folds(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    x = a[:, :].load()
    o[:, 0:4] = tx.concat((x[:, 0:2], x[:, 6:8]), 1)
    o[:, 4:8] = tx.scan(x, -1)[0][:, 0:4] + x.argmax(1).to(f32)


def _shared(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    x = tx.shared(a[:, :])
    x[1:3, :] = x[0:2, :].load() + 1.0
    x[:, 0:4] += 2.0
    x += a[:, :]
    y = tx.shared(f32, 8, 4)
    y[:, :] = x.T
    o[:, :] = y.T.load() - (tx.indices(0, 4, 8) > 2).to(f32) + tx.indices(0, 1, 8).to(f32)


def _reduced_into_memory(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    o[:, :] = 1.0
    tx.store(a[:, :].load(), o[:, :], reduce="add")
    o[0, 0] = n.to(f32)
    o[0, 1:3] = 3
    o[1, 0:2] = float("inf")
    o[3, n] = o[0, 0] + i[0, 0].load().to(f32)


def _combined(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    before = tx.atomic(i[:, 0:4], "add", 2)
    element = tx.atomic(i[0, 4], "max", 100)
    tx.atomic(i[1, 4], "exch", i[1, 5], order="acquire", scope="cta")
    swapped = tx.atomic(i[2, 4], "cas", 7, expected=i[2, 4])
    o[:, :] = i[:, :].load().to(f32)
    o[:, 0:4] += before.to(f32) + element.to(f32) + swapped.to(f32)


def _truths(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
    positive, few = a[:, :] > 0.0, a[:, :] > 1.5
    for k in tx.range(n):
        few = few | (a[:, :] < -2.0 + k.to(i32).to(f32) * 0.25)
    turned = tx.concat([positive[:, 4:8], positive[:, 0:4]], 1).reshape(8, 4).T.reshape(4, 8)
    o[:, :] = tx.where(few, 1.0, tx.zeros(f32, 4, 8)) + tx.where(turned, 2.0, tx.zeros(f32, 4, 8))
    if positive[0, 3]:
        o[:, :] += tx.where(positive[:, 0:1].broadcast(4, 8), 4.0, tx.zeros(f32, 4, 8))


def _truths_then() -> Any:
    turned = np.roll(_X > 0, 4, 1).reshape(8, 4).T.reshape(4, 8)
    found = ((_X > 1.5) | (_X < -1.25)) * 1.0 + turned * 2.0
    return found + (_X[:, :1] > 0) * 4.0 if _X[0, 3] > 0 else found


def _shared_then() -> Any:
    x = _X.copy()
    x[1:3] = x[0:2] + 1
    x[:, :4] += 2
    return x + _X - (np.arange(4) > 2)[:, None]


def _shapes_then() -> Any:
    x = _X.reshape(8, 4).T + _X.T.reshape(4, 8)
    return x + x + x.max(0) + x.min(1)[:, None] + x[:1] + x.prod(0)


def _changed(*changes: tuple[Any, Any]) -> Any:
    found = _X.copy()
    for place, value in changes:
        found[place] = value
    return found


_combined_then = _I.copy()
_combined_then[:, :4] += 2
_combined_then[0, 4], _combined_then[1, 4], _combined_then[2, 4] = max(100, _I[0, 4]), _I[1, 5], 7
_combined_then[:, :4] += _I[:, :4] + _I[0, 4] + _I[2, 4]
_MEMORY: list[tuple[Callable[..., None], Any]] = [
    (_ellipsis, _changed((np.s_[:, :4], _X[:, 4:]), (np.s_[1:, 4:], _X[1:, :4]), (0, 2 * _X[0]))),
    (_steps_of_slices, _changed((np.s_[:, :4], _X[:, 1::2]), (np.s_[:, 4:], _X[:, ::2]),
                                (np.s_[0, :4], _X[3, 1::2] + _X[1, 1::2]))),
    (_rows_by_number, np.stack([_X[2] + _X[1, 4], _X[1], _X[2], _X[0]])),
    (_gathers, _changed((np.s_[:], _X[::-1]), (np.s_[:, :4], _X[[1, 1, 0, 0], 1:5]))),
    (_scatters, _X[:, ::-1]),
    (_moved_spans, _changed((np.s_[:, 4:], _X[:, :4]), (np.s_[:, :4], _X[:, 4:] + 4), (np.s_[0, 2:4], (2, 3)),
                            (np.s_[1, 0:5:2], (0, 2, 4)))),
    (_carried_spans, _X * (np.arange(8) % 4 < 3)),
    (_open_spans, _changed((np.s_[:, 7], 50), (np.s_[:, 0:3], _X[:, 4:7]), (np.s_[:, 3], -1), (np.s_[0, 0], 7))),
    (_spans_of_branches, _changed((np.s_[0, 3:7], 6), ((1, 1), 6))),
    (_spans_made_in_branches, _changed((np.s_[0, 1:3], 5), (np.s_[1, 2:4], 6))),
    (_ends_of_spans, _changed((np.s_[0, :4], (6, 7, 18, 3)), (np.s_[1, :4], (5, 6, 15, 3)))),
    (_shapes, _shapes_then()),
    (_turned, _X.reshape(2, 4, 4).transpose(0, 2, 1).reshape(4, 8)),
    (_other_shapes, _changed((np.s_[:], 2 * _X), (0, 2 * _X[0] + _X[2]))),
    (_folds, np.concatenate([_X[:, :2], _X[:, 6:], np.cumsum(_X, 1)[:, :4] + _X.argmax(1)[:, None]], 1)),
    (_shared, _shared_then()),
    (_reduced_into_memory, _changed((np.s_[:], _X + 1), ((0, 0), 4), (np.s_[0, 1:3], 3), (np.s_[1, 0:2], np.inf),
                                    ((3, 4), 4 + _I[0, 0]))),
    (_combined, _combined_then),
    (_truths, _truths_then()),
]  # fmt: skip


@pytest.mark.parametrize(("function", "expected"), _MEMORY, ids=lambda each: getattr(each, "__name__", "")[1:])
def test_places_and_memory(function: Callable[..., None], expected: Any) -> None:
    assert np.allclose(_run(function), expected.astype(np.float32), rtol=1e-6, atol=1e-6)


def _own_places(o: Any) -> None:
    a, b, c, x = tx.grid(2, 3, (5, 2), 4)
    o[a, b, c, x] = (c.index + (a * 1000 + b * 100 + x * 10)).to(i32)


def test_extents_in_front_of_the_last_three_share_z() -> None:
    kernel = next(iter(kernels(tx.jit(i32[2, 3, 5, 4], threads=32, target="sm_80")(_own_places).module)))
    assert kernel.grid_formulas is not None and [*kernel.grid_formulas] == [4, 3, 6]
    found = np.zeros((2, 3, 5, 4), np.int32)
    run_kernel(kernel, [found])
    a, b, c, x = np.indices(found.shape)
    assert np.array_equal(found, a * 1000 + b * 100 + x * 10 + c)


def test_elements_bits_and_gathers_of_a_tile() -> None:
    def kernel(a: Any, i: Any, u: Any, o: Any, n: Any) -> None:
        x, at = a[:, :].load(), i[:, :].load()
        halves = x.bitcast(tx.i16).bitcast(f32)
        named = x[at, tx.full(i32, 1, 1, 1)] + x[:, tx.tile(0, 8).index ^ 1] * x[2, n]
        o[:, :] = named + halves * tx.shared(x)[n - 1, 7]

    inside = (_I >= 0) & (_I < 4)
    named = np.where(inside, _X[np.where(inside, _I, 0), 1], 0) + _X[:, np.arange(8) ^ 1] * _X[2, 4]
    assert np.array_equal(_run(kernel), named + _X * _X[3, 7])
