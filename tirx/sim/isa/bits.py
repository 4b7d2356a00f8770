"""Logic, shifts and bit fields (PTX ISA, sections 9.7.1 and 9.7.8)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B16, B32, B64, PRED, S32, S64, TYPES, U32, U64, Array, Binary, Mask, integer_type
from tirx.sim.isa.decoder import Decoder, elementwise
from tirx.sim.isa.registry import instruction
from tirx.sim.program.code import Step

_LOGIC: dict[str, Binary] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
_SHIFTED = tuple(TYPES[name] for name in ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"))


@instruction("and", "or", "xor")
def _logic(decoder: Decoder) -> Step:
    value_type = decoder.type(PRED, B16, B32, B64)
    decoder.finish(3)
    return elementwise(decoder, _LOGIC[decoder.root], value_type, value_type, value_type)


@instruction("not")
def _not(decoder: Decoder) -> Step:
    value_type = decoder.type(PRED, B16, B32, B64)
    decoder.finish(2)
    return elementwise(decoder, np.invert, value_type, value_type)


@instruction("cnot")
def _cnot(decoder: Decoder) -> Step:
    value_type = decoder.type(B16, B32, B64)
    decoder.finish(2)
    return elementwise(decoder, lambda a: (a == 0).astype(value_type.dtype), value_type, value_type)


@instruction("shl", "shr")
def _shift(decoder: Decoder) -> Step:
    """Shift amounts (u32) beyond the width count as the width."""
    value_type = decoder.type(*(_SHIFTED if decoder.root == "shr" else (B16, B32, B64)))
    decoder.finish(3)
    bits, dtype = value_type.bits, value_type.dtype
    left = decoder.root == "shl"
    fill_with_sign = value_type.is_signed

    def shift(a: Array, amount: Array) -> Array:
        if fill_with_sign:
            return a >> np.minimum(amount, np.uint32(bits - 1)).astype(dtype)
        by = (amount & np.uint32(bits - 1)).astype(dtype)
        return np.where(amount >= bits, dtype.type(0), a << by if left else a >> by)

    return elementwise(decoder, shift, value_type, value_type, U32)


@instruction("shf")
def _funnel_shift(decoder: Decoder) -> Step:
    left = decoder.need("l", "r") == "l"
    wrap = decoder.need("wrap", "clamp") == "wrap"
    decoder.type(B32)
    decoder.finish(4)

    def funnel(low: Array, high: Array, amount: Array) -> Array:
        both = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
        by = (amount & np.uint32(31) if wrap else np.minimum(amount, np.uint32(32))).astype(np.uint64)
        # By 32 to the left is what is left after 32 more: two shifts, as numpy does not shift by 64.
        return ((both << by >> np.uint64(32)) if left else both >> by).astype(np.uint32)

    return elementwise(decoder, funnel, B32, B32, B32, U32)


@instruction("lop3")
def _lop3(decoder: Decoder) -> Step:
    """Bit i of the table is the result for (a, b, c) = the bits of i; with a predicate, also (result != 0) op q."""
    operation = decoder.take("or", "and")
    decoder.type(B32)
    decoder.finish(6 if operation else 5)
    table = decoder.constant(4, "the look-up table as a literal")
    if not 0 <= table <= 0xFF:
        raise decoder.error(f"expected a look-up table from 0 to 255, found {table}")

    def look_up(a: Array, b: Array, c: Array) -> Array:
        result = np.zeros_like(a)
        for index in range(8):
            if table >> index & 1:
                result |= (a if index & 4 else ~a) & (b if index & 2 else ~b) & (c if index & 1 else ~c)
        return result

    if operation is None:
        return elementwise(decoder, look_up, B32, B32, B32, B32)
    register, predicate = decoder.pair(0)
    if predicate is None:
        raise decoder.error("expected two destinations d|p")
    put, put_predicate = decoder.destination(register, B32), decoder.destination(predicate, PRED)
    sources = [decoder.source(index, B32) for index in (1, 2, 3)]
    other = decoder.source(5, PRED)
    combine = _LOGIC[operation]

    def step(group: ThreadGroup, mask: Mask) -> None:
        result = look_up(*[source(group, mask) for source in sources])
        put(group, mask, result)
        put_predicate(group, mask, combine(result != 0, other(group, mask)))

    return step


# Byte selectors of prmt's modes, for each value of the two low bits of the selector.
_PERMUTATIONS = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}


@instruction("prmt")
def _prmt(decoder: Decoder) -> Step:
    decoder.modifiers.reverse()  # the mode follows the type
    mode = decoder.take(*_PERMUTATIONS)
    decoder.modifiers.reverse()
    decoder.type(B32)
    decoder.finish(4)

    def permute(a: Array, b: Array, selector: Array) -> Array:
        pool = np.stack([np.ascontiguousarray(a), np.ascontiguousarray(b)], axis=1).view(np.uint8)
        if mode is not None:
            chosen = np.array(_PERMUTATIONS[mode])[selector & np.uint32(3)]
            return np.ascontiguousarray(np.take_along_axis(pool, chosen, axis=1)).view(np.uint32)[:, 0]
        nibbles = selector[:, None] >> np.array([0, 4, 8, 12], np.uint32) & np.uint32(15)
        chosen = np.take_along_axis(pool, (nibbles & np.uint32(7)).astype(np.int64), axis=1)
        signs = np.where(chosen & 0x80, np.uint8(0xFF), np.uint8(0))
        return np.ascontiguousarray(np.where(nibbles & np.uint32(8), signs, chosen)).view(np.uint32)[:, 0]

    return elementwise(decoder, permute, B32, B32, B32, B32)


@instruction("bfe")
def _bfe(decoder: Decoder) -> Step:
    """The field, extended by zeros or by its highest bit; beyond the source it is zero, or its sign."""
    value_type = decoder.type(U32, U64, S32, S64)
    decoder.finish(4)
    bits, unsigned = value_type.bits, integer_type(value_type.bits, signed=False).dtype
    one = unsigned.type(1)

    def extract(a: Array, position: Array, length: Array) -> Array:
        # Beyond 255, where PTX says nothing, GPUs use 8 bits of them for 32-bit fields and all for 64-bit ones.
        start, count = (position & np.uint32(0xFF), length & np.uint32(0xFF)) if bits == 32 else (position, length)
        raw = a.view(unsigned)
        field = _shifted_right(raw, start, bits) & _low_ones(count, bits)
        if not value_type.is_signed:
            return field
        last = np.minimum(start.astype(np.uint64) + count - np.uint64(1), np.uint64(bits - 1)).astype(unsigned)
        negative = ((raw >> last & one) != 0) & (count != 0)
        # What is in the field and in the source; the rest is the sign.
        kept = _low_ones(count, bits) & _shifted_right(~np.zeros_like(raw), start, bits)
        return np.where(negative, field | ~kept, field).view(value_type.dtype)

    return elementwise(decoder, extract, value_type, value_type, U32, U32)


def _shifted_right(values: Array, amount: Array, bits: int) -> Array:
    """Unsigned values shifted to the right, all the way for amounts of `bits` and more."""
    shifted = values >> (amount & np.uint32(bits - 1)).astype(values.dtype)
    return np.where(amount >= bits, np.zeros_like(values), shifted)


def _low_ones(count: Array, bits: int) -> Array:
    """Returns words with the lowest `count` bits set, at most `bits`."""
    every = ~np.zeros(len(count), integer_type(bits, signed=False).dtype)
    missing = np.uint32(bits) - np.minimum(count, np.uint32(bits))
    return _shifted_right(every, missing, bits)


@instruction("bfi")
def _bfi(decoder: Decoder) -> Step:
    value_type = decoder.type(B32, B64)
    decoder.finish(5)
    bits = value_type.bits
    unsigned = value_type.dtype.type

    def insert(a: Array, b: Array, position: Array, length: Array) -> Array:
        start, count = position & np.uint32(0xFF), length & np.uint32(0xFF)
        by = (start & np.uint32(bits - 1)).astype(value_type.dtype)
        field = np.where(start >= bits, unsigned(0), _low_ones(count, bits) << by)
        return (b & ~field) | ((a << by) & field)

    return elementwise(decoder, insert, value_type, value_type, value_type, U32, U32)


@instruction("bmsk")
def _bmsk(decoder: Decoder) -> Step:
    wrap = decoder.need("wrap", "clamp") == "wrap"
    decoder.type(B32)
    decoder.finish(3)

    def mask_of(position: Array, length: Array) -> Array:
        start = (position & np.uint32(31)) if wrap else position
        count = (length & np.uint32(31)) if wrap else length
        ones = _low_ones(np.minimum(count, np.uint32(32)), 32)
        return np.where(start >= 32, np.uint32(0), ones << (start & np.uint32(31)))

    return elementwise(decoder, mask_of, B32, U32, U32)


@instruction("szext")
def _szext(decoder: Decoder) -> Step:
    wrap = decoder.need("wrap", "clamp") == "wrap"
    value_type = decoder.type(U32, S32)
    decoder.finish(3)

    def extend(a: Array, length: Array) -> Array:
        count = length & np.uint32(31) if wrap else np.minimum(length, np.uint32(32))
        ones = _low_ones(count, 32)
        raw = a.view(np.uint32)
        sign = np.where(
            count == 0, np.uint32(0), raw >> (np.maximum(count, np.uint32(1)) - np.uint32(1)) & np.uint32(1)
        )
        fill = sign if value_type.is_signed else np.zeros_like(sign)
        return np.where(fill != 0, raw | ~ones, raw & ones).view(value_type.dtype)

    return elementwise(decoder, extend, value_type, value_type, U32)


def _reverse(values: Array) -> Array:
    as_bytes = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
    bits = np.unpackbits(as_bytes, axis=1, bitorder="little")
    return np.packbits(bits[:, ::-1], axis=1, bitorder="little").view(values.dtype)[:, 0]


def _population(values: Array) -> Array:
    as_bytes = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
    return np.unpackbits(as_bytes, axis=1).sum(axis=1).astype(np.uint32)


def _bit_length(values: Array) -> Array:
    """Position of the highest one, plus 1; 0 for 0."""
    as_bytes = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
    bits = np.unpackbits(as_bytes, axis=1, bitorder="little")[:, ::-1]
    width = bits.shape[1]
    return np.where(bits.any(axis=1), width - bits.argmax(axis=1), 0).astype(np.uint32)


@instruction("brev")
def _brev(decoder: Decoder) -> Step:
    value_type = decoder.type(B32, B64)
    decoder.finish(2)
    return elementwise(decoder, _reverse, value_type, value_type)


@instruction("popc")
def _popc(decoder: Decoder) -> Step:
    value_type = decoder.type(B32, B64)
    decoder.finish(2)
    return elementwise(decoder, _population, U32, value_type)


@instruction("clz")
def _clz(decoder: Decoder) -> Step:
    value_type = decoder.type(B32, B64)
    decoder.finish(2)
    return elementwise(decoder, lambda a: np.uint32(value_type.bits) - _bit_length(a), U32, value_type)


@instruction("bfind")
def _bfind(decoder: Decoder) -> Step:
    """
    Decodes bfind: the highest bit that differs from the sign; with `.shiftamt`, the shift that moves it to the top.
    """
    amount = decoder.flag("shiftamt")
    value_type = decoder.type(U32, U64, S32, S64)
    decoder.finish(2)
    top = np.uint32(value_type.bits - 1)

    def find(a: Array) -> Array:
        bits = np.where(a < 0, ~a, a) if value_type.is_signed else a
        length = _bit_length(bits)
        place = length - np.uint32(1)
        return np.where(length == 0, np.uint32(0xFFFFFFFF), top - place if amount else place)

    return elementwise(decoder, find, U32, value_type)


@instruction("fns")
def _fns(decoder: Decoder) -> Step:
    """The n-th set bit from a position: upwards for positive n, downwards for negative (section 9.7.1.20)."""
    decoder.type(B32)
    decoder.finish(4)

    def find(mask: Array, base: Array, offset: Array) -> Array:
        found: list[int] = []
        for bits, start, n in zip(mask.tolist(), base.tolist(), offset.tolist(), strict=True):
            found.append(_nth_set(bits, start, n))
        return np.array(found, np.uint32)

    return elementwise(decoder, find, B32, B32, B32, S32)


def _nth_set(bits: int, start: int, n: int) -> int:
    if n == 0:
        return start if start < 32 and bits >> start & 1 else 0xFFFFFFFF
    if start >= 32:
        return 0xFFFFFFFF
    places = range(start, 32) if n > 0 else range(start, -1, -1)
    set_places = [place for place in places if bits >> place & 1]
    return set_places[abs(n) - 1] if abs(n) <= len(set_places) else 0xFFFFFFFF
