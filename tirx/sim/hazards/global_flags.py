"""Order by flags in global memory: what strong writes release, and who has acquired it (PTX ISA, section 8.8)."""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.hazards.clocks import Row
from tirx.sim.hazards.global_access import Access, Scope
from tirx.sim.hazards.monitor import FLAG_ROWS, Flag, Monitor

_MOST_PENDING = 64  # relaxed reads of a cluster that a fence may still acquire
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
    acquired: set[int] = field(default_factory=set[int])  # threads whose fence has done so


class GlobalFlags:
    """Releases and acquisitions of a launch. Clusters are numbers; `monitor` is that of the cluster."""

    def __init__(self) -> None:
        self._releases: list[_Release] = []
        self._firsts: list[int] = []
        self._next = 1
        self._imports: dict[int, list[_Import]] = {}
        self._pending: dict[int, list[_Import]] = {}
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
            len(self._imports.get(cluster, ())), before, loose, access.scope,
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
        found = _Import(threads[which], records[which], monitor.instant(), scope, True)
        if acquires:
            self._add(cluster, found)
            return
        pending = self._pending.setdefault(cluster, [])
        if pending and np.array_equal(pending[-1].records, found.records):
            if np.array_equal(pending[-1].threads, found.threads):
                pending.pop()
        pending.append(found)
        del pending[:-_MOST_PENDING]

    def _add(self, cluster: int, found: _Import) -> None:
        self._imports.setdefault(cluster, []).append(found)

    def proxy_fence(self, cluster: int, monitor: Monitor, threads: Array) -> None:
        """Notes a fence.proxy.async of `threads`: what they have acquired is ordered before later bulk copies."""
        made = len(self._imports.get(cluster, ()))
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
        for read in self._pending.get(cluster, ()):
            new = threads[~np.isin(threads, [*read.acquired])]
            if not len(new):
                continue
            read.acquired.update(new.tolist())
            own = np.isin(read.threads, new)
            within = min(scope, read.scope)
            if own.any():
                found = _Import(read.threads[own], read.records[own], monitor.instant(), within, True)
                self._add(cluster, found)
            for reader, record in zip(read.threads.tolist(), read.records.tolist(), strict=True):
                others = new[new != reader]
                count = len(others)
                if not count:
                    continue
                known = monitor.reached(Row.VISIBLE, others, np.full(count, reader), np.full(count, read.instant))
                if known.any():
                    who = others[known]
                    found = _Import(who, np.full(len(who), record), monitor.instant(), within, sc)
                    self._add(cluster, found)
                read.acquired.difference_update(others[~known].tolist())

    def has_read(self, cluster: int, thread: int, record: int) -> bool:
        """Returns True if a thread has read a record, or one that goes on with it, since its last fence."""
        return any(
            ((read.threads == thread) & (read.records == record)).any() for read in self._pending.get(cluster, ())
        )

    def is_own(self, record: int, cluster: int, thread: int) -> bool:
        """Returns True if a record was made by a thread."""
        found, lane = self._at(record)
        return found.cluster == cluster and int(found.threads[lane]) == thread

    def _at(self, record: int) -> tuple[_Release, int]:
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
        index = FLAG_ROWS.index(_ROWS.get(Row(row), Row(row)))
        for each in reversed(self._imports.get(cluster, ())[:most]):
            if level is Level.LETTER and not each.letter:
                continue
            for reader, record in zip(each.threads.tolist(), each.records.tolist(), strict=True):
                rest = np.flatnonzero(~found)
                if not len(rest):
                    return found
                own = threads[rest]
                knows = own == reader
                if not knows.all():
                    count = len(own)
                    at = np.full(count, each.instant)
                    knows |= monitor.reached(Row.VISIBLE, own, np.full(count, reader), at)
                rest = rest[knows]
                if len(rest):
                    who = (cluster, reader // lanes, each.scope)
                    found[rest] = self._holds(record, who, index, clusters[rest], others[rest], instants[rest], level)
        return found

    def _holds(
        self, record: int, reader: tuple[int, int, Scope], row: int, clusters: Array, others: Array, instants: Array,
        level: Level,
    ) -> Mask:  # fmt: skip
        """Returns what a reader (cluster, CTA in it, scope) of a record acquires by it."""
        found = np.zeros(len(clusters), np.bool_)
        waiting = [(record, reader)]
        seen = {(record, reader[0], reader[1])}

        def add(record: int, reader: tuple[int, int, Scope]) -> None:
            key = (record, reader[0], reader[1])
            if record and key not in seen:
                seen.add(key)
                waiting.append((record, reader))

        while waiting and not found.all():
            number, who = waiting.pop()
            release, lane = self._at(number)
            if level is Level.HARDWARE or not release.loose[lane]:
                add(int(release.before[lane]), who)
            writer = int(release.threads[lane])
            for flag in release.flags:
                if not _covers(min(flag.scope, release.scope, who[2]), release, writer, who):
                    continue
                known = (flag.letter if level is Level.LETTER else flag.hardware)[:, lane]
                own = clusters == release.cluster
                found[own] |= known[row, others[own]] >= instants[own]
                for each in self._imports.get(release.cluster, ())[: release.imports]:
                    if level is Level.LETTER and not each.letter:
                        continue
                    has = known[0, each.threads] >= each.instant
                    for index in np.flatnonzero(has).tolist():
                        at = int(each.threads[index]) // release.lanes
                        add(int(each.records[index]), (release.cluster, at, each.scope))
        return found


def _covers(scope: Scope, release: _Release, writer: int, reader: tuple[int, int, Scope]) -> bool:
    """Returns True if a scope has the writer of a record and the reader."""
    if scope >= Scope.GPU:
        return True
    if release.cluster != reader[0]:
        return False
    return scope is Scope.CLUSTER or writer // release.lanes == reader[1]
