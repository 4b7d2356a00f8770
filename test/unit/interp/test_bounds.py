"""Bounds of errors through whole kernels: another way to compute the same is within them, and they are small."""

# pyright: basic
# Kernels are Python in which numbers become scalars and tiles of the kernel.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tirx as tx
from tirx import embed, f16, f32, i32
from tirx.dialects.tirx import kernels
from tirx.interp import RunError, run_kernel


def _product(a: Any, o: Any) -> None:
    x = tx.shared(tx.exp(a[:, :].load() * 0.25))
    o[:, :] = x @ x.T


def _product_of_f16(a: Any, o: Any) -> None:
    x = tx.shared((a[:, :].load() / 3.0).to(f16))
    o[:, :] = (x @ x.T) * 0.5


def _accumulated(a: Any, o: Any) -> None:
    x, total = tx.shared(tx.exp(a[:, :].load())), tx.zeros(f32, 8, 8)
    for _ in tx.range(3):
        total = total + x @ x.T
    o[:, :] = total


def _sums(a: Any, o: Any) -> None:
    x = tx.exp(a[:, :].load())
    o[:, :] = x / x.sum(1).broadcast(8, 8) + x.max(0).broadcast(8, 8)


def _products(a: Any, o: Any) -> None:
    x = tx.exp(a[:, :].load() * 0.125)
    o[:, :] = tx.scan(x, 1, "mul")[0] - tx.reduce(x, 1, "mul").broadcast(8, 8)


def _scans(a: Any, o: Any) -> None:
    x = tx.exp(a[:, :].load())
    o[:, :] = tx.scan(x, 0)[0] + tx.scan(x, 1, "max")[0]


def _by_function(a: Any, o: Any) -> None:
    def step(p: Any, q: Any) -> Any:
        return p * 0.5 + q

    x = tx.exp(a[:, :].load())
    o[:, :] = tx.scan(x, 1, step)[0]


def _reduced(a: Any, o: Any) -> None:
    o[:, :] = tx.exp(a[:, :].load())
    tx.store(tx.exp(a[:, :].load()), o[:, :], reduce="add")
    o[:, :] = o[:, :].load().T


def _chosen(a: Any, o: Any) -> None:
    x = tx.exp(a[:, :].load())
    o[:, :] = tx.where(a[:, :].load() > 0.0, x, -x) + tx.where(x > 1e6, x, 0.0)


def _half(x: Any) -> Any:
    return (x / np.float32(3)).astype(np.float16).astype(np.float64)


def _folded(x: Any) -> Any:
    found = np.exp(x)
    for d in range(1, 8):
        found[:, d] += 0.5 * found[:, d - 1]
    return found


_CASES: list[tuple[Callable[..., None], Callable[[Any], Any]]] = [
    (_product, lambda x: np.exp(x / 4) @ np.exp(x / 4).T),
    (_product_of_f16, lambda x: _half(x.astype(np.float32)) @ _half(x.astype(np.float32)).T / 2),
    (_accumulated, lambda x: 3 * np.exp(x) @ np.exp(x).T),
    (_sums, lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True) + np.exp(x).max(0)),
    (_products, lambda x: np.cumprod(np.exp(x / 8), 1) - np.prod(np.exp(x / 8), 1, keepdims=True)),
    (_scans, lambda x: np.cumsum(np.exp(x), 0) + np.maximum.accumulate(np.exp(x), 1)),
    (_by_function, _folded),
    (_reduced, lambda x: 2 * np.exp(x).T),
    (_chosen, lambda x: np.where(x > 0, np.exp(x), -np.exp(x))),
]


@pytest.mark.parametrize(("function", "reference"), _CASES, ids=lambda each: each.__name__.strip("_<>"))
def test_bounds(function: Callable[..., None], reference: Callable[[Any], Any]) -> None:
    kernel = tx.jit(f32[8, 8], f32[8, 8], threads=128, target="sm_80", grid=[1])(function).module
    for seed in range(4):
        x = np.random.default_rng(seed).standard_normal((8, 8)).astype(np.float32)
        found = np.zeros_like(x)
        ran = run_kernel(next(iter(kernels(kernel))), [x, found], bounds=True)
        expected, error = reference(x.astype(np.float64)), ran.errors[1]
        assert error is not None and not ran.exact
        assert (np.abs(found - expected) <= error).all()
        assert (error > 0).all() and (error < 3e-5 * (1 + np.abs(expected))).all()


def test_exact_kernels_have_no_bounds() -> None:
    def kernel(a: Any, i: Any, o: Any) -> None:
        x = tx.shared(a[:, :])
        o[:, :] = x @ x.T + i[:, :].load().sum(1).to(f32).broadcast(8, 8)

    x, i = np.arange(64, dtype=np.float32).reshape(8, 8), np.arange(64, dtype=np.int32).reshape(8, 8)
    made = tx.jit(f32[8, 8], i32[8, 8], f32[8, 8], threads=128, target="sm_80", grid=[1])(kernel).module
    ran = run_kernel(next(iter(kernels(made))), [x, i, found := np.zeros_like(x)], bounds=True)
    assert ran.exact and (ran.errors[2] is None or not ran.errors[2].any())
    assert np.array_equal(found, x @ x.T + i.sum(1, keepdims=True))


def test_numbers_in_memory_have_bounds() -> None:
    """A sum that is stored as one number, and loaded behind a barrier; blocks that store the same one have no order."""
    text = """
!x = memref<64xf32>
!t = !tirx.tile<64xf32, register>
!c = !tirx.tile<1xf32, register>
tirx.kernel @k(%a: !x, %s: !x, %d: !x) grid(BLOCKS) threads(64) {
  %c3 = arith.constant 3 : index
  %x = tirx.load %a[0] : !x -> !t
  %r = tirx.reduce %x dim(0) add : !t -> !c
  %e = tirx.element %r : !c -> f32
  memref.store %e, %s[%c3] : !x
  tirx.barrier
  %n = memref.load %s[%c3] : !x
  %y = tirx.splat %n : f32 -> !t
  tirx.store %y, %d[0] : !t, !x
}"""
    one, two = (next(iter(kernels(embed.parse(text.replace("BLOCKS", each))))) for each in ("1", "2"))
    x, s, d = np.random.default_rng(0).random((3, 64)).astype(np.float32)
    ran = run_kernel(one, [x, s, d], bounds=True)
    assert ran.errors[1] is not None and ran.errors[2] is not None and not ran.exact
    assert (ran.errors[1] > 0).tolist() == [n == 3 for n in range(64)] and (ran.errors[2] == ran.errors[1][3]).all()
    with pytest.raises(RunError, match="10:3: expected elements of global memory that one block changes"):
        run_kernel(two, [x, s, d])


@pytest.mark.parametrize("row", [(3e38, 3e38, -3e38), (3e38, 1e38, -2e38, 1.5)])
def test_sums_that_some_orders_leave_without_a_number(row: tuple[float, ...]) -> None:
    """The largest numbers have infinite sums in one order, and finite ones in another."""

    def kernel(a: Any, p: Any, s: Any) -> None:
        x = tx.shared(a[:, :])
        p[:, :] = x @ tx.shared(tx.exp(tx.zeros(f32, 8, 8))).T
        s[:, :] = a[:, :].load().sum(1).broadcast(8, 8)

    x = np.ones((8, 8), np.float32)
    x[2, : len(row)] = row
    made = tx.jit(f32[8, 8], f32[8, 8], f32[8, 8], threads=128, target="sm_80", grid=[1])(kernel).module
    ran = run_kernel(next(iter(kernels(made))), [x, np.zeros_like(x), np.zeros_like(x)], bounds=True)
    assert not ran.exact
    for error in ran.errors[1:]:
        assert error is not None and np.isinf(error[2]).all() and np.isfinite(np.delete(error, 2, 0)).all()


def test_recurrences_of_the_largest_numbers() -> None:
    """Another bracketing of them is infinite, or no number; other lines have their bounds."""
    x = np.full((8, 8), 0.3, np.float32)
    made = tx.jit(f32[8, 8], f32[8, 8], threads=128, target="sm_80", grid=[1])(_by_function).module
    x[2, 3] = 88.7  # the kernel has its exponential
    ran = run_kernel(next(iter(kernels(made))), [x, found := np.zeros_like(x)], bounds=True)
    error = ran.errors[1]
    assert np.isfinite(found).all() and error is not None
    assert np.isinf(error).tolist() == [[i == 2 and j >= 3 for j in range(8)] for i in range(8)]
