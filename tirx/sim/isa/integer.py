"""Integer arithmetic (PTX ISA, section 9.7.1), with and without carry (9.7.2)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, S32, S64, TYPES, U32, U64, Array, Binary, Mask, PtxType, bits_type, integer_type
from tirx.sim.isa import convert, floating
from tirx.sim.isa.decoder import Decoder, elementwise
from tirx.sim.isa.registry import instruction
from tirx.sim.numerics.integers import divide, multiply_high, remainder, saturate
from tirx.sim.program.code import Step

_INTEGERS = tuple(TYPES[name] for name in ("u16", "u32", "u64", "s16", "s32", "s64"))
_SIGNED = tuple(TYPES[name] for name in ("s16", "s32", "s64"))
# Pairs of 16-bit integers in a 32-bit register (sm_90).
_PACKED = {"u16x2": TYPES["u16"], "s16x2": TYPES["s16"]}
# Four bytes in a 32-bit register, and the targets that have them (PTX ISA 9.2 and 9.4, "add", "sub", "min", "max").
_BYTES = {"u8x4": TYPES["u8"], "s8x4": TYPES["s8"]}
_ADDITIVE: dict[str, Binary] = {"add": np.add, "sub": np.subtract}
_EXTREMA: dict[str, Binary] = {"min": np.minimum, "max": np.maximum}
_OTHER_FAMILIES = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "f32x2")
# `mul.wide.u16` gives 32 bits, `mul.wide.u32` 64.
_WIDENABLE = tuple(TYPES[name] for name in ("u16", "u32", "s16", "s32"))


def _is_float(decoder: Decoder) -> bool:
    return any(modifier in _OTHER_FAMILIES for modifier in decoder.modifiers)


def _packed(decoder: Decoder, function: Binary) -> Step:
    name = decoder.modifiers.pop()
    saturates = decoder.root in _ADDITIVE and decoder.flag("sat")
    if name in _BYTES or saturates:
        decoder.need_feature("packed_integers", f".{name}")
    lane_type = (_PACKED | _BYTES)[name]
    dtype = lane_type.dtype
    decoder.finish(3)
    limits = np.iinfo(dtype)

    def pairs(a: Array, b: Array) -> Array:
        x, y = (np.ascontiguousarray(each).view(dtype) for each in (a, b))
        if saturates:
            x, y = x.astype(np.int64), y.astype(np.int64)
            return np.clip(function(x, y), limits.min, limits.max).astype(dtype).view(np.uint32)
        return function(x, y).view(np.uint32)

    return elementwise(decoder, pairs, B32, B32, B32)


@instruction("add", "sub")
def _add(decoder: Decoder) -> Step:
    if _is_float(decoder):
        return floating.arithmetic(decoder)
    function = _ADDITIVE[decoder.root]
    if decoder.last in _BYTES or (decoder.root == "add" and decoder.last in _PACKED):
        return _packed(decoder, function)
    if decoder.flag("cc"):
        return _carry(decoder, reads=False, writes=True)
    value_type = decoder.type(*_INTEGERS)
    if decoder.flag("sat"):
        if value_type is not S32 and not (value_type is U32 and decoder.root == "add"):
            raise decoder.error(f"expected .s32 with .sat, found {value_type}")
        if value_type is U32:
            decoder.need_feature("packed_integers", ".sat.u32")
        wide = function

        def clamped(a: Array, b: Array) -> Array:
            return saturate(wide(a.astype(np.int64), b.astype(np.int64)), value_type)

        function = clamped
    decoder.finish(3)
    return elementwise(decoder, function, value_type, value_type, value_type)


@instruction("addc", "subc")
def _add_carry(decoder: Decoder) -> Step:
    return _carry(decoder, reads=True, writes=decoder.flag("cc"))


def _carry(decoder: Decoder, *, reads: bool, writes: bool) -> Step:
    value_type = decoder.type(U32, S32, U64, S64)
    decoder.finish(3)
    unsigned = integer_type(value_type.bits, signed=False)
    put = decoder.destination(0, unsigned)
    first, second = decoder.source(1, unsigned), decoder.source(2, unsigned)
    subtract = decoder.root.startswith("sub")

    def step(group: ThreadGroup, mask: Mask) -> None:
        a, b = first(group, mask), second(group, mask)
        flags = group.cta.carry[group.first : group.last]
        # Section 9.7.2 calls CC.CF a borrow after subtraction; in hardware it is the carry of a + ~b + 1, which nvcc's
        # division of 128-bit integers relies on: it reads the flag of a subc by an addc.
        carry = (~flags if subtract else flags).astype(unsigned.dtype) if reads else np.zeros_like(a)
        if subtract:
            result = a - b - carry
            carried = (a > b) | ((a == b) & (carry == 0))
        else:
            result = a + b + carry
            carried = (result < a) | ((result == a) & (carry != 0))
        put(group, mask, result)
        if writes:
            np.copyto(flags, carried, where=mask)

    return step


@instruction("mul", "mad")
def _mul(decoder: Decoder) -> Step:
    if decoder.last in convert.QUADRUPLES:
        return convert.narrow_product(decoder)
    if _is_float(decoder):
        return floating.fused(decoder) if decoder.root == "mad" else floating.arithmetic(decoder)
    adds = decoder.root == "mad"
    if adds and "cc" in decoder.modifiers:
        return _mad_carry(decoder, reads=False)
    half = decoder.need("lo", "hi", "wide")
    saturating = adds and decoder.flag("sat")
    value_type = decoder.type(*(_WIDENABLE if half == "wide" else _INTEGERS))
    result = integer_type(2 * value_type.bits, value_type.is_signed) if half == "wide" else value_type
    product = _product(half, value_type, result)
    if not adds:
        decoder.finish(3)
        return elementwise(decoder, product, result, value_type, value_type)
    decoder.finish(4)
    if saturating:
        if half != "hi" or value_type is not S32:
            raise decoder.error("expected mad.hi.sat.s32: .sat goes with no other integer mad")

        def saturated(a: Array, b: Array, c: Array) -> Array:
            return saturate(product(a, b).astype(np.int64) + c.astype(np.int64), S32)

        return elementwise(decoder, saturated, result, value_type, value_type, result)

    def fused(a: Array, b: Array, c: Array) -> Array:
        return product(a, b) + c

    return elementwise(decoder, fused, result, value_type, value_type, result)


def _product(half: str, value_type: PtxType, result: PtxType) -> Binary:
    if half == "lo":
        return np.multiply
    if half == "wide":
        return lambda a, b: a.astype(result.dtype) * b.astype(result.dtype)
    return lambda a, b: multiply_high(a, b, value_type)


@instruction("madc")
def _madc(decoder: Decoder) -> Step:
    return _mad_carry(decoder, reads=True)


def _mad_carry(decoder: Decoder, *, reads: bool) -> Step:
    half = decoder.need("lo", "hi")
    writes = decoder.flag("cc")
    value_type = decoder.type(U32, S32, U64, S64)
    decoder.finish(4)
    product = _product(half, value_type, value_type)
    unsigned = integer_type(value_type.bits, signed=False)
    put = decoder.destination(0, unsigned)
    first, second = decoder.source(1, value_type), decoder.source(2, value_type)
    third = decoder.source(3, unsigned)

    def step(group: ThreadGroup, mask: Mask) -> None:
        term = np.ascontiguousarray(product(first(group, mask), second(group, mask))).view(unsigned.dtype)
        flags = group.cta.carry[group.first : group.last]
        carry = flags.astype(unsigned.dtype) if reads else np.zeros_like(term)
        result = term + third(group, mask) + carry
        put(group, mask, result)
        if writes:
            np.copyto(flags, (result < term) | ((result == term) & (carry != 0)), where=mask)

    return step


@instruction("mul24", "mad24")
def _mul24(decoder: Decoder) -> Step:
    half = decoder.need("lo", "hi")
    saturating = decoder.root == "mad24" and decoder.flag("sat")
    value_type = decoder.type(U32, S32)
    wide = integer_type(64, value_type.is_signed)

    def product(a: Array, b: Array) -> Array:
        low_a, low_b = (((x.astype(wide.dtype) << wide.dtype.type(40)) >> wide.dtype.type(40)) for x in (a, b))
        full = low_a * low_b
        return (full >> wide.dtype.type(16) if half == "hi" else full).astype(value_type.dtype)

    if decoder.root == "mul24":
        decoder.finish(3)
        return elementwise(decoder, product, value_type, value_type, value_type)
    if saturating and (half != "hi" or value_type is not S32):
        raise decoder.error("expected mad24.hi.sat.s32: .sat goes with no other mad24")
    decoder.finish(4)

    def fused(a: Array, b: Array, c: Array) -> Array:
        if saturating:
            return saturate(product(a, b).astype(np.int64) + c.astype(np.int64), S32)
        return product(a, b) + c

    return elementwise(decoder, fused, value_type, value_type, value_type, value_type)


@instruction("div")
def _div(decoder: Decoder) -> Step:
    if _is_float(decoder):
        return floating.arithmetic(decoder)
    value_type = decoder.type(*_INTEGERS)
    decoder.finish(3)
    return elementwise(decoder, divide, value_type, value_type, value_type)


@instruction("rem")
def _rem(decoder: Decoder) -> Step:
    value_type = decoder.type(*_INTEGERS)
    decoder.finish(3)
    return elementwise(decoder, remainder, value_type, value_type, value_type)


@instruction("min", "max")
def _min(decoder: Decoder) -> Step:
    if _is_float(decoder):
        return floating.extremum(decoder)
    function = _EXTREMA[decoder.root]
    relu = decoder.flag("relu")

    def nonnegative(a: Array, b: Array) -> Array:
        return np.maximum(function(a, b), 0)

    clamped: Binary = nonnegative if relu else function
    if decoder.last in _PACKED or decoder.last in _BYTES:
        if relu and decoder.last not in ("s16x2", "s8x4"):
            raise decoder.error("expected .s16x2 or .s32 with .relu")
        return _packed(decoder, clamped)
    value_type = decoder.type(*_INTEGERS)
    if relu and value_type is not S32:
        raise decoder.error("expected .s16x2 or .s32 with .relu")
    decoder.finish(3)
    return elementwise(decoder, clamped, value_type, value_type, value_type)


@instruction("neg", "abs")
def _neg(decoder: Decoder) -> Step:
    if _is_float(decoder):
        return floating.sign(decoder)
    if decoder.root == "neg" and decoder.last == "s8x4":
        decoder.need_feature("packed_integers", f".{decoder.modifiers.pop()}")
        decoder.finish(2)
        return elementwise(decoder, lambda a: (-np.ascontiguousarray(a).view(np.int8)).view(np.uint32), B32, B32)
    value_type = decoder.type(*_SIGNED)
    decoder.finish(2)
    return elementwise(decoder, np.negative if decoder.root == "neg" else np.abs, value_type, value_type)


@instruction("sad")
def _sad(decoder: Decoder) -> Step:
    value_type = decoder.type(*_INTEGERS)
    decoder.finish(4)

    def difference(a: Array, b: Array, c: Array) -> Array:
        return c + (np.maximum(a, b) - np.minimum(a, b))

    return elementwise(decoder, difference, value_type, value_type, value_type, value_type)


@instruction("dp4a", "dp2a")
def _dot(decoder: Decoder) -> Step:
    """Dot products of bytes of b with bytes (dp4a) or half-words (dp2a; .lo is bytes 0-1 of b, .hi 2-3) of a."""
    half = decoder.need("lo", "hi") if decoder.root == "dp2a" else "lo"
    types = [decoder.modifiers.pop() if decoder.modifiers else "" for _ in range(2)]
    if any(name not in ("u32", "s32") for name in types):
        raise decoder.error("expected the types of a and b, each .u32 or .s32")
    b_type, a_type = (TYPES[name] for name in types)
    decoder.finish(4)
    result = S32 if "s32" in types else U32
    parts = 4 if decoder.root == "dp4a" else 2
    a_dtype = integer_type(32 // parts, a_type.is_signed).dtype
    b_dtype = integer_type(8, b_type.is_signed).dtype
    first = 2 if half == "hi" else 0

    def dot(a: Array, b: Array, c: Array) -> Array:
        left = np.ascontiguousarray(a).view(a_dtype).reshape(-1, parts).astype(np.int64)
        right = np.ascontiguousarray(b).view(b_dtype).reshape(-1, 4)[:, first : first + parts].astype(np.int64)
        return ((left * right).sum(axis=1) + c.astype(np.int64)).astype(result.dtype)

    return elementwise(decoder, dot, result, bits_type(32), bits_type(32), result)
