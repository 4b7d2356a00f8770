"""Kernels of `examples/gallery` about types and masks equal numpy, at three sizes each, for three generations."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tirx.runtime.program import build

Array = NDArray[Any]
_GALLERY = Path(__file__).parents[3] / "examples" / "gallery"
_TARGETS = ("sm_80", "sm_90a", "sm_100a")


def _integers(*shape: int, seed: int = 0, dtype: Any = np.float32, most: int = 2) -> Array:
    return np.random.default_rng(seed).integers(-most, most + 1, shape).astype(dtype)


def _w4a16(m: int, n: int, k: int) -> tuple[list[Any], Array]:
    x, scales, w = _integers(m, k, dtype=np.float16), _integers(n, k // 32, dtype=np.float16), _integers(n, k, most=7)
    nibbles = w.astype(np.int8).view(np.uint8) & 15
    expected = x.astype(np.float32) @ (w * np.repeat(scales.astype(np.float32), 32, 1)).T
    return [x, nibbles[:, ::2] | nibbles[:, 1::2] << 4, scales, np.zeros_like(expected)], expected


def _fp8_gemm(m: int, n: int, k: int) -> tuple[list[Any], Array]:
    x, w = _integers(m, k, dtype=ml_dtypes.float8_e4m3fn), _integers(n, k, seed=1, dtype=ml_dtypes.float8_e4m3fn)
    sx, sw = _integers(m, -(-k // 128)), _integers(-(-n // 128), -(-k // 128), seed=1)
    wide = w.astype(np.float32) * np.repeat(np.repeat(sw, 128, 0)[:n], 128, 1)[:, :k]
    expected = (x.astype(np.float32) * np.repeat(sx, 128, 1)[:, :k]) @ wide.T
    return [x, w, sx, sw, np.zeros_like(expected)], expected


def _depthwise_conv(batch: int, length: int, channels: int) -> tuple[list[Any], Array]:
    x, w = _integers(batch, length, channels), _integers(3, channels)
    padded = np.pad(x, ((0, 0), (1, 1), (0, 0)))
    expected = sum((padded[:, r : r + length] * w[r] for r in range(3)), start=np.zeros_like(x))
    return [x, w, np.zeros_like(x)], expected


def _swiglu(m: int, n: int, k: int) -> tuple[list[Any], Array]:
    x, gate, up = (_integers(each, k, seed=i, dtype=np.float16) for i, each in enumerate((m, n, n)))
    a, b = (x.astype(np.float64) @ each.astype(np.float64).T for each in (gate, up))
    return [x, gate, up, np.zeros((m, n), np.float16)], a / (1 + np.exp(-a)) * b


def _tf32x3_gemm(m: int, n: int, k: int) -> tuple[list[Any], Array]:
    a, b = (np.random.default_rng(each).normal(0, 1, (each, k)).astype(np.float32) for each in (m, n))
    return [a, b, np.zeros((m, n), np.float32)], a.astype(np.float64) @ b.astype(np.float64).T


def _int8_gemm(m: int, n: int, k: int) -> tuple[list[Any], Array]:
    x, w = _integers(m, k, dtype=np.int8, most=9), _integers(n, k, seed=1, dtype=np.int8, most=9)
    sx, sw = _integers(m) / 64, _integers(n) / 64
    expected = (x.astype(np.float32) @ w.T.astype(np.float32)) * sx[:, None] * sw
    return [x, w, sx, sw, np.zeros((m, n), np.float16)], expected


def _argmax(rows: int, columns: int) -> tuple[list[Any], Array]:
    x = _integers(rows, columns, most=50)
    return [x, np.zeros((rows, 1), np.int32)], np.argmax(x, 1)[:, None]


def _dft(rows: int) -> tuple[list[Any], Array, Array]:
    re, im = _integers(rows, 64), _integers(rows, 64, seed=1)
    found = np.fft.fft(re + 1j * im)
    return [re, im, np.zeros_like(re), np.zeros_like(im)], found.real, found.imag


def _bitonic_sort(rows: int) -> tuple[list[Any], Array]:
    x = np.random.default_rng(0).normal(0, 1, (rows, 64)).astype(np.float32)
    return [x, np.zeros_like(x)], np.sort(x, 1)


def _triangular_solve(columns: int) -> tuple[list[Any], Array]:
    lower = np.tril(_integers(64, 64) / 8, -1) + np.diag(2.0 ** _integers(64, most=1)).astype(np.float32)
    b = _integers(64, columns)
    return [lower, b, np.zeros_like(b)], np.linalg.solve(lower.astype(np.float64), b)


def _window_attention(queries: int) -> tuple[list[Any], Array]:
    q, key, value = (_integers(queries, 64, seed=i, dtype=np.float16) for i in range(3))
    mask = (_integers(queries, queries, most=1) != 0).astype(np.int8) | np.eye(queries, dtype=np.int8)
    back = np.subtract.outer(np.arange(queries), np.arange(queries))
    scores = q.astype(np.float64) @ key.astype(np.float64).T / 8
    weights = np.where((back >= 0) & (back < 64) & (mask != 0), np.exp(scores - scores.max(1, keepdims=True)), 0)
    expected = weights @ value.astype(np.float64) / weights.sum(1, keepdims=True)
    return [q, key, value, mask, np.zeros((queries, 64), np.float32)], expected


KERNELS: dict[str, tuple[Callable[..., tuple[Any, ...]], list[tuple[int, ...]]]] = {
    "w4a16": (_w4a16, [(64, 64, 64), (16, 128, 128), (77, 71, 96)]),
    "fp8_gemm": (_fp8_gemm, [(64, 64, 128), (16, 192, 256), (77, 72, 144)]),
    "depthwise_conv": (_depthwise_conv, [(1, 32, 64), (2, 64, 32), (2, 45, 71)]),
    "swiglu": (_swiglu, [(64, 64, 64), (16, 128, 128), (77, 72, 72)]),
    "tf32x3_gemm": (_tf32x3_gemm, [(64, 64, 32), (16, 128, 64), (77, 68, 36)]),
    "int8_gemm": (_int8_gemm, [(64, 64, 64), (16, 128, 128), (77, 72, 80)]),
    "argmax": (_argmax, [(4, 256), (8, 512), (5, 333)]),
    "dft": (_dft, [(64,), (128,), (77,)]),
    "bitonic_sort": (_bitonic_sort, [(8,), (32,), (13,)]),
    "triangular_solve": (_triangular_solve, [(32,), (64,), (45,)]),
    "window_attention": (_window_attention, [(64,), (128,), (141,)]),
}
"""Kernel -> its arguments, the last of which are the results, and what they have to be, at some sizes."""


TOLERANCES = {"tf32x3_gemm": 1e-5, "triangular_solve": 1e-4, "dft": 1e-2, "window_attention": 2e-3}
"""Relative errors beyond 2e-5, of results in f16 beyond 2e-3: of sums and functions that are not exact."""

MISSING = {("fp8_gemm", "sm_80")}  # e4m3 came with sm_89


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("name", "target"), [each for each in product(KERNELS, _TARGETS) if each not in MISSING], ids=str
)
@pytest.mark.parametrize("size", range(3))
def test_kernels_of_numbers(name: str, size: int, target: str) -> None:
    make, sizes = KERNELS[name]
    arguments, *expected = make(*sizes[size])
    (kernel,) = build((_GALLERY / f"{name}.mlir").read_text(), target=target).kernels.values()
    kernel.simulate(*arguments, check="strict")
    for found, wanted in zip(arguments[-len(expected) :], expected, strict=True):
        tolerance = TOLERANCES.get(name, 2e-3 if found.dtype == np.float16 else 2e-5)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=4 * tolerance)
