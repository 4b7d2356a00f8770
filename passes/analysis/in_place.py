"""Which instructions cannot overwrite an operand in its register, because something else reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tirx.dialects.ptx.base import PTXInstruction
from tirx.dialects.ptx.core import ConstantOp, EntryOp


@dataclass(frozen=True)
class InPlace:
    """
    `result` of `op` takes the register of its operand `index`. `problem`: what that operand is, where it cannot; None
    where it can.
    """

    op: PTXInstruction
    result: SSAValue
    index: int
    problem: str | None

    @property
    def operand(self) -> SSAValue:
        return self.op.operands[self.index]


def in_place_operands(entry: EntryOp) -> Iterator[InPlace]:
    """All results of an entry that take the register of an operand (`PTXInstruction.in_place`), in order."""
    reached: dict[tuple[Block | None, Block | None], set[Block]] = {}
    for op in entry.body.walk():
        if not isinstance(op, PTXInstruction):
            continue
        for result, index in op.in_place():
            operand = op.operands[index]
            origin = operand.owner if isinstance(operand.owner, Block) else operand.owner.parent
            behind = reached.get((op.parent, origin))
            if behind is None:
                behind = reached[op.parent, origin] = _behind(op.parent, origin)
            yield InPlace(op, result, index, _problem(op, operand, behind))


def _problem(op: Operation, operand: SSAValue, behind: set[Block]) -> str | None:
    if isinstance(operand.owner, ConstantOp):
        return "a constant"
    if op.parent in behind:
        return "one from outside of a loop"
    if any(_is_later(use.operation, op, behind) for use in operand.uses):
        return "one that is used again"
    if sum(use.operation is op for use in operand.uses) > 1:
        return "one that it uses twice"
    return None


def _behind(block: Block | None, origin: Block | None) -> set[Block]:
    """The blocks that paths from the end of `block` come to without passing through `origin`."""
    pending = [block]
    reached: set[Block] = set()
    while pending:
        last = None if (current := pending.pop()) is None else current.last_op
        fresh = [b for b in (() if last is None else last.successors) if b is not origin and b not in reached]
        reached.update(fresh)
        pending += fresh
    return reached


def _is_later(user: Operation, op: Operation, behind: set[Block]) -> bool:
    """Returns True if `user` may be executed after `op`, which the blocks `behind` follow."""
    return user.parent in behind or (user is not op and user.parent is op.parent and op.is_before_in_block(user))
