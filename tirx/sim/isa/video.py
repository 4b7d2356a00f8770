"""Video instructions, of one part or of all parts of a register (PTX ISA, sections 9.7.20.1 and 9.7.20.2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, TYPES, U32, Array, Binary, Mask
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.registry import instruction
from tirx.sim.program.code import Source, Step
from tirx.sim.reader.syntax import Minus, Name, Operand

_OPERATIONS: dict[str, Binary] = {
    "vadd": np.add,
    "vsub": np.subtract,
    "vavrg": lambda a, b: (a + b + (a + b >= 0)) >> 1,  # ties away from zero
    "vabsdiff": lambda a, b: np.abs(a - b),
    "vmin": np.minimum,
    "vmax": np.maximum,
}
_COMPARISONS: dict[str, Binary] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_SECONDARY: dict[str, Binary] = {"add": np.add, "min": np.minimum, "max": np.maximum}
_SCALAR = ("vadd", "vsub", "vabsdiff", "vmin", "vmax")
_SHIFTS = ("vshl", "vshr")
_SCALES = {"shr7": 7, "shr15": 15, None: 0}
_PART = re.compile(r"(.+)\.([bh])(\d+)")


def _selected(operand: Operand) -> tuple[Operand, str, str]:
    """Splits a register with a selector: `%r1.b2` to (%r1, b, 2)."""
    match = _PART.fullmatch(operand.name) if isinstance(operand, Name) else None
    return (operand, "", "") if match is None else (Name(match[1]), match[2], match[3])


# One part of each operand


@dataclass(frozen=True, slots=True)
class _Part:
    """Bits `first`, ... of a register: a byte, half a word or all of it."""

    first: int
    bits: int

    def of(self, values: Array, signed: bool) -> Array:
        """The part, extended to int64."""
        field = (values >> np.uint32(self.first)).astype(np.int64) & ((1 << self.bits) - 1)
        return np.where(field >> (self.bits - 1) & 1, field - (1 << self.bits), field) if signed else field

    def clamped(self, values: Array, signed: bool) -> Array:
        low, high = (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1) if signed else (0, (1 << self.bits) - 1)
        return np.clip(values, low, high)

    def merged(self, values: Array, into: Array) -> Array:
        """Returns `into` with this part replaced."""
        keep = np.uint32(0xFFFFFFFF ^ ((1 << self.bits) - 1) << self.first)
        field = (values & ((1 << self.bits) - 1)).astype(np.uint32) << np.uint32(self.first)
        return into & keep | field


_WHOLE = _Part(0, 32)


def _part(decoder: Decoder, operand: Operand) -> tuple[Operand, _Part]:
    register, kind, digits = _selected(operand)
    if not kind:
        return register, _WHOLE
    number, bits = int(digits), 8 if kind == "b" else 16
    if len(digits) != 1 or number >= 32 // bits:
        raise decoder.error(f"expected one of .b0 to .b3, .h0 and .h1, found .{kind}{digits}")
    return register, _Part(number * bits, bits)


@dataclass(frozen=True, slots=True)
class _Input:
    source: Source
    part: _Part
    signed: bool

    def __call__(self, group: ThreadGroup, mask: Mask) -> Array:
        return self.part.of(self.source(group, mask), self.signed)


def _input(decoder: Decoder, which: int | Operand, type_name: str) -> _Input:
    register, part = _part(decoder, decoder.operand(which))
    return _Input(decoder.source(register, B32), part, type_name == "s32")


def _shift(left: bool, wrap: bool) -> Binary:
    def shift(a: Array, b: Array) -> Array:
        by = b & 31 if wrap else np.minimum(b, 32)
        if not left:
            return a >> by
        # 65 bits do not fit: saturation is to know only whether there are some above 32.
        low = a.astype(np.uint64) << by.astype(np.uint64) & np.uint64(0xFFFFFFFF)
        high = np.clip(a >> (32 - by), -(1 << 30), 1 << 30)
        return high << 32 | low.astype(np.int64)

    return shift


@instruction(*_SCALAR, *_SHIFTS, "vset")
def _scalar(decoder: Decoder) -> Step:
    """vop.dtype.atype.btype[.sat][.op2] d[.part], a[.part], b[.part] [, c]: c is combined with d, or has it."""
    name = decoder.root
    types = [decoder.need("u32", "s32") for _ in range(2 if name == "vset" else 3)]
    saturates = name != "vset" and decoder.flag("sat")
    operation: Binary
    if name == "vset":
        operation = _COMPARISONS[decoder.need(*_COMPARISONS)]
    elif name in _SHIFTS:
        operation = _shift(name == "vshl", decoder.need("clamp", "wrap") == "wrap")
        if types[2] != "u32":
            raise decoder.error(f"expected .u32 as the type of b, found .{types[2]}")
    else:
        operation = _OPERATIONS[name]
    secondary = decoder.take(*_SECONDARY)
    target, part = _part(decoder, decoder.operand(0))
    merges = part is not _WHOLE
    if merges and secondary:
        raise decoder.error(f"expected a whole register as the destination with .{secondary}")
    decoder.finish(4 if merges or secondary else 3)
    first, second = _input(decoder, 1, types[-2]), _input(decoder, 2, types[-1])
    third = decoder.source(3, B32) if merges or secondary else None
    # The result of a comparison is unsigned.
    signed = name != "vset" and types[0] == "s32"
    put = decoder.destination(target, U32)

    def step(group: ThreadGroup, mask: Mask) -> None:
        result = operation(first(group, mask), second(group, mask)).astype(np.int64)
        if saturates:
            result = part.clamped(result, signed)
        if third is not None and secondary is not None:
            result = _WHOLE.of(result.astype(np.uint64).astype(np.uint32), signed)
            result = _SECONDARY[secondary](result, _WHOLE.of(third(group, mask), signed))
        elif third is not None:
            put(group, mask, part.merged(result, third(group, mask)))
            return
        put(group, mask, (result & 0xFFFFFFFF).astype(np.uint32))

    return step


@instruction("vmad")
def _vmad(decoder: Decoder) -> Step:
    """vmad.dtype.atype.btype[.po][.sat][.scale] d, [-]a, [-]b, [-]c: a b + c (.po: + 1), shifted to the right."""
    types = [decoder.need("u32", "s32") for _ in range(3)]
    plus_one, saturates = decoder.flag("po"), decoder.flag("sat")
    by = _SCALES[decoder.take("shr7", "shr15")]
    decoder.finish(4)
    negated = [isinstance(operand, Minus) for operand in decoder.operands[1:]]
    plain = [operand.operand if isinstance(operand, Minus) else operand for operand in decoder.operands[1:]]
    if any(negated) and (plus_one or (negated[2] and negated[0] != negated[1])):
        raise decoder.error("expected .po, a negative product or a negative c, found several of them")
    inputs = [_input(decoder, plain[index], types[1 + index]) for index in range(2)]
    third = decoder.source(plain[2], B32)
    opposite = negated[0] != negated[1]
    signed = "s32" in types[1:] or opposite or negated[2]
    put = decoder.destination(0, U32)
    low, high = (-(1 << 31), (1 << 31) - 1) if signed else (0, (1 << 32) - 1)

    def multiply(a: int, b: int, c: int) -> int:
        total = (-a * b if opposite else a * b) + (-c if negated[2] else c) + plus_one
        total >>= by
        return (max(low, min(high, total)) if saturates else total) & 0xFFFFFFFF

    def step(group: ThreadGroup, mask: Mask) -> None:
        a, b = (each(group, mask).tolist() for each in inputs)
        c = _WHOLE.of(third(group, mask), signed).tolist()
        put(group, mask, np.array([multiply(*values) for values in zip(a, b, c, strict=True)], np.uint32))

    return step


# All parts of each operand


def _parts_of(decoder: Decoder, operand: Operand, count: int, default: str) -> tuple[Operand, list[int]]:
    """Returns a register and the parts of a and b that its selector picks, the lowest first."""
    register, kind, digits = _selected(operand)
    if not kind:
        digits = default
    elif kind != ("h" if count == 2 else "b") or len(digits) != count or any(int(each) >= 2 * count for each in digits):
        raise decoder.error(f"expected {count} parts of a and b, found .{kind}{digits}")
    return register, [int(each) for each in reversed(digits)]


def _mask_of(decoder: Decoder, operand: Operand, count: int) -> tuple[Operand, list[bool]]:
    """Returns the destination without its selector, and True for each of its parts that is computed."""
    register, kind, digits = _selected(operand)
    if not kind:
        return register, [True] * count
    chosen = [int(each) for each in digits]
    if kind != ("h" if count == 2 else "b") or max(chosen) >= count or chosen != sorted(set(chosen), reverse=True):
        raise decoder.error(f"expected parts of the destination in descending order, found .{kind}{digits}")
    return register, [index in chosen for index in range(count)]


@instruction(*(f"{name}{count}" for name in (*_OPERATIONS, "vset") for count in (2, 4)))
def _video(decoder: Decoder) -> Step:
    """
    vop{2,4}.dtype.atype.btype[.sat|.add] d[.parts], a[.parts], b[.parts], c: parts of a and b.

    Parts of d that are not computed are those of c; with .add the sum of the computed ones is added to c.
    """
    name, count = decoder.root[:-1], int(decoder.root[-1])
    types = [decoder.need("u32", "s32") for _ in range(2 if name == "vset" else 3)]
    comparison = decoder.need(*_COMPARISONS) if name == "vset" else None
    saturates, adds = decoder.flag("sat"), decoder.flag("add")
    decoder.finish(4)
    operation = _OPERATIONS[name] if comparison is None else _COMPARISONS[comparison]
    a_type, b_type = types[-2:]
    # Comparisons have no type of the result: their parts are 0 or 1.
    signed = comparison is None and types[0] == "s32"
    target, computed = _mask_of(decoder, decoder.operand(0), count)
    upper = "".join(str(index) for index in reversed(range(count, 2 * count)))
    lower = "".join(str(index) for index in reversed(range(count)))
    a, a_parts = _parts_of(decoder, decoder.operand(1), count, lower)
    b, b_parts = _parts_of(decoder, decoder.operand(2), count, upper)
    sources: list[Callable[[ThreadGroup, Mask], Array]] = [decoder.source(each, B32) for each in (a, b)]
    third = decoder.source(3, TYPES["u32"])
    put = decoder.destination(target, U32)
    bits = 32 // count
    parts = [_Part(index * bits, bits) for index in range(count)]

    def chosen(both: list[Array], which: list[int], own: str) -> Array:
        """(lanes, count)"""
        return np.stack([parts[each % count].of(both[each // count], own == "s32") for each in which], axis=1)

    def step(group: ThreadGroup, mask: Mask) -> None:
        both, c = [source(group, mask) for source in sources], third(group, mask)
        found = operation(chosen(both, a_parts, a_type), chosen(both, b_parts, b_type)).astype(np.int64)
        if adds:
            total = found[:, computed].sum(axis=1) + c.astype(np.int64)
            put(group, mask, (total & 0xFFFFFFFF).astype(np.uint32))
            return
        result = c.copy()
        for index in np.flatnonzero(computed).tolist():
            own = found[:, index]
            result = parts[index].merged(parts[index].clamped(own, signed) if saturates else own, result)
        put(group, mask, result)

    return step
