"""
Sums of tcgen05 with integers, many words at once: a model of `numerics.tensor_cores` that shares nothing with it.

The formulas are those of MMA-Sim (arXiv 2511.10909, sections on T-FDPA and GST-FDPA), with the parameters of its
package for a B200 (mmasim 2.1.1, nv_ptx/sim.py): F = 25 bits, zeros count as 2^-133 (f32 results) and 2^-21 (f16); of
mxf4 and mxf4nvf4 G = 16, F = 35, zeros count as 2^-139; f32 results are rounded toward zero, f16 to nearest even.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_FINITE, _INFINITE, _NAN = 0, 1, 2
_BITS, _GROUP, _GROUP_BITS, _GROUP_ZERO = 25, 16, 35, -139
_ZERO = {"f32": -133, "f16": -21}


@dataclass(frozen=True)
class Format:
    """A floating-point format. `top`: what codes with the largest exponent are: numbers, one NaN, or IEEE's."""

    exponent: int
    mantissa: int
    bias: int
    top: str
    signed: bool = True

    @property
    def bits(self) -> int:
        return self.exponent + self.mantissa + self.signed


FORMATS = {
    "f32": Format(8, 23, 127, "ieee"),
    "tf32": Format(8, 10, 127, "ieee"),
    "bf16": Format(8, 7, 127, "ieee"),
    "f16": Format(5, 10, 15, "ieee"),
    "e5m2": Format(5, 2, 15, "ieee"),
    "e4m3": Format(4, 3, 7, "one"),
    "e3m2": Format(3, 2, 3, "numbers"),
    "e2m3": Format(2, 3, 1, "numbers"),
    "e2m1": Format(2, 1, 1, "numbers"),
    "ue4m3": Format(4, 3, 7, "one", signed=False),
}


@dataclass(frozen=True)
class Numbers:
    """`significand` (signed) times 2^(`exponent` - `fraction`), or what `sort` says; arrays of one shape."""

    significand: Array
    exponent: Array
    sort: Array
    fraction: int


def decode(codes: Array, name: str) -> Numbers:
    """Codes of a format, in the low bits."""
    codes = codes.astype(np.int64)
    if name == "ue8m0":
        return Numbers(np.ones_like(codes), codes - 127, np.where(codes == 255, _NAN, _FINITE), 0)
    each = FORMATS[name]
    field = codes >> each.mantissa & (1 << each.exponent) - 1
    low = codes & (1 << each.mantissa) - 1
    negative = each.signed & (codes >> each.bits - 1 & 1)
    significand = np.where(field > 0, low | 1 << each.mantissa, low)
    top = field == (1 << each.exponent) - 1
    sort = np.zeros_like(codes)
    if each.top == "ieee":
        sort = np.where(top, np.where(low == 0, _INFINITE, _NAN), _FINITE)
    elif each.top == "one":
        sort = np.where(top & (low == (1 << each.mantissa) - 1), _NAN, _FINITE)
    return Numbers(
        np.where(negative == 1, -significand, significand), np.maximum(field, 1) - each.bias, sort, each.mantissa
    )


def fused(a: Array, b: Array, c: Array, types: tuple[str, str, str], factors: tuple[Array, Array] | None) -> Array:
    """T-FDPA of codes (words, K), (words, K) and (words,): words. `factors` are ue8m0 codes for each product."""
    x, y, z = decode(a, types[0]), decode(b, types[1]), decode(c, types[2])
    scales = [] if factors is None else [decode(each, "ue8m0") for each in factors]
    product, exponent = x.significand * y.significand, x.exponent + y.exponent
    for each in scales:
        exponent = exponent + each.exponent
    zero = _ZERO[types[2]]
    largest = np.maximum(np.where(product != 0, exponent, zero).max(axis=1), zero)
    largest = np.maximum(largest, np.where(z.significand != 0, z.exponent, zero))
    unit = largest - _BITS
    total = _cut(product, exponent - x.fraction - y.fraction, unit[:, None]).sum(axis=1)
    total += _cut(z.significand, z.exponent - z.fraction, unit)
    return _with_special(_rounded(total, unit, types[2]), x, y, z, types[2], [each.sort for each in scales])


def grouped(a: Array, b: Array, c: Array, factors: tuple[Array, Array], element: str) -> Array:
    """GST-FDPA of e2m1 codes (words, K) and an f32 C; `factors` (words, K / 16) are codes of `element`."""
    x, y, z = decode(a, "e2m1"), decode(b, "e2m1"), decode(c, "f32")
    s, t = (decode(each, element) for each in factors)
    # Products are multiples of 1/4, and e2m1 exponents are 0, 1 and 2.
    fours = (x.significand * y.significand << x.exponent + y.exponent).reshape(len(a), -1, _GROUP)
    scale = s.significand * t.significand
    sums, exponent = fours.sum(axis=2) * scale, s.exponent + t.exponent
    used = (fours != 0).any(axis=2) & (scale != 0)
    largest = np.maximum(np.where(used, exponent, _GROUP_ZERO).max(axis=1), _GROUP_ZERO)
    largest = np.maximum(largest, np.where(z.significand != 0, z.exponent, _GROUP_ZERO))
    unit = largest - _GROUP_BITS
    total = _cut(sums, exponent - 2 - s.fraction - t.fraction, unit[:, None]).sum(axis=1)
    total += _cut(z.significand, z.exponent - z.fraction, unit)
    return _with_special(_rounded(total, unit, "f32"), x, y, z, "f32", [s.sort, t.sort])


def _cut(values: Array, exponents: Array, unit: Array) -> Array:
    """Counts how often 2^unit is in values times 2^exponents, toward zero."""
    shift = np.where(values != 0, exponents - unit, 0)
    sizes = np.abs(values)
    found = np.where(shift >= 0, sizes << np.maximum(shift, 0), sizes >> np.minimum(np.maximum(-shift, 0), 62))
    return np.where(values < 0, -found, found)


def _rounded(total: Array, unit: Array, result: str) -> Array:
    """Words of total times 2^unit."""
    each = FORMATS[result]
    lowest, sign = 1 - each.bias, each.bits - 1
    size = np.abs(total)
    power = np.frexp(size.astype(np.float64))[1] - 1 + unit  # exact below 2^53
    place = np.maximum(power, lowest) - each.mantissa  # of the last bit that is kept
    shift = np.minimum(np.maximum(place - unit, 0), 62)
    whole, rest = size >> shift, size & (np.int64(1) << shift) - 1
    if result == "f16":
        half = np.where(shift > 0, np.int64(1) << np.maximum(shift, 1) - 1, 1)
        whole = whole + ((rest > half) | (rest == half) & (whole & 1 == 1) & (shift > 0))
    whole = whole << np.maximum(unit - place, 0)
    words = (np.maximum(power, lowest) - lowest << each.mantissa) + whole
    infinity = (1 << each.exponent) - 1 << each.mantissa
    words = np.where(power > each.bias, infinity, np.minimum(words, infinity))
    return np.where(total == 0, 0, words | (total < 0).astype(np.int64) << sign)


def _with_special(words: Array, x: Numbers, y: Numbers, c: Numbers, result: str, scales: list[Array]) -> Array:
    """Replaces words where an operand is infinite or NaN."""
    each = FORMATS[result]
    infinite = (x.sort == _INFINITE) | (y.sort == _INFINITE)
    # The significand of an infinite number is not zero.
    bad = infinite & ((x.significand == 0) | (y.significand == 0)) | (x.sort == _NAN) | (y.sort == _NAN)
    negative = (x.significand < 0) ^ (y.significand < 0)
    nan = bad.any(axis=1) | (c.sort == _NAN)
    for sort in scales:
        nan |= (sort == _NAN).any(axis=1)
    plus = (infinite & ~negative).any(axis=1) | (c.sort == _INFINITE) & (c.significand > 0)
    minus = (infinite & negative).any(axis=1) | (c.sort == _INFINITE) & (c.significand < 0)
    infinity = (1 << each.exponent) - 1 << each.mantissa
    words = np.where(plus, infinity, np.where(minus, infinity | 1 << each.bits - 1, words))
    return np.where(nan | plus & minus, (1 << each.bits - 1) - 1, words)
