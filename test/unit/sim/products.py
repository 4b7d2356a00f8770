"""The numbers of tests of matrix products: inputs, references in numpy, and how far a result may be off."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
# Small integers, whose products and sums are exact in every type, or numbers of a normal distribution.
Numbers = Literal["integers", "normal"]

# The integers that every element type of the examples has, e2m1 included.
_INTEGERS = np.array([-4, -3, -2, -1, 0, 1, 2, 3, 4])
# Distance from 1 to the next number of the type of an accumulator.
_EPS: dict[np.dtype[Any], float] = {
    np.dtype(np.int32): 0.0,
    np.dtype(np.float16): 2.0**-10,
    np.dtype(np.float32): 2.0**-23,
    np.dtype(np.float64): 2.0**-52,
}


def random(rng: np.random.Generator, numbers: Numbers, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """An array of `dtype`; `normal` is of standard deviation 1, or all codes for 8-bit integers."""
    if numbers == "integers":
        return rng.choice(_INTEGERS, shape).astype(dtype)
    if np.dtype(dtype) == np.dtype(np.int8):
        return rng.integers(-128, 128, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def tf32(values: Array) -> Array:
    """float32 without the 13 bits that tf32 lacks."""
    return (values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def pack_e2m1(values: Array) -> Array:
    """Two elements in a byte, the first in its low half: (..., n) float4 to (..., n / 2) bytes."""
    codes = values.view(np.uint8) & 15
    return codes[..., 0::2] | codes[..., 1::2] << 4


def product(a: Array, b: Array) -> tuple[Array, Array]:
    """
    a (M, K) times the transpose of b (N, K) in float64, and the sum of the magnitudes of the products, both (M, N).

    BLAS adds in some order of its own: that is why `bound` also covers the reference.
    """
    a, b = a.astype(np.float64), b.astype(np.float64)
    return a @ b.T, np.abs(a) @ np.abs(b).T


def bound(magnitude: Array, k: int, dtype: npt.DTypeLike) -> Array:
    """
    Bound of the error of a sum of k products that is accumulated in `dtype`.

    Products are exact. The order of the additions is not documented, and each of them rounds (the tensor cores may
    truncate): k additions of partial sums that are at most `magnitude` are off by at most k * eps * magnitude, where
    eps is the distance from 1 to the next number.
    """
    return k * _EPS[np.dtype(dtype)] * magnitude
