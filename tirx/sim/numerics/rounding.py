"""Floating-point results with the rounding modes of PTX, exactly (section 9.7.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import ml_dtypes
import numpy as np

from tirx.sim.core.types import Array

# To nearest even, towards zero, towards minus and plus infinity.
Rounding: TypeAlias = Literal["rn", "rz", "rm", "rp"]

_F32 = np.dtype(np.float32)
_F64 = np.dtype(np.float64)
_F16 = np.dtype(np.float16)
_BF16 = np.dtype(ml_dtypes.bfloat16)
# The NaN that arithmetic gives (section 9.7.3: results are canonical NaNs).
_CANONICAL_NAN = {_F16: 0x7FFF, _BF16: 0x7FFF, _F32: 0x7FFFFFFF}
# The f64 NaN of an invalid operation on numbers, such as 0 * inf.
_INVALID = np.uint64(0xFFF8000000000000)
_FRACTION_BITS = {_F16: 10, _BF16: 7, _F32: 23, _F64: 52}
_SMALLEST_NORMAL = {_F16: 2.0**-14, _BF16: 2.0**-126, _F32: 2.0**-126, _F64: 2.0**-1022}


def bits_of(values: Array) -> Array:
    """The patterns, as unsigned integers."""
    return values.view(np.dtype(f"u{values.dtype.itemsize}"))


def canonical(values: Array) -> Array:
    """Replaces every NaN by the canonical NaN of the hardware."""
    pattern = _CANONICAL_NAN.get(values.dtype)
    if pattern is None:
        return values
    is_nan = np.isnan(values)
    if is_nan.any():
        values = values.copy()
        bits_of(values)[is_nan] = pattern
    return values


def flush(values: Array) -> Array:
    """Subnormal numbers replaced by zeros of the same sign (.ftz)."""
    small = np.abs(values) < values.dtype.type(_SMALLEST_NORMAL[values.dtype])
    if not small.any():
        return values
    values = values.copy()
    bits = bits_of(values)
    bits[small] &= bits.dtype.type(1 << (8 * bits.dtype.itemsize - 1))
    return values


def saturate_unit(values: Array) -> Array:
    """Clamped to [0, 1], NaN becomes +0 (.sat)."""
    one, zero = values.dtype.type(1), values.dtype.type(0)
    clamped = np.where(values >= one, one, np.where(values > zero, values, zero))
    return clamped.astype(values.dtype)


def rectified(values: Array) -> Array:
    """Negative numbers and -0 replaced by +0 (.relu)."""
    return np.where(values <= 0, values.dtype.type(0), values).astype(values.dtype)


def propagated(result: Array, *operands: Array) -> Array:
    """
    f64 results whose NaNs have bits that do not depend on the CPU: the first operand that is NaN, made quiet, or the
    NaN of an invalid operation.
    """
    is_nan = np.isnan(result)
    if not is_nan.any():
        return result
    quiet = np.uint64(1 << 51)
    bits = np.where(is_nan, _INVALID, result.view(np.uint64))
    for operand in reversed(operands):
        bits = np.where(np.isnan(operand), operand.view(np.uint64) | quiet, bits)
    return bits.view(np.float64)


def with_payload(result: Array, source: Array) -> Array:
    """`source` converted to another format, of which NaNs keep their sign and as much of their payload as has room."""
    is_nan = np.isnan(source)
    if not is_nan.any():
        return result
    bits, wide = bits_of(result).copy(), bits_of(source)[is_nan].astype(np.uint64)
    own, other = _FRACTION_BITS[source.dtype], _FRACTION_BITS[result.dtype]
    width = 8 * source.dtype.itemsize
    payload = wide & np.uint64((1 << own) - 1)
    kept = payload << np.uint64(other - own) if other > own else payload >> np.uint64(own - other)
    above = (1 << (8 * result.dtype.itemsize - 1)) - (1 << other - 1)  # the exponent and the bit of quiet ones
    sign = wide >> np.uint64(width - 1) << np.uint64(8 * result.dtype.itemsize - 1)
    bits[is_nan] = (sign | np.uint64(above) | kept).astype(bits.dtype)
    return bits.view(result.dtype)


def extremum_of(a: Array, b: Array, *, smaller: bool, propagate: bool) -> Array:
    """
    The smaller or the larger of floating-point numbers; of a number and a NaN the number, unless `propagate`.

    -0 is less than +0: numpy's own functions return either, depending on the CPU.
    """
    first = (a < b) | ((a == b) & np.signbit(a)) if smaller else (a > b) | ((a == b) & ~np.signbit(a))
    result = np.where(first, a, b)
    result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, result))
    if propagate:
        result = np.where(np.isnan(a) | np.isnan(b), a.dtype.type(np.nan), result)
    return result.astype(a.dtype)


def ordered(values: Array, *, smaller: bool, propagate: bool) -> Array:
    """
    int32 numbers in the order of f32 numbers, -0 before +0, so that reductions of integers are those of the numbers.

    NaN comes last for what is looked for, the smallest or the largest number, or with `propagate` first.
    """
    bits = values.view(np.int32)
    order = bits ^ (bits >> 31 & np.int32(0x7FFFFFFF))
    limits = np.iinfo(np.int32)
    return np.where(np.isnan(values), np.int32(limits.max if smaller != propagate else limits.min), order)


def unordered(order: Array) -> Array:
    """The f32 numbers of `ordered`; NaN is the canonical one."""
    return canonical((order ^ (order >> 31 & np.int32(0x7FFFFFFF))).view(np.float32))


def to_odd_f32(values: Array) -> Array:
    """f64 to f32; inexact results get an odd last bit, so that rounding them once more is rounding once."""
    rounded = values.astype(np.float32)
    back = rounded.astype(np.float64)
    bits = bits_of(rounded)
    fix = np.isfinite(values) & (back != values) & (((bits & 1) == 0) | np.isinf(rounded))
    towards_zero = np.abs(back) > np.abs(values)
    fixed = np.where(towards_zero, bits - np.uint32(1), bits + np.uint32(1))
    return np.where(fix, fixed, bits).astype(np.uint32).view(np.float32)


def odd_sum(first: Array, second: Array) -> Array:
    """first + second in f64, rounded to odd."""
    total = first + second
    virtual = total - first
    error = (first - (total - virtual)) + (second - virtual)
    bits = total.view(np.int64)
    fix = np.isfinite(total) & np.isfinite(error) & (error != 0) & ((bits & 1) == 0)
    if not fix.any():
        return total
    step = np.where((error > 0) == (total > 0), 1, -1)
    return np.where(fix, bits + step, bits).view(np.float64)


def exact_sum(first: Array, others: Iterable[Array]) -> Array:
    """The sum of f64 numbers, rounded to odd once."""
    total, rest = first, np.zeros_like(first)
    terms, is_lost = [first], np.zeros(first.shape, np.bool_)
    for each in others:
        terms.append(each)
        total, error = _two_sum(total, each)
        rest, lost = _two_sum(rest, error)
        is_lost |= lost != 0
    result = np.where(np.isfinite(total), odd_sum(total, rest), total)
    for place in np.argwhere(is_lost & np.isfinite(total)).tolist():
        result[tuple(place)] = _odd_fraction(sum(Fraction(float(each[tuple(place)])) for each in terms))
    return result


def round_to(values: Array, dtype: np.dtype[Any], mode: Rounding = "rn") -> Array:
    """f64 values (exact, or rounded to odd) to a narrower type, rounded once."""
    if dtype == _F64:
        return values
    # numpy rounds f64 once to f32 and f16; ml_dtypes goes through f32.
    source = values if dtype in (_F32, _F16) else to_odd_f32(values)
    nearest = source.astype(dtype)
    if mode == "rn":
        return nearest
    back = nearest.astype(np.float64)
    too_large, too_small = np.abs(back) > np.abs(values), np.abs(back) < np.abs(values)
    negative = np.signbit(values)
    if mode == "rz":
        inward, outward = too_large, np.zeros_like(too_small)
    else:
        away = negative if mode == "rm" else ~negative
        inward, outward = too_large & ~away, too_small & away
    bits = bits_of(nearest)
    one = bits.dtype.type(1)
    return np.where(inward, bits - one, np.where(outward, bits + one, bits)).astype(bits.dtype).view(dtype)


def round_stochastic(values: Array, dtype: np.dtype[Any], random: Array) -> Array:
    """
    Rounds f64 values of f32 numbers to a narrower type at random: away from zero where `random` (from 0 to 1) plus the
    fraction of the last place that is cut off reaches 1.
    """
    low = round_to(values, dtype, "rz")
    bits = bits_of(low)
    below = (bits - bits.dtype.type(1)).astype(bits.dtype).view(dtype)
    high = (bits + bits.dtype.type(1)).astype(bits.dtype).view(dtype)
    at: Array = np.abs(low.astype(np.float64))
    after: Array = np.abs(high.astype(np.float64))
    # Behind the largest number, places are as far apart as before it.
    before: Array = np.abs(below.astype(np.float64))
    step: Array = np.where(np.isfinite(after), after - at, at - before).astype(np.float64)
    up: Array = np.isfinite(values) & ((np.abs(values) - at) / step + random >= 1)
    return np.where(up, bits_of(high), bits).astype(bits.dtype).view(dtype)


# f64: results cannot be computed in something wider, so that other modes than rn go through fractions.


def _fraction_lanes(
    rounded: Array, operands: tuple[Array, ...], exact: Callable[..., Fraction | None], mode: Rounding
) -> Array:
    """
    `rounded` is the result to nearest; corrects the finite ones by comparing them with `exact(operands)`.

    `exact` gives None where the rounded result is right for all modes.
    """
    result = rounded.copy()
    finite = np.isfinite(operands[0])
    for operand in operands[1:]:
        finite = finite & np.isfinite(operand)
    for lane in np.flatnonzero(finite).tolist():
        value = exact(*[float(operand[lane]) for operand in operands])
        if value is not None:
            result[lane] = _round_fraction(value, float(rounded[lane]), mode)
    return result


def _round_fraction(value: Fraction, near: float, mode: Rounding) -> float:
    if value == 0:
        return near
    is_positive = abs(value) == value
    try:
        nearest = float(value)
    except OverflowError:
        nearest = float("inf") if is_positive else float("-inf")
    if mode == "rn":
        return nearest
    if np.isfinite(nearest):
        above, below = Fraction(nearest) > value, Fraction(nearest) < value
    else:
        above, below = nearest > 0, nearest < 0
    down = mode == "rm" or (mode == "rz" and is_positive)
    if above and down:
        return float(np.nextafter(nearest, -np.inf))
    if below and not down:
        return float(np.nextafter(nearest, np.inf))
    return nearest if nearest != 0 or is_positive else -0.0


def _odd_fraction(value: Fraction | int) -> float:
    cut = np.float64(_round_fraction(Fraction(value), 0.0, "rz"))
    return (cut.view(np.uint64) | np.uint64(Fraction(cut) != value)).view(np.float64)


def _exact_sum(x: float, y: float) -> Fraction:
    return Fraction(x) + Fraction(y)


def _fraction_product(x: float, y: float) -> Fraction:
    return Fraction(x) * Fraction(y)


def _exact_quotient(x: float, y: float) -> Fraction | None:
    return Fraction(x) / Fraction(y) if y else None


def sum_f64(a: Array, b: Array, mode: Rounding) -> Array:
    total = a + b
    if mode == "rn":
        return total
    result = _fraction_lanes(total, (a, b), _exact_sum, mode)
    # An exact zero of operands with unlike signs is -0 when rounding down.
    cancelled = (total == 0) & (np.signbit(a) != np.signbit(b)) & np.isfinite(a)
    return np.where(cancelled, -0.0 if mode == "rm" else 0.0, result)


def product_f64(a: Array, b: Array, mode: Rounding) -> Array:
    product = a * b
    if mode == "rn":
        return product
    return _fraction_lanes(product, (a, b), _fraction_product, mode)


def quotient_f64(a: Array, b: Array, mode: Rounding) -> Array:
    quotient = a / b
    if mode == "rn":
        return quotient
    return _fraction_lanes(quotient, (a, b), _exact_quotient, mode)


def root_f64(a: Array, mode: Rounding) -> Array:
    root = np.sqrt(a)
    if mode == "rn":
        return root
    result = root.copy()
    for lane in np.flatnonzero(np.isfinite(root) & (root > 0)).tolist():
        near, square = float(root[lane]), Fraction(float(a[lane]))
        if Fraction(near) ** 2 > square and mode in ("rz", "rm"):
            result[lane] = np.nextafter(near, 0.0)
        elif Fraction(near) ** 2 < square and mode == "rp":
            result[lane] = np.nextafter(near, np.inf)
    return result


_SPLITTER = 134217729.0  # 2^27 + 1
_SAFE_LOW, _SAFE_HIGH = 2.0**-400, 2.0**400
_HALF_OF_LEAST = -1075
"""The exponent of half of the smallest number of f64."""


def _exact_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b as an unevaluated sum (Dekker); for magnitudes that neither overflow nor underflow."""
    product = a * b
    a_high = a * _SPLITTER - (a * _SPLITTER - a)
    b_high = b * _SPLITTER - (b * _SPLITTER - b)
    a_low, b_low = a - a_high, b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def fused_f64(a: Array, b: Array, c: Array, mode: Rounding) -> Array:
    """a * b + c, rounded once."""
    # A product of finite numbers is finite, however large.
    rough = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, a * b + c)
    magnitudes = np.abs(np.stack([a, b, np.where(c == 0, 1.0, c)]))
    safe = ((magnitudes > _SAFE_LOW) & (magnitudes < _SAFE_HIGH)).all(axis=0)
    exact_zero = (a == 0) | (b == 0)

    def exact(x: float, y: float, z: float) -> Fraction:
        return Fraction(x) * Fraction(y) + Fraction(z)

    if mode != "rn":
        result = _fraction_lanes(rough, (a, b, c), exact, mode)
        cancelled = (a * b == -c) & (result == 0) & (np.signbit(a * b) != np.signbit(c))
        # A product that is rounded to -c need not be -c.
        for lane in np.flatnonzero(cancelled).tolist():
            cancelled[lane] = exact(float(a[lane]), float(b[lane]), float(c[lane])) == 0
        return np.where(cancelled, -0.0 if mode == "rm" else 0.0, result)
    # Boldo and Melquiond: rounding to odd in between makes the last rounding the only one.
    high, low = _exact_product(a, b)
    upper, rest = _two_sum(c, low)
    top, middle = _two_sum(high, upper)
    result = np.where(safe, top + odd_sum(rest, middle), rough)
    # A product below half of the smallest number changes no other number, and is a zero of its sign alone.
    vanishes = np.frexp(a)[1] + np.frexp(b)[1] <= _HALF_OF_LEAST
    vanishes &= np.isfinite(a) & np.isfinite(b) & ~exact_zero
    result = np.where(vanishes, np.where(c == 0, np.copysign(0.0, a * b), c), result)
    unsafe = ~safe & ~exact_zero & ~vanishes
    if unsafe.any():
        result[unsafe] = _fraction_lanes(rough[unsafe], (a[unsafe], b[unsafe], c[unsafe]), exact, "rn")
    return result
