"""The monitor that checks synchronisation, with vector clocks and shadows of shared and tensor memory."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import HazardError
from tirx.sim.hazards.clocks import Clocks, Row, places_of
from tirx.sim.hazards.global_access import Access, Fence, Kind, Scope
from tirx.sim.hazards.lifetimes import Lifetimes
from tirx.sim.hazards.monitor import (
    FLAG_ROWS,
    Flag,
    KnownInstants,
    Monitor,
    Note,
    Snapshot,
    Stored,
    TensorAccess,
    Writes,
    bytes_of,
)
from tirx.sim.hazards.shared_shadow import SharedShadow, Writer
from tirx.sim.hazards.tensor_shadow import TensorShadow
from tirx.sim.memory.region import Region

_WARP = 32
_MBARRIER = 8  # bytes of an mbarrier object
# What travels with .relaxed synchronisation: completions and tcgen05 order, but not generic accesses.
_RELAXED: Array = np.array((Row.TENSOR_SENT, Row.TENSOR_DONE, Row.A_READ, Row.BULK_WRITTEN, Row.FILLED, Row.REACHED))


@dataclass(frozen=True, slots=True)
class _Fences:
    """
    Events that each thread released by its last fence and received by relaxed operations: (rows, threads, threads).
    """

    released: Array
    received: Array


def _instants(rows: Mapping[Row, Array]) -> dict[Row, KnownInstants]:
    return {row: KnownInstants(each) for row, each in rows.items() if each.any()}


class Checker(Monitor):
    """
    For a cluster of `ctas` with `lanes` lanes each, and `shared_end` bytes of shared memory.

    `note` hears of what only the letter of the ISA forbids; if it is None, that is an error too. `rows` are those of
    the clocks that the program needs (`rows_of`).
    """

    def __init__(self, ctas: int, lanes: int, shared_end: int, note: Note | None = None, rows: int = len(Row)):
        threads = ctas * lanes
        self._threads, self._lanes, self._note = threads, lanes, note
        self._clocks = Clocks(threads, rows)
        self._rows = rows
        self._shared = [SharedShadow(self._clocks, shared_end, threads // _WARP, note) for _ in range(ctas)]
        self._mbarriers: dict[tuple[int, int], tuple[int, int]] = {}  # (rank, offset) -> thread and instant of init
        self._fenced: Array = np.zeros(threads, np.int64)  # last fence of each thread that covers mbarrier.init
        self._inits_fenced: Array = np.zeros(threads, np.int64)  # last fence.mbarrier_init of each thread
        self._fences: _Fences | None = None
        self._has_received = False
        # What each thread knew of global memory at its last fence of each scope: FLAG_ROWS, threads, threads.
        self._fenced_at: dict[Scope, Array] = {}
        # What accesses to a place release; as long as one thread has made all of them, that and the last one's instant.
        self._ordered: dict[tuple[str, int], Array] = {}
        self._only_user: dict[tuple[str, int], tuple[int, int]] = {}
        self._lifetimes = Lifetimes(self._clocks, ctas, lanes, note)

    @cached_property
    def _tensor(self) -> list[TensorShadow]:
        """Cells of tensor memory of each CTA, 2 MB each, from their first use on."""
        return [TensorShadow(self._clocks, self._note) for _ in self._shared]

    def copy(self) -> Checker:
        """Returns another checker that has heard the same."""
        for shadow in self._shared:
            shadow.catch_up()
        return copy.deepcopy(self, {id(self._note): self._note})

    def tick(self, line: int = 0) -> None:
        self._clocks.now += 1
        self._lifetimes.line = line

    def mark(self) -> int:
        return self._clocks.now

    def instant(self) -> int:
        return self._clocks.now

    # Order

    def release(self, threads: Array) -> Snapshot:
        return self._clocks.release(threads) if len(threads) else None

    def acquire(self, threads: Array, snapshot: Snapshot) -> None:
        if snapshot is not None:
            self._clocks.acquire(threads, snapshot)

    def knows(self, threads: Array, snapshot: Snapshot) -> bool:
        return snapshot is None or self._clocks.knows(threads, snapshot)

    def relaxed(self, threads: Array) -> Snapshot:
        snapshot = self._clocks.nothing()
        self._clocks.own(Row.REACHED, threads)
        snapshot[_RELAXED] = self._clocks.known[_RELAXED[:, None], threads].max(axis=1)
        if self._fences is None:
            return snapshot
        nothing = self._clocks.nothing()
        released = self._fences.released[:, threads].max(axis=1)
        if self._threads > self._lanes:  # a fence of scope .cta releases nothing to other CTAs
            wide = [fenced[:, threads].max(axis=1) for at, fenced in self._fenced_at.items() if at > Scope.CTA]
            released[Row.VISIBLE :] = nothing[Row.VISIBLE :]
            released[list(FLAG_ROWS)] = np.max([nothing[list(FLAG_ROWS)], *wide], axis=0)
            released[Row.HANDED] = released[Row.VISIBLE]
        return np.maximum(snapshot, released)

    def acquire_relaxed(self, threads: Array, snapshot: Snapshot) -> None:
        if snapshot is None:
            return
        known, carried = self._clocks.known, (_RELAXED[:, None], threads)
        known[carried] = np.maximum(known[carried], snapshot[_RELAXED, None])
        fences, self._has_received = self._fence_state(), True
        received = fences.received[: len(snapshot)]
        received[:, threads] = np.maximum(received[:, threads], snapshot[:, None])

    def fence(self, threads: Array, fence: Fence) -> None:
        # What relaxed operations received before the fence is acquired, and what the threads know then is released by
        # relaxed operations behind it (section 8.8).
        self.loads_returned(threads)
        self._clocks.acted(threads)
        fences, known, places = self._fence_state(), self._clocks.known, places_of(threads)
        if fence.acquires and self._has_received:
            known[:, places] = np.maximum(known[:, places], fences.received[:, places])
        if fence.releases:
            fences.released[:, places] = known[:, places]
        if self._rows > Row.PUBLISHED:
            self._publish(threads, fence)

    def _publish(self, threads: Array, fence: Fence) -> None:
        if not fence.releases:
            return
        known, scope = self._clocks.known, min(fence.scope, Scope.GPU)
        if scope not in self._fenced_at:
            self._fenced_at[scope] = np.zeros((len(FLAG_ROWS), self._threads, self._threads), np.int32)
        places = places_of(threads)
        for index, row in enumerate(FLAG_ROWS):
            self._fenced_at[scope][index, places] = known[row, places]
        if scope < Scope.GPU:
            return
        published = [(Row.PUBLISHED, Row.VISIBLE), (Row.PUBLISHED_BULK, Row.BULK_STORED)]
        for row, source in (*published, *([(Row.PUBLISHED_SC, Row.VISIBLE)] if fence.sc else [])):
            known[row, places] = np.maximum(known[row, places], known[source, places])

    def flags(self, threads: Array, scope: Scope | None) -> Sequence[Flag]:
        known = self._clocks.known
        if scope is not None:
            self._clocks.acted(threads)
            own = _instants({row: known[row, threads] for row in FLAG_ROWS})
            return [Flag(scope, own, own)]
        found: list[Flag] = []
        for at, fenced in self._fenced_at.items():
            own = {} if at >= Scope.GPU else _instants({row: fenced[i, threads] for i, row in enumerate(FLAG_ROWS)})
            if own:
                found.append(Flag(at, own, own))
        if Scope.GPU not in self._fenced_at:
            return found
        rows = {row: known[row, threads] for row in FLAG_ROWS}
        rows[Row.VISIBLE], rows[Row.BULK_STORED] = known[Row.PUBLISHED, threads], known[Row.PUBLISHED_BULK, threads]
        hardware = _instants(rows)
        if Row.VISIBLE in hardware:
            by_letter = np.maximum(known[Row.PUBLISHED_SC, threads], self._fenced_at[Scope.GPU][0, threads])
            letter = {key: each for key, each in hardware.items() if key != Row.VISIBLE}
            found.append(Flag(Scope.GPU, hardware, letter | _instants({Row.VISIBLE: by_letter})))
        return found

    def received(self, threads: Array) -> Array:
        known = self._clocks.known[Row.VISIBLE, threads]
        known[np.arange(len(threads)), threads] = 0
        return known.max(axis=0)

    def reached(self, row: int, threads: Array, others: Array, instants: Array) -> Mask:
        if row >= self._rows:  # in programs that need no row of its own
            if row != Row.HANDED:
                return np.zeros(len(threads), np.bool_)
            row = Row.VISIBLE
        return self._clocks.known[row, threads, others] >= instants

    def _fence_state(self) -> _Fences:
        if self._fences is None:
            self._fences = _Fences(*(self._clocks.nothing_of_all() for _ in range(2)))
        return self._fences

    def join(self, first: Snapshot, second: Snapshot) -> Snapshot:
        if first is None or second is None:
            return second if first is None else first
        return np.maximum(first, second)

    def ordered_access(self, space: str, addresses: Array, threads: Array, how: Access | None = None) -> None:
        users: dict[int, list[int]] = {}
        for address, thread in zip(addresses.tolist(), threads.tolist(), strict=True):
            users.setdefault(address, []).append(thread)
        # Flags in global memory order that exactly as they say, and only there.
        rows = slice(None) if space == "shared" else slice(Row.VISIBLE)
        for address, own in users.items():
            place = (space, address)
            if how is not None:
                self._flag_access(place, np.array(own), how, rows)
                continue
            before, only = self._ordered.get(place), self._only_user.get(place)
            if before is None and len(own) == 1 and (only is None or only[0] == own[0]):
                self._only_user[place] = own[0], self._clocks.now
                continue
            if before is None and only is not None:
                before = self._clocks.past(*only)[rows]
            if before is not None:
                self._clocks.acquire(np.array(own), before)
            self._ordered[place] = self._clocks.release(np.array(own))[rows]

    def ordered_alone(self, space: str, address: int, thread: int, instant: int) -> None:
        self._only_user[space, address] = thread, instant

    def _flag_access(self, place: tuple[str, int], threads: Array, how: Access, rows: slice) -> None:
        """Orders threads by an access as exactly as it says: without .acquire and .release by fences only."""
        before = self._ordered.get(place)
        if before is not None and how.reads:
            (self.acquire if how.acquires else self.acquire_relaxed)(threads, before)
        if not how.writes:
            return
        after = self._clocks.release(threads) if how.releases else self.relaxed(threads)
        assert after is not None
        after = after[rows]
        if before is not None and how.kind is Kind.UPDATE:  # goes on with what was released before
            after = np.maximum(before, after)
        self._ordered[place] = after

    def proxy_fence(self, threads: Array) -> None:
        # Of all writes that the thread knows of: the fence may come before or behind the synchronisation with the
        # writer (section 8.9.5: it has to be on the path of causality order).
        known = self._clocks.known
        known[Row.PROXY, threads] = np.maximum(known[Row.PROXY, threads], known[Row.GENERIC, threads])
        self._clocks.own(Row.PROXY, threads)
        self.loads_returned(threads)
        self._fenced[threads] = self._clocks.now

    def global_proxy_fence(self, threads: Array) -> None:
        known = self._clocks.known
        self._clocks.acted(threads)
        known[Row.GLOBAL_PROXY, threads] = np.maximum(known[Row.GLOBAL_PROXY, threads], known[Row.VISIBLE, threads])

    def release_far(self, threads: Array, scope: Scope) -> Snapshot:
        snapshot = self._clocks.release(threads)
        snapshot[Row.FAR] = snapshot[Row.VISIBLE] if scope > Scope.CTA else 0
        snapshot[Row.VISIBLE] = 0
        return snapshot

    def acquire_far(self, threads: Array, snapshot: Snapshot) -> None:
        if snapshot is not None and self._rows > Row.FAR:
            known = self._clocks.known[Row.VISIBLE]
            known[threads] = np.maximum(known[threads], snapshot[Row.FAR])

    def loads_returned(self, threads: Array) -> None:
        self._clocks.own(Row.READ, threads)

    def mbarrier_fence(self, threads: Array) -> None:
        self._fenced[threads] = self._inits_fenced[threads] = self._clocks.now

    # Shared memory

    def shared_load(self, rank: int, offsets: Array, width: int, threads: Array, strong: bool = False) -> None:
        self._lifetimes.use(rank, threads, "a load", Row.GENERIC)
        self._shared[rank].load(offsets, width, threads, strong, self.tolerant)

    def shared_undefined(self, rank: int, offsets: Array, width: int) -> Array:
        return self._shared[rank].undefined(bytes_of(offsets, width))

    def shared_forget(self, rank: int, offsets: Array, width: int) -> None:
        self._shared[rank].forget(bytes_of(offsets, width))

    def shared_store(self, rank: int, offsets: Array, stored: Stored, threads: Array, strong: bool = False) -> None:
        if not strong:
            stored.refuse_clash(threads, self._note)
        self._lifetimes.use(rank, threads, "a store", Row.GENERIC)
        kind = Writer.STRONG if strong else Writer.GENERIC
        self._shared[rank].store(offsets, stored.width, threads, kind, stored)

    def shared_atomic(self, rank: int, offsets: Array, width: int, threads: Array) -> None:
        self._lifetimes.use(rank, threads, "an atomic access", Row.GENERIC)
        self._shared[rank].load(offsets, width, threads, True)
        self._shared[rank].store(offsets, width, threads, Writer.STRONG)

    def copy_async(self, rank: int, offsets: Array, width: int, threads: Array) -> None:
        self._shared[rank].store(offsets, width, threads, Writer.COPY)

    def copies_waited(self, threads: Array, marks: Array) -> None:
        self._clocks.own(Row.COPIED, threads, marks)

    def copies_completed(self, thread: int) -> Snapshot:
        snapshot = self._clocks.release(np.array([thread]))
        snapshot[Row.COPIED, thread] = self._clocks.now
        return snapshot

    # mbarrier objects

    def mbarrier_init(self, rank: int, offset: int, thread: int) -> None:
        self._shared[rank].set_mbarrier(offset, thread, True)
        self._mbarriers[rank, offset] = (thread, self._clocks.now)

    def mbarrier_inval(self, rank: int, offset: int, thread: int) -> None:
        self.mbarrier_use(rank, offset, thread)
        self._shared[rank].set_mbarrier(offset, thread, False)
        del self._mbarriers[rank, offset]

    def mbarrier_use(self, rank: int, offset: int, thread: int, asynchronous: bool = False) -> None:
        if not asynchronous:
            self._lifetimes.use(rank, np.array([thread]), "an mbarrier operation")
        maker, instant = self._mbarriers[rank, offset]
        known = self._clocks.known
        # fence.mbarrier_init releases the initialisation to relaxed synchronisation.
        fenced = instant <= self._inits_fenced[maker] <= known[Row.REACHED, thread, maker]
        if thread != maker and known[Row.GENERIC, thread, maker] < instant and not fenced:
            raise HazardError(
                f"the mbarrier object at {offset:#x} is used by thread {thread}, not ordered behind its initialisation "
                f"by thread {maker}"
            )
        if asynchronous and self._fenced[maker] < instant:
            message = (
                f"the mbarrier object at {offset:#x} is used by the async proxy, but thread {maker} has not executed "
                "fence.mbarrier_init or fence.proxy.async after its initialisation"
            )
            if self._note is None or thread // self._lanes != rank:
                raise HazardError(message)
            self._note("fence.mbarrier_init", message)

    def mbarrier_uses(self, rank: int, offset: int, threads: Array) -> None:
        maker, instant = self._mbarriers[rank, offset]
        known = self._clocks.known
        self._lifetimes.use(rank, threads, "an mbarrier operation")
        if ((known[Row.GENERIC, threads, maker] < instant) & (threads != maker)).any():
            for thread in threads.tolist():
                self.mbarrier_use(rank, offset, thread)

    # Async proxy

    def async_read(
        self, rank: int, region: Region, thread: int, what: str, bulk: bool = False, as_a: bool = False
    ) -> None:
        if not bulk:
            self._lifetimes.use(rank, np.array([thread]), what, Row.TENSOR_DONE)
        row = Row.BULK_READ if bulk else Row.A_READ if as_a else Row.TENSOR_DONE
        self._shared[rank].async_read(region, np.array([thread]), what, row)

    def column(self, barrier: int) -> int:
        """Returns the place of an mbarrier in `Row.FILLED`. Two of them share one where there are few threads."""
        return barrier // _MBARRIER % self._threads

    def async_write(self, rank: int, region: Region, thread: int, what: str, barrier: int) -> None:
        self._lifetimes.use(rank, np.array([thread]), what, Row.BULK_WRITTEN)
        self._lifetimes.start_copy(rank, thread, Row.BULK_WRITTEN)
        self._shared[rank].async_write(region, thread, what, self.column(barrier))

    def swizzled_write(self, rank: int, region: Region, swizzle: int) -> None:
        self._shared[rank].swizzles[region.index] = swizzle

    def shared_writes(self, rank: int, offsets: Array) -> Writes | None:
        return self._shared[rank].writes(offsets)

    def shared_writes_at(self, rank: int, instant: int) -> tuple[Array, Array]:
        return self._shared[rank].writes_at(instant)

    def async_update(self, rank: int, offsets: Array, thread: int, what: str, barrier: int) -> None:
        self._lifetimes.use(rank, np.array([thread]), what, Row.BULK_WRITTEN)
        self._lifetimes.start_copy(rank, thread, Row.BULK_WRITTEN)
        self._shared[rank].async_update(offsets, thread, what, self.column(barrier))

    def deferred_store(
        self, rank: int, offsets: Array, thread: int, what: str, barrier: int, updates: bool = False
    ) -> None:
        self._lifetimes.use(rank, np.array([thread]), what, Row.BULK_WRITTEN)
        self._shared[rank].deferred_store(offsets, thread, what, updates, self.column(barrier))

    def bulk_issued(self, rank: int, thread: int, in_group: bool = True) -> None:
        self._lifetimes.start_copy(rank, thread, Row.BULK_READ if in_group else Row.BULK_WRITTEN)

    def bulk_completed(self, thread: int, barrier: int) -> Snapshot:
        snapshot = self._clocks.release(np.array([thread]))
        snapshot[Row.BULK_WRITTEN, thread] = snapshot[Row.FILLED, self.column(barrier)] = self._clocks.now
        # The completion is of the bytes of the copy: what else the thread did in global memory does not come with it.
        snapshot[[row for row in (Row.VISIBLE, Row.HANDED) if row < self._rows]] = 0
        return snapshot

    def bulk_reads_done(self, threads: Array, marks: Array) -> None:
        self._clocks.own(Row.BULK_READ, threads, marks)

    def bulk_writes_done(self, threads: Array, marks: Array) -> None:
        self._clocks.own(Row.BULK_STORED, threads, marks)

    def warpgroup_read(self, rank: int, region: Region, threads: Array, what: str) -> None:
        self._shared[rank].async_read(region, threads, what, Row.WARPGROUP_READ)

    def warpgroup_reads_done(self, done: Sequence[tuple[int, int, int]]) -> None:
        known = self._clocks.known[Row.WARPGROUP_READ]
        for thread, instant, observers in done:
            own = known[observers : observers + _WARP, thread]
            np.maximum(own, instant, out=own)

    def exited(self, rank: int) -> None:
        self._lifetimes.exit(rank)

    def commit_arrives(self, rank: int, thread: int) -> None:
        self._lifetimes.use(rank, np.array([thread]), "tcgen05.commit", Row.TENSOR_DONE)

    def committed(self, thread: int, reads_a: bool = False) -> Snapshot:
        snapshot = self._clocks.release(np.array([thread]))
        snapshot[Row.A_READ, thread] = self._clocks.now
        if reads_a:
            return snapshot
        snapshot[Row.TENSOR_DONE, thread] = self._clocks.now
        # tcgen05.commit implies fence::before_thread_sync.
        order = self._clocks.tensor_order[thread]
        snapshot[Row.TENSOR_SENT] = np.maximum(snapshot[Row.TENSOR_SENT], order)
        snapshot[Row.TENSOR_SENT, thread] = self._clocks.now
        return snapshot

    # Tensor memory

    def tensor_allocated(self, rank: int, column: int, count: int) -> None:
        self._tensor[rank].allocated(column, count)

    def tensor_freed(self, rank: int, column: int, count: int, thread: int) -> None:
        self._tensor[rank].freed(column, count, thread)

    def tensor_load(self, rank: int, lanes: Array, columns: Array, threads: Array, what: str) -> None:
        self._tensor[rank].load(lanes, columns, threads, what, self.tolerant)

    def tensor_undefined(self, rank: int, lanes: Array, columns: Array) -> Mask:
        return self._tensor[rank].undefined(lanes, columns)

    def tensor_forget(self, rank: int, lanes: Array, columns: Array) -> None:
        self._tensor[rank].forget(lanes, columns)

    def tensor_store(self, rank: int, lanes: Array, columns: Array, threads: Array, what: str) -> None:
        self._tensor[rank].store(lanes, columns, threads, what)

    def tensor_async_read(
        self,
        rank: int,
        lanes: Array,
        columns: Array,
        thread: int,
        what: str,
        shape: int | None = None,
        kind: TensorAccess = "mma",
    ) -> None:
        self._lifetimes.use(rank, np.array([thread]), what, Row.TENSOR_DONE)
        self._tensor[rank].async_read(lanes, columns, thread, kind, what, shape)

    def tensor_async_write(
        self, rank: int, lanes: Array, columns: Array, thread: int, kind: TensorAccess, what: str, shape: int = 0
    ) -> None:
        self._lifetimes.use(rank, np.array([thread]), what, Row.TENSOR_DONE)
        self._tensor[rank].async_write(lanes, columns, thread, kind, what, shape)

    def tensor_fence_before(self, threads: Array) -> None:
        known, order = self._clocks.known, self._clocks.tensor_order
        known[Row.TENSOR_SENT, threads] = np.maximum(known[Row.TENSOR_SENT, threads], order[threads])
        known[Row.TENSOR_SENT, threads, threads] = self._clocks.now

    def tensor_fence_after(self, threads: Array) -> None:
        order = self._clocks.tensor_order
        order[threads] = np.maximum(order[threads], self._clocks.known[Row.TENSOR_SENT, threads])

    def tensor_waited(self, threads: Array, kind: Literal["ld", "st"]) -> None:
        self._clocks.own_all(Row.LOADED if kind == "ld" else Row.STORED, threads)
