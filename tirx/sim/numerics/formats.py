"""Bytes of matrix operands to numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.errors import SimError

# Eight-bit and narrower formats, each element in a byte of its own (in its low bits).
DTYPES = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "ue8m0": ml_dtypes.float8_e8m0fnu,
    "ue4m3": ml_dtypes.float8_e4m3fn,
}
BITS = {"e2m1": 4, "e2m3": 6, "e3m2": 6}
# The NaN that bulk tensor copies fill with (OOB-NaN). Its bits are not documented: these are ones that no arithmetic
# gives.
OOB_NAN: dict[np.dtype[Any], int] = {
    np.dtype(np.float16): 0x7FFE,
    np.dtype(ml_dtypes.bfloat16): 0x7FFE,
    np.dtype(np.float32): 0x7FFFFFFE,
    np.dtype(np.float64): 0x7FFFFFFFFFFFFFFE,
}
_TF32_MASK = np.uint32(0xFFFFE000)

# Value of each code. All elements of operands are exact in f32.
TABLES: dict[str, Array] = {
    name: np.arange(1 << BITS.get(name, 8), dtype=np.uint8).view(dtype).astype(np.float32)
    for name, dtype in DTYPES.items()
}
# ue5m3: bias 15, subnormal numbers below 2^-14, no infinity, one NaN.
_CODES = np.arange(256)
TABLES["ue5m3"] = np.where(
    _CODES < 8, _CODES * 2.0**-17, (1 + (_CODES & 7) / 8) * 2.0 ** ((_CODES >> 3) - 15.0)
).astype(np.float32)
TABLES["ue5m3"][0xFF] = np.nan


@lru_cache(maxsize=16)
def largest_finite(dtype: np.dtype[Any]) -> float:
    """The largest number of a format of at most 16 bits (each element in its own 8 or 16 bits)."""
    codes = np.arange(1 << 8 * dtype.itemsize, dtype=np.uint32).astype(f"u{dtype.itemsize}")
    values = codes.view(dtype).astype(np.float64)
    return float(values[np.isfinite(values)].max())


def decode_elements(raw: Array, element: str) -> Array:
    """Elements of PTX type `element`, contiguous along the last axis of the bytes `raw`, as float32."""
    raw = np.ascontiguousarray(raw)
    if element == "f16":
        return raw.view(np.float16).astype(np.float32)
    if element == "bf16":
        return (raw.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    if element == "tf32":  # the low 13 bits are ignored
        return (raw.view(np.uint32) & _TF32_MASK).view(np.float32)
    if element == "s1z4m11":
        words = raw.view(np.uint16)
        if (words & 0x7800).any():
            raise SimError(f"expected zeros in bits 11-14 of elements of kind::ti16, found {int(words.max()):#06x}")
        return np.where(words >> 15, -1.0, 1.0).astype(np.float32) * (words & 0x7FF)
    if element == "u8":
        return raw.astype(np.float32)
    if element == "s8":
        return raw.view(np.int8).astype(np.float32)
    table = TABLES[element]
    return table[raw & (len(table) - 1)]


def unpack_groups(raw: Array, element: str) -> Array:
    """
    Returns narrow elements from the shared memory format of tcgen05: 16 of them packed at the start of every 16 bytes.

    (rows, 16 n) bytes to (rows, 16 n) codes; the padding bytes are dropped.
    """
    bits = BITS[element]
    groups = raw.reshape(raw.shape[0], -1, 16)[:, :, : 2 * bits]
    single = np.unpackbits(groups, axis=2, bitorder="little").reshape(raw.shape[0], -1, 16, bits)
    return (single * (1 << np.arange(bits))).sum(axis=3).astype(np.uint8).reshape(raw.shape[0], -1)


def bytes_used(size: int, element: str) -> Array:
    """Returns True for each of `size` bytes of a row that holds elements rather than padding."""
    return np.arange(size) % 16 < 2 * BITS.get(element, 8)
