"""The numbers that registers take over all turns of loops, where they come from constants and counters alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Block, BlockArgument, SSAValue

from tirx.dialects.ptx.core import ConstantOp, SharedAllocOp
from tirx.dialects.xdsl_private import operands_of
from tirx.layout.arrays import np
from tirx.passes.checks.thread_values import (
    Numbers,
    ThreadValues,
    arithmetic,
    incoming,
    is_integer,
    wrapped,
)
from tirx.values import dataclass

_MOST_NUMBERS = 64
"""Numbers of one register that are followed: more than any ring has slots."""

_MOST_DEPTH = 100
"""Operations between a register and what it is computed from."""


class _Leaves(NamedTuple):
    """The argument and the allocation that a register is computed from, besides constants, and how far they are."""

    argument: BlockArgument | None
    allocation: SharedAllocOp | None
    depth: int
    """Operations in between."""


_Known: TypeAlias = dict[SSAValue, int | Numbers | None]
"""Registers -> what they are for each number of an argument."""


@dataclass(frozen=True, eq=False)
class Taken:
    """Numbers in ascending order, counted from the address of `allocation` where there is one."""

    allocation: SharedAllocOp | None
    numbers: Numbers

    @property
    def base(self) -> object:
        """Equal for allocations that begin at the same address, as all dynamic shared memory does."""
        return self.allocation if self.allocation is None or self.allocation.dynamic is None else SharedAllocOp

    @property
    def places(self) -> list[tuple[object, int]]:
        """Bytes of allocations."""
        return [(self.base, number) for number in self.numbers.tolist()]


class Counters:
    """
    Follows counters of loops such as the slots of a ring: block arguments that begin with constants and whose next
    value is a function of one of them, or of one that is such a counter itself.

    How often a loop runs is not looked at: the numbers are those of a loop that runs often enough. Counters that do not
    come back to where they began are not known, as the first or the last number may be one that the loop does not use.
    """

    def __init__(self, values: ThreadValues | None = None):
        """`values` are those of the threads of the entry, of which what is the same in all threads is taken."""
        self._values = values
        self._constants: dict[SSAValue, int] = {}
        """Registers of `values` that were asked for -> what they are in all threads."""
        self._leaves: dict[SSAValue, _Leaves | None] = {}
        self._counters: dict[BlockArgument, Taken | None] = {}
        self._taken: dict[SSAValue, Taken | None] = {}
        self._known: defaultdict[BlockArgument | None, _Known] = defaultdict(dict)
        """Numbers of registers for all numbers that arguments take."""

    def taken(self, value: SSAValue) -> Taken | None:
        """Returns the numbers that `value` takes, the same in all threads; None if they are not known."""
        if value not in self._taken:
            self._taken[value] = self._find_taken(value)
        return self._taken[value]

    def _find_taken(self, value: SSAValue) -> Taken | None:
        if (leaves := self._leaves_of(value)) is None:
            return None
        if value in self._constants:
            return Taken(leaves.allocation, np.array([self._constants[value]], np.int64))
        allocations, numbers = {leaves.allocation}, 0
        if leaves.argument is not None:
            if (counter := self._counter(leaves.argument)) is None:
                return None
            numbers = counter.numbers
            allocations.add(counter.allocation)
        allocations.discard(None)
        found = evaluated(value, leaves.argument, numbers, self._known[leaves.argument], self._constants)
        if found is None or len(allocations) > 1:
            return None
        ascending = [found] if isinstance(found, int) else sorted(set(found.tolist()))
        return Taken(next(iter(allocations), None), np.array(ascending, np.int64))

    def _counter(self, argument: BlockArgument) -> Taken | None:
        if argument not in self._counters:
            self._follow(argument)
        return self._counters[argument]

    def _follow(self, argument: BlockArgument) -> None:
        """Finds what an argument and all that it is computed from take, or that it is not known."""
        self._counters[argument] = None
        users: dict[BlockArgument | None, list[tuple[BlockArgument, SSAValue]]] = {}
        """Arguments, None for what is constant -> the arguments that get a value computed from one, and that value."""
        numbers: dict[BlockArgument, set[int]] = {}
        pending, allocations = [argument], set[SharedAllocOp | None]()
        while pending:
            one = pending.pop()
            if one in numbers:
                continue
            numbers[one] = set()
            values = incoming(one.block, one)
            if not values:
                return
            for value in values:
                if (leaves := self._leaves_of(value)) is None:
                    return
                allocations.add(leaves.allocation)
                users.setdefault(leaves.argument, []).append((one, value))
                if leaves.argument is not None:
                    pending.append(leaves.argument)
        again: dict[BlockArgument, set[int]] = {}
        """Numbers of arguments in later turns."""
        waiting: list[tuple[BlockArgument | None, int]] = [(None, 0)]
        while waiting:
            source, number = waiting.pop()
            known: _Known = {}
            for one, value in users.get(source, ()):
                if not isinstance(found := evaluated(value, source, number, known, self._constants), int):
                    return
                if source is not None:
                    again.setdefault(one, set()).add(found)
                if found not in numbers[one]:
                    numbers[one].add(found)
                    if len(numbers[one]) > _MOST_NUMBERS:
                        return
                    waiting.append((one, found))
        if not all(numbers.values()):
            return  # a loop that nothing enters
        allocations.discard(None)
        # What only takes constants need not come back.
        if len(allocations) <= 1 and all(found <= again.get(one, found) for one, found in numbers.items()):
            for one, found in numbers.items():
                self._counters[one] = Taken(next(iter(allocations), None), np.array(sorted(found), np.int64))

    def _leaves_of(self, value: SSAValue, above: int = 0) -> _Leaves | None:
        """Returns the leaves that `value` is computed from, `above` operations further up; None if there are others."""
        if value not in self._leaves:
            self._leaves[value] = self._find_leaves(value, above)
        return self._leaves[value]

    def _find_leaves(self, value: SSAValue, above: int) -> _Leaves | None:
        if not is_integer(value.type) or above > _MOST_DEPTH:
            return None
        known = None if self._values is None else self._values.get(value)
        if known is not None and isinstance(known.given, int):
            if not known.symbols or known.allocation is not None:
                self._constants[value] = known.given
                return _Leaves(None, known.allocation, 0)
        op = value.owner
        if isinstance(op, Block):
            return _Leaves(value, None, 0) if isinstance(value, BlockArgument) else None
        if type(op) is ConstantOp:
            return _Leaves(None, None, 0) if isinstance(op.value, IntegerAttr) else None
        if type(op) is SharedAllocOp:
            return _Leaves(None, op, 0)
        if not operands_of(op) or len(op.results) != 1:
            return None
        found = [self._leaves_of(operand, above + 1) for operand in operands_of(op)]
        argument, allocation, depth = None, None, 0
        for one in found:
            if one is None:
                return None
            if one.argument is not None:
                if argument is not None and argument is not one.argument:
                    return None
                argument = one.argument
            if one.allocation is not None:
                if allocation is not None and allocation is not one.allocation:
                    return None
                allocation = one.allocation
            depth = max(depth, one.depth)
        return _Leaves(argument, allocation, depth + 1) if depth < _MOST_DEPTH else None


def evaluated(
    value: SSAValue,
    argument: SSAValue | None,
    numbers: int | Numbers,
    known: _Known,
    constants: Mapping[SSAValue, int] | None = None,
) -> int | Numbers | None:
    """Computes `value` for each number of `argument`, None if it cannot be computed. Allocations are at 0."""
    if value is argument:
        return numbers
    if constants is not None and value in constants:
        return constants[value]
    if value not in known:
        known[value] = _computed(value, argument, numbers, known, constants)
    return known[value]


def _computed(
    value: SSAValue,
    argument: SSAValue | None,
    numbers: int | Numbers,
    known: _Known,
    constants: Mapping[SSAValue, int] | None,
) -> int | Numbers | None:
    op = value.owner
    if isinstance(op, Block):
        return None
    if type(op) is SharedAllocOp:
        return 0
    if type(value.type) is not IntegerType:
        return None
    bits = value.type.width.data
    if type(op) is ConstantOp:
        return wrapped(op.value.value.data, bits) if isinstance(op.value, IntegerAttr) else None
    operands: list[int | Numbers] = []
    for operand in operands_of(op):
        if (one := evaluated(operand, argument, numbers, known, constants)) is None:
            return None
        operands.append(one)
    found = arithmetic(op, operands)
    return None if found is None else wrapped(found, bits)
