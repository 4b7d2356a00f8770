"""The number of registers that the values of a loop need."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import f64, i1, i64
from xdsl.ir import Operation, SSAValue

from tirx.dialects.ptx.core import REGISTER_LIMIT, ConstantOp, EntryOp
from tirx.dialects.ptx.sync import SetMaxNRegOp
from tirx.passes.rings.start_values import entry_bound


def width(value: SSAValue) -> int:
    """Registers of 32 bits that hold a value: none for numbers, which are in instructions, and predicates."""
    if isinstance(value.owner, ConstantOp) or value.type == i1:
        return 0
    return 2 if value.type in (f64, i64) else 1


def registers_alive(around: scf.ForOp | EntryOp) -> int:
    """The most registers of 32 bits that are alive at one place of a loop or entry, with instructions in their order.

    Values from outside that a loop uses live in all of it, as it begins again.
    """
    position: dict[Operation, int] = {op: at for at, op in enumerate(around.walk())}
    last = {operand: at for op, at in position.items() if op is not around for operand in op.operands}
    changes: Counter[int] = Counter()
    for value, end in last.items():
        owner = value.owner
        definition = owner if isinstance(owner, Operation) else owner.parent_op()
        start = 0 if definition is None else position.get(definition, 0)
        changes[start] += width(value)
        if definition in position:
            changes[end] -= width(value)
    return max(accumulate(changes[at] for at in range(len(position))))


def registers_of_thread(op: Operation) -> int:
    """The registers of 32 bits of the threads that execute `op` in an entry.

    Those that their role has asked for, else those of the entry, else all that the file has for the threads of a block.
    """
    at: Operation | None = op
    while at is not None and not isinstance(at, EntryOp):
        before = at
        while (before := before.prev_op) is not None:
            if isinstance(before, SetMaxNRegOp):
                return before.count.value.data
        at = at.parent_op()
    if at is None or at.reqntid is None:
        return REGISTER_LIMIT
    if at.maxnreg is not None:
        return at.maxnreg.data
    return entry_bound(-(-prod(extent.data for extent in at.reqntid) // 32))
