"""Vector clocks: the effects of each thread that every other thread may rely on."""

from __future__ import annotations

import enum
from typing import TypeAlias

import numpy as np

from tirx.sim.core.types import Array


class Row(enum.IntEnum):
    """
    Sorts of effects, which synchronisation passes on. Those from VISIBLE on are about global memory; a program has as
    many of them as it needs (`rows_of`).
    """

    GENERIC = 0  # loads and stores
    PROXY = 1  # stores made visible to the async proxy (fence.proxy.async)
    TENSOR_DONE = 2  # completed tcgen05.mma and cp
    LOADED = 3  # completed tcgen05.ld
    STORED = 4  # completed tcgen05.st
    BULK_WRITTEN = 5  # completed bulk copies to shared memory
    FILLED = 6  # the same, by mbarrier in place of thread (`Checker.column`): copies of a thread may pass each other
    BULK_READ = 7  # bulk copies that have read shared memory
    COPIED = 8  # completed cp.async
    WARPGROUP_READ = 9  # wgmma.mma_async that have read shared memory
    REACHED = 10  # how far a thread has come, whatever of its memory accesses is visible
    READ = 11  # generic loads of shared memory that have returned, behind a barrier of the CTA or a fence
    TENSOR_SENT = 12  # tcgen05 order received, or published by fence::before_thread_sync
    A_READ = 13  # tcgen05.mma that have read A from shared memory
    VISIBLE = 14  # generic accesses of global memory
    BULK_STORED = 15  # completed bulk copies and reductions to global memory
    GLOBAL_PROXY = 16  # generic accesses of global memory ahead of a fence.proxy.async
    HANDED = 17  # VISIBLE, and what mbarriers of scope .cta between CTAs let others overwrite
    FAR = 18  # released at .cluster to an mbarrier of another CTA, acquired by waits of that scope
    PUBLISHED = 19  # VISIBLE at a fence of scope .gpu or wider of any thread
    PUBLISHED_SC = 20  # the same at a fence.sc
    PUBLISHED_BULK = 21  # BULK_STORED at such a fence


def rows_of(*, bulk: bool, clusters: bool, fences: bool) -> int:
    """Returns how many rows a program needs that has bulk copies, clusters of several CTAs, or fences of threads."""
    if fences:
        return len(Row)
    return Row.FAR + 1 if clusters else Row.GLOBAL_PROXY + 1 if bulk else Row.VISIBLE + 1


_MOST_BOUNDS = 1 << 14


# Threads of a cluster: the first and the last, if they follow each other, otherwise -1 and all of them.
Span: TypeAlias = tuple[int, ...]


def span_of(threads: Array) -> Span:
    """Names a set of threads, which are in ascending order."""
    first, last = int(threads[0]), int(threads[-1])
    return (first, last) if last - first == len(threads) - 1 else (-1, *threads.tolist())


def _index(span: Span) -> slice | list[int]:
    return list(span[1:]) if span[0] < 0 else slice(span[0], span[1] + 1)


def places_of(threads: Array) -> Array | slice | list[int]:
    """The threads as an index: a slice, which needs no copy, if they follow each other."""
    return _index(span_of(threads)) if len(threads) else threads


class Clocks:
    """
    Vector clocks: `known[row, u, t]` is the last instant of thread t whose effects of kind `row` thread u may rely on.

    `now` counts instructions. `tensor_order` is, in the same way, the tcgen05 order in force for thread u
    (fence::after_thread_sync), which nothing passes on.
    """

    def __init__(self, threads: int, rows: int = len(Row)):
        self.known: Array = np.zeros((rows, threads, threads), np.int32)
        self.tensor_order: Array = np.zeros((threads, threads), np.int32)
        self.now = 1
        self._own_rows: Array = np.array(
            [row for row in (Row.GENERIC, Row.REACHED, Row.VISIBLE, Row.HANDED) if row < rows]
        )
        self._threads = threads
        self._bounds: dict[tuple[Row, Span, Span], int] = {}

    def all_know(self, row: Row, observers: Span, threads: Span, instant: int) -> bool:
        """Returns True if each of `observers` may rely on the effects of each of `threads` until `instant`."""
        key = (row, observers, threads)
        bound = self._bounds.get(key)
        if bound is None or bound < instant:  # nobody ever forgets
            bound = int(self.known[row, _index(observers)][:, _index(threads)].min())
            if len(self._bounds) > _MOST_BOUNDS:
                self._bounds.clear()
            self._bounds[key] = bound
        return bound >= instant

    def release(self, threads: Array) -> Array:
        """All that `threads` (at least one) know: (rows, threads)."""
        self.acted(threads)
        found: Array = np.maximum.reduce(self.known[:, places_of(threads)], axis=1)
        return found

    def acted(self, threads: Array) -> None:
        """Lets each of `threads` rely on what it has done itself, until now."""
        self.known[self._own_rows[:, None], threads, threads] = self.now

    def past(self, thread: int, instant: int) -> Array:
        """
        Returns the snapshot of a `release` by a thread at an instant: (rows, threads). It may have what happened before
        that instant and the thread has only heard of since.
        """
        found = np.minimum(self.known[:, thread], instant)
        found[self._own_rows, thread] = instant
        return found

    def acquire(self, threads: Array, snapshot: Array) -> None:
        """Lets `threads` rely on a snapshot, or on its first rows."""
        known = self.known[: len(snapshot)]
        places = places_of(threads)
        if isinstance(places, slice):
            np.maximum(known[:, places], snapshot[:, None], out=known[:, places])
        else:
            known[:, places] = np.maximum(known[:, places], snapshot[:, None])

    def knows(self, threads: Array, snapshot: Array) -> bool:
        return bool((self.known[:, places_of(threads)] >= snapshot[:, None]).all())

    def own(self, row: Row, threads: Array, instants: Array | int | None = None) -> None:
        """Lets each of `threads` rely on its own effects until now (or until `instants`)."""
        until = self.now if instants is None else instants
        self.known[row, threads, threads] = np.maximum(self.known[row, threads, threads], until)

    def own_all(self, row: Row, threads: Array) -> None:
        """Lets each of `threads` rely on the effects of all of them until now."""
        self.known[row, threads[:, None], threads[None, :]] = self.now

    def nothing_of_all(self) -> Array:
        return np.zeros(self.known.shape, np.int32)  # unlike zeros_like, it takes no memory yet

    def nothing(self) -> Array:
        return np.zeros((len(self.known), self._threads), np.int32)
