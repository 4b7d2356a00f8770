"""Sums of tensor cores, one result at a time with integers of any size: a model of `numerics.tensor_cores`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, isinf, isnan, log2

import ml_dtypes
import numpy as np

# Smallest exponents of normal numbers.
LOWEST = {
    "f32": -126, "tf32": -126, "bf16": -126, "f16": -14, "e5m2": -14, "e4m3": -6, "e3m2": -2, "e2m3": 0, "e2m1": 0,
    "ue8m0": -127, "ue4m3": -6,
}  # fmt: skip
_DTYPES = {
    "f16": np.float16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
    "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn, "e2m1": ml_dtypes.float4_e2m1fn,
    "ue8m0": ml_dtypes.float8_e8m0fnu, "ue4m3": ml_dtypes.float8_e4m3fn,
}  # fmt: skip


def decode(codes: Sequence[int], element: str) -> list[float]:
    """Numbers of codes; those of bf16 and tf32 are f32 words."""
    if element in ("bf16", "tf32", "f32"):
        mask = {"bf16": 0xFFFF0000, "tf32": 0xFFFFE000, "f32": 0xFFFFFFFF}[element]
        words = np.array(codes, np.uint32) & np.uint32(mask)
        return [float(each) for each in words.view(np.float32)]
    dtype = np.dtype(_DTYPES[element])
    raw = np.array(codes, f"u{dtype.itemsize}").view(dtype)
    return [float(each) for each in raw.astype(np.float32)]


def exponent(value: float, element: str) -> int:
    """The exponent that the bits of a number say."""
    _, found = np.frexp(abs(value))
    return max(int(found) - 1, LOWEST[element])


def _truncated(value: Fraction, unit: int) -> int:
    """Counts how often 2^unit is in a number, toward zero."""
    scaled = value / Fraction(2) ** unit
    return int(scaled)


def to_f32(value: Fraction, bits: int = 23) -> int:
    """The word of a number, its significand cut off behind `bits` bits."""
    if value == 0:
        return 0
    size = abs(value)
    power = floor(log2(size.numerator) - log2(size.denominator))
    while Fraction(2) ** power > size:
        power -= 1
    while Fraction(2) ** (power + 1) <= size:
        power += 1
    if power > 127:
        return 0x7F800000 | (value < 0) << 31
    low = max(power, -126)
    whole = int(size / Fraction(2) ** (low - bits)) << (23 - bits)
    word = whole if power < -126 else (low + 126 << 23) + whole
    return word | (value < 0 and word > 0) << 31


def to_f16(value: Fraction) -> int:
    """The word of a number, rounded to nearest even."""
    if value == 0:
        return 0
    size = abs(value)
    power = max(floor(log2(size.numerator) - log2(size.denominator)), -14)
    while power > -14 and Fraction(2) ** power > size:
        power -= 1
    while Fraction(2) ** (power + 1) <= size:
        power += 1
    whole = round(size / Fraction(2) ** (power - 10))  # ties to even
    word = min((power + 14 << 10) + whole, 0x7C00)
    return word | (value < 0 and word > 0) << 15


def special(terms: Sequence[float], result: str) -> int | None:
    """The word of an infinite or NaN result."""
    infinite = {term for term in terms if isinf(term)}
    wide = result == "f32"
    if any(isnan(term) for term in terms) or len(infinite) == 2:
        return 0x7FFFFFFF if wide else 0x7FFF
    if not infinite:
        return None
    return (0x7F800000 if wide else 0x7C00) | (infinite.pop() < 0) << (31 if wide else 15)


def fused(
    a: Sequence[float],
    b: Sequence[float],
    c: float,
    types: tuple[str, str, str],
    *,
    bits: int = 25,
    fraction: int = 23,
    zero: int | None = None,
    scales: Sequence[tuple[float, float]] = (),
) -> int:
    """T-FDPA: the word of a sum; `types` are those of A, B and the result, `scales` the factors of each product."""
    result = types[2]
    zero = zero if zero is not None else (-133 if result == "f32" else -21)
    scales = scales or [(1.0, 1.0)] * len(a)
    found = special([c] + [x * y * s * t for x, y, (s, t) in zip(a, b, scales, strict=True)], result)
    if found is not None:
        return found
    terms: list[tuple[Fraction, int]] = []
    for x, y, (s, t) in zip(a, b, scales, strict=True):
        shift = exponent(s, "ue8m0") + exponent(t, "ue8m0")
        value = Fraction(x) * Fraction(y) * Fraction(2) ** shift
        terms.append((value, exponent(x, types[0]) + exponent(y, types[1]) + shift if value else zero))
    terms.append((Fraction(c), exponent(c, result) if c else zero))
    unit = max(max(each for _, each in terms), zero) - bits
    total = sum(_truncated(value, unit) for value, _ in terms) * Fraction(2) ** unit
    return to_f32(total, fraction) if result == "f32" else to_f16(total)


def grouped(
    a: Sequence[float], b: Sequence[float], c: float, scales: Sequence[tuple[float, float]], element: str
) -> int:
    """GST-FDPA: products of 16 along K are added exactly; `scales` are the factors of each product."""
    found = special([c] + [s * t for s, t in scales], "f32")
    if found is not None:
        return found
    terms = [(Fraction(c), exponent(c, "f32") if c else -139)]
    for start in range(0, len(a), 16):
        own = [Fraction(x) * Fraction(y) for x, y in zip(a[start : start + 16], b[start : start + 16], strict=True)]
        s, t = scales[start]
        used = any(own) and s and t
        terms.append(
            (sum(own) * Fraction(s) * Fraction(t), exponent(s, element) + exponent(t, element) if used else -139)
        )
    unit = max(each for _, each in terms) - 35
    return to_f32(sum(_truncated(value, unit) for value, _ in terms) * Fraction(2) ** unit)


def value(word: int, result: str) -> float:
    """The number of a word."""
    return decode([word], "f32" if result == "f32" else "f16")[0]
