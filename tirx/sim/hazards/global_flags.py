"""Order by flags in global memory: what strong writes release, and who has acquired it (PTX ISA, section 8.8)."""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.hazards.clocks import Row
from tirx.sim.hazards.global_access import Access, Scope
from tirx.sim.hazards.global_shadow import INSTANT_MASK, clusters_of, threads_of
from tirx.sim.hazards.monitor import Flag, KnownInstants, Monitor

_MOST_PENDING = 1 << 12  # relaxed reads of a cluster that a fence may still acquire
_MOST_FENCED = 16  # those of them that have been acquired by their own threads, but not by all that are behind them
_BUDGET = 1 << 28  # bytes of what flags release
_MOST_IMPORTS = 1 << 17  # acquisitions of all clusters
_MOST_SOURCES = 1 << 8  # records of which it is remembered what is acquired by them
_MOST_PROXIES = 1 << 12  # proxy fences of a cluster
# Rows of the clocks that flags hand on as another one: what is released is published, and its loads have returned.
_ROWS = {Row.HANDED: Row.VISIBLE, Row.PUBLISHED: Row.VISIBLE, Row.READ: Row.VISIBLE}


class Level(enum.Enum):
    """Kinds of order: all that hardware does, that without stores that break a chain, the letter alone."""

    HARDWARE = enum.auto()
    CHAINS = enum.auto()
    LETTER = enum.auto()


@dataclass(slots=True, eq=False)
class Side:
    """Accesses of one cluster: its number, lanes of a CTA, monitor, and which of the accesses are its own."""

    cluster: int
    lanes: int
    monitor: Monitor
    own: slice


@dataclass(frozen=True, slots=True, eq=False)
class _Release:
    """
    Strong writes by `threads` of a cluster (a record each, numbered from `first`), and what each of them releases.

    `imports`: how many imports the cluster had then. `before`: the record that each one continues, 0 for none; only as
    hardware does it, not by the letter, where `loose`. `scope` is that of the writes themselves.
    """

    first: int
    cluster: int
    lanes: int
    threads: Array
    flags: Sequence[Flag]
    imports: int
    before: Array
    loose: Mask
    scope: Scope


@dataclass(frozen=True, slots=True, eq=False)
class _Import:
    """
    Threads of a cluster have acquired records at an instant, or read them (while they are pending). `letter`: by the
    letter of the memory model too.
    """

    threads: Array
    records: Array
    instant: int
    scope: Scope
    letter: bool

    def is_like(self, other: _Import) -> bool:
        """Returns True if another import differs in its instant only."""
        if self.scope != other.scope or self.letter != other.letter:
            return False
        return self.threads.tobytes() == other.threads.tobytes() and self.records.tobytes() == other.records.tobytes()

    def of(self, which: Mask, instant: int, scope: Scope) -> _Import:
        """Returns the acquisition, by a fence, of some records that have been read."""
        return _Import(self.threads[which], self.records[which], instant, scope, True)


class _Imports:
    """The acquisitions of a cluster, numbered from 1; the oldest may be forgotten."""

    def __init__(self) -> None:
        self._kept: list[_Import] = []
        self._forgotten = 0

    @property
    def count(self) -> int:
        """The number of the last acquisition."""
        return self._forgotten + len(self._kept)

    def add(self, found: _Import) -> bool:
        """Adds an acquisition; returns False if the last one was the same and earlier."""
        if self._kept and self._kept[-1].is_like(found):
            return False
        self._kept.append(found)
        return True

    def until(self, count: int | None) -> list[_Import]:
        """Returns the first `count` acquisitions, or all, that are not forgotten."""
        return self._kept if count is None else self._kept[: max(count - self._forgotten, 0)]

    def forget(self) -> int:
        """Forgets the older half. Returns how many acquisitions that are."""
        half = len(self._kept) // 2
        del self._kept[:half]
        self._forgotten += half
        return half


@dataclass(slots=True, eq=False)
class _Pending:
    """Records that threads of a cluster have read, and who has acquired them since: (reads, threads of the cluster)."""

    read: _Import
    fenced: Mask
    acquired: Mask


_Reader: TypeAlias = tuple[int, int, Scope]  # of a record: cluster, CTA in it, and the scope of the access
# What a reader acquires: the cluster of the writer, how far writers knew threads there, and its number among them.
_Source: TypeAlias = tuple[int, Mapping[Row, KnownInstants], int]


class _Sources:
    """The acquisitions of a reader of a record, as far as somebody has asked for it: records do not change."""

    def __init__(self, walk: Iterator[_Source]):
        self._walk, self._found = walk, list[_Source]()

    def __iter__(self) -> Iterator[_Source]:
        yield from self._found
        for source in self._walk:
            self._found.append(source)
            yield source


class GlobalFlags:
    """Releases and acquisitions of a launch, by threads of one cluster (`side`) at a time."""

    def __init__(self) -> None:
        self._releases: list[_Release] = []
        self._firsts: list[int] = []
        self._next = 1
        self._imports: defaultdict[int, _Imports] = defaultdict(_Imports)
        self._imported = 0  # acquisitions that are not forgotten
        self._pending: dict[int, list[_Pending]] = {}
        self._size = 0
        self._sources = lru_cache(maxsize=_MOST_SOURCES)(self._sources_of)
        self.fenced = False  # has a thread executed a fence?
        self.forgotten = False  # whether some order is not known any more, as there was too much of it
        # Proxy fences: threads, instant, and how many imports the cluster had.
        self._proxies: defaultdict[int, list[tuple[Array, int, int]]] = defaultdict(list)

    @property
    def any(self) -> bool:
        """Returns True if something has been released."""
        return self._next > 1

    def release(self, side: Side, threads: Array, access: Access, before: Array, loose: Mask) -> Array | None:
        """
        Returns the numbers of records for strong writes by `threads`, which go on with those in `before`. None if they
        release nothing of their own, and go on with none.
        """
        flags = tuple[Flag, ...]()
        if access.releases or self.fenced:
            flags = tuple(side.monitor.flags(threads, access.scope if access.releases else None))
        if not flags and not before.any():
            return None
        if not flags and not loose.any():
            return before
        imports = self._imports[side.cluster].count
        made = _Release(
            self._next, side.cluster, side.lanes, threads.copy(), flags, imports, before, loose, access.scope
        )
        self._releases.append(made)
        self._firsts.append(self._next)
        self._next += len(threads)
        self._size += _size(made)
        if self._size > _BUDGET:
            self._forget()
        return np.arange(made.first, self._next)

    def receive(self, side: Side, threads: Array, records: Array, access: Access) -> None:
        """Notes that `threads` have read records (0 for none)."""
        (which,) = records.nonzero()
        if not len(which):
            return
        found = _Import(threads[which], records[which], side.monitor.instant(), access.scope, True)
        if access.acquires:
            self._add(side.cluster, found)
            return
        pending = self._pending.setdefault(side.cluster, [])
        if pending and np.array_equal(pending[-1].read.records, found.records):
            if np.array_equal(pending[-1].read.threads, found.threads):
                pending.pop()
        count = len(found.threads)
        pending.append(_Pending(found, np.zeros(count, np.bool_), np.zeros((count, 0), np.bool_)))
        if len(pending) > _MOST_PENDING:
            del pending[0]
            self.forgotten = True

    def _forget(self) -> None:
        half = len(self._releases) // 2
        self._size -= sum(map(_size, self._releases[:half]))
        del self._releases[:half], self._firsts[:half]
        self._sources.cache_clear()
        self.forgotten = True

    def _add(self, cluster: int, found: _Import) -> None:
        self._imported += self._imports[cluster].add(found)
        if self._imported > _MOST_IMPORTS:
            self._sources.cache_clear()
            self._imported -= sum(each.forget() for each in self._imports.values())
            self.forgotten = True

    def proxy_fence(self, side: Side, threads: Array) -> None:
        """Notes a fence.proxy.async of `threads`: what they have acquired is ordered before later bulk copies."""
        made, fences = self._imports[side.cluster].count, self._proxies[side.cluster]
        if fences and fences[-1][2] == made and np.array_equal(fences[-1][0], threads):
            return  # the fence before says as much
        if made:
            fences.append((threads.copy(), side.monitor.instant(), made))
        if len(fences) > _MOST_PROXIES:
            del fences[: _MOST_PROXIES // 2]
            self.forgotten = True

    def proxied(self, side: Side, threads: Array, tokens: Array) -> Mask:
        """The same as `reached`, of generic accesses with a fence.proxy.async behind their acquisition."""
        found = np.zeros(len(threads), np.bool_)
        for fencers, instant, made in reversed(self._proxies[side.cluster]):
            for fencer in fencers.tolist():
                rest = np.flatnonzero(~found)
                if not len(rest):
                    return found
                count = len(rest)
                same = np.full(count, fencer)
                knows = threads[rest] == fencer
                knows |= side.monitor.reached(Row.VISIBLE, threads[rest], same, np.full(count, instant))
                rest = rest[knows]
                if len(rest):
                    own = same[: len(rest)]
                    found[rest] = self.reached(side, Row.VISIBLE, own, tokens[rest], Level.HARDWARE, made)
        return found

    def fence(self, side: Side, threads: Array, scope: Scope, sc: bool) -> None:
        """Acquires, at a fence of `threads`, the records that they, or threads before them by barriers, have read."""
        pending, instant = self._pending.get(side.cluster), side.monitor.instant()
        if not pending:
            return
        received = side.monitor.received(threads)
        fencing = np.zeros(len(received), np.bool_)
        fencing[threads] = True
        for each in pending:
            read, within = each.read, min(scope, each.read.scope)
            own = fencing[read.threads] & ~each.fenced
            if own.any():
                self._add(side.cluster, read.of(own, instant, within))
                each.fenced |= own
            if not (received[read.threads] >= read.instant).any():
                continue
            if not each.acquired.shape[1]:
                each.acquired = np.arange(len(received)) == read.threads[:, None]
            which, by = np.nonzero(~each.acquired[:, threads])
            readers, others = read.threads[which], threads[by]
            known = side.monitor.reached(Row.VISIBLE, others, readers, np.full(len(which), read.instant))
            which, others = which[known], others[known]
            if len(which):
                each.acquired[which, others] = True
                self._add(side.cluster, _Import(others, read.records[which], instant, within, sc))
        fenced = [each for each in pending if each.fenced.all()]
        gone = {id(each) for each in fenced if each.acquired.size and each.acquired.all()}
        gone |= {id(each) for each in fenced[:-_MOST_FENCED]}
        if gone:
            pending[:] = [each for each in pending if id(each) not in gone]

    def has_read(self, cluster: int, thread: int, record: int) -> bool:
        """Returns True if a thread has read a record, or one that goes on with it, since its last fence."""
        pending = (each.read for each in self._pending.get(cluster, ()))
        return any(((read.threads == thread) & (read.records == record)).any() for read in pending)

    def is_own(self, record: int, cluster: int, thread: int) -> bool:
        """Returns True if a record was made by a thread."""
        at = self._at(record)
        return at is not None and at[0].cluster == cluster and int(at[0].threads[at[1]]) == thread

    def _at(self, record: int) -> tuple[_Release, int] | None:
        """Returns the writes that made a record, and which of them did; None if it is forgotten."""
        index = bisect_right(self._firsts, record) - 1
        if index < 0:
            return None
        found = self._releases[index]
        return found, record - found.first

    def reached(
        self, side: Side, row: Row, threads: Array, tokens: Array, level: Level, most: int | None = None
    ) -> Mask:
        """
        Returns True for every i where threads[i] of `side` has acquired the effects of a sort (`row`) of the thread of
        tokens[i] until its instant; by the first `most` acquisitions of the cluster.
        """
        found, rest = np.zeros(len(threads), np.bool_), np.arange(len(threads))
        source = _ROWS.get(row, row)
        for each in reversed(self._imports[side.cluster].until(most)):
            if level is Level.LETTER and not each.letter:
                continue
            # Threads that have acquired it themselves come first: they need not know of others.
            knows = threads[:, None] == each.threads
            holds = self._received(side, each, source, knows, tokens, level)
            if not np.logical_and.reduce(holds):
                which, of = np.nonzero(~(knows | holds[:, None]))
                at, others = np.full(len(which), each.instant), np.zeros(knows.shape, np.bool_)
                others[which, of] = side.monitor.reached(Row.VISIBLE, threads[which], each.threads[of], at)
                holds |= self._received(side, each, source, others, tokens, level)
            found[rest[holds]] = True
            rest, threads, tokens = rest[~holds], threads[~holds], tokens[~holds]
            if not len(rest):
                break
        return found

    def _received(self, side: Side, found: _Import, row: Row, knows: Mask, tokens: Array, level: Level) -> Mask:
        """Returns where the effects of `tokens` are among those of an acquisition of whose threads some `knows`."""
        holds = np.zeros(len(tokens), np.bool_)
        for record in set[int](found.records[np.logical_or.reduce(knows, axis=0)].tolist()):
            own = found.records == record
            some: Array = np.flatnonzero(np.logical_or.reduce(knows[:, own], axis=1))
            who = (side.cluster, int(found.threads[own][0]) // side.lanes, found.scope)
            holds[some] |= self._holds(record, who, row, tokens[some], level)
        return holds

    def _holds(self, record: int, reader: _Reader, row: Row, tokens: Array, level: Level) -> Mask:
        """Returns where a reader of a record acquires effects of `tokens` by it."""
        clusters, others, instants = clusters_of(tokens), threads_of(tokens), tokens & INSTANT_MASK
        found, wanted = np.zeros(len(clusters), np.bool_), set[int](clusters.tolist())
        for cluster, known, lane in self._sources(record, reader, level):
            if cluster in wanted and row in known:
                found |= (clusters == cluster) & (known[row].of(lane, others) >= instants)
                if np.logical_and.reduce(found):
                    break
        return found

    def _sources_of(self, record: int, reader: _Reader, level: Level) -> _Sources:
        return _Sources(self._walk(record, reader, level))

    def _walk(self, record: int, reader: _Reader, level: Level) -> Iterator[_Source]:
        """Yields all that a reader of a record acquires by it, those that it continues, and what they had acquired."""
        waiting = [(record, reader)]
        seen = {waiting[0]}

        def add(record: int, reader: _Reader) -> None:
            if record and (record, reader) not in seen:
                seen.add((record, reader))
                waiting.append((record, reader))

        while waiting:
            number, who = waiting.pop()
            at = self._at(number)
            if at is None:
                continue
            release, lane = at
            if level is Level.HARDWARE or not release.loose[lane]:
                add(int(release.before[lane]), who)
            writer = int(release.threads[lane])
            for flag in release.flags:
                if not _covers(min(flag.scope, release.scope, who[2]), release, writer, who):
                    continue
                known = flag.letter if level is Level.LETTER else flag.hardware
                yield release.cluster, known, lane
                if Row.VISIBLE not in known:
                    continue
                for each in self._imports[release.cluster].until(release.imports):
                    if level is Level.LETTER and not each.letter:
                        continue
                    has = known[Row.VISIBLE].of(lane, each.threads) >= each.instant
                    for reader_lane in np.flatnonzero(has).tolist():
                        cta = int(each.threads[reader_lane]) // release.lanes
                        add(int(each.records[reader_lane]), (release.cluster, cta, each.scope))


def _size(release: _Release) -> int:
    return 500 + 24 * len(release.threads) + sum(flag.nbytes for flag in release.flags)


def _covers(scope: Scope, release: _Release, writer: int, reader: tuple[int, int, Scope]) -> bool:
    """Returns True if a scope has the writer of a record and the reader."""
    if scope >= Scope.GPU:
        return True
    if release.cluster != reader[0]:
        return False
    return scope is Scope.CLUSTER or writer // release.lanes == reader[1]
