"""Numbers for scalars that every role can compute: equal numbers mean equal values, whichever role computes them."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects import scf
from xdsl.dialects.arith import CmpiOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tirx.dialects.nesting import ancestors
from tirx.dialects.tirx import AcquireOp, ForOp, RingOp, TilesOp
from tirx.dialects.tirx.thread_sets import thread_owner
from tirx.dialects.traits import is_pure
from tirx.dialects.xdsl_private import operands_of
from tirx.passes.ir.emitter import constant_value

_TRUE_FOR_ZERO = {0: True, 1: False, 4: False, 8: False}
"""Predicates of arith.cmpi (eq, ne, sgt, ugt) that tell 0 from larger numbers, and whether they are true for 0."""


class ScalarNames:
    """Numbers for the values of scalars.

    Pure expressions of the arguments of the kernel, of block ids and of the iterations of loops have equal numbers if
    they are equal terms. What a ring hands on has one number for all roles that read it once per iteration. Every other
    value has a number of its own.
    """

    def __init__(self) -> None:
        self._numbers: dict[SSAValue, int] = {}
        self._terms: dict[Hashable, int] = {}
        self._loops: dict[scf.ForOp, str] = {}
        self._loop_numbers: dict[Hashable, int] = {}

    def __call__(self, value: SSAValue) -> int:
        """The number of a value."""
        stack = [value]
        while stack:
            current = stack[-1]
            operands = _operands(current)
            missing = [operand for operand in operands if operand not in self._numbers]
            if current in self._numbers:
                stack.pop()
            elif missing:
                stack += missing
            else:
                term = self._term(current, tuple(self._numbers[operand] for operand in operands))
                self._numbers[current] = self._terms.setdefault(term, len(self._terms))
        return self._numbers[value]

    def _term(self, value: SSAValue, operands: tuple[int, ...]) -> Hashable:
        """Returns a key that equal values share, given the numbers of the operands."""
        if isinstance(value, BlockArgument):
            loop = value.block.parent_op()
            if isinstance(loop, ForOp) and value.index == 0:
                return ("iteration", loop.loop.data)
            if isinstance(loop, scf.ForOp) and loop in self._loops and value.index == 0:
                return ("iteration", self._loops[loop])
            if isinstance(loop, TilesOp):
                return ("tile", loop.loop.data, value.index)
        elif isinstance(value, OpResult):
            op = value.op
            if isinstance(op, AcquireOp) and _is_only_acquire(op):
                return ("ring", RingOp.of(op.ring), value.index, self._around(op))
            if _is_pure(op):
                attributes = frozenset(op.properties.items()), frozenset(op.attributes.items())
                return (op.name, value.index, attributes, operands)
        return value

    def bounds(self, loop: scf.ForOp) -> Hashable:
        """Equal for sequential loops that run as often."""
        return tuple(map(self, (loop.lb, loop.ub, loop.step)))

    def name_loop(self, loop: scf.ForOp) -> str:
        """Names a sequential loop as those of other roles that run as often: roles have copies of one loop."""
        owner, bounds = thread_owner(loop), self.bounds(loop)
        before = sum(thread_owner(other) is owner and self.bounds(other) == bounds for other in self._loops)
        number = self._loop_numbers.setdefault((bounds, before), len(self._loop_numbers))
        self._loops[loop] = name = f"scf.for {number}"
        return name

    def _around(self, op: Operation) -> tuple[str, ...]:
        loops = (around for around in ancestors(op) if isinstance(around, ForOp | TilesOp | scf.ForOp))
        return tuple(self._loops[loop] if isinstance(loop, scf.ForOp) else loop.loop.data for loop in loops)

    def zero_test(self, condition: SSAValue) -> tuple[int, bool] | None:
        """The scalar that a condition compares with 0, and whether it is true for 0; None for another condition."""
        if not isinstance(test := condition.owner, CmpiOp):
            return None
        is_true = _TRUE_FOR_ZERO.get(test.predicate.value.data)
        if is_true is None or constant_value(test.rhs) != 0:
            return None
        return self(test.lhs), is_true


def _operands(value: SSAValue) -> tuple[SSAValue, ...]:
    return operands_of(value.op) if isinstance(value, OpResult) and _is_pure(value.op) else ()


def _is_pure(op: Operation) -> bool:
    return is_pure(op) and not op.regions


def _is_only_acquire(op: AcquireOp) -> bool:
    """True if the role of `op` acquires its ring at this station nowhere else."""
    others = [use.operation for use in op.ring.uses if isinstance(use.operation, AcquireOp)]
    return not any(
        other is not op and other.station == op.station and thread_owner(other) is thread_owner(op) for other in others
    )
