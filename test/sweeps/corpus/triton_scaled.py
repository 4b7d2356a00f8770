"""Block-scaled products of Triton: mxfp8, mxfp4, nvfp4."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from common import repeated, small
from triton_build import E4M3, E5M2, case, generator


@triton.jit
def scaled_kernel(
    a, a_scale, b, b_scale, c, k,
    KIND_A: tl.constexpr, KIND_B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    PACK_A: tl.constexpr, PACK_B: tl.constexpr, VECTOR: tl.constexpr,
):  # fmt: skip
    """c = a * b^T with scale factors of VECTOR elements along K; 4-bit elements are packed along K."""
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    sums = tl.zeros((M, N), tl.float32)
    for first in range(0, k, K):
        at_a, at_b = first // PACK_A + tl.arange(0, K // PACK_A), first // PACK_B + tl.arange(0, K // PACK_B)
        at_s = first // VECTOR + tl.arange(0, K // VECTOR)
        left = tl.load(a + rows[:, None] * (k // PACK_A) + at_a[None, :])
        right = tl.load(b + columns[:, None] * (k // PACK_B) + at_b[None, :])
        left_scale = tl.load(a_scale + rows[:, None] * (k // VECTOR) + at_s[None, :])
        right_scale = tl.load(b_scale + columns[:, None] * (k // VECTOR) + at_s[None, :])
        sums = tl.dot_scaled(left, left_scale, KIND_A, right.T, right_scale, KIND_B, sums)
    tl.store(c + rows[:, None] * N + columns[None, :], sums)


_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def _scaled(kind_a: str, kind_b: str, vector: int = 32, k: int = 128):
    rng = generator()
    m, n = 128, 64

    def operand(kind: str, rows: int) -> tuple[Any, Any]:
        if kind == "e2m1":
            codes = repeated(rng.integers(0, 16, 1021), (rows, k)).astype(np.uint8)
            return codes[:, 0::2] | codes[:, 1::2] << 4, _E2M1[codes]
        data = small(rng, (rows, k), E4M3 if kind == "e4m3" else E5M2)
        return data, data.astype(np.float64)

    def scales(rows: int) -> tuple[Any, Any]:
        if vector == 16:
            data = repeated(rng.choice([0.5, 1, 1.5, 2], 127), (rows, k // vector)).astype(E4M3)
            return data, data.astype(np.float64)
        data = repeated(rng.integers(125, 130, 127), (rows, k // vector)).astype(np.uint8)
        return data, 2.0 ** (data.astype(np.float64) - 127)

    (a, left), (b, right) = operand(kind_a, m), operand(kind_b, n)
    (a_scale, left_scale), (b_scale, right_scale) = scales(m), scales(n)
    c = np.zeros((m, n), np.float32)
    wanted = (left * np.repeat(left_scale, vector, 1)) @ (right * np.repeat(right_scale, vector, 1)).T
    values = {"a": a, "a_scale": a_scale, "b": b, "b_scale": b_scale, "c": c, "k": k}
    packed = {name: 2 if kind == "e2m1" else 1 for name, kind in (("PACK_A", kind_a), ("PACK_B", kind_b))}
    constants = {"KIND_A": kind_a, "KIND_B": kind_b, "M": m, "N": n, "K": 128, **packed, "VECTOR": vector}
    return scaled_kernel, (1,), values, constants, [(c, wanted, 0)]


@case("block-scaled mxfp8", 90, 100)
def mxfp8():
    return _scaled("e4m3", "e4m3")


@case("block-scaled mxfp8, e5m2 times e4m3", 100)
def mxfp8_mixed():
    return _scaled("e5m2", "e4m3", k=256)


@case("block-scaled mxfp4")
def mxfp4():
    return _scaled("e2m1", "e2m1", k=256)


@case("mxfp8 times mxfp4", 90, 100)
def mxfp8_mxfp4():
    return _scaled("e4m3", "e2m1")


@case("block-scaled nvfp4", 100)
def nvfp4():
    return _scaled("e2m1", "e2m1", 16)
