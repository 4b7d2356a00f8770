"""The numbers that registers take over all turns of loops, where they come from constants and counters alone."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, i1, i32, i64
from xdsl.ir import BlockArgument, Operation, SSAValue

from tirx.dialects.ptx.core import ConstantOp, SharedAllocOp
from tirx.layout.arrays import np
from tirx.passes.analysis.thread_values import Numbers, arithmetic, incoming, wrapped

_MOST_NUMBERS = 64
"""Numbers of one register that are followed: more than any ring has slots."""

_MOST_DEPTH = 100
"""Operations between a register and what it is computed from."""


@dataclass(frozen=True)
class _Leaves:
    """What a register is computed from, besides constants. `depth`: operations in between."""

    arguments: frozenset[BlockArgument]
    allocations: frozenset[SharedAllocOp]
    depth: int


@dataclass(frozen=True, eq=False)
class Taken:
    """Numbers in ascending order, counted from the address of `allocation` where there is one."""

    allocation: SharedAllocOp | None
    numbers: Numbers


class Counters:
    """
    Follows counters of loops such as the slots of a ring: block arguments that begin with constants and whose next
    value is a function of one of them, or of one that is such a counter itself.

    How often a loop runs is not looked at: the numbers are those of a loop that runs often enough. Counters that do not
    come back to where they began are not known, as the first or the last number may be one that the loop does not use.
    """

    def __init__(self):
        self._leaves: dict[SSAValue, _Leaves | None] = {}
        self._taken: dict[BlockArgument, Taken | None] = {}

    def taken(self, value: SSAValue) -> Taken | None:
        """Returns the numbers that `value` takes, the same in all threads; None if they are not known."""
        leaves = self._leaves_of(value)
        if leaves is None or len(leaves.arguments) > 1:
            return None
        allocations, argument, numbers = leaves.allocations, None, np.zeros(1, np.int64)
        for argument in leaves.arguments:
            if (counter := self._counter(argument)) is None:
                return None
            numbers = counter.numbers
            allocations |= set[SharedAllocOp]() if counter.allocation is None else {counter.allocation}
        found = _evaluate(value, argument, numbers, {})
        if found is None or len(allocations) > 1:
            return None
        return Taken(next(iter(allocations), None), np.unique(found))

    def _counter(self, argument: BlockArgument) -> Taken | None:
        if argument not in self._taken:
            self._follow(argument)
        return self._taken[argument]

    def _follow(self, argument: BlockArgument) -> None:
        """Finds what an argument and all that it is computed from take, or that it is not known."""
        self._taken[argument] = None
        sources: dict[BlockArgument, list[tuple[SSAValue, BlockArgument | None]]] = {}
        waiting, allocations = [argument], set[SharedAllocOp]()
        while waiting:
            one = waiting.pop()
            if one in sources:
                continue
            sources[one] = []
            for value in incoming(one.block, one):
                leaves = self._leaves_of(value)
                if leaves is None or len(leaves.arguments) > 1:
                    return
                allocations |= leaves.allocations
                source = next(iter(leaves.arguments), None)
                sources[one].append((value, source))
                waiting += leaves.arguments
            if not sources[one]:
                return
        numbers = {one: np.zeros(0, np.int64) for one in sources}
        changed = True
        while changed:
            changed = False
            for one, values in sources.items():
                for value, source in values:
                    given = np.zeros(1, np.int64) if source is None else numbers[source]
                    found = _evaluate(value, source, given, {}) if len(given) else given
                    if found is None:
                        return
                    together = np.union1d(numbers[one], found)
                    if len(together) > _MOST_NUMBERS:
                        return
                    changed |= len(together) > len(numbers[one])
                    numbers[one] = together
        if any(len(found) == 0 for found in numbers.values()):
            return  # a loop that nothing enters
        if len(allocations) <= 1 and all(_comes_back(values, numbers, numbers[one]) for one, values in sources.items()):
            for one, found in numbers.items():
                self._taken[one] = Taken(next(iter(allocations), None), found)

    def _leaves_of(self, value: SSAValue, above: int = 0) -> _Leaves | None:
        """What `value` is computed from, for one that is `above` so many operations."""
        if value not in self._leaves:
            self._leaves[value] = self._find_leaves(value, above)
        return self._leaves[value]

    def _find_leaves(self, value: SSAValue, above: int) -> _Leaves | None:
        if value.type not in (i1, i32, i64) or above > _MOST_DEPTH:
            return None
        nothing = frozenset[BlockArgument](), frozenset[SharedAllocOp]()
        match value.owner:
            case ConstantOp(value=IntegerAttr()):
                return _Leaves(*nothing, 0)
            case SharedAllocOp() as allocation:
                return _Leaves(nothing[0], frozenset((allocation,)), 0)
            case Operation() as op if op.operands and len(op.results) == 1:
                found = [self._leaves_of(operand, above + 1) for operand in op.operands]
                known = [one for one in found if one is not None]
                depth = max((one.depth for one in known), default=0) + 1
                if len(known) < len(found) or depth > _MOST_DEPTH:
                    return None
                return _Leaves(
                    frozenset[BlockArgument]().union(*(one.arguments for one in known)),
                    frozenset[SharedAllocOp]().union(*(one.allocations for one in known)),
                    depth,
                )
            case _:
                return _Leaves(frozenset((value,)), nothing[1], 0) if isinstance(value, BlockArgument) else None


def _comes_back(
    values: list[tuple[SSAValue, BlockArgument | None]], numbers: dict[BlockArgument, Numbers], own: Numbers
) -> bool:
    """Returns True if a counter takes all of its `own` numbers in later turns too, or if it only takes constants."""
    again = [_evaluate(value, source, numbers[source], {}) for value, source in values if source is not None]
    return not again or bool(np.isin(own, np.concatenate([each for each in again if each is not None])).all())


def _evaluate(
    value: SSAValue, argument: BlockArgument | None, numbers: Numbers, known: dict[SSAValue, Numbers | None]
) -> Numbers | None:
    """What `value` is for each number of `argument`, None if it cannot be computed. Allocations are at 0."""
    if value is argument:
        return numbers
    if value in known:
        return known[value]
    match value.owner:
        case ConstantOp(value=IntegerAttr() as number):
            found = np.full(len(numbers), number.value.data, np.int64)
        case SharedAllocOp():
            found = np.zeros(len(numbers), np.int64)
        case Operation() as op:
            operands = [_evaluate(operand, argument, numbers, known) for operand in op.operands]
            computed = [operand for operand in operands if operand is not None]
            found = arithmetic(op, computed) if len(computed) == len(operands) else None
        case _:
            found = None
    known[value] = None if found is None else wrapped(found, value.type)
    return known[value]
