"""Last writers and readers of global memory, byte by byte in granules that are as large as the accesses allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.hazards.global_access import Access

_MOST_SILENT = 64  # arrays of granules of a cluster
_NO_UNITS: Array = np.zeros(0, np.int64)
_PAGE_SHIFT = 16
_PAGE = 1 << _PAGE_SHIFT  # bytes whose state is allocated together
_LARGEST = 16  # bytes of a granule
_BUDGET = 1 << 28  # bytes of reads that are remembered

# An access is a token: number of the cluster + 1, thread in the cluster, instant on the cluster's clock. 0 is the host.
CLUSTER_SHIFT, THREAD_SHIFT = 42, 28
MOST_CLUSTERS = 1 << 20
_THREAD_MASK, INSTANT_MASK = (1 << (CLUSTER_SHIFT - THREAD_SHIFT)) - 1, (1 << THREAD_SHIFT) - 1
# How it was made, in 32 bits: kind, logarithm of the size of an element, scope, whether it left memory as it was, and
# the instruction.
_WIDTH_SHIFT, _SCOPE_SHIFT, _SILENT_SHIFT, _PC_SHIFT = 4, 7, 9, 10
_Packed = TypeVar("_Packed", Array, int)  # tokens, or hows: an array, or one of them


def clusters_of(tokens: _Packed) -> _Packed:
    """Returns the number of the cluster of each token."""
    return (tokens >> CLUSTER_SHIFT) - 1


def threads_of(tokens: _Packed) -> _Packed:
    """Returns the thread in its cluster of each token."""
    return tokens >> THREAD_SHIFT & _THREAD_MASK


def how(kind: int, element: int, scope: int, pc: int) -> int:
    """Packs the way of an access: `element` is in bytes, at most 64; `pc` the index of the instruction."""
    width = max(element.bit_length() - 1, 0)
    return kind | width << _WIDTH_SHIFT | scope << _SCOPE_SHIFT | (pc & 0x1FFFFF) << _PC_SHIFT


SILENT = 1 << _SILENT_SHIFT


def silent_of(hows: Array) -> Mask:
    """Returns True for each packed way of access that left memory as it was."""
    return (hows & SILENT).astype(np.bool_)


def kinds_of(hows: _Packed) -> _Packed:
    """Returns the `Kind` of each packed way of access."""
    return hows & 15


def widths_of(hows: _Packed) -> _Packed:
    """Returns the logarithm of the element size of each packed way of access."""
    return hows >> _WIDTH_SHIFT & 7


def scopes_of(hows: _Packed) -> _Packed:
    """Returns the `Scope` of each packed way of access."""
    return hows >> _SCOPE_SHIFT & 3


def pc_of(how: int) -> int:
    """Returns the index of the instruction of a packed way of access."""
    return int(how) >> _PC_SHIFT & 0x1FFFFF


@dataclass(slots=True, eq=False)
class Reads:
    """Reads by one instruction: `width` bytes at each of `offsets` in a buffer, with a token each."""

    offsets: Array
    width: int
    tokens: Array
    how: int
    granule: int = 0  # bytes; 0: not noted byte by byte yet
    units: Array | None = None  # granules, of each offset the same number
    before: Array | None = None  # of each granule: the number of the reads before these, 0 for none
    order: Array | None = None  # sorts the granules

    @property
    def size(self) -> int:
        """Bytes of the record, about."""
        return 200 + self.offsets.nbytes + self.tokens.nbytes


class ReadLog:
    """Reads of all buffers by number, from 1; the oldest are forgotten beyond a budget of bytes."""

    def __init__(self) -> None:
        self._reads: dict[int, Reads] = {}
        self._count = 0
        self._size = 0
        self.forgotten = 0  # the last number that is not remembered any more

    def add(self, reads: Reads) -> int:
        """Returns the number of new reads."""
        self._count += 1
        self._reads[self._count] = reads
        self._size += 3 * reads.size
        while self._size > _BUDGET:
            self.forgotten += 1
            self._size -= 3 * self._reads.pop(self.forgotten).size
        return self._count

    def get(self, number: int) -> Reads | None:
        """Returns reads by their number; None if they are forgotten."""
        return self._reads.get(number)


class GlobalShadow:
    """
    The state of a buffer of `size` bytes that the kernel writes. Arrays have an element for each granule (`places`).

    `writes`, `reads` are tokens of the last write and the last read since; `write_hows`, `read_hows` how.
    `several`: threads besides the last reader have read the granule since it was written; `chains` are the numbers of
    the last reads in the log. A write that leaves memory as it was is silent; `firsts`, `first_hows` are then the write
    that the value is of. `earlier`, `earlier_hows` are the first of strong writes by several threads, which end with
    `writes`; 0 if there are none. `records` are the numbers of what flags there release.
    """

    def __init__(self, size: int, log: ReadLog):
        self._log = log
        self.granule = _LARGEST
        self._table: Array = np.full(-(-size // _PAGE), -1, np.int64)
        self._pages = 0
        self._is_read = False
        self.writes = self.reads = np.zeros(0, np.int64)
        self.write_hows = self.read_hows = self.chains = np.zeros(0, np.int32)
        self.several: Mask = np.zeros(0, np.bool_)
        self.firsts: Array | None = None
        self.first_hows: Array | None = None
        self.earlier: Array | None = None
        self.earlier_hows: Array | None = None
        self.records: Array | None = None
        # Granules that clusters have written silently over writes of others, by cluster: sets, and what has come since.
        self._silent: dict[int, list[Array]] = {}

    _ARRAYS = (
        "writes",
        "reads",
        "write_hows",
        "read_hows",
        "chains",
        "several",
        "firsts",
        "first_hows",
        "earlier",
        "earlier_hows",
        "records",
    )

    def units(self, offsets: Array, width: int, *, aligned: bool = False) -> Array:
        """
        Returns the granules (accesses, granules of each) of `width` bytes at `offsets`; refines them if need be.
        `aligned`: the offsets are multiples of the width.
        """
        if len(offsets):
            found = width if aligned else int(np.bitwise_or.reduce(offsets)) | width
            if found & (self.granule - 1):
                self._refine(found & -found)
        units = (offsets >> self.granule.bit_length() - 1)[:, None]
        return units if width == self.granule else units + np.arange(width // self.granule)

    def places(self, units: Array) -> Array:
        """Returns the places of granules in the arrays."""
        shift = _PAGE_SHIFT - self.granule.bit_length() + 1
        pages = units >> shift
        slots = self._table.take(pages)
        if slots.size and np.minimum.reduce(slots, axis=None) < 0:
            new = np.unique(pages[slots < 0])
            self._table[new] = np.arange(self._pages, self._pages + len(new))
            self._pages += len(new)
            self._grow()
            slots = self._table.take(pages)
        return (slots - pages << shift) + units

    def touched_units(self) -> Array:
        """Returns the granules of the pages that have been accessed."""
        count = _PAGE // self.granule
        pages = np.flatnonzero(self._table >= 0)
        return (pages[:, None] * count + np.arange(count)).ravel()

    def _grow(self) -> None:
        needed = self._pages * (_PAGE // self.granule)
        if needed <= len(self.writes):
            return
        size = max(needed, 2 * len(self.writes))
        for name in self._ARRAYS:
            old: Array | None = getattr(self, name)
            if old is not None:
                new = np.zeros(size, old.dtype)
                new[: len(old)] = old
                setattr(self, name, new)

    def _refine(self, granule: int) -> None:
        times = self.granule // granule
        self.granule = granule
        for name in self._ARRAYS:
            old: Array | None = getattr(self, name)
            if old is not None:
                setattr(self, name, np.repeat(old, times))
        for cluster, each in self._silent.items():
            self._silent[cluster] = [(units[:, None] * times + np.arange(times)).ravel() for units in each]

    def ensure(self, name: str) -> Array:
        """Returns one of the arrays that few programs need."""
        found: Array | None = getattr(self, name)
        if found is None:
            found = np.zeros(len(self.writes), np.int64 if name in ("firsts", "earlier") else np.int32)
            setattr(self, name, found)
        return found

    def add_silent(self, cluster: int, units: Array) -> None:
        """Notes granules that a cluster has written without a change."""
        found = self._silent.setdefault(cluster, [_NO_UNITS])
        found.append(units)
        if len(found) > _MOST_SILENT:
            found[:] = [np.unique(np.concatenate(found))]

    def silent_of(self, cluster: int) -> Array | None:
        """Returns the granules that a cluster has written without a change."""
        found = self._silent.get(cluster)
        if found is None:
            return None
        found[:] = [np.unique(np.concatenate(found))]
        return found[0]

    def clashes(self, places: Array, tokens: Array) -> Mask | None:
        """Returns which of several accesses to one granule are not the last one; None if there are none."""
        before = self.writes.take(places)
        self.writes[places] = tokens
        clash = self.writes.take(places) != tokens
        self.writes[places] = before
        return clash if np.count_nonzero(clash) else None

    def write_first(self, places: Array, tokens: Array, changed: Mask, made: int) -> bool:
        """
        Notes writes to granules that nobody has accessed, each by one of `tokens`: they cannot be wrong. Returns
        False for others, of which it notes nothing.
        """
        if np.count_nonzero(self.writes.take(places)) or (self._is_read and np.count_nonzero(self.reads.take(places))):
            return False
        self.writes[places] = tokens
        if np.count_nonzero(self.writes.take(places) != tokens):
            self.writes[places] = 0
            return False
        self.write_hows[places] = made if changed.all() else np.where(changed, made, made | SILENT)
        return True

    def later_clusters(self, places: Array, tokens: Array) -> Mask:
        """Returns which accesses of one instruction are to granules that a cluster before theirs accesses, too."""
        before = self.writes[places]
        # Of several to one granule the last assignment stays; of views numpy may take them in another order.
        self.writes[places[::-1].copy()] = tokens[::-1].copy()
        first = self.writes[places]
        self.writes[places] = before
        return first >> CLUSTER_SHIFT != tokens >> CLUSTER_SHIFT

    def has_earlier(self, places: Array, access: Access) -> Mask:
        """Returns where an access has to be in order behind several strong writes."""
        if self.earlier is None or access.strong:
            return np.zeros(places.shape, np.bool_)
        return self.earlier[places] != 0

    def note_reads(self, reads: Reads, places: Array | None = None) -> None:
        """Notes reads byte by byte; `places` are those of their granules, if they are known."""
        self._is_read = True
        units = self.units(reads.offsets, reads.width)
        places = (self.places(units) if places is None else places).ravel()
        tokens = reads.tokens if units.shape[1] == 1 else np.repeat(reads.tokens, units.shape[1])
        old = self.reads[places]
        number = int(self.chains[places[0]]) if len(places) else 0
        known = self._log.get(number) if number else None
        if known is not None and self._is_again(known, reads, units.ravel()):
            if (self.chains.take(places) == number).all():
                # Threads that read the same again, as in a poll: their reads before say no more than these.
                known.tokens, known.how = reads.tokens, reads.how
                self.reads[places], self.read_hows[places] = tokens, reads.how
                return
        reads.granule, reads.units, reads.before = self.granule, units.ravel(), self.chains[places]
        self.reads[places] = tokens
        others = (old != 0) & ((old >> THREAD_SHIFT != tokens >> THREAD_SHIFT) | (self.read_hows[places] != reads.how))
        others |= self.reads[places] != tokens
        if others.any():
            self.several[places[others]] = True
        self.read_hows[places] = reads.how
        self.chains[places] = self._log.add(reads)

    def _is_again(self, known: Reads, reads: Reads, units: Array) -> bool:
        """Returns True if `known` are of the threads and granules of `reads`, and of the same kind, size and scope."""
        if (known.how ^ reads.how) & ((1 << _PC_SHIFT) - 1) or known.granule != self.granule or known.units is None:
            return False
        if len(known.units) != len(units) or len(known.tokens) != len(reads.tokens):
            return False
        threads = known.tokens >> THREAD_SHIFT == reads.tokens >> THREAD_SHIFT
        return bool(threads.all() and (known.units == units).all())

    def readers(self, units: Array, places: Array) -> tuple[list[tuple[Array, Array, int]], bool]:
        """
        Returns the reads of distinct granules since they were written: (which of `units`, tokens, how); and True if the
        log has forgotten some of them.
        """
        found: list[tuple[Array, Array, int]] = []
        numbers = self.chains[places].copy()
        while True:
            number = int(numbers.max(initial=0))
            if number <= self._log.forgotten:
                return found, number > 0
            which = np.flatnonzero(numbers == number)
            reads = self._log.get(number)
            assert reads is not None and reads.units is not None and reads.before is not None, "it is remembered"
            own = units[which] * self.granule // reads.granule
            if reads.order is None:
                reads.order = np.argsort(reads.units, kind="stable")
            ordered = reads.units[reads.order]
            first, end = np.searchsorted(ordered, own, "left"), np.searchsorted(ordered, own, "right")
            numbers[which] = reads.before[reads.order[first]]
            counts = end - first
            spread = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
            each = len(reads.units) // len(reads.tokens)
            found.append((np.repeat(which, counts), reads.tokens[reads.order[spread] // each], reads.how))
