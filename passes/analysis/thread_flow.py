"""Which threads of a block come to which part of a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Block, SSAValue

from tirx.dialects.ptx.core import CondBraOp, EntryOp
from tirx.passes.analysis.thread_values import Threads, ThreadValues

Decision = tuple[SSAValue, bool]
"""A predicate and what it is."""


@dataclass(frozen=True, eq=False)
class Visitors:
    """
    The threads that may come to a block.

    Where `exact`, all of them do whenever one does; otherwise a predicate that nothing is known of chooses among them.
    `decisions` have been taken, once and for all, by whoever is here.
    """

    threads: Threads
    unknown: frozenset[Decision]
    decisions: frozenset[Decision]

    @property
    def exact(self) -> bool:
        return not self.unknown

    def __or__(self, other: Visitors) -> Visitors:
        return Visitors(self.threads | other.threads, self.unknown & other.unknown, self.decisions & other.decisions)

    def is_same(self, other: Visitors) -> bool:
        return (
            self.unknown == other.unknown
            and self.decisions == other.decisions
            and bool((self.threads == other.threads).all())
        )


@dataclass(frozen=True)
class Edge:
    """From a block to a successor; `decision` where a predicate chooses it."""

    successor: Block
    decision: Decision | None = None


def edges(block: Block) -> tuple[Edge, ...]:
    """Where control goes from a block."""
    match block.last_op:
        case CondBraOp() as branch:
            return Edge(branch.then_dest, (branch.condition, True)), Edge(branch.else_dest, (branch.condition, False))
        case None:
            return ()
        case last:
            return tuple(Edge(successor) for successor in last.successors)


class ThreadFlow:
    """The control flow graph of an entry and who takes which way through it."""

    def __init__(self, entry: EntryOp):
        self.entry = entry
        self.blocks = _reverse_postorder(entry.body.blocks[0])
        self.values = ThreadValues(entry, self.blocks)
        self._on_every_way: dict[tuple[Block, Block], bool] = {}
        self._fixed = self._fixed_predicates()
        self.visitors = self._visitors()

    def is_split(self, condition: SSAValue) -> bool:
        """Whether threads may go different ways at a branch."""
        return self.values.is_varying(condition)

    def along(self, edge: Edge, visitors: Visitors) -> Visitors:
        """Those of `visitors` that take `edge`."""
        if edge.decision is None:
            return visitors
        condition, wanted = edge.decision
        decisions = visitors.decisions | {edge.decision} if condition in self._fixed else visitors.decisions
        if (held := self.values.holds(condition)) is not None:
            threads, exact = held
            if wanted or exact:
                return Visitors(visitors.threads & (threads == wanted), visitors.unknown, decisions)
            return Visitors(visitors.threads, visitors.unknown, decisions)
        unknown = visitors.unknown | {edge.decision} if self.is_split(condition) else visitors.unknown
        return Visitors(visitors.threads, unknown, decisions)

    def passed(self, block: Block, edge: Edge) -> frozenset[Block]:
        """
        The blocks of the other arm of an if in a loop that all threads decide alike, by a predicate that is not known;
        none where the other way does not come to the same blocks in the end, as that into the loop itself.
        """
        if edge.decision is None or self.is_split(edge.decision[0]) or self.values.get(edge.decision[0]) is not None:
            return frozenset()
        other = next(one.successor for one in edges(block) if one.decision != edge.decision)
        if block in (edge.successor, other) or block not in _reachable(block):
            return frozenset()
        own, others = ({first} | _reachable(first, without=block) for first in (edge.successor, other))
        return frozenset(others - own) if own & others else frozenset()

    def _is_on_every_way(self, target: Block, block: Block) -> bool:
        """Whether all ways from `block` to an end of the kernel come to `target`."""
        known = self._on_every_way.get((target, block))
        if known is None:
            ends = any(not edges(one) for one in _reachable(block, without=target))
            known = self._on_every_way[target, block] = not ends
        return known

    def _visitors(self) -> dict[Block, Visitors]:
        first = self.blocks[0]
        found = {first: Visitors(np.ones(self.values.count, np.bool_), frozenset(), frozenset())}
        changed = True
        while changed:
            changed = False
            for block in self.blocks:
                for edge in edges(block):
                    # Who does not take the edge may still come to its end, later.
                    meeting = edge.decision is None or self._is_on_every_way(edge.successor, block)
                    arriving = found[block] if meeting else self.along(edge, found[block])
                    before = found.get(edge.successor)
                    after = arriving if before is None else before | arriving
                    if before is None or not after.is_same(before):
                        found[edge.successor] = after
                        changed = True
        return found

    def _fixed_predicates(self) -> set[SSAValue]:
        """Predicates of several branches that have one value while a thread runs: not defined in a loop."""
        seen: set[SSAValue] = set()
        several: set[SSAValue] = set()
        for block in self.blocks:
            if isinstance(branch := block.last_op, CondBraOp):
                (several if branch.condition in seen else seen).add(branch.condition)
        looping: dict[Block, bool] = {}
        fixed: set[SSAValue] = set()
        for condition in several:
            block = condition.owner if isinstance(condition.owner, Block) else condition.owner.parent_block()
            if block is not None:
                if block not in looping:
                    looping[block] = block in _reachable(block)
                if not looping[block]:
                    fixed.add(condition)
        return fixed


def _reachable(block: Block, without: Block | None = None) -> set[Block]:
    """The blocks that control may come to from `block`, if it never enters `without`."""
    pending, seen = [block], set[Block]()
    while pending:
        for edge in edges(pending.pop()):
            if edge.successor is not without and edge.successor not in seen:
                seen.add(edge.successor)
                pending.append(edge.successor)
    return seen


def _reverse_postorder(first: Block) -> tuple[Block, ...]:
    """The blocks that can be reached, each before its successors but for those of loops."""
    order: list[Block] = []
    seen = {first}
    stack: list[tuple[Block, Iterator[Edge]]] = [(first, iter(edges(first)))]
    while stack:
        block, rest = stack[-1]
        edge = next(rest, None)
        if edge is None:
            order.append(block)
            stack.pop()
        elif edge.successor not in seen:
            seen.add(edge.successor)
            stack.append((edge.successor, iter(edges(edge.successor))))
    return tuple(reversed(order))
