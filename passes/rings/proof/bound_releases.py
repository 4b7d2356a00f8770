"""Releases that wait for groups of asynchronous work: which of them happen at an await.

A release `after` a queue whose groups threads wait for (wgmma, bulk stores, groups of cp.async) is bound to the newest
group of its role and happens at the await that covers it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from xdsl.ir import Block, Operation

from tirx.dialects.nesting import ancestors, operations, walk
from tirx.dialects.tirx import AsyncMmaOp, AtOp, AwaitOp, ForOp, Queue, ReleaseOp, TilesOp
from tirx.dialects.traits import is_terminator
from tirx.passes.rings.proof.errors import AwaitError
from tirx.passes.rings.proof.model import Rotation
from tirx.passes.rings.proof.slots import Place, executions_since, pending_product, place_of
from tirx.values import dataclass

_LIMIT = 64
"""Rounds of a loop that are looked at before the number of open releases must repeat."""


@dataclass(frozen=True)
class Passes:
    """The effect of an await on one station: releases go on while more than `keep` are open.

    There are at least `least` and at most `most` open ones when it is reached.
    """

    keep: int
    least: int
    most: int

    @property
    def certain(self) -> int:
        """Releases that happen at every execution."""
        return max(0, self.least - self.keep)

    @property
    def possible(self) -> int:
        """Releases that happen at some execution."""
        return max(0, self.most - self.keep)


_Open = dict[Place, tuple[int, int]]
"""The least and the greatest number of releases that are open."""


class BoundReleases:
    """The releases of one role (`body`) at some `places` that are bound to groups of one queue."""

    def __init__(self, body: Block, queue: Queue, places: Sequence[Place]):
        self.queue = queue
        self.places = places
        self.at: dict[AwaitOp, dict[Place, Passes]] = {}
        self._keep: dict[AwaitOp, Mapping[Place, int]] = {}
        # With one release for every group, the newest groups are those of the newest releases, whatever ran between.
        inside = [inner for op in operations(body) for inner in walk(op)]
        groups = [op for op in inside if self._is_group(op)]
        releases = [op for op in inside if self._is_release(op)]
        awaits = [op for op in inside if self._is_await(op)]
        self._matter = {around for op in (*groups, *releases, *awaits) for around in (op, *ancestors(op))}
        """The operations that release, wait or start groups, and those around them."""
        self._in_step = len(groups) == len(releases) == 1 and groups[0].parent is releases[0].parent
        if self.places:
            self._block(body, dict.fromkeys(self.places, (0, 0)))

    # Operations

    def _is_release(self, op: Operation) -> TypeGuard[ReleaseOp]:
        return isinstance(op, ReleaseOp) and op.after is not None and op.after.data is self.queue

    def _is_bound(self, op: Operation) -> TypeGuard[ReleaseOp]:
        """True for a release at one of the places."""
        return self._is_release(op) and place_of(op) in self.places

    def _is_group(self, op: Operation) -> bool:
        """Stores and groups of cp.async are committed at the release, products one by one."""
        if self.queue is Queue.WGMMA:
            return isinstance(op, AsyncMmaOp) and op.queue is self.queue
        return self._is_release(op)

    def _is_await(self, op: Operation) -> TypeGuard[AwaitOp]:
        return isinstance(op, AwaitOp) and op.awaited_queue is self.queue

    # How many are open

    def _block(self, block: Block, opened: _Open) -> _Open:
        """The open releases behind a block, from those before it."""
        for op in operations(block):
            if op not in self._matter:
                continue
            if op.regions:
                opened = self._regions(op, opened)
            elif self._is_bound(op):
                least, most = opened[place_of(op)]
                opened = {**opened, place_of(op): (least + 1, most + 1)}
            elif self._is_await(op):
                opened = self._await(op, opened)
        return opened

    def _await(self, op: AwaitOp, opened: _Open) -> _Open:
        keep = self._kept(op)
        found = self.at.setdefault(op, {})
        after: _Open = {}
        for place, (least, most) in opened.items():
            known = found.get(place, Passes(keep.get(place, 0), least, most))
            found[place] = Passes(keep.get(place, 0), min(least, known.least), max(most, known.most))
            after[place] = (min(least, keep.get(place, 0)), min(most, keep.get(place, 0)))
        return after

    def _regions(self, op: Operation, opened: _Open) -> _Open:
        blocks = [block for region in op.regions for block in region.blocks]
        if isinstance(op, ForOp | TilesOp) or op.name == "scf.for":
            is_open = any(most for _, most in opened.values())
            if is_open and not self._in_step and any(self._is_group(x) for x in walk(op)):
                raise AwaitError(
                    f"expected all groups of {self.queue} to be awaited before a loop with further ones, found "
                    f"releases that are still open",
                    op,
                )
            if isinstance(op, ForOp) and op.parts and not any(self._is_await(x) and self._kept(x) for x in walk(op)):
                return self._skewed(op, opened)
            return self._repeated(op, list(_rounds(op)), opened)
        if any(most for _, most in opened.values()):
            raise AwaitError(f"expected all groups of {self.queue} to be awaited before a branch with further ones", op)
        behind = opened
        for block in blocks:
            behind = _joined(behind, self._block(block, opened))
        if any(most for _, most in behind.values()):
            raise AwaitError(f"expected all groups of {self.queue} of a branch to be awaited in it", op)
        return behind

    def _repeated(self, op: Operation, rounds: Sequence[Sequence[Block]], opened: _Open) -> _Open:
        """The open releases behind any number of rounds, each of one of these sequences of blocks."""
        for _ in range(_LIMIT):
            joined = opened
            for round_ in rounds:
                behind = opened
                for block in round_:
                    behind = self._block(block, behind)
                joined = _joined(joined, behind)
            if joined == opened:
                return opened
            opened = joined
        raise AwaitError(f"expected an await of {self.queue} in a loop with releases after it, found none", op)

    def _skewed(self, op: ForOp, opened: _Open) -> _Open:
        """The open releases behind a loop whose parts run rounds apart and whose awaits leave nothing pending: of few
        iterations, which begin and end at once, and of more, where all parts run in the rounds between.
        """
        span = max(part.offset for part in op.parts)

        def run(trips: int, first: int, last: int, behind: _Open) -> _Open:
            for number in range(first, last):
                for part in op.parts:
                    if 0 <= number - part.offset < trips:
                        behind = self._block(part.body.block, behind)
            return behind

        ends = opened
        for trips in range(1, span + 1):
            ends = _joined(ends, run(trips, 0, trips + span, opened))
        begun = run(span + 1, 0, span, opened)
        steady = self._repeated(op, [[part.body.block for part in op.parts]], begun)
        return _joined(ends, run(span + 1, span + 1, 2 * span + 1, steady))

    # Which stay open

    def _kept(self, op: AwaitOp) -> Mapping[Place, int]:
        """Returns the number of releases of each station that may be bound to groups that the await leaves pending."""
        if op not in self._keep:
            self._keep[op] = dict(self._count_kept(op))
        return self._keep[op]

    def _count_kept(self, op: AwaitOp) -> Mapping[Place, int]:
        kept: dict[Place, int] = {}
        until: AsyncMmaOp | None = None
        executions = 0
        pending = 0 if op.pending is None else op.pending.value.data
        if op.value is not None:
            until, iterations = pending_product(op.value)
            lag = executions_since(until, op, iterations)
            executions = lag.rounds if isinstance(lag, Rotation) else lag
        elif not pending:
            return kept
        held: dict[Place, int] = {}
        for before in self._backwards(op):
            if before.regions and before in self._matter and not isinstance(before, AtOp):
                raise AwaitError(
                    f"expected the groups that stay pending in the same loop as the await, found '{before.name}' "
                    f"between them",
                    op,
                )
            if self._is_bound(before):
                held[place_of(before)] = held.get(place_of(before), 0) + 1
            if not self._is_group(before):
                continue
            if until is not None:
                if before is until:
                    if executions == 0:
                        return kept
                    executions -= 1
            elif pending == 0:
                return kept
            else:
                pending -= 1
            for place, count in held.items():
                kept[place] = kept.get(place, 0) + count
            held = {}
            if until is None and pending == 0:
                return kept
        return kept

    def _backwards(self, op: Operation) -> Iterator[Operation]:
        """Yields the operations that have run before `op`, the last first: within the loop around it, round by round.

        An await behind a loop goes on in the last round of that loop.
        """
        around = op
        while (around := _previous_or_parent(around)) is not None:
            if isinstance(around, ForOp | TilesOp) or around.name == "scf.for":
                if around.is_ancestor(op):
                    for _ in range(_LIMIT):
                        yield from _reversed_round(around.regions[0].block)
                    return
                if around in self._matter:
                    yield from _reversed_round(around.regions[0].block)
                    return
            elif not around.is_ancestor(op):
                yield from _reversed(around)


def _rounds(op: Operation) -> Iterator[Sequence[Block]]:
    """The blocks that run in a round of a loop: those of parts with a run of offsets, as iterations begin and end."""
    if not isinstance(op, ForOp) or not op.parts:
        yield [block for region in op.regions for block in region.blocks]
        return
    offsets = sorted({part.offset for part in op.parts})
    for first in range(len(offsets)):
        for last in range(first, len(offsets)):
            yield [part.body.block for part in op.parts if offsets[first] <= part.offset <= offsets[last]]


def _previous_or_parent(op: Operation) -> Operation | None:
    return op.prev_op if op.prev_op is not None else op.parent_op()


def _reversed(op: Operation) -> Iterator[Operation]:
    """An operation, or those of a part of a loop, the last first."""
    if isinstance(op, AtOp):
        yield from _reversed_round(op.body.block)
    else:
        yield op


def _reversed_round(block: Block) -> Iterator[Operation]:
    for op in reversed(list(operations(block))):
        if not is_terminator(op):
            yield from _reversed(op)


def _joined(a: _Open, b: _Open) -> _Open:
    return {place: (min(a[place][0], b[place][0]), max(a[place][1], b[place][1])) for place in a}
