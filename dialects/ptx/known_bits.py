"""Derives the values that a register may have from the instructions that compute it.

Addresses are known no further than their alignment; arguments of blocks, loads and special registers are not known.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, IntegerAttr, IntegerType
from xdsl.ir import Block, Operation, SSAValue

from tirx.dialects.ptx.arith import (
    AddOp,
    AndOp,
    DivOp,
    MadLoOp,
    MulLoOp,
    MulWideOp,
    NegOp,
    NotOp,
    OrOp,
    RemOp,
    SelpOp,
    ShlOp,
    ShrOp,
    SubOp,
    XorOp,
)
from tirx.dialects.ptx.base import PTXInstruction, is_float, width
from tirx.dialects.ptx.conversion import CvtOp, MovOp, PackOp, UnpackOp
from tirx.dialects.ptx.core import ConstantOp, EntryOp, SharedAllocOp
from tirx.dialects.xdsl_private import operands_of
from tirx.symbolic.integers import Integers

IMMEDIATE = 1
"""The depth at which only literals are known."""

EVERYTHING = 64
"""The depth at which all is known that is worth the time."""


_CUT = 1 << 30
"""More instructions than there are, one behind the other."""

_Found: TypeAlias = dict[object, tuple[int, Integers]]
"""A register, or a register at a depth that is not enough for it -> the instructions that were looked at one behind the
other, and what is known. Each is derived once, however many paths lead to it."""

_FOUND: ContextVar[_Found | None] = ContextVar("known bits that were found", default=None)


@contextmanager
def bits_found_once() -> Generator[None]:
    """`known_bits` looks once at each register. Inside of it no instruction may change."""
    token = _FOUND.set({})
    try:
        yield
    finally:
        _FOUND.reset(token)


def known_bits(value: SSAValue, depth: int = EVERYTHING) -> Integers:
    """The values that a register may have, whenever the kernel runs.

    `depth`: instructions that are looked at, one behind the other.
    """
    if depth == IMMEDIATE and type(value.owner) not in (ConstantOp, arith.ConstantOp):
        return _unknown(width(value.type))
    found = _FOUND.get()
    return _known(value, depth, {} if found is None else found)[1]


def immediates_of(op: Operation) -> list[int | float] | None:
    """Returns the places and values of literals among the operands of an instruction of an entry.

    That is all that is known of operands at the depth `IMMEDIATE`. None if some of them are no registers.
    """
    found: list[int | float] = []
    before = None
    for place, value in enumerate(operands_of(op)):
        owner = value.owner
        if owner is before:
            continue
        if type(owner) is ConstantOp:
            found += place, owner.value.value.data
        elif type(value.type) in _REGISTERS and isinstance(owner, _OPAQUE):
            before = owner
        else:
            return None
    return found if type(op.parent_op()) is EntryOp else None


_REGISTERS = frozenset((IntegerType, Float32Type))
_OPAQUE = (PTXInstruction, Block)


@cache
def _unknown(bits: int) -> Integers:
    return Integers(bits)


_Of: TypeAlias = Callable[[SSAValue], Integers]
"""The values that an operand may have."""

_Rule: TypeAlias = Callable[[Any, int, _Of], Integers | None]
"""The values of a result of so many bits; None where nothing is known."""


def _known(value: SSAValue, depth: int, found: _Found) -> tuple[int, Integers]:
    if (known := found.get(value)) is not None and known[0] <= depth:
        return known
    bits = width(value.type)
    if depth == 0 or is_float(value.type):
        return (_CUT if depth == 0 else 0), _unknown(bits)
    key = value, depth
    if (known := found.get(key)) is None:
        behind = [0]
        derived = _derive(value, bits, depth - 1, found, behind)
        known = max(behind) + 1, derived
        found[value if known[0] <= depth else key] = known
    return known


def _derive(value: SSAValue, bits: int, depth: int, found: _Found, behind: list[int]) -> Integers:
    def of(operand: SSAValue) -> Integers:
        looked_at, known = _known(operand, depth, found)
        behind.append(looked_at)
        return known

    op = value.owner
    if type(op) is UnpackOp:
        half = whole = of(op.operand)
        if value is not op.results[0]:
            half = whole.shift_right(bits, signed=False)
        return half.extend(bits, signed=False)
    rule = _RULES.get(type(op))
    known = None if rule is None else rule(op, bits, of)
    return _unknown(bits) if known is None else known


def _constant(op: ConstantOp | arith.ConstantOp, bits: int, of: _Of) -> Integers | None:
    return Integers.of(op.value.value.data, bits) if isinstance(op.value, IntegerAttr) else None


def _mul_wide(op: MulWideOp, bits: int, of: _Of) -> Integers:
    signed = op.unsigned is None
    return of(op.lhs).extend(bits, signed=signed) * of(op.rhs).extend(bits, signed=signed)


def _shl(op: ShlOp, bits: int, of: _Of) -> Integers | None:
    amount = _shift(of(op.amount), bits)
    return None if amount is None else of(op.value) << amount


def _shr(op: ShrOp, bits: int, of: _Of) -> Integers | None:
    amount = _shift(of(op.amount), bits)
    return None if amount is None else of(op.value).shift_right(amount, signed=op.unsigned is None)


def _div(op: DivOp, bits: int, of: _Of) -> Integers | None:
    divisor = None if op.unsigned is None else of(op.rhs).value
    return of(op.lhs).unsigned_quotient(divisor) if divisor else None


def _rem(op: RemOp, bits: int, of: _Of) -> Integers | None:
    divisor = None if op.unsigned is None else of(op.rhs).value
    return of(op.lhs).unsigned_remainder(divisor) if divisor else None


def _cvt(op: CvtOp, bits: int, of: _Of) -> Integers | None:
    return None if is_float(op.operand.type) else of(op.operand).extend(bits, signed=op.unsigned is None)


def _pack(op: PackOp, bits: int, of: _Of) -> Integers:
    low, high = (of(half).extend(bits, signed=False) for half in (op.low, op.high))
    return low | high << bits // 2


_RULES: Mapping[type, _Rule] = {
    ConstantOp: _constant,
    arith.ConstantOp: _constant,
    SharedAllocOp: lambda op, bits, of: Integers(bits, op.align.data - 1 & (1 << bits) - 1),
    AndOp: lambda op, bits, of: of(op.lhs) & of(op.rhs),
    OrOp: lambda op, bits, of: of(op.lhs) | of(op.rhs),
    XorOp: lambda op, bits, of: of(op.lhs) ^ of(op.rhs),
    AddOp: lambda op, bits, of: of(op.lhs) + of(op.rhs),
    SubOp: lambda op, bits, of: of(op.lhs) - of(op.rhs),
    MulLoOp: lambda op, bits, of: of(op.lhs) * of(op.rhs),
    MadLoOp: lambda op, bits, of: of(op.a) * of(op.b) + of(op.c),
    NotOp: lambda op, bits, of: ~of(op.operand),
    NegOp: lambda op, bits, of: -of(op.operand),
    MulWideOp: _mul_wide,
    ShlOp: _shl,
    ShrOp: _shr,
    DivOp: _div,
    RemOp: _rem,
    SelpOp: lambda op, bits, of: of(op.on_true).join(of(op.on_false)),
    CvtOp: _cvt,
    MovOp: lambda op, bits, of: of(op.operand),
    PackOp: _pack,
}
"""Instruction with one result -> what is known of that."""


def _shift(amount: Integers, bits: int) -> int | None:
    """A known shift amount; greater ones than the width are clamped (PTX ISA, "shl" and "shr")."""
    return None if amount.value is None else min(amount.value, bits)
