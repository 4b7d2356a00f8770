"""Integer functions that numpy has not, or has otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from tirx.sim.core.types import Array, PtxType


def saturate(values: Array, value_type: PtxType) -> Array:
    """64-bit signed integers clamped to the range of `value_type`."""
    limits = np.iinfo(value_type.dtype)
    return np.clip(values, limits.min, limits.max).astype(value_type.dtype)


def multiply_high(a: Array, b: Array, value_type: PtxType) -> Array:
    """The upper half of the products."""
    if value_type.bits < 64:
        wide = np.int64 if value_type.is_signed else np.uint64
        return ((a.astype(wide) * b.astype(wide)) >> wide(value_type.bits)).astype(value_type.dtype)
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    x, y = a.view(np.uint64), b.view(np.uint64)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + (x0 * y0 >> half)
    other = x0 * y1 + (middle & low)
    high = x1 * y1 + (middle >> half) + (other >> half)
    if value_type.is_signed:
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return high.view(value_type.dtype)


def _magnitudes(a: Array) -> Array:
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    bits = a.view(unsigned)
    return np.where(a < 0, (~bits + unsigned.type(1)), bits) if a.dtype.kind == "i" else bits


def divide(a: Array, b: Array) -> Array:
    """Quotients rounded towards zero. Division by zero gives all ones, as GPUs do (undefined in PTX)."""
    x, y = _magnitudes(a), _magnitudes(b)
    zero = y == 0
    quotient: Array = x // np.where(zero, 1, y).astype(y.dtype)
    if a.dtype.kind == "i":
        quotient = np.where((a < 0) != (b < 0), ~quotient + quotient.dtype.type(1), quotient)
    return np.where(zero, np.iinfo(y.dtype).max, quotient).astype(y.dtype).view(a.dtype)


def remainder(a: Array, b: Array) -> Array:
    """Remainders with the sign of a. Division by zero gives all ones, as GPUs do (undefined in PTX)."""
    x, y = _magnitudes(a), _magnitudes(b)
    zero = y == 0
    rest: Array = x % np.where(zero, 1, y).astype(y.dtype)
    if a.dtype.kind == "i":
        rest = np.where(a < 0, ~rest + rest.dtype.type(1), rest)
    return np.where(zero, np.iinfo(y.dtype).max, rest).astype(y.dtype).view(a.dtype)


def float_to_integer(values: Array, dtype: np.dtype[Any], not_a_number: int) -> Array:
    """Integral f64 values clamped to the range of `dtype`; NaN becomes the pattern `not_a_number`."""
    limits = np.iinfo(dtype)
    low, high = float(limits.min), float(limits.max)
    is_high, is_low, is_nan = values >= high, values <= low, np.isnan(values)
    safe = np.where(is_high | is_low | is_nan, 0.0, values)
    wide = safe.astype(np.uint64 if dtype.kind == "u" else np.int64).astype(dtype)
    clamped = np.where(is_high, dtype.type(limits.max), np.where(is_low, dtype.type(limits.min), wide))
    pattern = np.array([not_a_number], f"u{dtype.itemsize}").view(dtype)[0]
    return np.where(is_nan, pattern, clamped).astype(dtype)
