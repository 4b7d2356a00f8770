"""Interface for checkers of synchronisation. The base class checks nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from tirx.sim.core.types import WARP, Array, Mask
from tirx.sim.errors import HazardError
from tirx.sim.hazards.clashes import RULE, differ_by_rounding
from tirx.sim.hazards.clocks import Row
from tirx.sim.hazards.global_access import Access, Fence, Scope
from tirx.sim.memory.region import Region

# What a thread may rely on, to be handed from releasing to acquiring threads; None when nothing is checked.
Snapshot: TypeAlias = "Array | None"
# Hears of a rule that is broken, and a message, where that is no error.
Note: TypeAlias = Callable[[str, str], None]
_NOTHING: Array = np.zeros(0, np.int64)
TensorAccess: TypeAlias = Literal["mma", "cp", "cp.4x256b", "shift"]


@dataclass(frozen=True, slots=True)
class Writes:
    """
    The last writes to some bytes, an element for each: whether a thread wrote it, through registers or by cp.async; the
    instant; and the number of the swizzle of the bulk tensor copy that wrote it, -1 if it was none.
    """

    by_threads: Array
    instants: Array
    swizzles: Array


# What flags in global memory hand on.
FLAG_ROWS = (
    Row.VISIBLE, Row.BULK_STORED, Row.GLOBAL_PROXY, Row.BULK_WRITTEN, Row.FILLED, Row.BULK_READ, Row.COPIED,
)  # fmt: skip


class KnownInstants:
    """
    Instants of each thread of a cluster that some others rely on (others, threads). Most of them rely on the same: kept
    are the least, and what differs from it.
    """

    __slots__ = ("_least", "_places", "_values")

    def __init__(self, instants: Array):
        self._least = instants.min(axis=0)
        self._places = np.flatnonzero(instants != self._least)
        self._values = instants.ravel()[self._places]

    @property
    def nbytes(self) -> int:
        return self._least.nbytes + self._places.nbytes + self._values.nbytes

    def of(self, other: int, threads: Array) -> Array:
        """Returns the instants of `threads` that one of the others relies on."""
        found = self._least[threads]
        if len(self._places):
            at = threads + other * len(self._least)
            index = np.minimum(np.searchsorted(self._places, at), len(self._places) - 1)
            found = np.where(self._places[index] == at, self._values[index], found)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Flag:
    """
    Instants that strong writes of some threads release at a scope, by row (those that they know something of), as
    hardware does it and by the letter of the memory model.
    """

    scope: Scope
    hardware: Mapping[Row, KnownInstants]
    letter: Mapping[Row, KnownInstants]

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in (*self.hardware.values(), *self.letter.values()))


class Stored:
    """The values that a store writes: thread i values[i], elements, to offsets[i] of `memory` (bytes, before that)."""

    __slots__ = ("width", "_offsets", "_values", "_memory", "_changes")

    def __init__(self, offsets: Array, values: Array, memory: Array):
        self.width: int = values.dtype.itemsize * values.shape[1]
        self._offsets, self._values, self._memory = offsets, values, memory
        self._changes: Array | None = None

    def refuse_clash(self, threads: Array, note: Note | None = None) -> None:
        """
        Raises HazardError if `threads` write different values to a byte.

        Lanes of one warp may, if the values differ by rounding: `note` hears of that. If it is None, that is an error.
        """
        if len(self._offsets) < 2 or _are_apart(self._offsets.tobytes(), self.width):
            return
        places, values = bytes_of(self._offsets, self.width).ravel(), self._bytes().ravel()
        order = np.argsort(places)
        places, values = places[order], values[order]
        bad = (places[1:] == places[:-1]) & (values[1:] != values[:-1])
        if bad.any():
            address = int(places[1:][bad][0])
            message = f"data race: lanes of one store write different values to shared address {address:#x}"
            if note is None or not differ_by_rounding(self._offsets, self._values, threads // WARP):
                raise HazardError(message)
            note(RULE, f"{message}, which differ by rounding")

    def changes(self) -> Array:
        """Returns for each thread whether it changes what is in memory."""
        found = self._changes
        if found is None:
            places = bytes_of(self._offsets, self.width)
            found = self._changes = (self._memory[places] != self._bytes()).any(axis=1)
        return found

    def finds_as(self, other: Stored) -> bool:
        """Returns True if `other` has given the answers that this one has given so far, and its width is the same."""
        if self.width != other.width:
            return False
        return self._changes is None or np.array_equal(self._changes, other.changes())

    def without_values(self) -> Stored:
        """Returns the same answers that were given so far."""
        found = Stored(_NOTHING, np.zeros((0, self.width), np.uint8), _NOTHING)
        found._changes = self._changes
        return found

    def _bytes(self) -> Array:
        return np.ascontiguousarray(self._values).view(np.uint8)


def bytes_of(offsets: Array, width: int) -> Array:
    """The bytes (lanes, width) of accesses."""
    return offsets[:, None] + np.arange(width)


@lru_cache(maxsize=4096)
def _are_apart(offsets: bytes, width: int) -> bool:
    """Returns True if accesses of `width` bytes at multiples of the width (int64) are to different bytes."""
    return len(np.unique(np.frombuffer(offsets, np.int64))) * 8 == len(offsets)


class Monitor:
    """
    Interface that is told every access to shared and tensor memory and every synchronisation in a cluster. A checker
    raises SimError for accesses that the PTX memory model does not order (sections 8, and 9.7.16.6 for tcgen05).

    `threads` are indices in the cluster: rank of the CTA * lanes of a CTA + lane. `rank` is the CTA whose memory it is;
    `offsets` are shared memory addresses without the rank, one for each thread. Accesses are reported before they
    happen.
    """

    # Whether loads may read what was never written.
    tolerant = False
    # Whether accesses are of interest although nothing is checked.
    records = False

    def tick(self, line: int = 0) -> None:
        """An instruction starts, which is on a line of the PTX."""

    # Order

    def release(self, threads: Array) -> Snapshot:
        """Returns a snapshot of all that `threads` have done or know of, for threads that acquire it."""
        return None

    def acquire(self, threads: Array, snapshot: Snapshot) -> None:
        """Adds a released snapshot to the events known to `threads`."""

    def knows(self, threads: Array, snapshot: Snapshot) -> bool:
        """Returns True if `threads` have acquired everything in `snapshot` already."""
        return True

    def relaxed(self, threads: Array) -> Snapshot:
        """Returns the snapshot that a `.relaxed` synchronisation carries."""
        return None

    def acquire_relaxed(self, threads: Array, snapshot: Snapshot) -> None:
        """The receiving side of a `.relaxed` wait."""

    def join(self, first: Snapshot, second: Snapshot) -> Snapshot:
        """Both together."""
        return None

    def proxy_fence(self, threads: Array) -> None:
        """fence.proxy.async: generic writes so far become visible to the async proxy."""

    def loads_returned(self, threads: Array) -> None:
        """Notes a barrier of the CTA or the cluster: all loads of `threads` so far have returned."""

    def mbarrier_fence(self, threads: Array) -> None:
        """fence.mbarrier_init"""

    def fence(self, threads: Array, fence: Fence) -> None:
        """Notes fence.acq_rel, .acquire, .release or .sc, which orders relaxed operations before and behind it."""

    # Global memory

    def instant(self) -> int:
        """Returns the present on the clock of the cluster, for accesses of global memory."""
        return 0

    def reached(self, row: int, threads: Array, others: Array, instants: Array) -> Mask:
        """Returns True for every i where threads[i] may rely on effects of others[i] until instants[i]."""
        return np.ones(len(threads), np.bool_)

    def received(self, threads: Array) -> Array:
        """Returns the last instant of each thread of the cluster that one of `threads`, but itself, may rely on."""
        raise NotImplementedError

    def flags(self, threads: Array, scope: Scope | None) -> Sequence[Flag]:
        """
        Returns what strong writes of `threads` to global memory release: with .release at `scope`, or (None) by the
        fences before them.
        """
        return ()

    def global_proxy_fence(self, threads: Array) -> None:
        """fence.proxy.async of global memory: generic accesses so far are ordered before later ones by bulk copies."""

    def bulk_writes_done(self, threads: Array, marks: Array) -> None:
        """cp.async.bulk.wait_group: the copies to global memory that thread i issued until mark i are complete."""

    def release_far(self, threads: Array, scope: Scope) -> Snapshot:
        """The same as `release`, to an mbarrier of another CTA."""
        return None

    def acquire_far(self, threads: Array, snapshot: Snapshot) -> None:
        """Adds what other CTAs released at .cluster to the events known to `threads`, whose wait has that scope."""

    # Shared memory, generic proxy

    def shared_load(self, rank: int, offsets: Array, width: int, threads: Array, strong: bool = False) -> None:
        """Thread i reads `width` bytes at offsets[i]; `strong` ones (relaxed, volatile) race with no strong write."""

    def shared_undefined(self, rank: int, offsets: Array, width: int) -> Array:
        """Returns True for every i where one of the `width` bytes at offsets[i] is undefined or was never written."""
        return np.zeros(len(offsets), np.bool_)

    def shared_forget(self, rank: int, offsets: Array, width: int) -> None:
        """Marks bytes as undefined, because undefined values were stored there."""

    def shared_store(self, rank: int, offsets: Array, stored: Stored, threads: Array, strong: bool = False) -> None:
        """Thread i writes to offsets[i], which `stored` knows, too."""

    def shared_atomic(self, rank: int, offsets: Array, width: int, threads: Array) -> None:
        """Thread i updates `width` bytes at offsets[i] atomically."""

    def ordered_access(self, space: str, addresses: Array, threads: Array, how: Access | None = None) -> None:
        """
        Orders threads that read or write the same address with .acquire or .release or between fences: threads[i] is
        one that accesses addresses[i] of a state space. `how`: without those, and without fences, they are not ordered.
        """

    def ordered_alone(self, space: str, address: int, thread: int, instant: int) -> None:
        """Notes that one thread has made all ordered accesses to an address, the last one behind an instant."""

    def copy_async(self, rank: int, offsets: Array, width: int, threads: Array) -> None:
        """cp.async of thread i will write `width` bytes at offsets[i]."""

    def copies_waited(self, threads: Array, marks: Array) -> None:
        """Marks the copies that thread i issued up to marks[i] (see `mark`) as complete and visible to it."""

    def copies_completed(self, thread: int) -> Snapshot:
        """Returns the snapshot that cp.async.mbarrier.arrive gives to threads that wait for its mbarrier."""
        return None

    def mark(self) -> int:
        """The present, for `copies_waited`."""
        return 0

    # mbarrier objects

    def mbarrier_init(self, rank: int, offset: int, thread: int) -> None:
        """The 8 bytes at `offset` become an mbarrier object."""

    def mbarrier_inval(self, rank: int, offset: int, thread: int) -> None:
        """Notes that bytes are no mbarrier any more."""

    def mbarrier_use(self, rank: int, offset: int, thread: int, asynchronous: bool = False) -> None:
        """An operation on it, by a thread or (asynchronous) by the async proxy on its behalf."""

    def mbarrier_uses(self, rank: int, offset: int, threads: Array) -> None:
        """An operation on it by several threads."""

    # Async proxy: bulk copies, tcgen05.mma and tcgen05.cp

    def async_read(
        self, rank: int, region: Region, thread: int, what: str, bulk: bool = False, as_a: bool = False
    ) -> None:
        """Bytes of `region` are read on behalf of `thread`: by a bulk copy (`bulk`), else by tcgen05, `as_a` as A."""

    def async_write(self, rank: int, region: Region, thread: int, what: str, barrier: int) -> None:
        """
        The bytes of `region` will be written by a bulk copy that `thread` issues, and tells the mbarrier at the offset
        `barrier`.
        """

    def swizzled_write(self, rank: int, region: Region, swizzle: int) -> None:
        """Says with which swizzle (its number among those of tensor maps) a bulk tensor copy writes bytes."""

    def shared_writes(self, rank: int, offsets: Array) -> Writes | None:
        """Returns what is known of the last writes to bytes; None if nothing is kept."""
        return None

    def shared_writes_at(self, rank: int, instant: int) -> tuple[Array, Array]:
        """Returns the bytes that threads wrote at an instant, and the thread of each."""
        return np.zeros(0, np.int64), np.zeros(0, np.int64)

    def async_update(self, rank: int, offsets: Array, thread: int, what: str, barrier: int) -> None:
        """Bytes at `offsets` will be updated atomically by a bulk reduction that `thread` issues."""

    def deferred_store(
        self, rank: int, offsets: Array, thread: int, what: str, barrier: int, updates: bool = False
    ) -> None:
        """Bytes at `offsets` will be written, or updated atomically, by a st.async or red.async of `thread`."""

    def bulk_issued(self, rank: int, thread: int, in_group: bool = True) -> None:
        """
        Notes that a bulk copy of `thread` reads shared memory of CTA `rank` as part of its next group, or (not
        `in_group`) until an mbarrier is told, which may be all that is there.
        """

    def bulk_completed(self, thread: int, barrier: int) -> Snapshot:
        """Returns the snapshot that a bulk copy issued now gives to threads that wait for its mbarrier at `barrier`."""
        return None

    def ended(self) -> None:
        """Nothing more happens in the cluster."""

    def bulk_reads_done(self, threads: Array, marks: Array) -> None:
        """cp.async.bulk.wait_group(.read): the copies that thread i issued until mark i have read their sources."""

    def warpgroup_read(self, rank: int, region: Region, threads: Array, what: str) -> None:
        """Bytes are read by wgmma.mma_async of several warps; `threads` are their first ones."""

    def warpgroup_reads_done(self, done: Sequence[tuple[int, int, int]]) -> None:
        """
        Notes that wgmma.mma_async have completed. For each (thread, instant, observers): those of the warp of `thread`
        until `instant`, which the warp of `observers` knows.
        """

    def exited(self, rank: int) -> None:
        """The last thread of a CTA has exited."""

    def commit_arrives(self, rank: int, thread: int) -> None:
        """tcgen05.commit of a thread will arrive at an mbarrier of CTA `rank`."""

    def committed(self, thread: int, reads_a: bool = False) -> Snapshot:
        """Returns the snapshot that tcgen05.commit gives to threads that wait for its mbarrier; `reads_a`: for products
        to have read A from shared memory, and for nothing else."""
        return None

    # Tensor memory; lanes and columns broadcast against each other

    def tensor_allocated(self, rank: int, column: int, count: int) -> None:
        """Columns are new: nothing has been written to them."""

    def tensor_freed(self, rank: int, column: int, count: int, thread: int) -> None:
        """Columns are given back."""

    def tensor_load(self, rank: int, lanes: Array, columns: Array, threads: Array, what: str) -> None:
        """tcgen05.ld of cell (lanes, columns)[i, ...] by threads[i, ...]"""

    def tensor_undefined(self, rank: int, lanes: Array, columns: Array) -> Mask:
        """Returns True for every cell that was never written."""
        return np.zeros(lanes.shape, np.bool_)

    def tensor_forget(self, rank: int, lanes: Array, columns: Array) -> None:
        """Marks cells as never written, because undefined values were stored there."""

    def tensor_store(self, rank: int, lanes: Array, columns: Array, threads: Array, what: str) -> None:
        """tcgen05.st"""

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
        """Notes cells read by tcgen05.mma or shift; `shape` is that of the accumulator, for pipelined MMAs."""

    def tensor_async_write(
        self, rank: int, lanes: Array, columns: Array, thread: int, kind: TensorAccess, what: str, shape: int = 0
    ) -> None:
        """Cells written by them."""

    def tensor_fence_before(self, threads: Array) -> None:
        """tcgen05.fence::before_thread_sync"""

    def tensor_fence_after(self, threads: Array) -> None:
        """tcgen05.fence::after_thread_sync"""

    def tensor_waited(self, threads: Array, kind: Literal["ld", "st"]) -> None:
        """tcgen05.wait::ld or ::st"""
