"""Folding of integer instructions, for `canonicalize`: constants are computed, operands that change nothing dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tirx.dialects.ptx.base import is_float, width
from tirx.dialects.ptx.core import ConstantOp, integer_attr, integer_of


class PtxConstants(ConstantMaterializationInterface):
    """Makes `ptx.constant` of what folding computes."""

    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation | None:
        if not isinstance(value, IntegerAttr | FloatAttr):
            return None
        return ConstantOp(cast("IntegerAttr | FloatAttr", value))


def _signed(bits: int, width: int) -> int:
    return bits - (1 << width) if bits >> (width - 1) else bits


_COMPUTE: dict[str, Callable[[int, int], int]] = {
    "ptx.add": lambda a, b: a + b,
    "ptx.sub": lambda a, b: a - b,
    "ptx.mul.lo": lambda a, b: a * b,
    "ptx.and": lambda a, b: a & b,
    "ptx.or": lambda a, b: a | b,
    "ptx.xor": lambda a, b: a ^ b,
}
"""Instruction -> its result for unsigned operands, of which the register keeps the low bits."""

_COMMUTATIVE = ("ptx.add", "ptx.mul.lo", "ptx.and", "ptx.or", "ptx.xor")
_SHIFTS = ("ptx.shl", "ptx.shr")

_NEUTRAL = {"ptx.mul.lo": 1, "ptx.and": -1} | dict.fromkeys(("ptx.add", "ptx.sub", "ptx.or", "ptx.xor", *_SHIFTS), 0)
"""Instruction -> the second operand with which its result is the first one."""

_ABSORBING = {"ptx.mul.lo": 0, "ptx.and": 0, "ptx.or": -1}
"""Instruction -> the operand that is its result, whatever the other one is."""


def _constant(value: SSAValue) -> int | None:
    """The bits of a constant, as an unsigned integer."""
    number = integer_of(value)
    return None if number is None else number & (1 << width(value.type)) - 1


def _compute(op: Operation, a: int, b: int, bits: int) -> int | None:
    match op.name:
        case "ptx.shl":
            return a << min(b, bits)  # amounts beyond the width are the width (PTX ISA, "shl")
        case "ptx.shr":
            return (a if "unsigned" in op.properties else _signed(a, bits)) >> min(b, bits)
        case name:
            compute = _COMPUTE.get(name)
            return None if compute is None else compute(a, b)


def fold_integers(op: Operation) -> Sequence[SSAValue | Attribute] | None:
    """Returns the known result of an instruction of one or two integers: a constant, an operand or None."""
    type_ = op.results[0].type
    if is_float(type_) or len(op.operands) != 2:
        return None
    first, second = op.operands
    if op.name in _COMMUTATIVE and _constant(second) is None:
        first, second = second, first
    bits = width(type_)
    a, b = _constant(first), _constant(second)
    if a is not None and b is not None and (result := _compute(op, a, b, bits)) is not None:
        return [integer_attr(result, type_)]
    mask = (1 << width(second.type)) - 1
    neutral, absorbing = _NEUTRAL.get(op.name), _ABSORBING.get(op.name)
    if b is not None and neutral is not None and b == neutral & mask:
        return [first]
    if b is not None and absorbing is not None and b == absorbing & mask:
        return [second]
    if a == 0 and op.name in _SHIFTS:
        return [first]
    return None
