"""Launches of the examples of arithmetic on tiles, with what numpy makes of the same numbers."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import numpy.typing as npt
from unit.sim.launches import Launch, Output, result
from unit.sim.products import Array, Numbers, bound, pack_e2m1, product, random

F16, F32 = np.float16, np.float32
BF16, E4M3 = np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e4m3fn)

Size = tuple[int, int, int]
"""M, N and K."""

_SIZE: Size = (128, 128, 128)


def _as_f32(values: Array) -> Array:
    """Numbers that f32 has: what is computed in f32 cannot be closer."""
    return values.astype(F32).astype(np.float64)


def bias_relu_residual(rng: np.random.Generator, numbers: Numbers, size: Size = _SIZE) -> Launch:
    m, n, k = size
    a, b = random(rng, numbers, (m, k), F16), random(rng, numbers, (n, k), F16)
    bias, residual = random(rng, numbers, (1, n), F16), random(rng, numbers, (m, n), F16)
    sums, magnitude = product(a, b)
    expected = np.maximum(sums + bias, 0) + residual
    tolerance = bound(magnitude, k, F32) + 2.0**-10 * (np.abs(expected) + np.abs(residual.astype(np.float64)))
    return Launch([a, b, bias, residual, result((m, n), F16)], [Output(4, expected, tolerance)])


def bias_relu(rng: np.random.Generator, numbers: Numbers, size: Size = (100, 72, 256)) -> Launch:
    """D has rows and columns that no tile has."""
    m, n, k = size
    a, b = random(rng, numbers, (m, k), F16), random(rng, numbers, (n, k), F16)
    bias = random(rng, numbers, (1, n), F16)
    sums, magnitude = product(a, b)
    expected = np.maximum(sums + bias, 0)
    tolerance = bound(magnitude, k, F32) + 2.0**-10 * np.abs(expected)
    return Launch([a, b, bias, result((m, n), F16)], [Output(3, expected, tolerance)])


def alpha_beta(rng: np.random.Generator, numbers: Numbers, size: Size = _SIZE) -> Launch:
    m, n, k = size
    a, b = random(rng, numbers, (m, k), F16), random(rng, numbers, (n, k), F16)
    c = result((m, n))
    sums, magnitude = product(a, b)
    expected = 2 * sums - 3 * c.astype(np.float64)
    return Launch([a, b, c, 2.0, -3.0], [Output(2, expected, bound(2 * magnitude + 3 * np.abs(c), k, F32))])


def fp8_output(rng: np.random.Generator, numbers: Numbers, size: Size = _SIZE) -> Launch:
    """Sums beyond 448 become 448; those of small integers are exact before they are rounded."""
    m, n, k = size
    scale = 4.0
    a, b = random(rng, numbers, (m, k), BF16), random(rng, numbers, (n, k), BF16)
    sums, magnitude = product(a, b)
    expected = np.clip(scale * sums, -448, 448)
    if numbers == "integers":
        exact = expected.astype(F32).astype(E4M3).astype(np.float64)
        return Launch([a, b, result((m, n), E4M3), scale], [Output(2, exact)])
    tolerance = 2.0**-4 * np.abs(expected) + 2.0**-9 + scale * bound(magnitude, k, F32)
    return Launch([a, b, result((m, n), E4M3), scale], [Output(2, expected, tolerance)])


def gelu(rng: np.random.Generator, numbers: Numbers, size: Size = _SIZE) -> Launch:
    m, n, k = size
    a, b = random(rng, numbers, (m, k), BF16), random(rng, numbers, (n, k), BF16)
    bias = random(rng, numbers, (1, n), F32)
    sums, magnitude = product(a, b)
    x = sums + bias
    expected = _as_f32(x * (np.vectorize(math.erf)(x * np.sqrt(0.5)) + 1) / 2)
    tolerance = 2.0**-8 * np.abs(expected) + 2.0**-19 * np.abs(x) + bound(magnitude, k, F32)
    return Launch([a, b, bias, result((m, n), BF16)], [Output(3, expected, tolerance)])


def split_k(rng: np.random.Generator, numbers: Numbers) -> Launch:
    """All four blocks add to D."""
    m, n, k = 128, 64, 512
    a, b = random(rng, numbers, (m, k), F16), random(rng, numbers, (n, k), F16)
    d = random(rng, numbers, (m, n), F32)
    sums, magnitude = product(a, b)
    return Launch([a, b, d], [Output(2, sums + d, bound(magnitude + np.abs(d), k, F32))])


def split_k_product(rng: np.random.Generator, numbers: Numbers) -> Launch:
    """Two blocks for each tile add to the workspace, which may have numbers in it."""
    a, b = random(rng, numbers, (128, 256), F16), random(rng, numbers, (256, 256), F16)
    w = random(rng, numbers, (128, 256), F32)
    sums, magnitude = product(a, b)
    return Launch([a, b, w], [Output(2, sums + w, bound(magnitude + np.abs(w), 256, F32))])


def split_k_round(rng: np.random.Generator, numbers: Numbers) -> Launch:
    """The workspace is rounded, and zero again."""
    w = random(rng, numbers, (128, 256), F32)
    return Launch([w, result(w.shape, F16)], [Output(0, np.zeros(w.shape)), Output(1, w.astype(F16))])


def softmax(rng: np.random.Generator, numbers: Numbers, rows: int = 8) -> Launch:
    x = random(rng, numbers, (rows, 1024), F16)
    powers = np.exp(x.astype(np.float64))
    expected = _as_f32(powers / powers.sum(1, keepdims=True))
    return Launch([x, result(x.shape, F16)], [Output(1, expected, 2.0**-10 * expected + 2.0**-25)])


def _norm(rng: np.random.Generator, numbers: Numbers, rows: int, *, centred: bool) -> Launch:
    x, eps = random(rng, numbers, (rows, 512), F16), 1e-3
    weights = [random(rng, numbers, (1, 512), F16) for _ in range(2 if centred else 1)]
    wide = x.astype(np.float64)
    if centred:
        wide = wide - wide.mean(1, keepdims=True)
    expected = wide / np.sqrt((wide**2).mean(1, keepdims=True) + eps) * weights[0].astype(np.float64)
    expected = _as_f32(expected + weights[1] if centred else expected)
    tolerance = 2.0**-10 * np.abs(expected) + 2.0**-16
    return Launch([x, *weights, result(x.shape, F16), eps], [Output(1 + len(weights), expected, tolerance)])


def layer_norm(rng: np.random.Generator, numbers: Numbers, rows: int = 16) -> Launch:
    return _norm(rng, numbers, rows, centred=True)


def rms_norm(rng: np.random.Generator, numbers: Numbers, rows: int = 16) -> Launch:
    return _norm(rng, numbers, rows, centred=False)


def transpose(rng: np.random.Generator, numbers: Numbers, shape: tuple[int, int] = (128, 256)) -> Launch:
    x = random(rng, numbers, shape, F32)
    return Launch([x, result(shape[::-1]).T], [Output(1, x.astype(np.float64))])


def weighted(q: Array, k: Array, v: Array, *, causal: bool) -> Array:
    """softmax(q k^T / sqrt(size)) v of one head."""
    scores = q.astype(np.float64) @ k.astype(np.float64).T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights = np.tril(weights) if causal else weights
    return weights @ v.astype(np.float64) / weights.sum(1, keepdims=True)


def _attention(rng: np.random.Generator, numbers: Numbers, *, causal: bool) -> Launch:
    """The errors are those of weights and results in f16; scores are spread so that no weight is subnormal."""
    heads, rows, size = 2, 128, 64
    q, k, v = (random(rng, numbers, (heads * rows, size), F16) for _ in range(3))
    q = (q / 4).astype(F16)
    expected = np.zeros(q.shape)
    for head in range(heads):
        part = slice(head * rows, (head + 1) * rows)
        expected[part] = weighted(q[part], k[part], v[part], causal=causal)
    expected = _as_f32(expected)
    tolerance = np.full(expected.shape, 2.0**-9 * float(np.abs(v.astype(np.float64)).max()))
    return Launch([q, k, v.T, result(q.shape, F16)], [Output(3, expected, tolerance)])


def scaled_attention(
    rng: np.random.Generator,
    numbers: Numbers,
    heads: tuple[int, int],
    lengths: tuple[int, int],
    *,
    causal: bool,
    size: int = 128,
    dtype: npt.DTypeLike = F16,
) -> Launch:
    """`heads` and `lengths` are those of queries and of keys; heads of queries share those of keys."""
    q = random(rng, numbers, (heads[0], lengths[0], size), dtype)
    k, v = (random(rng, numbers, (heads[1], lengths[1], size), dtype) for _ in range(2))
    q = (q / 4).astype(dtype)
    shared = heads[0] // heads[1]
    outputs = [weighted(head, k[i // shared], v[i // shared], causal=causal) for i, head in enumerate(q)]
    expected = _as_f32(np.stack(outputs))
    bits = 9 if np.dtype(dtype) == F16 else 6
    tolerance = np.full(expected.shape, 2.0**-bits * float(np.abs(v.astype(np.float64)).max()))
    return Launch([q, k, v.transpose(0, 2, 1), result(q.shape, dtype)], [Output(3, expected, tolerance)])


def flash_attention(rng: np.random.Generator, numbers: Numbers) -> Launch:
    return scaled_attention(rng, numbers, (1, 1), (72, 150), causal=False)


def causal_flash_attention(rng: np.random.Generator, numbers: Numbers) -> Launch:
    return scaled_attention(rng, numbers, (2, 1), (100, 100), causal=True)


def attention(rng: np.random.Generator, numbers: Numbers) -> Launch:
    return _attention(rng, numbers, causal=False)


def causal_attention(rng: np.random.Generator, numbers: Numbers) -> Launch:
    return _attention(rng, numbers, causal=True)


def grouped(
    rng: np.random.Generator,
    numbers: Numbers,
    size: tuple[int, int, int] = (256, 256, 128),
    experts: tuple[int, ...] = (2, 0),
) -> Launch:
    """`size`: M, N and K. `experts`: that of each block of 128 rows, of which the last may be shorter."""
    m, n, k = size
    x, w = random(rng, numbers, (m, k), F16), random(rng, numbers, (max(experts) + 1, n, k), F16)
    parts = [product(x[128 * i : 128 * i + 128], w[expert]) for i, expert in enumerate(experts)]
    sums, magnitude = (np.concatenate(each) for each in zip(*parts, strict=True))
    tolerance = bound(magnitude, k, F32) + 2.0**-11 * np.abs(sums)
    return Launch([x, w, np.array(experts, np.int32), result((m, n), F16)], [Output(3, sums, tolerance)])


def mxfp8(rng: np.random.Generator, numbers: Numbers, rows: tuple[int, int] = (128, 128), k: int = 1024) -> Launch:
    """Every 32 elements of a row have a power of two of their own. `rows`: M and N."""
    return _scaled(rng, numbers, rows, k, 32)


def nvfp4(rng: np.random.Generator, numbers: Numbers, rows: tuple[int, int] = (128, 128), k: int = 512) -> Launch:
    """Every 16 elements of a row have a factor of their own, small integers for exact sums. `rows`: M and N."""
    return _scaled(rng, numbers, rows, k, 16)


def _scaled(rng: np.random.Generator, numbers: Numbers, rows: tuple[int, int], k: int, block: int) -> Launch:
    operands: list[Array] = []
    wide: list[Array] = []
    for extent in rows:
        elements = random(rng, numbers, (extent, k), E4M3 if block == 32 else ml_dtypes.float4_e2m1fn)
        exponents = rng.integers(-3 if block == 32 else 0, 4, (extent, k // block))
        factors = (2.0**exponents).astype(ml_dtypes.float8_e8m0fnu if block == 32 else E4M3)
        operands += [elements if block == 32 else pack_e2m1(elements), factors]
        wide.append(elements.astype(np.float64) * np.repeat(factors.astype(np.float64), block, axis=1))
    sums, magnitude = product(*wide)
    return Launch([*operands, result(rows)], [Output(4, sums, bound(magnitude, k, F32))])


def quantize(rng: np.random.Generator, numbers: Numbers, rows: int = 8) -> Launch:
    """Quotients by powers of two are exact, so that there is one rounding, to e4m3."""
    x = random(rng, numbers, (rows, 32, 32), F32)
    largest = np.abs(x.astype(np.float64)).max(2, keepdims=True)
    exponent = np.ceil(np.log2(np.maximum(largest, 2.0**-100) / 448))
    exponent = np.where(largest == 0, -127, exponent)
    expected = (x / 2.0**exponent).astype(E4M3).astype(np.float64)
    factors = np.zeros((rows, 32, 1), ml_dtypes.float8_e8m0fnu)
    outputs = [Output(1, expected), Output(2, 2.0**exponent)]
    return Launch([x, result(x.shape, E4M3), factors], outputs)
