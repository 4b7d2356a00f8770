"""Finds the operations around another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, cast

from xdsl.ir import Operation, SSAValue

from tirx.dialects.xdsl_private import operations as operations
from tirx.dialects.xdsl_private import walk as walk

_OpT = TypeVar("_OpT")


def ancestors(op: Operation) -> Iterator[Operation]:
    """The operations around `op`, innermost first."""
    around = op.parent_op()
    while around is not None:
        yield around
        around = around.parent_op()


def enclosing(op: Operation, *kinds: type[_OpT]) -> _OpT | None:
    """The innermost operation around `op` that is of one of the `kinds`, None if there is none."""
    around = op.parent_op()
    while around is not None and not isinstance(around, kinds):
        around = around.parent_op()
    return around


def top_of(op: Operation, outer: Operation) -> Operation | None:
    """Returns the operation directly in `outer` that is `op` or has it inside; None for one outside of `outer`."""
    around: Operation | None = op
    while around is not None and around.parent_op() is not outer:
        around = around.parent_op()
    return around


def captured(op: Operation) -> list[SSAValue]:
    """Returns the values from around an operation that it and those inside of it use, in their order."""
    ops = walk(op)
    inside = set(ops)
    used = dict.fromkeys(value for each in ops for value in each.operands)
    owners = ((value, value.owner) for value in used)
    return [value for value, at in owners if (at if isinstance(at, Operation) else at.parent_op()) not in inside]


class Listed:
    """Operations in order, of which those of some classes are asked for, as those that `walk` finds inside of one."""

    def __init__(self, ops: Sequence[Operation]):
        self.ops = ops
        self._kinds = {*map(type, ops)}

    def of(self, *kinds: type[_OpT]) -> list[_OpT]:
        """Returns those of some classes, which others do not inherit from, in order."""
        return cast("list[_OpT]", self.where(kinds.__contains__))

    def where(self, wanted: Callable[[type[Operation]], bool]) -> list[Operation]:
        """Returns those whose class is wanted, in order. Looks at operations only if a class is."""
        found = {kind for kind in self._kinds if wanted(kind)}
        return [op for op in self.ops if type(op) in found] if found else []


class QuickWalk(Operation):
    """An operation with many inside, which are walked in the order of xDSL, but quickly."""

    def walk(self, *, reverse: bool = False, region_first: bool = False) -> Iterator[Operation]:
        """As `Operation.walk`, of what is inside of it when it is called."""
        if reverse:
            return super().walk(reverse=True, region_first=region_first)
        return iter(walk(self, region_first=region_first))
