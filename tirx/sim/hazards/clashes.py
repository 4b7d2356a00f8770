"""Values that lanes of one store write to one address: whether they differ by more than rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tirx.sim.core.types import BF16, F16, F32, F64, Array, Mask

RULE = "one value for an address"


@dataclass(frozen=True, slots=True)
class _Format:
    """
    A floating-point format. Numbers of one sign are close if their words differ by at most `distance`.

    For f32 and f64 that is half of the significand: a sum that cancels moves a difference in its last digit up. 16-bit
    numbers are close if an f32 result, rounded once more, can have become both.
    """

    dtype: np.dtype[Any]
    fraction: int  # stored bits of the significand
    distance: int

    def close(self, words: Array, starts: Array) -> Mask:
        """
        Returns True for each group of rows, which begins at one of `starts`, and each column that has close numbers.

        All of them have to be normal: small integers would be subnormal numbers, and small negative ones NaNs.
        """
        magnitude_bits = 8 * self.dtype.itemsize - 1
        magnitude = (words & ((1 << magnitude_bits) - 1)).astype(np.int64)
        exponent, sign = magnitude >> self.fraction, words >> magnitude_bits
        largest = (1 << magnitude_bits - self.fraction) - 1
        normal = np.logical_and.reduceat((exponent > 0) & (exponent < largest), starts)
        spread = _largest(magnitude, starts) - _smallest(magnitude, starts)
        return normal & (_largest(sign, starts) == _smallest(sign, starts)) & (spread <= self.distance)


_FORMATS = (
    _Format(F64.dtype, 52, 1 << 26),
    _Format(F32.dtype, 23, 1 << 12),
    _Format(F16.dtype, 10, 2),
    _Format(BF16.dtype, 7, 2),
)


def _largest(values: Array, starts: Array) -> Array:
    return np.maximum.reduceat(values, starts)


def _smallest(values: Array, starts: Array) -> Array:
    return np.minimum.reduceat(values, starts)


def differ_by_rounding(offsets: Array, values: Array, warps: Array) -> bool:
    """
    Returns True if the different `values` (lanes, elements) at equal offsets are of one warp, and close in some format.

    Unsigned integers and bits of 32 and 64 bits may be one number, or several shorter ones, which all have to be close.
    """
    order = np.argsort(offsets)
    starts = np.flatnonzero(np.diff(offsets[order], prepend=-1))
    ordered = np.ascontiguousarray(values[order])
    unknown = values.dtype.kind == "u"
    alone = _largest(warps[order], starts) == _smallest(warps[order], starts)
    for each in _FORMATS:
        size = each.dtype.itemsize
        if values.dtype != each.dtype and not (unknown and size <= values.dtype.itemsize):
            continue
        words = ordered.view(f"u{size}")
        parts = (len(starts), values.shape[1], -1)
        differs = (_largest(words, starts) != _smallest(words, starts)).reshape(parts).any(axis=2)
        close = each.close(words, starts).reshape(parts) & alone[:, None, None]
        if close[differs].all():
            return True
    return False
