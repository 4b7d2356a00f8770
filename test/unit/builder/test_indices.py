"""Tiles of indices in the brackets of an array, several together and turned, name what they name in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from unit.cases import together

import tirx as tx
from tirx import f32, i32
from tirx.dialects.tirx import kernels
from tirx.interp import run_kernel

_RNG = np.random.default_rng(0)
_X = _RNG.normal(size=(5, 7, 8)).astype(np.float32)
_P, _Q = np.array([4, 0, 2, 2], np.int32), np.array([6, 1, 0, 5], np.int32)
_AT = _RNG.integers(0, 8, (4, 8)).astype(np.int32)

_READ: list[tuple[Callable[[Any, Any, Any, Any], Any], Any]] = [
    (lambda x, p, q, at: x[p, q, 0:8], _X[_P, _Q]),
    (lambda x, p, q, at: x[p, q, :].T, _X[_P, _Q].T),
    (lambda x, p, q, at: x[p, q, 1:7][:, None, :], _X[_P, _Q, None, 1:7]),
    (lambda x, p, q, at: x[p, 3, q].reshape(2, 2), _X[_P, 3, _Q].reshape(2, 2)),
    (lambda x, p, q, at: x[1:4, p, q], _X[1:4, _P, _Q]),
    (lambda x, p, q, at: x[p, p, q][:, None], _X[_P, _P, _Q][:, None]),
    (lambda x, p, q, at: x[p[:, None], q[None, :], 3], _X[_P[:, None], _Q[None, :], 3]),
    (lambda x, p, q, at: x[p[:, None], q[:, None], 0:8], _X[_P, _Q]),
    (lambda x, p, q, at: x[2, 3, at].T, _X[2, 3, _AT].T),
    (lambda x, p, q, at: x[2, 3, at][:, None], _X[2, 3, _AT][:, None]),
    (lambda x, p, q, at: x[1, :, :].load()[p, q], _X[1, _P, _Q]),
]


@together(("read", "expected"), _READ)
def test_read(read: Callable[..., Any], expected: Any) -> None:
    @tx.jit(f32[5, 7, 8], i32[4], i32[4], i32[4, 8], f32[expected.shape], threads=32, target="sm_80", grid=[1])
    def kernel(x: tx.Array, p: tx.Array, q: tx.Array, at: tx.Array, y: tx.Array) -> None:
        y[(slice(None),) * expected.ndim] = read(x, p[:].load(), q[:].load(), at[:, :].load())

    found = np.zeros_like(expected)
    run_kernel(next(iter(kernels(kernel.module))), [_X, _P, _Q, _AT, found])
    assert np.array_equal(found, expected)


def test_written() -> None:
    @tx.jit(f32[5, 7, 8], i32[4], i32[4], f32[4, 8], threads=32, target="sm_80", grid=[1])
    def kernel(x: tx.Array, p: tx.Array, q: tx.Array, v: tx.Array) -> None:
        x[p[:], q[:], :] += v[:, :]
        v[:, 0] = tx.atomic(x[p[:], 3, q[:]], "add", 1.0)

    x, v, expected = _X.copy(), _RNG.normal(size=(4, 8)).astype(np.float32), _X.copy()
    expected[_P, _Q] += v
    before = expected[_P, 3, _Q]
    expected[_P, 3, _Q] += 1
    run_kernel(next(iter(kernels(kernel.module))), [x, _P, _Q, v])
    assert np.array_equal(x, expected) and np.array_equal(v[:, 0], before)


@tx.jit(threads=32)
def shaped(x: tx.Array, y: tx.Array, z: tx.Array) -> None:
    y[:, :] = tx.shared(x[3:7, 0:2, 0:8].reshape(8, 8)).T.load() + x[0:4, 0:2, 0:8].reshape(8, 8).load()
    z[0:4, 0:2, 0:8].reshape(8, 8)[:] = x[1:5, 5:7, 0:8].reshape(8, 8)


@pytest.mark.parametrize("x", [_X, _X.repeat(2, 2)[:, :, ::2], _X.repeat(2, 1)[:, ::2]])
def test_shapes_of_views(x: Any) -> None:
    """Parts of arrays in other shapes, also where they are clipped and where strides are those of the launch."""
    y, z = np.zeros((8, 8), np.float32), np.zeros((3, 7, 8), np.float32)
    expected = np.zeros_like(z)
    expected[:3, :2] = x[1:4, 5:7]
    last = np.concatenate([x[3:5, :2], np.zeros((2, 2, 8), np.float32)]).reshape(8, 8)
    module = shaped.ir(x, y, z)
    (kernel,) = kernels(module)
    for simulated in (False, True):
        y[:], z[:] = 0, 0
        if simulated:
            tx.build(module, "sm_80").kernels["shaped"].simulate(x, y, z)
        else:
            run_kernel(kernel, [x, y, z])
        assert np.array_equal(y, last.T + x[:4, :2].reshape(8, 8)) and np.array_equal(z, expected)


_REFUSED: list[tuple[Callable[[Any, Any], Any], str]] = [
    (lambda x, p: x[p, 0:7, p], "expected tiles of indices behind each other, found a span between them"),
    (lambda x, p: x[p, p[0:2], 3], "expected tiles of indices of one extent, found 4 and 2"),
    (lambda x, p: x[p, p, p[:, None]], "expected tiles of indices of one rank, found several"),
    (lambda x, p: x[p[:, None], 0:7, 0:8], "expected tiles of indices of the view's rank, 3, found 2"),
]


@together(("read", "message"), _REFUSED)
def test_refused(read: Callable[..., Any], message: str) -> None:
    @tx.jit(f32[5, 7, 8], i32[4], threads=32)
    def kernel(x: tx.Array, p: tx.Array) -> None:
        read(x, p[:].load())

    with pytest.raises(tx.BuildError, match=message):
        _ = kernel.module
