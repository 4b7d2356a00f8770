"""Values that share a register, because an instruction overwrites one with another, and values that cannot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import inf
from typing import NamedTuple

from xdsl.ir import Block, Operation, SSAValue

from tirx.dialects.nesting import operations
from tirx.dialects.ptx.base import PTXInstruction
from tirx.dialects.ptx.core import BraOp, CondBraOp, ConstantOp, EntryOp
from tirx.passes.ir.control_flow import ControlFlow


class InPlace(NamedTuple):
    """`result` of `op` takes the register of `operand`, one of its operands. `problem`: what that operand is, where it
    cannot; None where it can.
    """

    op: PTXInstruction
    result: SSAValue
    operand_index: int
    operand: SSAValue
    problem: str | None


def in_place_operands(entry: EntryOp) -> Iterator[InPlace]:
    """All results of an entry that take the register of an operand (`PTXInstruction.in_place`), in order."""
    reached: dict[tuple[int, int], set[Block]] = {}
    """Blocks, as numbers: to hash them takes several times as long."""
    positions: dict[Operation, int] = {}
    for op in entry.walk():
        if not _may_overwrite(type(op)) or not isinstance(op, PTXInstruction):
            continue
        block, operands = op.parent, op.operands
        for result, index in op.in_place():
            operand = operands[index]
            origin = owner if isinstance(owner := operand.owner, Block) else owner.parent
            key = id(block), id(origin)
            if (behind := reached.get(key)) is None:
                behind = reached[key] = _behind(block, origin)
            yield InPlace(op, result, index, operand, _problem(op, operand, behind, positions))


@lru_cache(maxsize=1024)
def _may_overwrite(kind: type[Operation]) -> bool:
    """Returns True if results of operations of a class may take the register of an operand."""
    return issubclass(kind, PTXInstruction) and kind.in_place is not PTXInstruction.in_place


def passed_values(branch: Operation) -> list[tuple[SSAValue, SSAValue]]:
    """The arguments of the blocks that a branch leads to, each with the value that it gets."""
    match branch:
        case BraOp():
            ways = [(branch.dest, branch.arguments)]
        case CondBraOp():
            ways = [(branch.then_dest, branch.then_arguments), (branch.else_dest, branch.else_arguments)]
        case _:
            ways = []
    return [pair for dest, values in ways for pair in zip(dest.args, values, strict=True)]


def _problem(op: Operation, operand: SSAValue, behind: set[Block], positions: dict[Operation, int]) -> str | None:
    if type(operand.owner) is ConstantOp:
        return "a constant"
    if behind and op.parent in behind:
        return "one from outside of a loop"
    own = 0
    for use in operand.uses:
        if (user := use.operation) is op:
            own += 1
        elif _is_later(user, op, behind, positions):
            return "one that is used again"
    return None if own == 1 else "one that it uses twice"


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


def _is_later(user: Operation, op: Operation, behind: set[Block], positions: dict[Operation, int]) -> bool:
    """Returns True if `user` may be executed after `op`, which the blocks `behind` follow. `positions` of operations in
    their blocks are found where they are missing.
    """
    if user.parent is not op.parent or user.parent is None:
        return user.parent in behind
    if user not in positions:
        positions.update((each, i) for i, each in enumerate(operations(user.parent)))
    return positions[op] < positions[user]


def shared_registers(entry: EntryOp, in_place: Iterable[InPlace] | None = None) -> dict[SSAValue, SSAValue]:
    """Values that have the register of another value, each with one value of that register that is not among them.

    `in_place` are the `in_place_operands` of the entry, where they are known already. Results have the register of the
    operand that they overwrite. So have the block arguments that pass such values on, as far as no two of them are
    needed at the same time: registers of products that are pending cannot be copied.
    """
    found = [one for one in (in_place_operands(entry) if in_place is None else in_place) if one.problem is None]
    return _Registers(entry, found).roots() if found else {}


class _Registers:
    """Classes of values that share a register, joined while their live ranges do not overlap.

    Values are known by their identity: to hash one takes several times as long.
    """

    def __init__(self, entry: EntryOp, in_place: Sequence[InPlace]):
        self._control = ControlFlow(entry)
        self._parents: dict[int, SSAValue] = {}
        self._members: list[SSAValue] = []
        """The values that have a parent."""
        self._positions: dict[Operation, int] = {}
        for block in entry.body.blocks:
            self._positions.update((op, i) for i, op in enumerate(operations(block)))
        self._ranges: dict[int, _Ranges] = {}
        self._kept: dict[tuple[int, ...], _Ranges] = {}
        """Live ranges of values that the same operation defines and the same ones use, as the registers of a tile."""
        self._joined: dict[tuple[int, int], _Ranges] = {}
        for one in in_place:
            self._join(self._root(one.operand), self._root(one.result))
        self._pass_on(entry)

    def roots(self) -> dict[SSAValue, SSAValue]:
        """Every value of a class but one, with that one."""
        return {value: root for value in self._members if (root := self._root(value)) is not value}

    def _root(self, value: SSAValue) -> SSAValue:
        parents = self._parents
        while (parent := parents.get(id(value), value)) is not value:
            value = parent
        return value

    def _join(self, root: SSAValue, other: SSAValue) -> None:
        first, second = self._ranges_of(root), self._ranges_of(other)
        key = id(first), id(second)
        if (joined := self._joined.get(key)) is None:
            joined = self._joined[key] = {**first}
            for block, runs in second.items():
                joined[block] = _merged([*before, *runs]) if (before := joined.get(block)) else runs
        self._ranges[id(root)] = joined
        for value in (root, other):
            if id(value) not in self._parents:
                self._members.append(value)
            self._parents[id(value)] = root

    def _pass_on(self, entry: EntryOp) -> None:
        passed = [
            pair
            for block in entry.body.blocks
            if block.last_op is not None
            for pair in passed_values(block.last_op)
            if not isinstance(pair[1].owner, ConstantOp)
        ]
        changed = True
        while changed:
            changed = False
            for argument, value in passed:
                root, other = self._root(argument), self._root(value)
                # Only what some product overwrites.
                if root is other or (id(root) not in self._parents and id(other) not in self._parents):
                    continue
                if not _overlap(self._ranges_of(root), self._ranges_of(other)):
                    self._join(root, other)
                    changed = True

    def _ranges_of(self, value: SSAValue) -> _Ranges:
        if (found := self._ranges.get(id(value))) is None:
            key = (id(value.owner), *[id(use.operation) for use in value.uses])
            if (found := self._kept.get(key)) is None:
                found = self._kept[key] = self._live_ranges(value)
            self._ranges[id(value)] = found
        return found

    def _live_ranges(self, value: SSAValue) -> _Ranges:
        """Where a value is needed: runs of positions in each block, from its definition to its last use."""
        origin = value.owner if isinstance(value.owner, Block) else value.owner.parent
        start = _START if isinstance(value.owner, Block) else self._positions[value.owner]
        ranges: _Ranges = {}
        if origin is not None:
            ranges[origin] = [(start, start + 0.5)]  # it is written, even if nobody reads it
        entered: set[Block] = set()

        def enter(block: Block, last: float) -> None:
            ranges.setdefault(block, []).append((_START, last))
            pending = [block]
            while pending:
                for before in self._control.predecessors(pending.pop()):
                    first = start if before is origin else _START
                    ranges.setdefault(before, []).append((first, inf))
                    if before is not origin and before not in entered:
                        entered.add(before)
                        pending.append(before)

        for use in value.uses:
            block, position = use.operation.parent, self._positions[use.operation]
            if block is None:
                continue
            if block is origin and position > start:
                ranges[block].append((start, position))
            else:
                enter(block, position)
        return {block: _merged(runs) for block, runs in ranges.items()}


_START = -1
"""The position in front of the first operation of a block."""

_Ranges = dict[Block, list[tuple[float, float]]]
"""Runs of positions in a block."""


def _merged(runs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same positions as runs that are apart, in order."""
    merged: list[tuple[float, float]] = []
    for run in sorted(runs):
        if merged and run[0] <= merged[-1][1]:
            run = merged[-1][0], max(merged.pop()[1], run[1])
        merged.append(run)
    return merged


def _overlap(a: _Ranges, b: _Ranges) -> bool:
    """Returns True if a position is strictly inside of both: a value may end where another one begins."""
    for block, runs in a.items():
        for other in b.get(block, ()):
            if any(run[0] < other[1] and other[0] < run[1] for run in runs):
                return True
    return False
