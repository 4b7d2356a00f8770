"""cvt (PTX ISA, section 9.7.9.21)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from tirx.sim.core.types import B16, B32, BF16, F16, F32, F64, TYPES, Array, PtxType, Unary, bits_type
from tirx.sim.errors import SimError
from tirx.sim.isa import convert_random
from tirx.sim.isa.decoder import Decoder, elementwise
from tirx.sim.isa.registry import instruction
from tirx.sim.numerics import modular
from tirx.sim.numerics.formats import DTYPES, TABLES, decode_elements, largest_finite
from tirx.sim.numerics.integers import float_to_integer
from tirx.sim.numerics.rounding import (
    Rounding,
    bits_of,
    canonical,
    flush,
    odd_sum,
    rectified,
    round_to,
    saturate_unit,
    sum_f64,
    to_odd_f32,
    with_payload,
)
from tirx.sim.program.code import Step

_FLOAT_ROUNDINGS: dict[str | None, Rounding] = {None: "rn", "rn": "rn", "rz": "rz", "rm": "rm", "rp": "rp"}
_INTEGER_ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil,
}  # fmt: skip
_SCALARS = tuple(
    TYPES[name] for name in ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "bf16", "f32", "f64")
)
# Narrow formats, which come in pairs: element type, bits that an element takes in the register, and bits that it has.
_NARROW: dict[str, tuple[np.dtype[Any], int, int]] = {
    "e4m3x2": (np.dtype(ml_dtypes.float8_e4m3fn), 8, 8),
    "e5m2x2": (np.dtype(ml_dtypes.float8_e5m2), 8, 8),
    "e2m3x2": (np.dtype(ml_dtypes.float6_e2m3fn), 8, 6),
    "e3m2x2": (np.dtype(ml_dtypes.float6_e3m2fn), 8, 6),
    "e2m1x2": (np.dtype(ml_dtypes.float4_e2m1fn), 4, 4),
    "ue8m0x2": (np.dtype(ml_dtypes.float8_e8m0fnu), 8, 8),
}
_PAIRS = {"f16x2": F16, "bf16x2": BF16}
# How many bits of an f32 are not in a tf32.
_TF32_DROPPED = 13
_TF32_NAN = 0x7FFFE000


@instruction("cvt")
def _cvt(decoder: Decoder) -> Step:
    pack = decoder.flag("pack")
    names = decoder.modifiers
    if pack:
        return _pack(decoder)
    if any("s2f6x2" in name for name in names):
        raise decoder.error("conversions of .s2f6x2 are not simulated: how they round is not documented")
    is_modular = decoder.symbols.arithmetic == "modular"
    if decoder.flag("rs"):
        decoder.refuse_modular()
        return convert_random.convert(decoder)
    if "ue5m3x2" in names:
        return _ue5m3(decoder)
    if any(name in _NARROW for name in names):
        return _narrow(decoder)
    if names[-2:] in [[name, "f32"] for name in _PAIRS]:
        return _pair(decoder)
    if names[-2:] == ["tf32", "f32"]:
        return _tf32(decoder)
    source_type = decoder.type(*_SCALARS)
    target = decoder.type(*_SCALARS)
    rounding = decoder.take(*_INTEGER_ROUNDINGS, *(name for name in _FLOAT_ROUNDINGS if name))
    ftz, saturate, relu = decoder.flag("ftz"), decoder.flag("sat"), decoder.flag("relu")
    finite = decoder.flag("satfinite")
    decoder.finish(2)
    if relu and not (source_type.is_float and target in (F16, BF16)):
        raise decoder.error("expected a conversion to .f16 or .bf16 with .relu")
    decoder.refuse_modular(saturate and source_type.is_float)
    convert = _conversion(decoder, source_type, target, rounding, saturate)
    if is_modular and source_type.is_float:
        convert = _of_residues(convert, source_type)

    def complete(values: Array) -> Array:
        result = convert(flush(values) if ftz and source_type is F32 else values)
        if target.is_float:
            if ftz and target is F32:
                result = flush(result)
            if saturate:
                return saturate_unit(result)
            if relu:
                result = rectified(result)
            if finite:
                result = _clamped(result)
            return canonical(result) if makes_canonical else result
        return result

    # The payload of a NaN survives from f64, and from bf16 to what is wider.
    makes_canonical = source_type is not F64 and (source_type is not BF16 or target.bits == 16)
    put = decoder.destination(0, target, wide=True)
    source = decoder.source(1, source_type, wide=True)
    return lambda group, mask: put(group, mask, complete(source(group, mask)))


def _of_residues(convert: Unary, source: PtxType) -> Unary:
    return lambda a: convert(modular.converted(a, source.dtype))


def _clamped(values: Array) -> Array:
    """Infinities replaced by the largest number."""
    largest = largest_finite(values.dtype)
    return np.where(np.isinf(values), np.copysign(largest, values), values).astype(values.dtype)


def _exactly(values: Array, source: PtxType, target: PtxType) -> Array:
    exact = values.astype(np.float64)
    result = round_to(exact, target.dtype)
    inexact = (result.astype(np.float64) != exact) & ~np.isnan(exact)
    if inexact.any():
        found = float(exact[inexact][0])
        raise SimError(f"expected a rounding mode from {source} to {target}, which has no {found!r}")
    return result


def _conversion(decoder: Decoder, source: PtxType, target: PtxType, rounding: str | None, saturate: bool) -> Unary:
    if source.is_integer and target.is_integer:
        if rounding:
            raise decoder.error(f"expected no rounding between integers, found .{rounding}")
        return _integer_to_integer(source, target, saturate)
    if source.is_float and target.is_integer:
        if rounding not in _INTEGER_ROUNDINGS:
            raise decoder.error(f"expected .rni, .rzi, .rmi or .rpi to {target}, found {rounding or 'none'}")
        to_integral = _INTEGER_ROUNDINGS[rounding]
        # As GPUs do: only conversions between at most 32 bits give 0, which the ISA says for all.
        not_a_number = 1 << (target.bits - 1) if source is F64 or target.bits == 64 else 0
        return lambda a: float_to_integer(to_integral(a.astype(np.float64)), target.dtype, not_a_number)
    if source.is_integer:
        if rounding not in ("rn", "rz", "rm", "rp"):
            raise decoder.error(f"expected .rn, .rz, .rm or .rp to {target}, found {rounding or 'none'}")
        mode = _FLOAT_ROUNDINGS[rounding]
        return lambda a: _integer_to_float(a, target, mode)
    return _float_to_float(decoder, source, target, rounding)


def _float_to_float(decoder: Decoder, source: PtxType, target: PtxType, rounding: str | None) -> Unary:
    if rounding in _INTEGER_ROUNDINGS:
        if source is not target:
            raise decoder.error(f"expected the same types with .{rounding}, found {source} and {target}")
        to_integral = _INTEGER_ROUNDINGS[rounding]
        return lambda a: with_payload(to_integral(a.astype(np.float64)).astype(target.dtype), a)
    narrower = target.bits < source.bits or (target.bits == source.bits and target is not source)
    if rounding is None and source.bits == target.bits == 16 and target is not source:
        return lambda a: _exactly(a, source, target)  # accepted by ptxas, for numbers that both types have
    if narrower and rounding is None:
        raise decoder.error(f"expected a rounding mode from {source} to {target}")
    if not narrower and rounding is not None:
        raise decoder.error(f"expected no rounding from {source} to {target}, found .{rounding}")
    if target is source:
        return lambda a: a
    if source is BF16 and target is F32:  # without making NaNs quiet
        return lambda a: (bits_of(a).astype(np.uint32) << np.uint32(16)).view(np.float32)
    if not narrower:
        return lambda a: with_payload(a.astype(target.dtype), a)
    mode = _FLOAT_ROUNDINGS[rounding]
    return lambda a: with_payload(round_to(a.astype(np.float64), target.dtype, mode), a)


def _integer_to_integer(source: PtxType, target: PtxType, saturate: bool) -> Unary:
    if not saturate:
        return lambda a: a.astype(target.dtype)
    own, wanted = np.iinfo(source.dtype), np.iinfo(target.dtype)
    low, high = max(int(own.min), int(wanted.min)), min(int(own.max), int(wanted.max))
    return lambda a: np.clip(a, source.dtype.type(low), source.dtype.type(high)).astype(target.dtype)


def _integer_to_float(values: Array, target: PtxType, mode: Rounding) -> Array:
    if values.dtype.itemsize != 8:
        return round_to(values.astype(np.float64), target.dtype, mode)
    # 64 bits do not fit into f64: a sum of two exact halves, rounded to odd, does.
    high = (values >> values.dtype.type(32)).astype(np.float64) * 2.0**32
    low = (values & values.dtype.type(0xFFFFFFFF)).astype(np.float64)
    if target is F64:
        return sum_f64(high, low, mode)
    return round_to(odd_sum(high, low), target.dtype, mode)


def _pair(decoder: Decoder) -> Step:
    """cvt.f16x2.f32 d, a, b: a becomes the upper half."""
    decoder.modifiers.pop()
    element = _PAIRS[decoder.modifiers.pop()]
    mode = _FLOAT_ROUNDINGS[decoder.need("rn", "rz")]
    relu, finite = decoder.flag("relu"), decoder.flag("satfinite")
    decoder.finish(3)

    def half(values: Array) -> Array:
        if decoder.symbols.arithmetic == "modular":
            values = modular.converted(values, F32.dtype)
        result = round_to(values.astype(np.float64), element.dtype, mode)
        if relu:
            result = rectified(result)
        return bits_of(canonical(_clamped(result) if finite else result)).astype(np.uint32)

    def pack(high: Array, low: Array) -> Array:
        return half(high) << np.uint32(16) | half(low)

    return elementwise(decoder, pack, B32, F32, F32)


def _tf32(decoder: Decoder) -> Step:
    decoder.modifiers = decoder.modifiers[:-2]
    mode = decoder.need("rn", "rz", "rna")
    relu, finite = decoder.flag("relu"), decoder.flag("satfinite")
    decoder.finish(2)
    unit = np.uint32(1 << _TF32_DROPPED)

    def not_a_number(bits: Array) -> Array:
        return bits & ~(unit - np.uint32(1)) if mode == "rna" else np.full_like(bits, _TF32_NAN)

    def convert(values: Array) -> Array:
        if decoder.symbols.arithmetic == "modular":
            values = modular.converted(values, F32.dtype)
        bits = values.view(np.uint32)
        rest = bits & (unit - np.uint32(1))
        kept = bits - rest
        half = unit >> np.uint32(1)
        if mode == "rna":
            up = rest >= half
        elif mode == "rn":
            up = (rest > half) | ((rest == half) & ((kept & unit) != 0))
        else:
            up = np.zeros(len(bits), np.bool_)
        rounded = np.where(np.isnan(values), not_a_number(bits), kept + np.where(up, unit, np.uint32(0)))
        result = np.where(np.isinf(values), bits, rounded).view(np.float32)
        if finite:
            result = np.where(np.isinf(result), np.copysign(np.uint32(0x7F7FE000).view(np.float32), result), result)
        if relu:
            result = rectified(result)
        return result.astype(np.float32).view(np.uint32)

    return elementwise(decoder, convert, B32, F32)


def _encode(values: Array, dtype: np.dtype[Any], bits: int, mode: Rounding) -> Array:
    """f64 values to codes (uint8) of a format of `bits` bits; too large ones become the largest, or 0x7F for NaN."""
    largest = largest_finite(dtype)
    is_nan = np.isnan(values)
    clamped = np.where(is_nan, 0.0, np.clip(values, -largest, largest))
    if dtype == np.dtype(ml_dtypes.float8_e8m0fnu):
        return _encode_exponent(clamped, is_nan, mode)
    narrowed = to_odd_f32(clamped).astype(dtype)
    if mode == "rz":
        narrowed = round_to(clamped, dtype, "rz")
    codes = narrowed.view(np.uint8)
    # Formats without NaN give their largest number.
    not_a_number = 0x7F if bits == 8 else int(np.array([largest]).astype(dtype).view(np.uint8)[0])
    return np.where(is_nan, np.uint8(not_a_number), codes)


def _encode_exponent(values: Array, is_nan: Array, mode: Rounding) -> Array:
    """ue8m0: a power of two with bias 127, rounded up or towards zero."""
    mantissa, exponent = np.frexp(np.abs(values))
    power = exponent - 1 + ((mantissa > 0.5) if mode == "rp" else 0)
    code = np.where(values == 0, 0, np.clip(power + 127, 0, 254))
    return np.where(is_nan, 255, code).astype(np.uint8)


def _narrow(decoder: Decoder) -> Step:
    """Between pairs of narrow elements and f32, f16x2 or bf16x2; the first source is the upper element."""
    source_name, target_name = decoder.modifiers.pop(), decoder.modifiers.pop()
    mode: Rounding = _FLOAT_ROUNDINGS[decoder.take("rn", "rz", "rp")]
    decoder.take("satfinite")
    relu, scaled = decoder.flag("relu"), decoder.flag("scaled::n2::ue8m0")
    if target_name in _PAIRS and source_name in _NARROW:
        decoder.finish(2 + scaled)
        return _from_narrow(decoder, source_name, _PAIRS[target_name], relu, scaled)
    if scaled:
        raise decoder.error(f"unknown modifier .scaled::n2::ue8m0 of a conversion to .{target_name}")
    if target_name not in _NARROW:
        raise decoder.error(f"unknown conversion from .{source_name} to .{target_name}")
    dtype, bits, used = _NARROW[target_name]

    def pack(high: Array, low: Array) -> Array:
        high, low = (rectified(each) if relu else each for each in (high, low))
        if decoder.symbols.arithmetic == "modular":
            codes = [modular.converted(each, dtype).view(np.uint8) for each in (high, low)]
        else:
            codes = [_encode(each, dtype, used, mode) for each in (high, low)]
        return codes[0].astype(np.uint16) << np.uint16(bits) | codes[1]

    target = B16 if bits == 8 else bits_type(8)
    if source_name == "f32":
        decoder.finish(3)
        return elementwise(
            decoder,
            lambda a, b: pack(a.astype(np.float64), b.astype(np.float64)).astype(target.dtype),
            target,
            F32,
            F32,
        )
    if source_name not in _PAIRS:
        raise decoder.error(f"unknown conversion from .{source_name} to .{target_name}")
    decoder.finish(2)
    element = _PAIRS[source_name].dtype

    def from_pair(a: Array) -> Array:
        halves = np.ascontiguousarray(a).view(element).astype(np.float64).reshape(-1, 2)
        return pack(halves[:, 1], halves[:, 0]).astype(target.dtype)

    return elementwise(decoder, from_pair, target, B32)


def _ue5m3(decoder: Decoder) -> Step:
    """Between pairs of ue5m3 and f32 or bf16x2. Raises SimError for numbers whose result no source says."""
    decoder.need_feature("cvt.ue5m3x2", "ue5m3x2")
    table = TABLES["ue5m3"][:0xFF].astype(np.float64)
    if decoder.last == "ue5m3x2":
        decoder.modifiers.pop()
        decoder.need("rn")
        decoder.need("bf16x2")
        decoder.finish(2)

        def widen(a: Array) -> Array:
            codes = np.stack([a, a >> np.uint16(8)], axis=1).astype(np.uint8)
            return canonical(round_to(TABLES["ue5m3"][codes].astype(np.float64).ravel(), BF16.dtype)).view(np.uint32)

        return elementwise(decoder, widen, B32, B16)
    mode = decoder.need("rn", "rz", "rp")
    decoder.take("satfinite")
    decoder.need("ue5m3x2")
    decoder.need("f32")
    decoder.finish(3)

    def encode(values: Array) -> Array:
        if (values < 0).any() or np.isinf(values).any():
            raise SimError("a conversion to ue5m3 of a negative or infinite number: no source says what it becomes")
        lower = np.clip(np.searchsorted(table, values, "right") - 1, 0, len(table) - 1)
        upper = np.minimum(lower + 1, len(table) - 1)
        below, above = values - table[lower], table[upper] - values
        rounds_up = {"rz": below < 0, "rp": below > 0, "rn": (below > above) | ((below == above) & (lower & 1 == 1))}
        codes = np.where(rounds_up[mode], upper, lower)
        return np.where(np.isnan(values), 0xFF, codes).astype(np.uint16)

    def pack(high: Array, low: Array) -> Array:
        return encode(high.astype(np.float64)) << np.uint16(8) | encode(low.astype(np.float64))

    return elementwise(decoder, pack, B16, F32, F32)


QUADRUPLES = {"e4m3x4": 8, "e5m2x4": 8, "e2m3x4": 8, "e3m2x4": 8, "e2m1x4": 4}
"""Types of four elements, with the bits of each in a register."""


def narrow_product(decoder: Decoder) -> Step:
    """
    Decodes mul of four elements of 8 bits and less: each product is rounded once.

    Raises SimError for one that is too large without .satfinite: no text says what it becomes.
    """
    decoder.need_feature("narrow.arith", f".{decoder.last}")
    result, *sources = decoder.modifiers[-3:]
    del decoder.modifiers[-3:]
    if result not in ("e4m3x4", "e5m2x4") or not {*sources} <= QUADRUPLES.keys():
        raise decoder.error(f"expected mul to .e4m3x4 or .e5m2x4 from two types of four elements, found .{result}")
    decoder.take("rn")
    finite = decoder.flag("satfinite")
    decoder.finish(3)
    decoder.refuse_modular()
    dtype = np.dtype(DTYPES[result[:4]])

    def numbers(values: Array, name: str) -> Array:
        raw = np.ascontiguousarray(values).view(np.uint8)
        if QUADRUPLES[name] == 4:
            raw = np.stack([raw & 15, raw >> 4], axis=1).ravel()
        return decode_elements(raw, name[:4]).astype(np.float64)

    def multiply(a: Array, b: Array) -> Array:
        product = numbers(a, sources[0]) * numbers(b, sources[1])
        if not finite and (np.abs(product) > largest_finite(dtype)).any():
            raise SimError("mul of four elements, of which one is too large, without .satfinite: no source says more")
        return _encode(product, dtype, 8, "rn").view(np.uint32)

    registers = [B32 if QUADRUPLES[name] == 8 else B16 for name in sources]
    return elementwise(decoder, multiply, B32, *registers)


def _from_narrow(decoder: Decoder, source_name: str, element: PtxType, relu: bool, scaled: bool) -> Step:
    """With `scaled`, a second operand has a factor (ue8m0) for each of the two elements."""
    dtype, bits, used = _NARROW[source_name]
    container = B16 if bits == 8 else bits_type(8)
    code_bits = (1 << used) - 1

    def convert(a: Array, factors: Array | None = None) -> Array:
        codes = np.stack([a, a >> a.dtype.type(bits)], axis=1) & a.dtype.type(code_bits)
        values = codes.astype(np.uint8).view(dtype).astype(np.float64)
        if factors is not None:
            own = np.stack([factors, factors >> np.uint16(8)], axis=1).astype(np.uint8)
            values = values * own.view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
        if relu:
            values = rectified(values)
        return canonical(round_to(values.ravel(), element.dtype)).view(np.uint32)

    return elementwise(decoder, convert, B32, container, *((B16,) if scaled else ()))


# cvt.pack: the types that values are packed to, and their bits.
_PACKED_INTEGERS = {"u16": 16, "s16": 16, "u8": 8, "s8": 8, "u4": 4, "s4": 4, "u2": 2, "s2": 2}


def _pack(decoder: Decoder) -> Step:
    """
    Decodes cvt.pack.sat.T.s32[.b32] d, a, b [, c]: a and b saturated to T, with a above b and bits of c above both.
    """
    decoder.need("sat")
    merge = decoder.modifiers[-1:] == ["b32"]
    if merge:
        decoder.modifiers.pop()
    name = decoder.modifiers[0] if decoder.modifiers else ""
    if name not in _PACKED_INTEGERS or decoder.modifiers[1:] != ["s32"]:
        raise decoder.error(f"expected .pack.sat.T.s32 with T of {', '.join(_PACKED_INTEGERS)}")
    decoder.modifiers.clear()
    bits = _PACKED_INTEGERS[name]
    if merge != (bits < 16):
        raise decoder.error("expected a third operand (.b32) for types of less than 16 bits")
    decoder.finish(4 if merge else 3)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if name[0] == "s" else (0, (1 << bits) - 1)
    keep = np.uint32((1 << bits) - 1)

    def code(values: Array) -> Array:
        return np.clip(values, low, high).astype(np.int32).view(np.uint32) & keep

    def pack(a: Array, b: Array, c: Array | None = None) -> Array:
        both = code(a) << np.uint32(bits) | code(b)
        return both if c is None else c << np.uint32(2 * bits) | both

    integers = (TYPES["s32"], TYPES["s32"])
    return elementwise(decoder, pack, B32, *integers, *((B32,) if merge else ()))
