"""Comparison and selection (PTX ISA, sections 9.7.6 and 9.7.7)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import BF16, F16, F32, PRED, S32, TYPES, U32, Array, Binary, Mask, PtxType, bits_type
from tirx.sim.isa.decoder import Decoder, elementwise
from tirx.sim.isa.registry import instruction
from tirx.sim.numerics import modular
from tirx.sim.numerics.rounding import flush
from tirx.sim.program.code import Step

_ORDER: dict[str, Binary] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_UNORDERED = {f"{name}u": name for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_NAN_TESTS = ("num", "nan")
_COMBINE: dict[str, Binary] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
_COMPARED = tuple(
    TYPES[name] for name in ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f16", "bf16", "f32", "f64")
)
_PACKED = {"f16x2": F16, "bf16x2": BF16}
_PACKED_INTEGERS = {"u8x4": TYPES["u8"], "s8x4": TYPES["s8"], "u16x2": TYPES["u16"], "s16x2": TYPES["s16"]}
_SELECTED_BITS = (16, 32, 64, 128)


def _unordered(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


def _comparison(decoder: Decoder, name: str, value_type: PtxType) -> Binary:
    """The function of a comparison operator for operands of a type."""
    if value_type.is_float and decoder.symbols.arithmetic == "modular":
        decoder.refuse_modular(name in _NAN_TESTS)
        order = _ORDER[_UNORDERED.get(name, name)]
        return lambda a, b: order(modular.ordered(a), modular.ordered(b))
    if value_type.is_float:
        if name in _NAN_TESTS:
            return _unordered if name == "nan" else lambda a, b: ~_unordered(a, b)
        if name in _UNORDERED:
            order = _ORDER[_UNORDERED[name]]
            return lambda a, b: order(a, b) | _unordered(a, b)
        if name == "ne":
            return lambda a, b: (a != b) & ~_unordered(a, b)
        if name in _ORDER:
            return _ORDER[name]
    elif name in _UNSIGNED:
        if value_type.kind != "signed":
            return _ORDER[_UNSIGNED[name]]
    elif name in ("eq", "ne") or (name in _ORDER and value_type.kind != "bits"):
        return _ORDER[name]
    raise decoder.error(f"expected a comparison of {value_type}, found .{name}")


def _flushed(function: Binary) -> Binary:
    return lambda a, b: function(flush(a), flush(b))


def _operator(decoder: Decoder) -> tuple[str, str | None]:
    """Takes the comparison and the operation that combines its result with a predicate."""
    if not decoder.modifiers:
        raise decoder.error("expected a comparison")
    return decoder.modifiers.pop(0), decoder.take(*_COMBINE)


@instruction("setp")
def _setp(decoder: Decoder) -> Step:
    name, combine = _operator(decoder)
    ftz = decoder.flag("ftz")
    if decoder.last in _PACKED:
        return _setp_packed(decoder, name, combine, ftz)
    value_type = decoder.type(*_COMPARED)
    decoder.finish(4 if combine else 3)
    function = _comparison(decoder, name, value_type)
    function = _flushed(function) if ftz else function
    first, second = decoder.source(1, value_type), decoder.source(2, value_type)
    puts = _predicates(decoder, combine)

    def step(group: ThreadGroup, mask: Mask) -> None:
        holds = function(first(group, mask), second(group, mask))
        puts(group, mask, holds, ~holds)

    return step


def _predicates(decoder: Decoder, combine: str | None) -> Callable[[ThreadGroup, Mask, Array, Array], None]:
    """Writes the two results of setp, combined with the third operand, to `p|q`, or the first of them to `p`."""
    third = None if combine is None else decoder.source(3, PRED)
    mix = _COMBINE[combine or "and"]
    puts = [decoder.destination(operand, PRED) for operand in decoder.pair(0) if operand is not None]

    def write(group: ThreadGroup, mask: Mask, *results: Array) -> None:
        if third is not None:
            other = third(group, mask)
            results = tuple(mix(result, other) for result in results)
        for put, result in zip(puts, results, strict=False):
            put(group, mask, result)

    return write


def _setp_packed(decoder: Decoder, name: str, combine: str | None, ftz: bool) -> Step:
    """Two comparisons, of the low and of the high halves, to the two predicates."""
    container = TYPES[decoder.modifiers.pop()]
    element = _PACKED[container.name]
    decoder.finish(4 if combine else 3)
    function = _comparison(decoder, name, element)
    function = _flushed(function) if ftz else function
    first, second = decoder.source(1, container), decoder.source(2, container)
    puts = _predicates(decoder, combine)

    def step(group: ThreadGroup, mask: Mask) -> None:
        a, b = (np.ascontiguousarray(each(group, mask)).view(element.dtype) for each in (first, second))
        low, high = function(a, b).reshape(-1, 2).T
        puts(group, mask, low, high)

    return step


@instruction("set")
def _set(decoder: Decoder) -> Step:
    """Decodes set: all ones, or 1.0, where the comparison holds."""
    name, combine = _operator(decoder)
    ftz = decoder.flag("ftz")
    if decoder.last in _PACKED:
        return _set_packed(decoder, name, combine, ftz)
    if decoder.last in _PACKED_INTEGERS:
        return _set_integers(decoder, name)
    value_type = decoder.type(*_COMPARED)
    result = decoder.type(U32, S32, F32, F16, BF16, TYPES["u16"], TYPES["s16"])
    decoder.finish(4 if combine else 3)
    function = _comparison(decoder, name, value_type)
    function = _flushed(function) if ftz else function
    true = (
        result.dtype.type(1) if result.is_float else result.dtype.type(-1 if result.is_signed else 2**result.bits - 1)
    )
    false: np.generic = result.dtype.type(0)
    mix = _COMBINE[combine] if combine else None
    if mix is None:
        return elementwise(decoder, lambda a, b: np.where(function(a, b), true, false), result, value_type, value_type)
    return elementwise(
        decoder, lambda a, b, p: np.where(mix(function(a, b), p), true, false), result, value_type, value_type, PRED
    )


def _set_integers(decoder: Decoder, name: str) -> Step:
    """
    Decodes set of packed integers: all bits of an element, where the comparison holds.

    No text says so, but ptxas 13.5.37 makes the same instruction (VISET.BM) of it as of `set.u32.u32`.
    """
    element = _PACKED_INTEGERS[decoder.modifiers.pop()]
    decoder.need_feature("set.packed", "set of packed integers", "here")
    decoder.finish(3)
    function = _comparison(decoder, name, element)

    def compare(a: Array, b: Array) -> Array:
        holds = function(*(np.ascontiguousarray(each).view(element.dtype) for each in (a, b)))
        return np.where(holds, -1, 0).astype(element.dtype).view(np.uint32)

    return elementwise(decoder, compare, bits_type(32), bits_type(32), bits_type(32))


def _set_packed(decoder: Decoder, name: str, combine: str | None, ftz: bool) -> Step:
    container = TYPES[decoder.modifiers.pop()]
    element = _PACKED[container.name]
    result = decoder.modifiers.pop() if decoder.modifiers else ""
    if result not in (container.name, "u32", "s32"):
        raise decoder.error(f"expected .{container.name}, .u32 or .s32 as the type of the result, found .{result}")
    decoder.finish(4 if combine else 3)
    function = _comparison(decoder, name, element)
    function = _flushed(function) if ftz else function
    true = element.dtype.type(1) if result == container.name else np.uint16(0xFFFF)
    mix = _COMBINE[combine or "and"]

    def compare(a: Array, b: Array, *predicates: Array) -> Array:
        holds = function(np.ascontiguousarray(a).view(element.dtype), np.ascontiguousarray(b).view(element.dtype))
        for each in predicates:
            holds = mix(holds, np.repeat(each, 2))
        return np.where(holds, true, true.dtype.type(0)).view(np.uint32)

    operands = (container, container, PRED) if combine else (container, container)
    return elementwise(decoder, compare, bits_type(32), *operands)


@instruction("selp")
def _selp(decoder: Decoder) -> Step:
    value_type = decoder.type()
    decoder.finish(4)
    if value_type.bits not in _SELECTED_BITS:
        raise decoder.error(f"expected a type of 16 to 128 bits, found {value_type}")
    return elementwise(decoder, lambda a, b, p: np.where(p, a, b), value_type, value_type, value_type, PRED)


@instruction("slct")
def _slct(decoder: Decoder) -> Step:
    """a if c >= 0, else b (also for NaN)"""
    ftz = decoder.flag("ftz")
    selector = decoder.type(S32, F32)
    decoder.refuse_modular(selector is F32)
    value_type = decoder.type()
    decoder.finish(4)

    def select(a: Array, b: Array, c: Array) -> Array:
        return np.where((flush(c) if ftz and selector is F32 else c) >= 0, a, b)

    return elementwise(decoder, select, value_type, value_type, value_type, selector)
