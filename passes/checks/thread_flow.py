"""The threads of a block that come to each part of a kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from xdsl.ir import Block, SSAValue

from tirx.dialects.ptx.core import CondBraOp
from tirx.layout.arrays import np
from tirx.layout.axis import WARP_SIZE
from tirx.passes.checks.thread_values import Threads, ThreadValues
from tirx.passes.ir.control_flow import ControlFlow, successors
from tirx.values import cached_property, dataclass

_WARP = (1 << WARP_SIZE) - 1

Decision = tuple[SSAValue, bool]
"""A predicate and what it is."""


@dataclass(eq=False)
class ActiveThreads:
    """
    The threads that may come to a block: bit i of `mask` for thread i of `count`.

    Where `exact`, all of them do whenever one does; otherwise the predicates `unknown`, whose values are not known,
    choose among them. `decisions` have been taken, once and for all, by whoever is here.
    """

    mask: int
    count: int
    unknown: frozenset[Decision]
    decisions: frozenset[Decision]

    @property
    def exact(self) -> bool:
        return not self.unknown

    @property
    def is_everyone(self) -> bool:
        """True if all threads are here, whatever is not known."""
        return self.exact and self.mask == (1 << self.count) - 1

    @cached_property
    def threads(self) -> Threads:
        """The same as an array."""
        bits = np.frombuffer(self.mask.to_bytes(-(-self.count // 8), "little"), np.uint8)
        return np.unpackbits(bits, count=self.count, bitorder="little").astype(np.bool_)

    @cached_property
    def warps(self) -> frozenset[int]:
        """The warps that some of them are in."""
        return frozenset(warp for warp in range(-(-self.count // WARP_SIZE)) if self.mask >> warp * WARP_SIZE & _WARP)

    @cached_property
    def mask_of_warps(self) -> int:
        """All threads of the warps that some of them are in."""
        return sum(_WARP << warp * WARP_SIZE for warp in self.warps) & (1 << self.count) - 1

    @cached_property
    def conditions(self) -> frozenset[SSAValue]:
        """The predicates of the decisions."""
        return frozenset(condition for condition, _ in self.decisions)

    @cached_property
    def key(self) -> tuple[int, frozenset[Decision], frozenset[Decision]]:
        """Equal for the same threads."""
        return self.mask, self.unknown, self.decisions

    def __or__(self, other: ActiveThreads) -> ActiveThreads:
        if self is other:
            return self
        unknown, decisions = self.unknown & other.unknown, self.decisions & other.decisions
        return ActiveThreads(self.mask | other.mask, self.count, unknown, decisions)


@dataclass(frozen=True, eq=False)
class Edge:
    """
    From a block to a successor, which is the `position`th one of the flow; `decision` where a predicate chooses it.
    There is one object for each.
    """

    successor: Block
    position: int
    decision: Decision | None = None


def _edges(block: Block, position: Mapping[Block, int]) -> tuple[Edge, ...]:
    match block.last_op:
        case CondBraOp() as branch:
            ways = (branch.then_dest, True), (branch.else_dest, False)
            return tuple(Edge(to, position[to], (branch.condition, value)) for to, value in ways)
        case None:
            return ()
        case last:
            return tuple(Edge(successor, position[successor]) for successor in last.successors)


class ThreadFlow:
    """The control flow graph of an entry and the threads that take each path through it."""

    def __init__(self, control: ControlFlow):
        self.control = control
        self.blocks = self.control.blocks
        self.edges = {block: _edges(block, control.position) for block in self.blocks}
        """The edges out of each block."""
        self.values = ThreadValues(self.control)
        self._fixed = self._fixed_predicates()
        self._interned: dict[object, ActiveThreads] = {}
        self._taking: dict[tuple[Edge, ActiveThreads], ActiveThreads] = {}
        self.active = dict(zip(self.blocks, self._active_threads(), strict=True))
        """The threads that come to each block. The same threads are the same object."""

    def is_split(self, condition: SSAValue) -> bool:
        """Returns True if threads may take different edges of a branch on `condition`."""
        return self.values.is_varying(condition)

    def is_fixed(self, condition: SSAValue) -> bool:
        """Returns True if several branches depend on a predicate that has one value while a thread runs."""
        return condition in self._fixed

    def along(self, edge: Edge, active: ActiveThreads) -> ActiveThreads:
        """Returns the threads of `active` that take `edge`."""
        if (edge, active) not in self._taking:
            self._taking[edge, active] = self._intern(self._along(edge, active))
        return self._taking[edge, active]

    def _intern(self, active: ActiveThreads) -> ActiveThreads:
        return self._interned.setdefault(active.key, active)

    def _along(self, edge: Edge, active: ActiveThreads) -> ActiveThreads:
        if edge.decision is None:
            return active
        condition, wanted = edge.decision
        decisions = active.decisions | {edge.decision} if condition in self._fixed else active.decisions
        if (held := self.values.holds(condition)) is not None:
            threads, exact = held
            if wanted or exact:
                taking = active.mask & (threads if wanted else ~threads)
                return ActiveThreads(taking, active.count, active.unknown, decisions)
            return ActiveThreads(active.mask, active.count, active.unknown, decisions)
        unknown = active.unknown | {edge.decision} if self.is_split(condition) else active.unknown
        return ActiveThreads(active.mask, active.count, unknown, decisions)

    def bypassed(self, block: Block, edge: Edge) -> frozenset[Block]:
        """
        The blocks that all threads miss by taking `edge`: those of the other arm of an if in a loop whose predicate is
        not known and the same in all threads. None where the arms do not join before `block` comes again, as for the
        branch into a loop.
        """
        if edge.decision is None or block not in self.control.cyclic:
            return frozenset()
        if self.values.get(edge.decision[0]) is not None or self.is_split(edge.decision[0]):
            return frozenset()
        other = next(one.successor for one in self.edges[block] if one.decision != edge.decision)
        post = self.control.post_dominators
        join = post.immediate(block)
        if other is join or any(post.dominates(block, one) for one in (edge.successor, other)):
            return frozenset()
        own, others = (self._arm(first, block, join) for first in (edge.successor, other))
        if join is not None and join in others and join not in own:
            own, others = (self._arm(first, block, None) for first in (edge.successor, other))
        return frozenset(others - own) if own & others else frozenset()

    def _arm(self, first: Block, branch: Block, join: Block | None) -> set[Block]:
        """The blocks from `first` to `join`; paths that come back to `branch` end before it."""
        if first is join:
            return {first}
        pending, seen = [first], {first}
        while pending:
            for successor in successors(pending.pop()):
                if successor is not branch and successor not in seen:
                    seen.add(successor)
                    if successor is not join:
                        pending.append(successor)
        return seen

    def _active_threads(self) -> list[ActiveThreads]:
        count = self.values.count
        everyone = self._intern(ActiveThreads((1 << count) - 1, count, frozenset(), frozenset()))
        found: dict[int, ActiveThreads] = {0: everyone}
        waiting = Worklist()
        waiting.add(0)
        while (at := waiting.pop()) is not None:
            block = self.blocks[at]
            for edge in self.edges[block]:
                # Who does not take the edge may still come to its end, later.
                meeting = edge.decision is None or self.control.is_passed_by_all(edge.successor, block)
                arriving = found[at] if meeting else self.along(edge, found[at])
                before = found.get(edge.position)
                after = arriving if before is None else self._intern(before | arriving)
                if after is not before:
                    found[edge.position] = after
                    waiting.add(edge.position)
        return [found[at] for at in range(len(self.blocks))]

    def _fixed_predicates(self) -> set[SSAValue]:
        """Predicates of several branches that have one value while a thread runs: not defined in a loop."""
        branches = Counter(op.condition for block in self.blocks if isinstance(op := block.last_op, CondBraOp))
        several = [condition for condition, count in branches.items() if count > 1]
        return {condition for condition in several if _block_of(condition) not in self.control.cyclic}


def _block_of(value: SSAValue) -> Block | None:
    return value.owner if isinstance(value.owner, Block) else value.owner.parent_block()


class Worklist:
    """Positions of blocks that are to be looked at (again), the first one first."""

    def __init__(self):
        self._waiting = bytearray()
        """1 for each position."""
        self._first = 0
        """None before waits."""

    def add(self, position: int) -> None:
        if position >= len(self._waiting):
            self._waiting.extend(bytes(position + 1 - len(self._waiting)))
        self._waiting[position] = 1
        if position < self._first:
            self._first = position

    def pop(self) -> int | None:
        """The first position, None if there is none."""
        if (found := self._waiting.find(1, self._first)) < 0:
            return None
        self._waiting[found] = 0
        self._first = found + 1
        return found
