"""Where the instructions of a kernel touch shared, global and tensor memory, thread by thread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain

from xdsl.ir import Operation

from tirx.dialects.ptx.core import SharedAllocOp
from tirx.dialects.ptx.effects import (
    AccessKind,
    Bytes,
    MatrixRows,
    MemoryAccess,
    Region,
    SharedMatrix,
    TensorCells,
)
from tirx.layout.arrays import NDArray, np
from tirx.layout.axis import WARP_SIZE
from tirx.passes.analysis.thread_flow import ActiveThreads
from tirx.passes.analysis.thread_values import Numbers, Symbol, Threads, ThreadValue, ThreadValues
from tirx.smem.swizzle_modes import Major, OperandFamily
from tirx.smem.walk import read_addresses
from tirx.smem.wgmma_descriptor import decode_descriptor
from tirx.tcgen05 import LegalityError

_PATTERN_BYTES = 1024
"""The longest that a swizzle takes to repeat."""

_GRANULE_BITS = 4
_GRANULE = 1 << _GRANULE_BITS
"""Bytes of a row of a core matrix of an operand; most accesses are of that size."""

_PAGE_COLUMNS = 8
"""Columns of tensor memory that are looked up together."""

_FEW = 12
"""So many accesses are compared one by one rather than looked up."""

_GLOBAL = Symbol("value", "global memory")
"""Numbers alone are an address in each memory: this tells global from shared memory."""


@dataclass(frozen=True)
class Operand:
    """
    An operand of a product in shared memory: a matrix descriptor of it, with the start address counted from that of
    its allocation, `shape` (rows, K) and major-ness, elements in slots of `bits`.
    """

    descriptor: int
    major: Major
    shape: tuple[int, int]
    bits: int
    family: OperandFamily

    @property
    def granules(self) -> frozenset[int]:
        """
        The 16 bytes of its allocation that it takes, by number; those of the first row alone if it has no legal layout.
        """
        return _granules(self)


@lru_cache(maxsize=256)
def _granules(operand: Operand) -> frozenset[int]:
    try:
        descriptor = decode_descriptor(operand.descriptor, operand.family)
        bits = read_addresses(descriptor, operand.major, operand.shape, operand.bits)
    except LegalityError:
        return frozenset((operand.descriptor & 0x3FFF,))
    return frozenset(np.unique(bits // (8 * _GRANULE)).tolist())


@lru_cache(maxsize=64)
def _no_rows(count: int) -> Numbers:
    found = np.zeros(count, np.int64)
    found.flags.writeable = False
    return found


@dataclass(frozen=True, eq=False)
class Footprint:
    """
    `rows` x `columns` from where each thread says: bytes of shared or global memory (one row), or lanes and columns of
    tensor memory, in `all_warps` the same lanes of every 32. These are touched for certain, others may be.
    """

    origin: tuple[Symbol, ...]
    row: Numbers
    column: Numbers
    rows: int
    columns: int
    is_tensor: bool = False
    all_warps: bool = False
    operand: Operand | None = None
    """An operand from there on: more rows like the one that `columns` tells, at addresses of their own."""

    @staticmethod
    def of_bytes(address: ThreadValue, size: int, offset: int = 0) -> Footprint:
        """`size` bytes."""
        numbers = address.numbers
        return Footprint(address.symbols, _no_rows(len(numbers)), numbers + offset if offset else numbers, 1, size)

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Equal for the same memory."""
        shape = self.rows, self.columns, self.is_tensor, self.all_warps, self.operand
        return self.origin, self.row.tobytes(), self.column.tobytes(), *shape

    @cached_property
    def pages(self) -> frozenset[int]:
        """
        Where to look for footprints of the same origin that it may meet: two that meet have one in common. Granules of
        shared and global memory, runs of columns of tensor memory.
        """
        if not self.is_tensor:
            return self._granules
        low, high = self._bounds
        return frozenset(range(low // _PAGE_COLUMNS, (high - 1) // _PAGE_COLUMNS + 1))

    @cached_property
    def _bounds(self) -> tuple[int, int]:
        """The first column that some thread touches, and the first behind the last."""
        if self.operand is not None:
            return min(self._granules) * _GRANULE, (max(self._granules) + 1) * _GRANULE
        return int(self.column.min()), int(self.column.max()) + self.columns

    @cached_property
    def _granules(self) -> frozenset[int]:
        """The units of 16 bytes that it touches."""
        if self.operand is not None:
            return self.operand.granules
        first, last = self.column >> _GRANULE_BITS, (self.column + (self.columns - 1)) >> _GRANULE_BITS
        found = frozenset(first.tolist())
        return found if (first == last).all() else found.union(last.tolist())

    @cached_property
    def _granule_map(self) -> tuple[int, Threads]:
        """The first granule, and for it and those behind which of them are touched; two that are not end the list."""
        start = min(self._granules)
        touched = np.zeros(max(self._granules) - start + 3, np.bool_)
        touched[np.fromiter(self._granules, np.int64) - start] = True
        return start, touched

    def meets(self, own: Threads, other: Footprint, others: Threads) -> Threads | None:
        """
        [t, u]: thread t of `own` touches here what thread u of `others` touches in `other`. None if no two do.
        """
        if self.origin != other.origin or self.is_tensor != other.is_tensor:
            return None
        (low, high), (other_low, other_high) = self._bounds, other._bounds
        if high <= other_low or other_high <= low:
            return None
        if not self.is_tensor and self._granules.isdisjoint(other._granules):
            return None
        first, second = np.flatnonzero(own)[:, None], np.flatnonzero(others)[None, :]
        if self.operand is not None or other.operand is not None:
            met = self._in(other, first) & other._in(self, second)
        else:
            met = _near(self.column[first], self.columns, other.column[second], other.columns)
        if self.is_tensor:
            rows, other_rows = self.row[first], other.row[second]
            if self.all_warps or other.all_warps:
                rows, other_rows = rows % WARP_SIZE, other_rows % WARP_SIZE
            met &= _near(rows, self.rows, other_rows, other.rows)
        if not met.any():
            return None
        if met.shape == (len(own), len(others)):
            return met
        found = np.zeros((len(own), len(others)), np.bool_)
        found[first, second] = met
        return found

    def _in(self, other: Footprint, threads: NDArray[np.intp]) -> Threads:
        """Which threads touch a granule that `other` touches."""
        if self.operand is not None:
            return np.ones(threads.shape, np.bool_)  # all of them the same
        start, touched = other._granule_map
        first = self.column[threads] // _GRANULE - start
        last = (self.column[threads] + (self.columns - 1)) // _GRANULE - start
        return np.logical_or(*(touched[np.clip(granules, -1, len(touched) - 2)] for granules in (first, last)))


def _near(a: Numbers, size_a: int, b: Numbers, size_b: int) -> Threads:
    apart = a - b
    return (apart < size_b) & (apart > -size_a)


@dataclass(frozen=True, eq=False)
class Access:
    """
    What instructions do to memory, in all threads that come to them: those that do the same share one. Addresses that
    are not known are left out.
    """

    op: Operation
    """The first of the instructions."""
    kind: AccessKind
    active: ActiveThreads
    reads: tuple[Footprint, ...]
    writes: tuple[Footprint, ...]
    barrier: tuple[tuple[Symbol, ...], int] | None = None
    """The address of the mbarrier that it initialises or completes on, where that is known and one for all threads."""
    warp_wide: bool = False
    shape: tuple[int | None, int | None] | None = None

    @property
    def threads(self) -> Threads:
        """Those that may execute it."""
        return self.active.threads

    @property
    def footprints(self) -> tuple[Footprint, ...]:
        """All that it touches."""
        return self.reads + self.writes

    @cached_property
    def in_tensor_memory(self) -> tuple[tuple[Footprint, ...], tuple[Footprint, ...]]:
        """What it reads and writes in tensor memory."""
        return tuple(f for f in self.reads if f.is_tensor), tuple(f for f in self.writes if f.is_tensor)

    @cached_property
    def elsewhere(self) -> tuple[tuple[Footprint, ...], tuple[Footprint, ...]]:
        """What it reads and writes in shared and global memory."""
        return tuple(f for f in self.reads if not f.is_tensor), tuple(f for f in self.writes if not f.is_tensor)


def access_of(op: Operation, stated: MemoryAccess, values: ThreadValues, active: ActiveThreads) -> Access | None:
    """The access that `op` states, with the addresses of each thread; None if nothing is known of it."""
    reads, writes = (tuple(_footprints(rs, stated.kind, values)) for rs in (stated.reads, stated.writes))
    if stated.kind.is_in_order and not (reads or writes):
        return None
    barrier = None
    if stated.barrier is not None and (value := values.get(stated.barrier)) is not None and value.is_uniform:
        barrier = value.symbols, int(value.numbers[0])
    return Access(op, stated.kind, active, reads, writes, barrier, stated.warp_wide, stated.shape)


def _footprints(regions: tuple[Region, ...], kind: AccessKind, values: ThreadValues) -> Iterable[Footprint]:
    for region in regions:
        if isinstance(region, SharedMatrix):
            found = _matrix(region, values)
        elif (value := values.get(region.address)) is None:
            continue
        elif kind is AccessKind.GLOBAL:
            found = _footprint(region, ThreadValue((*value.symbols, _GLOBAL), value.numbers))
        else:
            found = _footprint(region, value)
        if found is not None:
            yield found


def _footprint(region: Bytes | MatrixRows | TensorCells, value: ThreadValue) -> Footprint | None:
    match region:
        case Bytes(size=size, offset=offset):
            return Footprint.of_bytes(value, size, offset)
        case MatrixRows(matrices=matrices):
            ids = np.arange(len(value.numbers))
            givers = ids - ids % WARP_SIZE + ids % (8 * matrices)
            if givers.max() >= len(ids):
                return None
            return Footprint.of_bytes(ThreadValue(value.symbols, value.numbers[givers]), _GRANULE)
        case TensorCells(lanes=lanes, columns=columns):
            numbers = value.numbers + region.offset
            return Footprint(
                value.symbols, numbers >> 16, numbers & 0xFFFF, lanes, columns, True, all_warps=region.all_warps
            )


def _matrix(region: SharedMatrix, values: ThreadValues) -> Footprint | None:
    """The operand that a matrix descriptor describes; its first row where the rest is not known."""
    value = values.get(region.descriptor)
    start = None if value is None else value.descriptor_start()
    if value is None or start is None:
        return None
    operand = None
    if region.major is not None and region.shape is not None and value.is_uniform and _is_aligned(start):
        operand = Operand(int(value.numbers[0]) & (1 << 64) - 1, region.major, region.shape, region.bits, region.family)
    return replace(Footprint.of_bytes(start, _GRANULE), operand=operand)


def _is_aligned(start: ThreadValue) -> bool:
    """Returns True if swizzles, which act on the bits of addresses, see those of an offset in the allocation."""
    match start.symbols:
        case (Symbol("shared", SharedAllocOp() as alloc),):
            return alloc.align.data % _PATTERN_BYTES == 0
        case _:
            return not start.symbols


class _Memory:
    """Accesses to memory of one origin by the pages that they touch. Memory that nobody asks for is not looked at."""

    def __init__(self):
        self._groups: dict[frozenset[int], list[Access]] = {}
        """Pages -> the accesses that touch just these."""
        self._known: dict[int, tuple[frozenset[int], ...]] = {}
        """Page -> the pages of each group that touches it."""
        self._alone: set[frozenset[int]] = set()
        """The pages of groups of which no other group touches any."""
        self.new: list[tuple[Access, Footprint]] = []

    def near(self, pages: frozenset[int]) -> Iterable[Access]:
        """All accesses that touch `pages`."""
        for access, footprint in self.new:
            if (group := self._groups.get(footprint.pages)) is None:
                group = self._groups[footprint.pages] = []
                self._add(footprint.pages)
            group.append(access)
        self.new.clear()
        if pages in self._alone:
            return self._groups[pages]
        met = set[frozenset[int]]().union(*map(self._known.__getitem__, pages & self._known.keys()))
        return chain.from_iterable(self._groups[one] for one in met)

    def _add(self, pages: frozenset[int]) -> None:
        shared = pages & self._known.keys()
        for page in shared:
            self._alone.difference_update(self._known[page])
            self._known[page] += (pages,)
        if not shared:
            self._alone.add(pages)
        self._known.update(dict.fromkeys(pages - shared, (pages,)))


class _Pages:
    """Accesses by the memory that they touch."""

    def __init__(self):
        self._memories: defaultdict[tuple[Symbol, ...], _Memory] = defaultdict(_Memory)

    def add(self, access: Access, footprints: tuple[Footprint, ...]) -> None:
        """Makes `near` find `access` at `footprints`."""
        for footprint in footprints:
            self._memories[footprint.origin].new.append((access, footprint))

    def near(self, footprints: tuple[Footprint, ...]) -> set[Access]:
        """All accesses that touch memory of `footprints`, and some that do not."""
        found: set[Access] = set()
        for footprint in footprints:
            if (memory := self._memories.get(footprint.origin)) is not None:
                found.update(memory.near(footprint.pages))
        return found


class AccessTable:
    """The accesses of an entry: instructions that do the same share one; and which of them meet."""

    def __init__(self):
        self._interned: dict[object, Access] = {}
        self._earlier: dict[Access, Access] = {}
        self._reading = _Pages()
        self._writing = _Pages()
        self._near: dict[Access, set[Access]] = {}
        self._met: dict[tuple[Access, Access, bool], Threads | None] = {}
        self._order: dict[Access, int] = {}

    def add(self, access: Access) -> Access:
        """
        Returns the access that stands for all that do the same. One whose threads may get in each other's way stands
        for itself: whether it comes again in a loop or is another instruction makes a difference.
        """
        key: tuple[object, ...] = (access.op,)
        if not access.kind.is_in_order or not access.writes or _is_apart(access):
            footprints = tuple(f.key for f in access.reads), tuple(f.key for f in access.writes)
            key = type(access.op), access.kind, access.active, footprints, access.barrier, access.shape
        known = self._interned.setdefault(key, access)
        if known is access:
            self._register(access)
        return known

    def earlier(self, access: Access) -> Access:
        """The access that stands for what instructions did before they do it again."""
        if access not in self._earlier:
            self._earlier[access] = replace(access)
            self._register(self._earlier[access])
        return self._earlier[access]

    def _register(self, access: Access) -> None:
        self._order[access] = len(self._order)
        self._reading.add(access, access.reads)
        self._writing.add(access, access.writes)

    def near(self, access: Access, pending: Collection[Access]) -> list[Access]:
        """Those of `pending` that may meet `access`, one of the two a write, in the order of their addition."""
        near = pending
        if len(pending) > _FEW:
            if access not in self._near:
                self._near[access] = self._reading.near(access.writes) | self._writing.near(access.footprints)
            near = self._near[access]
        return sorted((other for other in near if other in pending), key=self._order.__getitem__)

    def met(self, before: Access, after: Access, *, tensor: bool) -> Threads | None:
        """
        [t, u]: thread t touches in `before` what thread u touches in `after`, one of the two a write; in tensor memory,
        or in the others. None if no two do.
        """
        key = before, after, tensor
        if key not in self._met:
            reads, writes = before.in_tensor_memory if tensor else before.elsewhere
            later_reads, later_writes = after.in_tensor_memory if tensor else after.elsewhere
            met = meet(writes, before.threads, later_reads + later_writes, after.threads)
            if met is None:
                met = meet(reads, before.threads, later_writes, after.threads)
            self._met[key] = met
        return self._met[key]


def _is_apart(access: Access) -> bool:
    """Returns True if no two threads write the same bytes, which they touch in this access only."""
    (footprint,) = access.writes
    if access.reads:
        return False
    first = footprint.column[access.threads]
    distances = np.diff(first)
    if (distances < 0).any():
        distances = np.diff(np.sort(first))
    return bool((distances >= footprint.columns).all())


def meet(before: tuple[Footprint, ...], own: Threads, after: tuple[Footprint, ...], others: Threads) -> Threads | None:
    """[t, u]: thread t of `own` touches some of `before` where thread u of `others` touches some of `after`."""
    found: Threads | None = None
    for one in before:
        for other in after:
            if (met := one.meets(own, other, others)) is not None:
                found = met if found is None else found | met
    return found
