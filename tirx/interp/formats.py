"""Element formats as numpy has them: dtypes, packed elements, roundings, and units in the last place."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute

Array = npt.NDArray[Any]

_DTYPES: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "tf32": np.float32, "f64": np.float64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2, "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn, "f6E3M2FN": ml_dtypes.float6_e3m2fn, "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "i1": np.bool_, "index": np.int64, "i4": ml_dtypes.uint4, "ui4": ml_dtypes.uint4, "si4": ml_dtypes.int4,
    **{f"{sign}i{bits}": np.dtype(f"i{bits // 8}") for sign in ("", "s") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)},
}  # fmt: skip

DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(dtype) for name, dtype in _DTYPES.items()}
"""Scalar and element type -> the numpy dtype of its values. Integers without a sign have that of two's complement."""

_PACKED_BITS = {DTYPES[n]: int(n[-1]) if n[-1] == "4" else int(n[1]) for n in ("i4", "si4", "f6E2M3FN", "f6E3M2FN")}
_PACKED_BITS[DTYPES["f4E2M1FN"]] = 4
"""Dtype of elements that share bytes in global memory -> their bits."""

WORKING = np.dtype(np.float64)
"""Holds every number of every other float format, and products of two of them but for f64."""


@lru_cache(maxsize=256)
def dtype_of(type_: Attribute) -> np.dtype[Any]:
    """Returns the dtype of a scalar or element type. Raises ValueError for a type that tiles do not have."""
    if (dtype := DTYPES.get(str(type_))) is None:
        raise ValueError(f"expected a type of {', '.join(DTYPES)}, found {type_}")
    return dtype


def is_float(dtype: np.dtype[Any]) -> bool:
    """Returns True for formats of floats, those of ml_dtypes included."""
    return dtype.kind == "f" or (dtype.kind == "V" and not dtype.name.endswith("int4"))


def packed_bits(dtype: np.dtype[Any]) -> int | None:
    """Returns the bits of an element that shares bytes with others in global memory; None for other elements."""
    return _PACKED_BITS.get(dtype)


def unpacked(memory: Array, dtype: np.dtype[Any]) -> Array:
    """Returns the elements that bytes of global memory hold, the first in the low bits: (..., bytes) to (..., n)."""
    bits = _PACKED_BITS[dtype]
    each = np.unpackbits(memory.view(np.uint8), axis=-1, bitorder="little")
    each = each.reshape(*memory.shape[:-1], memory.shape[-1] * 8 // bits, bits)
    return (each << np.arange(bits, dtype=np.uint8)).sum(-1, dtype=np.uint8).view(dtype)


def packed(elements: Array) -> Array:
    """Returns the bytes that hold elements in global memory, the counterpart of `unpacked`."""
    bits = _PACKED_BITS[elements.dtype]
    each = elements.view(np.uint8)[..., None] >> np.arange(bits, dtype=np.uint8) & 1
    return np.packbits(each.reshape(*elements.shape[:-1], -1), axis=-1, bitorder="little")


def viewed(elements: Array, dtype: np.dtype[Any]) -> Array:
    """Returns the bits of elements as others: the last extent differs, and the first ones have the low bits."""
    found = packed(elements) if packed_bits(elements.dtype) else np.ascontiguousarray(elements)
    return unpacked(found.view(np.uint8), dtype) if packed_bits(dtype) else found.view(dtype)


def _limits(dtype: np.dtype[Any]) -> Any:
    finfo: Any = ml_dtypes.finfo
    return finfo(dtype)


def largest_of(dtype: np.dtype[Any]) -> float:
    """Returns the largest finite number of a format of floats; infinity for integers, which wrap."""
    return float(_limits(dtype).max) if is_float(dtype) else float("inf")


def _odd_f32(values: Array) -> Array:
    """Returns f64 as f32, which is odd where it is not the same number: what rounds it further rounds it once."""
    with np.errstate(over="ignore"):
        near = values.astype(np.float32)
    back, words = near.astype(np.float64), near.view(np.int32)
    even = np.isfinite(values) & (back != values) & ((words & 1 == 0) | np.isinf(near))
    return (
        np.where(even, words + np.where(np.abs(back) > np.abs(values), -1, 1), words).astype(np.int32).view(np.float32)
    )


def _odd_f64(values: Array) -> Array:
    """Returns integers of 32 and 64 bits as f64, which from 2^53 on is an odd multiple of 2^11 for any other number."""
    near = values.astype(np.float64)
    if values.dtype.itemsize < 8:
        return near
    place, rest = values.dtype.type(11), values & values.dtype.type(0xFFF)
    far = (values - rest) | (rest != 0).astype(values.dtype) << place
    return np.where(np.abs(near) < 2.0**53, near, far.astype(np.float64))


def rounded(values: Array, dtype: np.dtype[Any]) -> Array:
    """
    Returns numbers in a format of floats, as `arith.truncf`, `arith.extf`, `arith.sitofp` and `arith.uitofp` convert.

    Formats of 8 bits and less saturate (`cvt.rn.satfinite`), and those without NaN have their largest number for it;
    powers of two (f8E8M0FNU) have no sign and are those of magnitudes, rounded up. All others round to nearest even.
    """
    if dtype == ml_dtypes.bfloat16:  # ml_dtypes rounds to f32 on the way
        if values.dtype.kind in "iu" and values.dtype.itemsize >= 4:
            values = _odd_f64(values)
        if values.dtype == np.float64:
            values = _odd_f32(values)
    if dtype.itemsize > 1:
        return values.astype(dtype)
    wide = values.astype(np.float64)
    largest = float(_limits(dtype).max)
    if dtype == DTYPES["f8E8M0FNU"]:
        fraction, exponent = np.frexp(np.minimum(np.abs(wide), largest))
        power = np.maximum(exponent - (fraction == 0.5), -127)
        wide = np.where(np.isnan(wide), np.nan, np.where(wide == 0, 2.0**-127, np.ldexp(1.0, power)))
        return wide.astype(dtype)
    has_nan = bool(np.isnan(np.array(np.nan).astype(dtype).astype(np.float64)))
    clipped = np.clip(wide, -largest, largest)
    return np.where(np.isnan(wide), np.nan if has_nan else largest, clipped).astype(dtype)


def cast(values: Array, dtype: np.dtype[Any]) -> Array:
    """Returns values in a format: floats rounded, integers without the bits that do not fit."""
    if is_float(dtype):
        return rounded(values, dtype)
    if dtype.kind == "b" and values.dtype.kind in "iu":
        return (values & 1).astype(dtype)
    if dtype.kind == "b" or not is_float(values.dtype):
        # ml_dtypes converts its integers of 4 bits to none of its other types.
        return (values.astype(np.int8) if packed_bits(values.dtype) else values).astype(dtype)
    return values.astype(np.int64).astype(dtype)


def fraction_bits(dtype: np.dtype[Any]) -> int:
    """Returns the digits of a float format, the leading one included, or the bits of an integer."""
    if not is_float(dtype):
        return 8 * dtype.itemsize
    return int(_limits(dtype).nmant) + 1


def last_place(values: Array, dtype: np.dtype[Any]) -> Array:
    """Returns the distances (f64) from numbers to the next ones of a format; 1 for integers, of NaN and inf inf."""
    if not is_float(dtype):
        return np.ones(values.shape)
    info = _limits(dtype)
    wide = np.abs(values.astype(np.float64))
    exponent = np.frexp(np.maximum(wide, float(info.smallest_normal)))[1]
    with np.errstate(over="ignore"):
        found = np.ldexp(1.0, exponent - 1 - int(info.nmant))
    return np.where(np.isfinite(wide), found, np.inf)


_SMALLEST = 24


def quantum(values: Array) -> float | None:
    """Returns a power of two that divides all values (f32, f64), at most 1.

    None if they have more than 24 binary places, are not finite, or 2^38 and more with binary places.
    """
    if np.array_equal(values, np.rint(values)) and np.isfinite(values).all():
        return 1.0
    largest = np.abs(values).max(initial=0)
    if not largest < 2.0**38:
        return None
    scaled = values * values.dtype.type(2.0**_SMALLEST)
    whole = scaled.astype(np.int64)
    if not np.array_equal(scaled, whole):
        return None
    bits = int(np.bitwise_or.reduce(whole, None))
    return float(bits & -bits) * 2.0**-_SMALLEST


def fused(a: Array, b: Array, c: Array, dtype: np.dtype[Any]) -> Array:
    """Returns a * b + c, rounded once to a format of at most 32 bits.

    The product is exact in f64. Of the sum the last bit is made odd where f64 has rounded it, so that rounding a second
    time cannot go wrong (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums").
    """
    product, c = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = np.asarray(product + c)
    if dtype == WORKING:
        return total
    part = total - product
    lost = np.asarray((product - (total - part)) + (c - part))
    words = total.view(np.int64)
    even = (lost != 0) & (words & 1 == 0) & np.isfinite(total)
    toward = np.where((lost > 0) == (total > 0), 1, -1)
    return rounded(np.where(even, words + toward, words).view(np.float64), dtype)
