"""Rules for pairs of accesses of global memory: which are in order, and what is missing (PTX ISA, 8.5 to 8.10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import SimError
from tirx.sim.hazards.clocks import Row
from tirx.sim.hazards.global_access import ASYNC, ATOMIC, Access, Kind, Scope
from tirx.sim.hazards.global_flags import GlobalFlags, Level, Side
from tirx.sim.hazards.global_shadow import (
    CLUSTER_SHIFT,
    INSTANT_MASK,
    SILENT,
    THREAD_SHIFT,
    clusters_of,
    how,
    kinds_of,
    scopes_of,
    threads_of,
    widths_of,
)

# What says that asynchronous reads are complete.
COMPLETIONS = {Kind.BULK: Row.BULK_WRITTEN, Kind.COPY: Row.COPIED, Kind.MAP: Row.BULK_READ}
_UNORDERED = (*ASYNC, Kind.READ_ONLY)  # accesses for which order among threads is not enough
_LATE = (*ASYNC, Kind.DEFERRED)  # writes that are not in order in their own thread
# By kind: whether writes, and reads, are not over when their thread goes on, or never in order.
IS_LATE: Mask = np.isin(np.arange(16), _LATE)
IS_ATOMIC: Mask = np.isin(np.arange(16), ATOMIC)
IS_ASYNC: Mask = np.isin(np.arange(16), ASYNC)
# By the logarithm of an element size: whether a way of access (its bits below that of silent writes) is a strong one
# of that size, whose scope has all threads.
_WAYS: Array = np.arange(SILENT)
_IS_WIDE: Mask = IS_ATOMIC[kinds_of(_WAYS)] & (scopes_of(_WAYS) >= Scope.GPU)
_SETTLED: Mask = _IS_WIDE & (widths_of(_WAYS) == np.arange(8)[:, None])
IS_LATE_READ: Mask = np.isin(np.arange(16), (*COMPLETIONS, Kind.READ_ONLY))


@dataclass(slots=True, eq=False)
class Users:
    """Threads that access memory: one of its cluster for each access, and the clusters."""

    threads: Array
    sides: Sequence[Side]
    pc: int

    def tokens(self) -> Array:
        """Returns the token of each access, at the present instants."""
        instants = [side.monitor.instant() for side in self.sides]
        if max(instants) > INSTANT_MASK:
            raise SimError(f"expected at most {INSTANT_MASK} instructions of a cluster to check: use check=False")
        found = self.threads << THREAD_SHIFT
        for side, instant in zip(self.sides, instants, strict=True):
            found[side.own] += (side.cluster + 1 << CLUSTER_SHIFT) + instant
        return found

    def of(self, which: Mask) -> Users:
        """Returns some of the accesses."""
        count = len(which)
        before: list[int] = [0, *which.cumsum().tolist()]
        sides: list[Side] = []
        for side in self.sides:
            first, end, _ = side.own.indices(count)
            if before[first] < before[end]:
                sides.append(Side(side.cluster, side.lanes, side.monitor, slice(before[first], before[end])))
        return Users(self.threads[which], sides, self.pc)

    def by_sides(self) -> Iterator[tuple[Users, slice]]:
        """Yields the accesses of each cluster, and which they are."""
        for side in self.sides:
            alone = Side(side.cluster, side.lanes, side.monitor, slice(None))
            yield Users(self.threads[side.own], (alone,), self.pc), side.own


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Earlier accesses (tokens, hows) and the threads of one cluster that access the same bytes now, at `offsets`."""

    tokens: Array
    hows: Array
    threads: Array
    offsets: Array

    def of(self, which: Mask) -> Pairs:
        return Pairs(self.tokens[which], self.hows[which], self.threads[which], self.offsets[which])


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """
    True for each of some pairs that is in order: as hardware does it, and by the letter of the memory model. `rule` is
    broken by those that are not in order by the letter only.
    """

    hardware: Mask
    letter: Mask
    rule: str = ""


class PairRules:
    """The rules of a launch whose flags are `flags`."""

    def __init__(self, flags: GlobalFlags):
        self._flags = flags

    def after_write(self, side: Side, pairs: Pairs, access: Access, element: int, *, writes: bool) -> Verdict:
        """Returns which accesses are in order behind the writes of `pairs`."""
        kinds = kinds_of(pairs.hows)
        settled = self._settled(side, pairs, access, element)
        if settled.any():
            return self._with_settled(settled, self.after_write, side, pairs, access, element, writes=writes)
        late, deferred = IS_ASYNC[kinds], kinds == Kind.DEFERRED
        hardware, letter, rule = np.zeros(len(kinds), np.bool_), np.zeros(len(kinds), np.bool_), ""
        if late.any():
            hardware[late], letter[late] = self._reached(side, pairs.of(late), Row.BULK_STORED)
        if deferred.any():  # only who has seen it, or the flag that it is, knows that it is done
            hardware[deferred] = self._by_flags(side, pairs.of(deferred), Row.VISIBLE, Level.HARDWARE)
            letter[deferred] = hardware[deferred]
            late |= deferred
        if not late.all():
            others = ~late
            known = self.in_order(side, pairs.of(others), Row.VISIBLE)
            hardware[others], letter[others] = known
            if (known[0] & ~known[1]).any():
                rule = self._rule_of_flags(side, pairs.of(others).of(known[0] & ~known[1]))
            if access.kind in ASYNC:
                fenced, by_letter = self._fenced(side, pairs.of(others))
                published, _ = self._reached(side, pairs.of(others), Row.PUBLISHED)
                if (hardware[others] & ~fenced & published).any():
                    rule = "global fence.proxy.async"
                hardware[others] &= fenced | published
                letter[others] &= by_letter
        if access.kind is Kind.READ_ONLY:
            hardware[:] = letter[:] = False  # the read-only path is not coherent
            return Verdict(hardware, letter, rule)
        bad = ~hardware
        if bad.any():
            mixed = IS_ATOMIC[kinds] & (access.kind in ATOMIC) & self._scopes(side, pairs, access)
            if (bad & mixed).any():
                rule = "global mixed sizes"
            hardware |= mixed
            mixed = ((kinds == Kind.REDUCE) & (access.kind is Kind.UPDATE)) | (
                (kinds == Kind.UPDATE) & (access.kind is Kind.REDUCE)
            )
            mixed &= bad & (np.maximum(scopes_of(pairs.hows), access.scope) >= Scope.GPU)
            mixed &= widths_of(pairs.hows) == widths_of(how(0, element, 0, 0))
            if mixed.any():
                rule = "global atomics of two proxies"
                hardware |= mixed
            weak = bad & (kinds == Kind.UPDATE) & (access.kind is Kind.WEAK) & (not writes)
            if weak.any():
                rule = "global weak read of an atomic"
                hardware |= weak
        return Verdict(hardware, letter, rule)

    def after_read(self, side: Side, pairs: Pairs, access: Access, element: int) -> Verdict:
        """Returns which writes are in order behind the reads of `pairs`."""
        kinds = kinds_of(pairs.hows)
        settled = self._settled(side, pairs, access, element)
        if settled.any():
            return self._with_settled(settled, self.after_read, side, pairs, access, element)
        hardware, letter, rule = np.zeros(len(kinds), np.bool_), np.zeros(len(kinds), np.bool_), ""
        for kind, row in COMPLETIONS.items():
            which = kinds == kind
            if which.any():
                hardware[which], letter[which] = self._reached(side, pairs.of(which), row)
        others = ~np.isin(kinds, [*COMPLETIONS])
        if others.any():
            own = pairs.of(others)
            handed = self.in_order(side, own, Row.HANDED)
            known = self.in_order(side, own, Row.VISIBLE)
            hardware[others], letter[others] = handed[0], known[1]
            if (handed[0] & ~known[0]).any():
                rule = "global mbarrier of scope .cta"
            elif (known[0] & ~known[1]).any():
                rule = self._rule_of_flags(side, own.of(known[0] & ~known[1]))
            if access.kind in ASYNC:
                fenced, by_letter = self._fenced(side, own)
                returned, _ = self._reached(side, own, Row.READ)
                if (hardware[others] & ~fenced & returned).any():
                    rule = "global fence.proxy.async behind reads"
                hardware[others] &= fenced | returned
                letter[others] &= by_letter
            only = kinds == Kind.READ_ONLY
            if (only & hardware).any():
                rule = "global ld.nc"
                letter[only] = False
        bad = ~hardware
        mixed = IS_ATOMIC[kinds] & (access.kind in ATOMIC) & self._scopes(side, pairs, access)
        if (bad & mixed).any():
            rule = "global mixed sizes"
        weak = bad & (kinds == Kind.WEAK) & (access.kind is Kind.UPDATE)
        if weak.any():
            rule = "global weak read of an atomic"
        return Verdict(hardware | mixed | weak, letter, rule)

    def without_known(self, users: Users, access: Access, suspicious: Mask, tokens: Array, special: Mask) -> Mask:
        """
        Returns `suspicious` (accesses, granules) without accesses that come, by the letter, behind generic ones
        (`tokens`): those of a cluster behind its own by synchronisation, and those of a cluster behind others by flags,
        of all clusters at once. Not looked at are those that are `special`, or need more than order among threads.
        """
        if access.kind in _UNORDERED:
            return suspicious
        plain = suspicious & ~special
        if not np.count_nonzero(plain):
            return suspicious
        rows, columns = np.nonzero(plain)
        threads, tokens = users.threads[rows], tokens[rows, columns]
        clusters, others = clusters_of(tokens), threads_of(tokens)
        known = np.zeros(len(rows), np.bool_)
        for side in users.sides:
            first, end, _ = side.own.indices(len(users.threads))
            own = slice(*np.searchsorted(rows, (first, end)).tolist())
            inside = clusters[own] == side.cluster
            if inside.all():
                same = others[own] == threads[own]
                known[own] = same | side.monitor.reached(
                    Row.VISIBLE, threads[own], others[own], tokens[own] & INSTANT_MASK
                )
            elif not inside.any() and access.kind not in ATOMIC:  # which need no order, most of them
                known[own] = self._flags.reached(side, Row.VISIBLE, threads[own], tokens[own], Level.LETTER)
        found = suspicious.copy()
        found[rows[known], columns[known]] = False
        return found

    def _settled(self, side: Side, pairs: Pairs, access: Access, element: int) -> Mask:
        """Returns which accesses are no race in any order: strong ones of one size, and bulk reductions."""
        if access.kind is Kind.REDUCE:
            return kinds_of(pairs.hows) == Kind.REDUCE
        if access.kind not in ATOMIC:
            return np.zeros(len(pairs.hows), np.bool_)
        same = widths_of(pairs.hows) == widths_of(how(0, element, 0, 0))
        return same & IS_ATOMIC[kinds_of(pairs.hows)] & self._scopes(side, pairs, access)

    @staticmethod
    def settled_by_any(hows: Array, access: Access, element: int) -> Mask:
        """Returns which accesses are settled (`_settled`) whatever their threads are."""
        if not access.strong or access.scope < Scope.GPU:
            return np.zeros(hows.shape, np.bool_)
        return _SETTLED[widths_of(how(0, element, 0, 0)), hows & (len(_WAYS) - 1)]

    @staticmethod
    def _with_settled(
        settled: Mask,
        rule: Callable[..., Verdict],
        side: Side,
        pairs: Pairs,
        access: Access,
        element: int,
        **options: bool,
    ) -> Verdict:
        """Returns the verdict of a rule about all pairs but those `settled`, whose order need not be looked for."""
        if settled.all():
            return Verdict(settled, settled)
        hardware, letter = settled.copy(), settled.copy()
        found = rule(side, pairs.of(~settled), access, element, **options)
        hardware[~settled], letter[~settled] = found.hardware, found.letter
        return Verdict(hardware, letter, found.rule)

    def of_equal_values(self, pairs: Pairs, equal: Mask, element: int, verdict: Verdict, *, strict: bool) -> Verdict:
        """
        Adds to a verdict about writes over writes those of `equal` values, which are no race (section 8.7.2). The
        axioms say nothing of accesses that overlap partially: `strict` leaves those out.
        """
        equal = equal & ~np.isin(kinds_of(pairs.hows), (Kind.UPDATE, Kind.REDUCE))
        mixed = ~verdict.hardware & (widths_of(pairs.hows) != widths_of(how(0, element, 0, 0)))
        return Verdict(verdict.hardware | equal, verdict.letter | (equal & ~(mixed & strict)), verdict.rule)

    def _scopes(self, side: Side, pairs: Pairs, access: Access) -> Mask:
        """Returns True where the scope of each access has the thread of the other (section 8.7)."""
        # Loads and stores of too narrow a scope are reported by the data that they do not order.
        flags = (kinds_of(pairs.hows) == Kind.STRONG) & (access.kind is Kind.STRONG)
        return flags | self.covers(side, pairs, access.scope)

    @staticmethod
    def covers(side: Side, pairs: Pairs, scope: int) -> Mask:
        """Returns True where the scope of the earlier access, and `scope`, have both threads."""
        least = np.minimum(scopes_of(pairs.hows), scope)
        same_cluster = clusters_of(pairs.tokens) == side.cluster
        same_cta = same_cluster & (threads_of(pairs.tokens) // side.lanes == pairs.threads // side.lanes)
        return (least >= Scope.GPU) | ((least == Scope.CLUSTER) & same_cluster) | ((least == Scope.CTA) & same_cta)

    def _rule_of_flags(self, side: Side, pairs: Pairs) -> str:
        chained = self._by_flags(side, pairs, Row.VISIBLE, Level.CHAINS)
        return "global fence of another thread" if chained.all() else "global chain through a relaxed store"

    def in_order(self, side: Side, pairs: Pairs, row: Row) -> tuple[Mask, Mask]:
        """The same as `_reached`, of accesses that are in order in one thread."""
        program = (clusters_of(pairs.tokens) == side.cluster) & (threads_of(pairs.tokens) == pairs.threads)
        if program.all():
            return program, program
        hardware, letter = program.copy(), program.copy()
        rest = ~program
        hardware[rest], letter[rest] = self._reached(side, pairs.of(rest), row)
        return hardware, letter

    def _reached(self, side: Side, pairs: Pairs, row: Row) -> tuple[Mask, Mask]:
        """Returns where the threads may rely on effects of a sort, as hardware does it and by the letter."""
        clusters, others = clusters_of(pairs.tokens), threads_of(pairs.tokens)
        instants = pairs.tokens & INSTANT_MASK
        found = np.zeros(len(clusters), np.bool_)
        own = clusters == side.cluster
        if own.any():
            found[own] = side.monitor.reached(row, pairs.threads[own], others[own], instants[own])
        letter = found.copy()
        rest = ~found
        if rest.any():
            own = pairs.of(rest)
            letter[rest] = found[rest] = known = self._by_flags(side, own, row, Level.LETTER)
            if not known.all():  # hardware orders all that the letter does, and more
                known[~known] = self._by_flags(side, own.of(~known), row, Level.HARDWARE)
                found[rest] = known
        return found, letter

    def _fenced(self, side: Side, pairs: Pairs) -> tuple[Mask, Mask]:
        """Returns where a fence.proxy.async is on the way from generic accesses to the threads."""
        hardware, letter = self._reached(side, pairs, Row.GLOBAL_PROXY)
        rest = ~hardware
        if rest.any():
            own = pairs.of(rest)
            found = self._flags.proxied(side, own.threads, own.tokens)
            hardware[rest], letter[rest] = found, found
        return hardware, letter

    def _by_flags(self, side: Side, pairs: Pairs, row: Row, level: Level) -> Mask:
        return self._flags.reached(side, row, pairs.threads, pairs.tokens, level)

    # Launches
