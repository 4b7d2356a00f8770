"""Values that share a register, because an instruction overwrites one with another, and values that cannot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from xdsl.ir import Block, Operation, OpResult, SSAValue

from tirx.dialects.definition import item
from tirx.dialects.nesting import Listed, operations, walk
from tirx.dialects.ptx.base import PTXInstruction
from tirx.dialects.ptx.core import BraOp, CondBraOp, ConstantOp, EntryOp
from tirx.dialects.wgmma import CommitGroupOp, MmaAsyncOp, WaitGroupOp
from tirx.dialects.xdsl_private import blocks, next_use, operands_of, successors_of, user_of, users_of
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


def in_place_operands(entry: EntryOp, *, problems_only: bool = False) -> Iterator[InPlace]:
    """All results of an entry that take the register of an operand (`PTXInstruction.in_place`), in order; with
    `problems_only` those that cannot.
    """
    reached: dict[tuple[Block | None, Block | None], set[Block]] = {}
    positions: dict[Operation, int] = {}
    for op in entry.walk():
        if not may_overwrite(type(op)) or not isinstance(op, PTXInstruction):
            continue
        block, operands = op.parent, operands_of(op)
        for result, index in op.in_place():
            operand = item(operands, index)
            origin = operand.op.parent if type(operand) is OpResult else operand.owner
            key = block, origin
            if (behind := reached.get(key)) is None:
                behind = reached[key] = _behind(block, origin)
            use = operand.first_use
            is_last = use is not None and user_of(use) is op and next_use(use) is None and block not in behind
            is_free = is_last and not (type(operand) is OpResult and type(operand.op) is ConstantOp)
            problem = None if is_free else _problem(op, operand, behind, positions)
            if problem is not None or not problems_only:
                yield InPlace(op, result, index, operand, problem)


@lru_cache(maxsize=1024)
def may_overwrite(kind: type[Operation]) -> bool:
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
    if type(operand) is OpResult and type(operand.op) is ConstantOp:
        return "a constant"
    if behind and op.parent in behind:
        return "one from outside of a loop"
    own = 0
    use = operand.first_use
    while use is not None:
        if (user := user_of(use)) is op:
            own += 1
        elif _is_later(user, op, behind, positions):
            return "one that is used again"
        use = next_use(use)
    return None if own == 1 else "one that it uses twice"


def _behind(block: Block | None, origin: Block | None) -> set[Block]:
    """The blocks that paths from the end of `block` come to without passing through `origin`."""
    pending = [block]
    reached: set[Block] = set()
    while pending:
        last = None if (current := pending.pop()) is None else current.last_op
        fresh = [b for b in (() if last is None else successors_of(last)) if b is not origin and b not in reached]
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


class RegistersInPlace(NamedTuple):
    """The registers of an entry that several values have.

    `problem` is the first result that cannot overwrite its operand, if there is one; `shared` are values that have the
    register of another value, each with one value of that register that is not among them.
    """

    problem: InPlace | None
    shared: dict[SSAValue, SSAValue]


def registers_in_place(entry: EntryOp, inside: Listed | None = None) -> RegistersInPlace:
    """The values of an entry that share a register; those that were found before, as long as it is the same.

    Results have the register of the operand that they overwrite. So have the block arguments that pass such values on,
    as far as no two of them are needed at the same time: registers of products that are pending cannot be copied.
    """
    inside = Listed(walk(entry)) if inside is None else inside
    if not inside.where(may_overwrite):
        return RegistersInPlace(None, {})
    state = _state(entry, inside.ops)
    known: tuple[list[object], RegistersInPlace] | None = vars(entry).get(_KNOWN)
    if known is None or known[0] != state:
        found = list(in_place_operands(entry))
        problem = next((one for one in found if one.problem is not None), None)
        shared = _Registers(entry, [one for one in found if one.problem is None]).roots()
        known = vars(entry)[_KNOWN] = state, RegistersInPlace(problem, shared)
    return known[1]


_KNOWN = "_registers_in_place"
"""The attribute of entries that keeps what was found, and what it was found for."""


def _state(entry: EntryOp, ops: Sequence[Operation]) -> list[object]:
    """All that registers depend on: the same objects in the same places."""
    places = [op.parent for op in ops]
    properties = [tuple(op.properties.values()) for op in ops]
    arguments = [block.args for block in blocks(entry.body)]
    return [*ops, *places, *arguments, *map(operands_of, ops), *map(successors_of, ops), *properties]


def shared_registers(entry: EntryOp) -> dict[SSAValue, SSAValue]:
    """Values of an entry that have the register of another one (`RegistersInPlace`)."""
    return registers_in_place(entry).shared


class _Registers:
    """Classes of values that share a register, joined while their live ranges do not overlap."""

    def __init__(self, entry: EntryOp, in_place: Sequence[InPlace]):
        blocks = tuple(entry.body.blocks)
        control = ControlFlow(entry)
        self._positions: dict[Operation, float] = {}
        """An operation -> its position in the text of the entry; blocks do not touch."""
        self._numbers: dict[Block | None, int] = {block: i for i, block in enumerate(blocks)}
        self._before = [[self._numbers[each] for each in control.predecessors(block)] for block in blocks]
        """The blocks that jump to each block."""
        self._spans: list[_Run] = []
        """The positions in front of the first operation of each block and behind its last one."""
        position = 0.0
        for block in blocks:
            start = position
            for op in operations(block):
                position += 1
                self._positions[op] = position
            self._spans.append((start, position + 1))
            position += 3
        self._roots: dict[SSAValue, SSAValue] = {}
        """A value -> the root of its class; the others are roots themselves."""
        self._members: dict[SSAValue, list[SSAValue]] = {}
        """A root -> all values of its class."""
        self._ranges: dict[SSAValue, _Ranges] = {}
        """A root -> the live ranges of its class."""
        self._kept: dict[tuple[Operation | Block, ...], _Ranges] = {}
        """Live ranges of values that the same operation defines and the same ones use, as the registers of a tile."""
        roots = self._roots
        for one in in_place:
            operand, result = one.operand, one.result
            self._join(roots.get(operand, operand), roots.get(result, result))
        self._pass_on(entry)

    def roots(self) -> dict[SSAValue, SSAValue]:
        """Every value of a class but one, with that one."""
        return {value: members[0] for members in self._members.values() for value in members[1:]}

    def _join(self, root: SSAValue, other: SSAValue) -> None:
        first, second = self._ranges.pop(root, None), self._ranges.pop(other, None)
        if first is not None and second is not None:
            self._ranges[root] = _merged([*first, *second])
        more = self._members.pop(other, None) or [other]
        if (members := self._members.get(root)) is None:
            members = self._members[root] = [root]
        members += more
        for value in more:
            self._roots[value] = root

    def _pass_on(self, entry: EntryOp) -> None:
        """Joins the arguments of blocks with the values that branches pass on, as far as they do not overlap."""
        branches = [
            [pair for pair in passed_values(block.last_op) if not isinstance(pair[1].owner, ConstantOp)]
            for block in entry.body.blocks
            if block.last_op is not None
        ]
        changed = True
        while changed:
            changed = False
            for passed in branches:
                changed |= self._pass_together(passed) or self._pass_one_by_one(passed)

    def _open(self, argument: SSAValue, value: SSAValue) -> tuple[SSAValue, SSAValue] | None:
        """The roots of what is passed on, if they may be joined: only what some product overwrites is."""
        root, other = self._roots.get(argument, argument), self._roots.get(value, value)
        if root is other or (root not in self._members and other not in self._members):
            return None
        return root, other

    def _pass_one_by_one(self, passed: Sequence[tuple[SSAValue, SSAValue]]) -> bool:
        """Joins what a branch passes on where a pair does not overlap. Returns True if there is any."""
        changed = False
        for pair in passed:
            if (roots := self._open(*pair)) is not None and not _overlap(*map(self._ranges_of, roots)):
                self._join(*roots)
                changed = True
        return changed

    def _pass_together(self, passed: Sequence[tuple[SSAValue, SSAValue]]) -> bool:
        """As one by one, where all arguments together, as the registers of a tile, do not overlap all values."""
        found = [roots for pair in passed if (roots := self._open(*pair)) is not None]
        if len(found) < 2 or len({root for roots in found for root in roots}) < 2 * len(found):
            return False
        arguments, values = zip(*found, strict=True)
        if _overlap(self._ranges_together(arguments), self._ranges_together(values)):
            return False
        for roots in found:
            self._join(*roots)
        return True

    def _ranges_together(self, roots: Iterable[SSAValue]) -> _Ranges:
        """The live ranges of several classes."""
        users: dict[Operation | Block, set[Operation]] = {}
        for root in roots:
            for value in self._members.get(root, (root,)):
                owner, own = _definition_and_users(value)
                users.setdefault(owner, set()).update(own)
        return _merged([run for owner, own in users.items() for run in self._live_ranges(owner, own)])

    def _ranges_of(self, root: SSAValue) -> _Ranges:
        if (found := self._ranges.get(root)) is None:
            kept = [self._ranges_of_one(value) for value in self._members.get(root, (root,))]
            found = self._ranges[root] = kept[0] if len(kept) == 1 else _merged([run for each in kept for run in each])
        return found

    def _ranges_of_one(self, value: SSAValue) -> _Ranges:
        owner, users = _definition_and_users(value)
        if (found := self._kept.get(key := (owner, *users))) is None:
            found = self._kept[key] = _merged(self._live_ranges(owner, users))
        return found

    def _live_ranges(self, owner: Operation | Block, users: Iterable[Operation]) -> list[_Run]:
        """The operations in front of which a value is needed: from its definition to its last use in each block."""
        if isinstance(owner, Block):
            origin = self._numbers[owner]
            start, _ = self._spans[origin]
        else:
            origin, start = self._numbers.get(owner.parent), self._positions[owner]
        written = self._end_of_product(owner) if isinstance(owner, MmaAsyncOp) else start + 0.5
        runs = [(start, written)]  # it is written, even if nobody reads it
        ends: dict[int, float] = {}
        """Blocks that it comes to from others -> its last use there."""
        for user in users:
            block, position = self._numbers[user.parent], self._positions[user]
            if block == origin and position > start:
                runs.append((start, position))
            elif position > ends.get(block, 0):
                ends[block] = position
        entered: set[int] = set()
        for block, position in ends.items():
            runs.append((self._spans[block][0], position))
            pending = [block]
            while pending:
                for before in self._before[pending.pop()]:
                    first, last = self._spans[before]
                    runs.append((start if before == origin else first, last))
                    if before != origin and before not in entered:
                        entered.add(before)
                        pending.append(before)
        return runs

    def _end_of_product(self, product: MmaAsyncOp) -> float:
        """The position of the wait for a product, or of the end of its block: until then it writes its registers."""
        behind = 0
        op = product.next_op
        while op is not None:
            if isinstance(op, CommitGroupOp):
                behind += 1
            elif isinstance(op, WaitGroupOp) and op.pending.value.data < behind:
                return self._positions[op]
            op = op.next_op
        return self._spans[self._numbers[product.parent]][1]


def _definition_and_users(value: SSAValue) -> tuple[Operation | Block, list[Operation]]:
    """The operation or block that defines a value, and the operations that use it."""
    return value.op if type(value) is OpResult else value.owner, users_of(value)


_Run = tuple[float, float]
"""Positions from one on and up to another."""

_Ranges = list[_Run]
"""Runs of positions that are apart, in order."""


def _merged(runs: Iterable[_Run]) -> _Ranges:
    """The same positions as runs that are apart, in order."""
    merged: _Ranges = []
    for run in sorted(runs):
        if merged and run[0] <= merged[-1][1]:
            run = merged[-1][0], max(merged.pop()[1], run[1])
        merged.append(run)
    return merged


def _overlap(a: _Ranges, b: _Ranges) -> bool:
    """Returns True if a position is strictly inside of both: a value may end where another one begins."""
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i][0] < b[j][1] and b[j][0] < a[i][1]:
            return True
        if a[i][1] <= b[j][1]:
            i += 1
        else:
            j += 1
    return False
