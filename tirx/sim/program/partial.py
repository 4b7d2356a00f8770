"""
Undefined bytes of registers, for instructions that move bytes.

LLVM puts words together from parts of which some do not matter, and drops those again: `mov.b64 {lo, hi}`, `prmt`,
shifts, masks. Of a register whose state is undefined, the CTA keeps which of its bytes are; those that it does not
know of are all undefined.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import Array, is_undefined
from tirx.sim.isa.decoder import Decoder
from tirx.sim.reader.syntax import TYPE_SIZES, Immediate, Name, Operand, Vector

ALL = 0xFF

Parts = Callable[[ThreadGroup], list[tuple[int, Array]]]
"""For each register that is written: the row of its state, and for each lane a bit for each undefined byte."""

_Part = Callable[[ThreadGroup], Array]


def find_parts(decoder: Decoder) -> Parts | None:
    """Returns how an instruction moves undefined bytes; None if all of a result depends on all of each operand."""
    rule = _RULES.get(decoder.root)
    sizes = [TYPE_SIZES[part] for part in decoder.instruction.opcode.split(".") if part in TYPE_SIZES]
    if rule is None or not sizes or max(sizes) > 8:
        return None
    return rule(decoder, max(sizes))


def remember(group: ThreadGroup, row: int, lanes: Array, bytes_: Array | int) -> None:
    """Notes which bytes of a register that is undefined in some lanes are."""
    known = group.cta.undefined_bytes
    if row not in known:
        known[row] = np.full(group.cta.register_states.shape[1], ALL, np.uint8)
    own = known[row][group.first : group.last]
    own[lanes] = bytes_ if isinstance(bytes_, int) else bytes_[lanes]


def _of(decoder: Decoder, operand: Operand, size: int) -> _Part:
    """The undefined bytes of an operand."""
    register = decoder.register_of(operand) if isinstance(operand, Name) else None
    if register is None or not register.is_watched:
        return lambda group: np.zeros(len(group.mask), np.uint8)
    row, whole = register.state, np.uint8((1 << size) - 1)

    def part(group: ThreadGroup) -> Array:
        known = group.cta.undefined_bytes.get(row)
        bytes_ = np.uint8(ALL) if known is None else known[group.first : group.last]
        return np.where(is_undefined(group.states[row]), bytes_ & whole, np.uint8(0))

    return part


def _target(decoder: Decoder, operand: Operand) -> int:
    register = decoder.register_of(operand) if isinstance(operand, Name) else None
    return -1 if register is None else register.state


def _one(decoder: Decoder, part: _Part) -> Parts:
    row = _target(decoder, decoder.operands[0])
    return lambda group: [(row, part(group))]


def _mov(decoder: Decoder, size: int) -> Parts | None:
    target, source = decoder.operands
    if isinstance(source, Vector):
        width = size // len(source.items)
        parts = [_of(decoder, item, width) for item in source.items]

        def joined(group: ThreadGroup) -> Array:
            total = np.zeros(len(group.mask), np.uint8)
            for place, part in enumerate(parts):
                total |= part(group) << np.uint8(place * width)
            return total

        return _one(decoder, joined)
    whole = _of(decoder, source, size)
    if not isinstance(target, Vector):
        return _one(decoder, whole)
    width = size // len(target.items)
    rows = [_target(decoder, item) for item in target.items]
    mask = np.uint8((1 << width) - 1)
    return lambda group: [
        (row, whole(group) >> np.uint8(place * width) & mask) for place, row in enumerate(rows) if row >= 0
    ]


def _prmt(decoder: Decoder, size: int) -> Parts | None:
    selector = decoder.operands[3]
    if decoder.instruction.opcode != "prmt.b32" or not isinstance(selector, Immediate):
        return None
    places = [int(selector.value) >> 4 * place & 7 for place in range(4)]
    low, high = (_of(decoder, operand, 4) for operand in decoder.operands[1:3])

    def part(group: ThreadGroup) -> Array:
        both = low(group) | high(group) << np.uint8(4)
        total = np.zeros(len(group.mask), np.uint8)
        for place, source in enumerate(places):
            total |= (both >> np.uint8(source) & np.uint8(1)) << np.uint8(place)
        return total

    return _one(decoder, part)


def _cvt(decoder: Decoder, size: int) -> Parts | None:
    types = [part for part in decoder.instruction.opcode.split(".")[1:] if part in TYPE_SIZES]
    if len(types) != 2 or any(name[0] not in "usb" for name in types) or "sat" in decoder.instruction.opcode:
        return None
    target, source = (TYPE_SIZES[name] for name in types)
    part, mask = _of(decoder, decoder.operands[1], source), np.uint8((1 << target) - 1)
    above = mask & ~np.uint8((1 << source) - 1) if types[1][0] == "s" else np.uint8(0)
    last = np.uint8(1 << source - 1)
    return _one(decoder, lambda group: np.where(part(group) & last, part(group) | above, part(group)) & mask)


def _union(decoder: Decoder, size: int) -> Parts | None:
    """Bitwise: a byte of the result depends on the same byte of both, but not where a mask makes it constant."""
    fixed = 0  # bytes that a mask makes constant
    _, first, second = decoder.operands
    for operand in (first, second):
        if isinstance(operand, Immediate) and decoder.root in ("and", "or"):
            constant = 0 if decoder.root == "and" else 0xFF
            value = int(operand.value)
            fixed = sum(1 << place for place in range(size) if value >> 8 * place & 0xFF == constant)
    kept = np.uint8((1 << size) - 1 & ~fixed)
    a, b = _of(decoder, first, size), _of(decoder, second, size)
    return _one(decoder, lambda group: (a(group) | b(group)) & kept)


def _shift(decoder: Decoder, size: int) -> Parts | None:
    amount = decoder.operands[2]
    signed = any(part.startswith("s") and part in TYPE_SIZES for part in decoder.instruction.opcode.split("."))
    if not isinstance(amount, Immediate) or signed or int(amount.value) not in range(0, 64, 8):
        return None
    places = int(amount.value) // 8
    part, mask = _of(decoder, decoder.operands[1], size), (1 << size) - 1
    if decoder.root == "shl":
        return _one(decoder, lambda group: (part(group).astype(np.uint16) << places & mask).astype(np.uint8))
    return _one(decoder, lambda group: part(group) >> np.uint8(places))


_RULES: dict[str, Callable[[Decoder, int], Parts | None]] = {
    "mov": _mov,
    "prmt": _prmt,
    "cvt": _cvt,
    "and": _union,
    "or": _union,
    "xor": _union,
    "shl": _shift,
    "shr": _shift,
}
