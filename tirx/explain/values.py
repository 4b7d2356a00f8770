"""The values that registers of a PTX function may hold, as far as constants and masks tell.

The analysis does not follow the order of instructions: a register may hold what any instruction writes to it, in any
lane. That is exact for descriptors, which compilers put together from constants and a masked address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import product

from tirx.sim.reader.syntax import (
    TYPE_SIZES,
    Address,
    Function,
    Immediate,
    Instruction,
    Name,
    Operand,
    Pair,
    Scope,
    Vector,
)
from tirx.symbolic.integers import Integers

Key = tuple[int, str]
"""A register: the identity of the scope that declares it, and its name."""

_SPECIAL_LIMITS = {
    **{f"%tid.{axis}": 1023 for axis in "xyz"},
    **{f"%ntid.{axis}": 1024 for axis in "xyz"},
    "%laneid": 31,
    "%cluster_ctarank": 15,
}
_LAST_SHARED_BYTE = (1 << 18) - 1
_EXACT_PASSES = 16
"""Passes after which ranges of growing registers are given up, more than a ring has slots; bits settle in at most as
many as there are.
"""

_AMOUNT_BITS = 32
"""Of the operands that say by how much is shifted, and where a field is."""
_WIDEST = 64
"""Bits of a result whose type the opcode does not say."""

_ARITHMETIC = ("add", "sub", "mul", "mad", "neg")
_NO_INTEGERS = {"f16", "bf16", "f16x2", "bf16x2", "f32", "f32x2", "f64", "u16x2", "s16x2"}
"""Types whose sums and products are not those of integers of as many bits."""

_Rule = Callable[["Values", Instruction, int], Integers]


class _NoValueYet(Exception):
    """An operand depends on registers that have no value yet."""


class Values:
    """The values of the registers of a function. Registers are analysed when somebody asks for them."""

    def __init__(self, function: Function):
        self._writers: dict[Key, list[tuple[Instruction, int]]] = {}
        self._widths: dict[Key, int] = {}
        self._known: dict[Key, Integers | None] = {}
        self._before: dict[int, Instruction] = {}
        """The instruction in front of a `selp`, where no label parts them."""
        scopes = {id(each.scope): each.scope for each in function.code}.values()
        labels = {place for scope in scopes for each in scope.chain() for place in each.labels.values()}
        for place, instruction in enumerate(function.code):
            if instruction.root == "selp" and place and place not in labels:
                self._before[id(instruction)] = function.code[place - 1]
            for index, name in enumerate(_results(instruction)):
                if (register := instruction.scope.register(name)) is not None:
                    key = id(register[0]), name
                    self._writers.setdefault(key, []).append((instruction, index))
                    self._widths[key] = _bits(register[1])

    def of(self, instruction: Instruction, operand: Operand, width: int) -> Integers:
        """Returns the values that an operand of an instruction may have, in `width` bits."""
        for key in _registers(instruction.scope, operand):
            self._analyse(key)
        try:
            return self.part(instruction.scope, operand, width)
        except _NoValueYet:
            return Integers(width)

    def _analyse(self, key: Key) -> None:
        """Finds the values of a register and of all that it depends on."""
        if key in self._known:
            return
        slice_: dict[Key, None] = {}
        pending = [key]
        while pending:
            each = pending.pop()
            if each in slice_ or each in self._known:
                continue
            slice_[each] = None
            for instruction, _ in self._writers.get(each, ()):
                for operand in instruction.operands[1:]:  # more results would only take time
                    pending += _registers(instruction.scope, operand)
        for each in slice_:
            self._known[each] = None
        order = list(reversed(slice_))
        round_, changed = 0, True
        while changed:
            changed = False
            for each in order:
                before, now = self._known[each], self._written(each)
                if before is not None and now is not None:
                    now = now.join(before)
                    if round_ >= _EXACT_PASSES and now != before:
                        now = Integers(now.width, now.zeros, now.ones)
                if now != before:
                    self._known[each], changed = now, True
            round_ += 1

    def _written(self, key: Key) -> Integers | None:
        """Returns the values that the instructions that write a register give; None before any of them has one.

        A narrower result is extended (PTX ISA, "Operand Size Exceeding Instruction-Type Size").
        """
        joined: Integers | None = None
        for instruction, index in self._writers.get(key, ()):
            with suppress(_NoValueYet):
                found = self._result(instruction, index)
                found = found.extend(self._widths[key], signed=(_type(instruction) or "").startswith("s"))
                joined = found if joined is None else joined.join(found)
        return joined

    def _result(self, instruction: Instruction, index: int) -> Integers:
        rule, parts = _RULES.get(instruction.root), set(instruction.opcode.split("."))
        if rule is None or "sat" in parts or (instruction.root in _ARITHMETIC and _NO_INTEGERS & parts):
            return Integers(_width(instruction))
        return rule(self, instruction, index)

    def part(self, scope: Scope, operand: Operand, width: int) -> Integers:
        """The value of an operand. Raises _NoValueYet."""
        match operand:
            case Immediate("integer", value):
                return Integers.of(int(value), width)
            case Name(name, 0):
                key = _key(scope, name)
                if key is not None:
                    if key not in self._writers:
                        return Integers(width)
                    if (found := self._known.get(key)) is None:
                        raise _NoValueYet
                    return found.extend(width, signed=False)
                if name in _SPECIAL_LIMITS:
                    return Integers.within(0, _SPECIAL_LIMITS[name], width)
            case _:
                pass
        if isinstance(operand, Name) and (variable := scope.variable(operand.name)) is not None:
            if variable.space == "shared":
                start = Integers.within(0, _LAST_SHARED_BYTE, width, variable.alignment)
                return start + Integers.of(operand.offset, width)
        return Integers(width)

    def selected(self, instruction: Instruction, width: int) -> Integers:
        """The second value of a `selp`, without its greatest number where a `setp.eq` in front chooses the first value.

        So the slot of a ring stays below their number: `setp.eq p, r, n; selp r, 0, r, p`.
        """
        found = self.read(instruction, 2, width)
        before = self._before.get(id(instruction))
        if before is None or before.guard is not None or not before.opcode.startswith("setp.eq."):
            return found
        match before.operands, instruction.operands:
            case (Name() as holds, Name() as compared, Immediate("integer", value)), (
                _,
                _,
                Name() as second,
                Name() as p,
            ):
                same = _key(before.scope, compared.name) == _key(instruction.scope, second.name) is not None
                if same and _key(before.scope, holds.name) == _key(instruction.scope, p.name) is not None:
                    if found.low is not None and found.high is not None and found.low < found.high == int(value):
                        return Integers(width, found.zeros, found.ones, found.low, found.high - 1, found.divisor)
            case _:
                pass
        return found

    def read(self, instruction: Instruction, index: int, width: int) -> Integers:
        """The value of an operand; unknown for one that an instruction without its form has not."""
        if index >= len(instruction.operands):
            return Integers(width)
        return self.part(instruction.scope, instruction.operands[index], width)


def _key(scope: Scope, name: str) -> Key | None:
    found = scope.register(name)
    return None if found is None else (id(found[0]), name)


def _registers(scope: Scope, operand: Operand) -> Iterable[Key]:
    match operand:
        case Name(name):
            key = _key(scope, name)
            return () if key is None else (key,)
        case Vector(items):
            return [key for item in items for key in _registers(scope, item)]
        case Address(base, _, rest):
            return [key for item in (base, *rest) for key in _registers(scope, item)]
        case _:
            return ()


def _results(instruction: Instruction) -> list[str]:
    """The names of the registers that an instruction writes: its first operand, but for stores and the like."""
    if not instruction.operands:
        return []
    match instruction.operands[0]:
        case Name(name):
            return [name]
        case Vector(items):
            return [item.name if isinstance(item, Name) else "_" for item in items]
        case Pair(first, second):  # a register and a predicate
            return [first.name, second.name]
        case _:
            return []


def _type(instruction: Instruction) -> str | None:
    """The type of the result: the first in the opcode."""
    return next((part for part in instruction.opcode.split(".") if part in TYPE_SIZES), None)


def _bits(type_: str | None) -> int:
    """Bits of a type; as many as there may be if it has no size, as those of predicates."""
    return TYPE_SIZES[type_] * 8 if type_ in TYPE_SIZES else _WIDEST


def _width(instruction: Instruction) -> int:
    """Bits of the result: those of its type; `.wide` doubles them."""
    type_ = _type(instruction)
    return _bits(type_) * (2 if type_ is not None and ".wide" in instruction.opcode else 1)


def _signed(instruction: Instruction) -> bool:
    return any(part in ("s16", "s32", "s64") for part in instruction.opcode.split("."))


def _computed(combine: Callable[..., Integers], count: int) -> _Rule:
    """Returns the rule of a function of the first `count` sources."""

    def rule(values: Values, instruction: Instruction, index: int) -> Integers:
        width = _width(instruction)
        return combine(*(values.read(instruction, place, width) for place in range(1, count + 1)))

    return rule


def _mov(values: Values, instruction: Instruction, index: int) -> Integers:
    """A copy, or the parts of a wider register, or a register of narrower parts."""
    if len(instruction.operands) != 2:
        return Integers(_width(instruction))
    width, source = _width(instruction), instruction.operands[1]
    target = instruction.operands[0]
    if isinstance(source, Vector):
        part = width // len(source.items)
        total = Integers.of(0, width)
        for place, item in enumerate(source.items):
            found = values.part(instruction.scope, item, part)
            total = total | (found.extend(width, signed=False) << place * part)
        return total
    found = values.read(instruction, 1, width)
    if not isinstance(target, Vector):
        return found
    part = width // len(target.items)
    return found.shift_right(index * part, signed=False).extend(part, signed=False)


def _cvt(values: Values, instruction: Instruction, index: int) -> Integers:
    types = [part for part in instruction.opcode.split(".") if part in TYPE_SIZES]
    if len(types) != 2 or any(name[0] not in "usb" or name in _NO_INTEGERS for name in types):
        return Integers(_width(instruction))
    found = values.read(instruction, 1, TYPE_SIZES[types[1]] * 8)
    return found.extend(_width(instruction), signed=types[1][0] == "s")


def _shift(values: Values, instruction: Instruction, index: int) -> Integers:
    width = _width(instruction)
    found, amount = values.read(instruction, 1, width), values.read(instruction, 2, _AMOUNT_BITS)
    if amount.value is None or amount.value >= width:
        return Integers(width)
    if instruction.root == "shl":
        return found << amount.value
    return found.shift_right(amount.value, signed=_signed(instruction))


def _mul(values: Values, instruction: Instruction, index: int) -> Integers:
    width = _width(instruction)
    if ".hi" in instruction.opcode:
        return Integers(width)
    narrow = width // (2 if ".wide" in instruction.opcode else 1)
    is_signed = _signed(instruction)
    left, right = (values.read(instruction, place, narrow).extend(width, signed=is_signed) for place in (1, 2))
    return left * right + values.read(instruction, 3, width) if instruction.root == "mad" else left * right


def _selp(values: Values, instruction: Instruction, index: int) -> Integers:
    """One of two values; the other one alone where one has none yet."""
    width = _width(instruction)
    try:
        first = values.read(instruction, 1, width)
    except _NoValueYet:
        return values.selected(instruction, width)
    with suppress(_NoValueYet):
        return first.join(values.selected(instruction, width))
    return first


def _copy(values: Values, instruction: Instruction, index: int) -> Integers:
    """shfl: some lane's value of the source."""
    width = _width(instruction)
    return Integers(width) if index else values.read(instruction, 1, width)


def _bfi(values: Values, instruction: Instruction, index: int) -> Integers:
    width = _width(instruction)
    inserted, base = values.read(instruction, 1, width), values.read(instruction, 2, width)
    first, length = (values.read(instruction, place, _AMOUNT_BITS).value for place in (3, 4))
    if first is None or length is None or first + length > width:
        return Integers(width)
    mask = ((1 << length) - 1) << first
    return base & Integers.of(~mask, width) | (inserted << first) & Integers.of(mask, width)


def _bfe(values: Values, instruction: Instruction, index: int) -> Integers:
    width = _width(instruction)
    found = values.read(instruction, 1, width)
    first, length = (values.read(instruction, place, _AMOUNT_BITS).value for place in (2, 3))
    if first is None or length is None or _signed(instruction) or first + length > width:
        return Integers(width)
    return found.shift_right(first, signed=False) & Integers.of((1 << length) - 1, width)


def _lop3(values: Values, instruction: Instruction, index: int) -> Integers:
    """Bit i of the result is that of the table at the number that the bits i of a, b and c spell."""
    width = _width(instruction)
    a, b, c, table = (values.read(instruction, place, width) for place in (1, 2, 3, 4))
    if table.value is None:
        return Integers(width)
    total = Integers.of(0, width)
    for row, (x, y, z) in enumerate(product((~a, a), (~b, b), (~c, c))):
        if table.value >> row & 1:
            total = total | x & y & z
    return total


_RULES: dict[str, _Rule] = {
    "mov": _mov,
    "cvt": _cvt,
    "add": _computed(Integers.__add__, 2),
    "sub": _computed(Integers.__sub__, 2),
    "and": _computed(Integers.__and__, 2),
    "or": _computed(Integers.__or__, 2),
    "xor": _computed(Integers.__xor__, 2),
    "not": _computed(Integers.__invert__, 1),
    "neg": _computed(Integers.__neg__, 1),
    "shl": _shift,
    "shr": _shift,
    "mul": _mul,
    "mad": _mul,
    "selp": _selp,
    "shfl": _copy,
    "bfi": _bfi,
    "bfe": _bfe,
    "lop3": _lop3,
}
"""What instructions compute, by the first part of their opcode; others give nothing that is known."""
