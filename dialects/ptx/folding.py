"""Folding of integer instructions, for `canonicalize`: constants are computed, operands that change nothing dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tirx.dialects.ptx.arith import (
    AddOp,
    AndOp,
    MulLoOp,
    OrOp,
    ShlOp,
    ShrOp,
    SubOp,
    XorOp,
)
from tirx.dialects.ptx.base import is_float, width
from tirx.dialects.ptx.core import ConstantOp, integer_attr


class PtxConstants(ConstantMaterializationInterface):
    """Makes `ptx.constant` of what folding computes."""

    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation | None:
        if not isinstance(value, IntegerAttr | FloatAttr):
            return None
        return ConstantOp(cast("IntegerAttr | FloatAttr", value))


def _signed(bits: int, width: int) -> int:
    return bits - (1 << width) if bits >> (width - 1) else bits


_COMPUTE: dict[type[Operation], Callable[[int, int], int]] = {
    AddOp: lambda a, b: a + b,
    SubOp: lambda a, b: a - b,
    MulLoOp: lambda a, b: a * b,
    AndOp: lambda a, b: a & b,
    OrOp: lambda a, b: a | b,
    XorOp: lambda a, b: a ^ b,
}
"""Instruction -> its result for unsigned operands, of which the register keeps the low bits."""

_COMMUTATIVE = (AddOp, MulLoOp, AndOp, OrOp, XorOp)

_NEUTRAL: dict[type[Operation], int] = {
    AddOp: 0,
    SubOp: 0,
    MulLoOp: 1,
    AndOp: -1,
    OrOp: 0,
    XorOp: 0,
    ShlOp: 0,
    ShrOp: 0,
}
"""Instruction -> the second operand with which its result is the first one."""

_ABSORBING: dict[type[Operation], int] = {MulLoOp: 0, AndOp: 0, OrOp: -1}
"""Instruction -> the operand that is its result, whatever the other one is."""


def _constant(value: SSAValue) -> int | None:
    """The bits of a constant, as an unsigned integer."""
    if isinstance(value.owner, ConstantOp) and isinstance(value.owner.value, IntegerAttr):
        return value.owner.value.value.data & (1 << width(value.type)) - 1
    return None


def _compute(op: Operation, a: int, b: int, bits: int) -> int | None:
    match op:
        case ShlOp():
            return a << min(b, bits)  # amounts beyond the width are the width (PTX ISA, "shl")
        case ShrOp():
            return (a if op.unsigned is not None else _signed(a, bits)) >> min(b, bits)
        case _:
            compute = _COMPUTE.get(type(op))
            return None if compute is None else compute(a, b)


def fold_integers(op: Operation) -> Sequence[SSAValue | Attribute] | None:
    """What the result of an instruction of one or two integers is known to be: a constant, an operand or None."""
    type_ = op.results[0].type
    if is_float(type_) or len(op.operands) != 2:
        return None
    first, second = op.operands
    if isinstance(op, _COMMUTATIVE) and _constant(second) is None:
        first, second = second, first
    bits = width(type_)
    a, b = _constant(first), _constant(second)
    if a is not None and b is not None and (result := _compute(op, a, b, bits)) is not None:
        return [integer_attr(result, type_)]
    mask = (1 << width(second.type)) - 1
    neutral, absorbing = _NEUTRAL.get(type(op)), _ABSORBING.get(type(op))
    if b is not None and neutral is not None and b == neutral & mask:
        return [first]
    if b is not None and absorbing is not None and b == absorbing & mask:
        return [second]
    if a == 0 and isinstance(op, ShlOp | ShrOp):
        return [first]
    return None
