"""Order by flags in global memory: what strong writes release, and who has acquired it (PTX ISA, section 8.8)."""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.hazards.clocks import Row
from tirx.sim.hazards.global_access import Access, Scope
from tirx.sim.hazards.monitor import FLAG_ROWS, Flag, Monitor

_MOST_PENDING = 64  # relaxed reads of a cluster that a fence may still acquire
_BLOCK = 32  # acquisitions that are looked at together
# Rows of the clocks that flags hand on as another one: what is released is published, and its loads have returned.
_ROWS = {Row.HANDED: Row.VISIBLE, Row.PUBLISHED: Row.VISIBLE, Row.READ: Row.VISIBLE}


class Level(enum.Enum):
    """What counts as order: all that hardware does, that without stores that break a chain, the letter alone."""

    HARDWARE = enum.auto()
    CHAINS = enum.auto()
    LETTER = enum.auto()


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
    instant: int
    flags: Sequence[Flag]
    own: bool  # the threads release all that they know now
    imports: int
    before: Array
    loose: Mask
    scope: Scope


@dataclass(frozen=True, slots=True, eq=False)
class _Pending:
    """Records that threads have read by relaxed accesses at an instant, which a fence may acquire."""

    threads: Array
    records: Array
    instant: int
    scope: Scope
    acquired: set[int] = field(default_factory=set[int])  # threads whose fence has done so


class _Imports:
    """What the threads of a cluster have acquired: a thread, a record, an instant, a scope and a letter for each."""

    def __init__(self) -> None:
        self._lists: tuple[list[int], ...] = ([], [], [], [], [])
        self._known: set[tuple[int, int, int, bool]] = set()

    def __len__(self) -> int:
        return len(self._lists[0])

    def add(self, threads: Array, records: Array, instant: int, scope: Scope, *, letter: bool) -> None:
        """Adds an acquisition of each of `threads`; `letter`: by the letter of the memory model, too."""
        for thread, record in zip(threads.tolist(), records.tolist(), strict=True):
            key = (thread, record, int(scope), letter)
            if key not in self._known:
                self._known.add(key)
                for values, value in zip(self._lists, (thread, record, instant, int(scope), letter), strict=True):
                    values.append(value)

    def block(self, first: int, end: int, level: Level) -> Array:
        """Returns rows of threads, records, instants and scopes of some acquisitions, at LETTER of those by it."""
        found = np.array([values[first:end] for values in self._lists], np.int64)
        return found[:4, found[4] != 0] if level is Level.LETTER else found[:4]


class GlobalFlags:
    """Releases and acquisitions of a launch. Clusters are numbers; `monitor` is that of the cluster."""

    def __init__(self) -> None:
        self._releases: list[_Release] = []
        self._firsts: list[int] = []
        self._next = 1
        self._imports: defaultdict[int, _Imports] = defaultdict(_Imports)
        self._pending: dict[int, list[_Pending]] = {}
        # Proxy fences: threads, instant, and how many imports the cluster had.
        self._proxies: dict[int, list[tuple[Array, int, int]]] = {}

    def release(
        self, cluster: int, lanes: int, monitor: Monitor, threads: Array, access: Access, before: Array, loose: Mask
    ) -> Array | None:
        """
        Returns the numbers of records for strong writes by `threads`, which go on with those in `before`. None if they
        release nothing of their own, and go on with none.
        """
        flags = tuple(monitor.flags(threads, access.scope if access.releases else None))
        if not flags and not before.any():
            return None
        if not flags and not loose.any():
            return before
        made = _Release(
            self._next, cluster, lanes, threads.copy(), monitor.instant(), flags, access.releases,
            len(self._imports[cluster]), before, loose, access.scope,
        )  # fmt: skip
        self._releases.append(made)
        self._firsts.append(self._next)
        self._next += len(threads)
        return np.arange(made.first, self._next)

    def receive(
        self, cluster: int, monitor: Monitor, threads: Array, records: Array, scope: Scope, acquires: bool
    ) -> None:
        """Notes that `threads` have read records (0 for none)."""
        which = np.flatnonzero(records)
        if not len(which):
            return
        if acquires:
            self._imports[cluster].add(threads[which], records[which], monitor.instant(), scope, letter=True)
            return
        found = _Pending(threads[which], records[which], monitor.instant(), scope)
        pending = self._pending.setdefault(cluster, [])
        if pending and np.array_equal(pending[-1].records, found.records):
            if np.array_equal(pending[-1].threads, found.threads):
                pending.pop()
        pending.append(found)
        del pending[:-_MOST_PENDING]

    def proxy_fence(self, cluster: int, monitor: Monitor, threads: Array) -> None:
        """Notes a fence.proxy.async of `threads`: what they have acquired is ordered before later bulk copies."""
        made = len(self._imports[cluster])
        if made:
            self._proxies.setdefault(cluster, []).append((threads.copy(), monitor.instant(), made))

    def proxied(
        self,
        cluster: int,
        lanes: int,
        monitor: Monitor,
        threads: Array,
        clusters: Array,
        others: Array,
        instants: Array,
    ) -> Mask:
        """The same as `reached`, of generic accesses with a fence.proxy.async behind their acquisition."""
        found = np.zeros(len(threads), np.bool_)
        for fencers, instant, made in reversed(self._proxies.get(cluster, ())):
            for fencer in fencers.tolist():
                rest = np.flatnonzero(~found)
                if not len(rest):
                    return found
                count = len(rest)
                same = np.full(count, fencer)
                knows = threads[rest] == fencer
                knows |= monitor.reached(Row.VISIBLE, threads[rest], same, np.full(count, instant))
                rest = rest[knows]
                if len(rest):
                    effects = clusters[rest], others[rest], instants[rest]
                    found[rest] = self.reached(
                        cluster, lanes, monitor, Row.VISIBLE, same[: len(rest)], *effects, Level.HARDWARE, made
                    )
        return found

    def fence(self, cluster: int, monitor: Monitor, threads: Array, scope: Scope, sc: bool) -> None:
        """Acquires, at a fence of `threads`, the records that they, or threads before them by barriers, have read."""
        imports = self._imports[cluster]
        for read in self._pending.get(cluster, ()):
            new = threads[~np.isin(threads, [*read.acquired])]
            if not len(new):
                continue
            read.acquired.update(new.tolist())
            own = np.isin(read.threads, new)
            within = min(scope, read.scope)
            if own.any():
                imports.add(read.threads[own], read.records[own], monitor.instant(), within, letter=True)
            for reader, record in zip(read.threads.tolist(), read.records.tolist(), strict=True):
                others = new[new != reader]
                count = len(others)
                if not count:
                    continue
                known = monitor.reached(Row.VISIBLE, others, np.full(count, reader), np.full(count, read.instant))
                if known.any():
                    who = others[known]
                    imports.add(who, np.full(len(who), record), monitor.instant(), within, letter=sc)
                read.acquired.difference_update(others[~known].tolist())

    def has_read(self, cluster: int, thread: int, record: int) -> bool:
        """Returns True if a thread has read a record, or one that goes on with it, since its last fence."""
        return any(
            ((read.threads == thread) & (read.records == record)).any() for read in self._pending.get(cluster, ())
        )

    def is_own(self, record: int, cluster: int, thread: int) -> bool:
        """Returns True if a record was made by a thread."""
        found, lane = self.release_of(record)
        return found.cluster == cluster and int(found.threads[lane]) == thread

    def release_of(self, record: int) -> tuple[_Release, int]:
        """Returns the writes that made a record, and which of them."""
        found = self._releases[bisect_right(self._firsts, record) - 1]
        return found, record - found.first

    def reached(
        self, cluster: int, lanes: int, monitor: Monitor, row: int, threads: Array, clusters: Array, others: Array,
        instants: Array, level: Level, most: int | None = None,
    ) -> Mask:  # fmt: skip
        """
        Returns True for every i where threads[i] of `cluster` has acquired the effects of a sort of others[i] of
        clusters[i] until instants[i]; by the first `most` acquisitions of the cluster.
        """
        found = np.zeros(len(threads), np.bool_)
        imports = self._imports[cluster]
        end = len(imports) if most is None else most
        users, place = np.unique(threads, return_inverse=True)
        searches: dict[bytes, _Search] = {}
        while end and not found.all():
            first = max(0, end - _BLOCK)
            readers, records, at, scopes = imports.block(first, end, level)
            count, end = len(readers), first
            knows = users[:, None] == readers
            if count and not knows.all():
                pairs = np.repeat(users, count), np.tile(readers, len(users)), np.tile(at, len(users))
                knows |= monitor.reached(Row.VISIBLE, *pairs).reshape(knows.shape)
            for index in reversed(range(count)):
                if not knows[:, index].any():
                    continue
                who = knows[place, index]
                search = searches.setdefault(who.tobytes(), _Search(self, row, clusters, others, instants, level))
                reader = (cluster, int(readers[index]) // lanes, Scope(int(scopes[index])))
                search.look(int(records[index]), reader, who, found)
                if found.all():
                    break
        return found

    def acquired_by(
        self, release: _Release, known: Array, level: Level
    ) -> Iterator[tuple[int, tuple[int, int, Scope]]]:
        """Yields the records that the writer of a release had acquired, and their readers; `known` are its clocks."""
        readers, records, at, scopes = self._imports[release.cluster].block(0, release.imports, level)
        for index in np.flatnonzero(known[readers] >= at).tolist():
            cta = int(readers[index]) // release.lanes
            yield int(records[index]), (release.cluster, cta, Scope(int(scopes[index])))


class _Search:
    """A search among releases for effects of others[i] of clusters[i] until instants[i]."""

    def __init__(self, flags: GlobalFlags, row: int, clusters: Array, others: Array, instants: Array, level: Level):
        self._flags = flags
        self._row = FLAG_ROWS.index(_ROWS.get(Row(row), Row(row)))
        self._clusters, self._others, self._instants = clusters, others, instants
        self._level = level
        self._seen: set[tuple[int, int, int]] = set()

    def look(self, record: int, reader: tuple[int, int, Scope], which: Mask, found: Mask) -> None:
        """Marks in `found` those of `which` that a reader (cluster, CTA in it, scope) acquires by a record."""
        waiting: list[tuple[int, tuple[int, int, Scope]]] = []

        def add(record: int, reader: tuple[int, int, Scope]) -> None:
            key = (record, reader[0], reader[1])
            if record and key not in self._seen:
                self._seen.add(key)
                waiting.append((record, reader))

        add(record, reader)
        while waiting and not found[which].all():
            number, who = waiting.pop()
            release, lane = self._flags.release_of(number)
            if self._level is Level.HARDWARE or not release.loose[lane]:
                add(int(release.before[lane]), who)
            writer = int(release.threads[lane])
            for flag in release.flags:
                if not _covers(min(flag.scope, release.scope, who[2]), release, writer, who):
                    continue
                known = (flag.letter if self._level is Level.LETTER else flag.hardware)[:, lane]
                own = which & (self._clusters == release.cluster)
                found[own] |= known[self._row, self._others[own]] >= self._instants[own]
                if not found[which].all():
                    for more in self._flags.acquired_by(release, known[0], self._level):
                        add(*more)


def _covers(scope: Scope, release: _Release, writer: int, reader: tuple[int, int, Scope]) -> bool:
    """Returns True if a scope has the writer of a record and the reader."""
    if scope >= Scope.GPU:
        return True
    if release.cluster != reader[0]:
        return False
    return scope is Scope.CLUSTER or writer // release.lanes == reader[1]
