"""cvt.rs: conversions from f32 that round by random bits (PTX ISA, section 9.7.9.22)."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, BF16, F16, F32, Array, Mask
from tirx.sim.isa.decoder import Decoder, elementwise
from tirx.sim.numerics.formats import largest_finite
from tirx.sim.numerics.rounding import bits_of, canonical, rectified, round_stochastic
from tirx.sim.program.code import Step

# Pairs: element type, and how many bits of each half of the random ones count.
_PAIRS = {"f16x2": (F16.dtype, 13), "bf16x2": (BF16.dtype, 16)}
_QUADS: dict[str, np.dtype[Any]] = {
    "e4m3x4": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2x4": np.dtype(ml_dtypes.float8_e5m2),
    "e2m3x4": np.dtype(ml_dtypes.float6_e2m3fn),
    "e3m2x4": np.dtype(ml_dtypes.float6_e3m2fn),
}
_WITH_NAN = ("e4m3x4", "e5m2x4")
_NAN = 0x7F
_HALF = np.uint32(0xFFFF)


def convert(decoder: Decoder) -> Step:
    """d, a, b, random bits, or d, {a, b, e, f}, random bits; `.rs` has been taken."""
    if decoder.modifiers[-1:] != ["f32"]:
        raise decoder.error("expected a conversion from .f32 with .rs")
    decoder.modifiers.pop()
    name = decoder.modifiers.pop() if decoder.modifiers else ""
    if name == "e2m1x4":
        raise decoder.error("cvt.rs to .e2m1x4 is not simulated: which random bits are whose is not documented")
    if name not in _PAIRS and name not in _QUADS:
        raise decoder.error(f"expected a result of type {', '.join((*_PAIRS, *_QUADS))} with .rs, found .{name}")
    relu, finite = decoder.flag("relu"), decoder.flag("satfinite")
    return _pair(decoder, name, relu, finite) if name in _PAIRS else _quad(decoder, name, relu, finite)


def _pair(decoder: Decoder, name: str, relu: bool, finite: bool) -> Step:
    decoder.finish(4)
    dtype, count = _PAIRS[name]
    keep = np.uint32((1 << count) - 1)

    def half(values: Array, random: Array) -> Array:
        wide = values.astype(np.float64)
        if finite:
            wide = np.clip(wide, -largest_finite(dtype), largest_finite(dtype))
        result = round_stochastic(wide, dtype, (random & keep) / 2.0**count)
        return bits_of(canonical(rectified(result) if relu else result)).astype(np.uint32)

    def pack(high: Array, low: Array, random: Array) -> Array:
        return half(high, random >> np.uint32(16)) << np.uint32(16) | half(low, random)

    return elementwise(decoder, pack, B32, F32, F32, B32)


def _quad(decoder: Decoder, name: str, relu: bool, finite: bool) -> Step:
    """Two elements share 16 random bits, which are added to the first of those that are cut off."""
    decoder.finish(3)
    if not finite:
        raise decoder.error(f"expected .satfinite with .{name}")
    dtype = _QUADS[name]
    largest = largest_finite(dtype)
    not_a_number = _NAN if name in _WITH_NAN else int(np.array([largest]).astype(dtype).view(np.uint8)[0])
    put, random = decoder.destination(0, B32), decoder.source(2, B32)
    sources = [decoder.source(item, F32) for item in decoder.vector(1, 4)]

    def code(values: Array, bits: Array) -> Array:
        wide = rectified(values).astype(np.float64) if relu else values.astype(np.float64)
        is_nan = np.isnan(wide)
        clamped = np.where(is_nan, 0.0, np.clip(wide, -largest, largest))
        result = round_stochastic(clamped, dtype, (bits & _HALF) / 2.0**16)
        return np.where(is_nan, np.uint8(not_a_number), bits_of(result)).astype(np.uint32)

    def step(group: ThreadGroup, mask: Mask) -> None:
        bits = random(group, mask)
        result = np.zeros(len(mask), np.uint32)
        for index, source in enumerate(sources):
            own = bits >> np.uint32(16) if index < 2 else bits
            result = result << np.uint32(8) | code(source(group, mask), own)
        put(group, mask, result)

    return step
