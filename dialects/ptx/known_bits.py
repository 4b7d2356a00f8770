"""Derives the values that a register may have from the instructions that compute it.

Addresses are known no further than their alignment; arguments of blocks, loads and special registers are not known.
"""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

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
from tirx.dialects.ptx.base import is_float, width
from tirx.dialects.ptx.conversion import CvtOp, MovOp, PackOp, UnpackOp
from tirx.dialects.ptx.core import ConstantOp, SharedAllocOp
from tirx.hw.integers import Integers

IMMEDIATE = 1
"""The depth at which only literals are known."""

EVERYTHING = 64
"""The depth at which all is known that is worth the time."""


def known_bits(value: SSAValue, depth: int = EVERYTHING) -> Integers:
    """The values that a register may have, whenever the kernel runs.

    `depth`: instructions that are looked at, one behind the other.
    """
    return _known(value, depth, {})


_Found: TypeAlias = dict[tuple[SSAValue, int], Integers]
"""Registers at a depth: each is derived once, however many paths lead to it."""


def _known(value: SSAValue, depth: int, found: _Found) -> Integers:
    bits = width(value.type)
    if depth == 0 or is_float(value.type):
        return Integers(bits)
    if (value, depth) not in found:
        found[value, depth] = _derive(value, bits, depth - 1, found)
    return found[value, depth]


def _derive(value: SSAValue, bits: int, depth: int, found: _Found) -> Integers:
    def of(operand: SSAValue) -> Integers:
        return _known(operand, depth, found)

    match op := value.owner:
        case ConstantOp(value=IntegerAttr() as constant):
            return Integers.of(constant.value.data, bits)
        case SharedAllocOp():
            return Integers(bits, op.align.data - 1 & (1 << bits) - 1)
        case AndOp():
            return of(op.lhs) & of(op.rhs)
        case OrOp():
            return of(op.lhs) | of(op.rhs)
        case XorOp():
            return of(op.lhs) ^ of(op.rhs)
        case AddOp():
            return of(op.lhs) + of(op.rhs)
        case SubOp():
            return of(op.lhs) - of(op.rhs)
        case MulLoOp():
            return of(op.lhs) * of(op.rhs)
        case MadLoOp():
            return of(op.a) * of(op.b) + of(op.c)
        case NotOp():
            return ~of(op.operand)
        case NegOp():
            return -of(op.operand)
        case MulWideOp():
            signed = op.unsigned is None
            return of(op.lhs).extend(bits, signed=signed) * of(op.rhs).extend(bits, signed=signed)
        case ShlOp() if (amount := _shift(of(op.amount), bits)) is not None:
            return of(op.value) << amount
        case ShrOp() if (amount := _shift(of(op.amount), bits)) is not None:
            return of(op.value).shift_right(amount, signed=op.unsigned is None)
        case DivOp() if op.unsigned is not None and (divisor := of(op.rhs).value):
            return of(op.lhs).unsigned_quotient(divisor)
        case RemOp() if op.unsigned is not None and (divisor := of(op.rhs).value):
            return of(op.lhs).unsigned_remainder(divisor)
        case SelpOp():
            return of(op.on_true).join(of(op.on_false))
        case CvtOp() if not is_float(op.operand.type):
            return of(op.operand).extend(bits, signed=op.unsigned is None)
        case MovOp():
            return of(op.operand)
        case PackOp():
            low, high = (of(half).extend(bits, signed=False) for half in (op.low, op.high))
            return low | high << bits // 2
        case UnpackOp():
            whole = of(op.operand)
            half = whole if value is op.results[0] else whole.shift_right(bits, signed=False)
            return half.extend(bits, signed=False)
        case _:
            return Integers(bits)


def _shift(amount: Integers, bits: int) -> int | None:
    """A known shift amount; greater ones than the width are clamped (PTX ISA, "shl" and "shr")."""
    return None if amount.value is None else min(amount.value, bits)
