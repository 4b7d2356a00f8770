"""The number of registers that the values of a loop need."""

from __future__ import annotations

from itertools import accumulate
from math import prod

from xdsl.dialects import scf
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from tirx.dialects.nesting import walk
from tirx.dialects.ptx.base import register_class
from tirx.dialects.ptx.core import REGISTER_LIMIT, ConstantOp, EntryOp
from tirx.dialects.xdsl_private import operands_of, type_of
from tirx.passes.rings.start_values import entry_bound

_REGISTERS = {1: 0, 16: 1, 32: 1, 64: 2}
"""Bits of a class of registers -> registers of 32 bits: predicates have a file of their own."""


def width(value: SSAValue) -> int:
    """Registers of 32 bits that hold a value: none for numbers, which are in instructions, and predicates."""
    return 0 if type(value) is OpResult and type(value.op) is ConstantOp else _width(type_of(value))


def _width(type_: Attribute) -> int:
    registers = register_class(type_)
    return 1 if registers is None else _REGISTERS[registers.bits]


def registers_alive(around: scf.ForOp | EntryOp) -> int:
    """The most registers of 32 bits that are alive at one place of a loop or entry, with instructions in their order.

    Values from outside that a loop uses live in all of it, as it begins again.
    """
    position: dict[Operation, int] = {op: at for at, op in enumerate(walk(around))}
    last = {used: at for op, at in position.items() if at for used in operands_of(op)}
    changes = [0] * len(position)
    widths: dict[int, int] = {}
    """The identity of a type -> the width of its values."""
    for value, end in last.items():
        definition = value.op if type(value) is OpResult else value.owner.parent_op()
        if type(definition) is ConstantOp:
            continue
        type_ = type_of(value)
        if (registers := widths.get(id(type_))) is None:
            registers = widths[id(type_)] = _width(type_)
        if not registers:
            continue
        if definition is None or (start := position.get(definition)) is None:
            changes[0] += registers
        else:
            changes[start] += registers
            changes[end] -= registers
    return max(accumulate(changes))


def registers_of_threads(entry: EntryOp) -> int:
    """The registers of 32 bits of each thread of an entry: all that the file has for a block, unless it says less."""
    if entry.reqntid is None:
        return REGISTER_LIMIT
    if entry.maxnreg is not None:
        return entry.maxnreg.data
    return entry_bound(-(-prod(extent.data for extent in entry.reqntid) // 32))
