"""Places where the instructions of a kernel touch shared, global and tensor memory, thread by thread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from math import inf

from xdsl.ir import Operation

from tirx.dialects.ptx.effects import AccessKind
from tirx.hw.errors import LegalityError
from tirx.layout.arrays import IntArray, NDArray, np
from tirx.layout.axis import WARP_SIZE
from tirx.passes.checks.thread_flow import ActiveThreads
from tirx.passes.checks.thread_values import Numbers, Symbol, Threads, ThreadValue
from tirx.smem.swizzle_modes import Major, OperandFamily
from tirx.smem.walk import read_addresses
from tirx.smem.wgmma_descriptor import decode_descriptor
from tirx.values import cached_property, dataclass, replace

_GRANULE_BITS = 4
GRANULE = 1 << _GRANULE_BITS
"""Bytes of a row of a core matrix of an operand; most accesses are of that size."""

_FEW = 32
"""Footprints of which each is compared with each other one."""

_FOLDED = 2048
"""Granules that are told apart when accesses are looked up."""


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


@dataclass(frozen=True)
class Box:
    """A box of a tensor in global memory: the `granules` of 16 bytes, counted from its start, that are in it."""

    granules: frozenset[int]


@lru_cache(maxsize=256)
def _granules(operand: Operand) -> frozenset[int]:
    try:
        descriptor = decode_descriptor(operand.descriptor, operand.family)
        bits = read_addresses(descriptor, operand.major, operand.shape, operand.bits)
    except LegalityError:
        return frozenset((operand.descriptor & 0x7FFF,))
    return frozenset(np.unique(bits // (8 * GRANULE)).tolist())


@dataclass(eq=False)
class Footprint:
    """
    `rows` x `columns` from where each thread says, `address` plus `offset`: bytes of shared or global memory (one row),
    or lanes and columns of tensor memory, in `all_warps` the same lanes of every 32. These are touched for certain,
    others may be.
    """

    origin: tuple[Symbol, ...]
    address: ThreadValue
    offset: int
    rows: int
    columns: int
    is_tensor: bool = False
    all_warps: bool = False
    operand: Operand | Box | None = None
    """An operand or a box from there on: more rows like the one that `columns` tells, at addresses of their own."""

    @staticmethod
    def of_bytes(address: ThreadValue, size: int, offset: int = 0) -> Footprint:
        """`size` bytes."""
        return Footprint(address.symbols, address, offset, 1, size)

    @cached_property
    def row(self) -> Numbers:
        """The first lane of tensor memory of each thread."""
        return self.address.numbers + self.offset >> 16

    @cached_property
    def column(self) -> Numbers:
        """The first column of tensor memory of each thread, or the first byte."""
        numbers = self.address.numbers + self.offset
        return numbers & 0xFFFF if self.is_tensor else numbers

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for the same memory."""
        shape = self.rows, self.columns, self.is_tensor, self.all_warps, self.operand
        return self.origin, self.address.first + self.offset, self.address.distances, shape

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The first column that some thread touches, and the first behind the last."""
        if self.operand is not None:
            return int(self._numbers.min()) * GRANULE, (int(self._numbers.max()) + 1) * GRANULE
        if self.is_tensor:
            return int(self.column.min()), int(self.column.max()) + self.columns
        low, high = self.address.bounds
        return low + self.offset, high + self.offset + self.columns

    @cached_property
    def _numbers(self) -> IntArray:
        """The numbers of the units of 16 bytes, or columns of tensor memory, that it touches; some more than once."""
        if self.operand is not None:
            return np.fromiter(self.operand.granules, np.int64)
        if self.address.number is not None:
            low, high = self.bounds
            return np.arange(low >> _GRANULE_BITS, (high - 1 >> _GRANULE_BITS) + 1)
        first, last = self.column >> _GRANULE_BITS, (self.column + (self.columns - 1)) >> _GRANULE_BITS
        found = [first]
        while (found[-1] < last).any():
            found.append(np.minimum(found[-1] + 1, last))
        return np.concatenate(found)

    @cached_property
    def _granules(self) -> frozenset[int]:
        return frozenset(self._numbers.tolist())

    @cached_property
    def touched(self) -> Threads:
        """
        The numbers modulo `_FOLDED` of granules that some thread touches: footprints that meet have one in common.
        Granules of tensor memory are as many columns.
        """
        bits = np.zeros(_FOLDED, np.bool_)
        bits[self._numbers % _FOLDED] = True
        return bits

    @cached_property
    def folded(self) -> NDArray[np.uint64]:
        """The same as bits."""
        return np.packbits(self.touched).view(np.uint64)

    def meets(self, own: Threads, other: Footprint, others: Threads) -> Threads | None:
        """
        [t, u]: thread t of `own` touches here what thread u of `others` touches in `other`. None if no two do.
        """
        if self.origin != other.origin or self.is_tensor != other.is_tensor:
            return None
        if not self.may_meet(other):
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

    def may_meet(self, other: Footprint) -> bool:
        """Returns False if they have no granule in common. Granules of tensor memory are not looked at."""
        return self is other or self.is_tensor or not self._granules.isdisjoint(other._granules)

    def _in(self, other: Footprint, threads: NDArray[np.intp]) -> Threads:
        """Returns the threads that touch a granule that `other` touches."""
        if self.operand is not None:
            return np.ones(threads.shape, np.bool_)  # all of them the same
        touched, column = np.sort(other._numbers), self.column[threads]
        first, last = column >> _GRANULE_BITS, (column + (self.columns - 1)) >> _GRANULE_BITS
        return np.searchsorted(touched, first) < np.searchsorted(touched, last, "right")


def _near(a: Numbers, size_a: int, b: Numbers, size_b: int) -> Threads:
    apart = a - b
    return (apart < size_b) & (apart > -size_a)


@dataclass(eq=False)
class Access:
    """
    An access to memory by all threads that come to an instruction; instructions that do the same share one.

    Addresses that are not known are left out.
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
    atomic: bool = False

    @property
    def threads(self) -> Threads:
        """The threads that may execute it."""
        return self.active.threads

    @property
    def footprints(self) -> tuple[Footprint, ...]:
        """All that it touches."""
        return self.reads + self.writes

    @cached_property
    def in_tensor_memory(self) -> tuple[tuple[Footprint, ...], tuple[Footprint, ...]]:
        """The footprints that it reads and writes in tensor memory."""
        return tuple(f for f in self.reads if f.is_tensor), tuple(f for f in self.writes if f.is_tensor)

    @cached_property
    def elsewhere(self) -> tuple[tuple[Footprint, ...], tuple[Footprint, ...]]:
        """The footprints that it reads and writes in shared and global memory."""
        return tuple(f for f in self.reads if not f.is_tensor), tuple(f for f in self.writes if not f.is_tensor)


class _Places:
    """The accesses to memory of one origin, and what says quickly which of them cannot meet."""

    def __init__(self):
        self._found: list[tuple[Access, Footprint, bool]] = []
        self._bounds: IntArray = np.empty((0, 2), np.int64)
        self._folded: NDArray[np.uint64] = np.empty((0, 0), np.uint64)
        self._counted = 0
        self._counts = np.zeros((2, _FOLDED), np.int32)
        """The writes, and all accesses, that touch each granule modulo `_FOLDED`, of the first so many."""
        self._once: tuple[int, bool] = 0, False
        """Whether each byte is written once, for the first so many."""

    def is_written_once(self) -> bool:
        """Returns True if all accesses are writes at addresses of threads, and no two threads or accesses meet."""
        found = self._found
        if self._once[0] != len(found):
            self._once = len(found), False
            if all(write and not one.is_tensor and one.operand is None for _, one, write in found):
                offsets: defaultdict[tuple[ThreadValue, ActiveThreads], list[int]] = defaultdict(list)
                for access, one, _ in found:
                    offsets[one.address, access.active].append(one.offset)
                self._once = len(found), are_apart(offsets, max(one.columns for _, one, _ in found))
        return self._once[1]

    def is_apart(self, footprint: Footprint, *, write: bool) -> bool:
        """Returns True if it is easily seen that no other access meets `footprint`, one of the two a write."""
        if len(self._found) <= _FEW:
            return False
        for _, one, is_write in self._found[self._counted :]:
            self._counts[0 if is_write else 1 :] += one.touched
        self._counted = len(self._found)
        return self._counts[int(write)][footprint.touched].max() <= int(write)

    def add(self, access: Access, footprint: Footprint, *, write: bool) -> None:
        """Makes `near` find `access`."""
        self._found.append((access, footprint, write))

    def near(self, footprint: Footprint, *, write: bool) -> list[Access]:
        """All accesses that touch memory of `footprint`, one of the two a write, and some that do not."""
        if len(self._found) <= _FEW:
            low, high = footprint.bounds
            found = [each for each in self._found if each[1].bounds[0] < high and each[1].bounds[1] > low]
            return [access for access, one, is_write in found if (write or is_write) and footprint.may_meet(one)]
        if len(self._bounds) < len(self._found):
            self._bounds = np.array([one.bounds for _, one, _ in self._found])
        low, high = footprint.bounds
        within = np.flatnonzero((self._bounds[:, 0] < high) & (self._bounds[:, 1] > low))
        if len(within) > 1:
            if len(self._folded) < len(self._found):
                self._folded = np.array([one.folded for _, one, _ in self._found])
            within = within[(self._folded[within] & footprint.folded).any(axis=1)]
        return [access for access, _, is_write in map(self._found.__getitem__, within.tolist()) if write or is_write]


class AccessTable:
    """The accesses of an entry: instructions that do the same share one; and which of them meet."""

    def __init__(self):
        self._interned: dict[object, Access] = {}
        self._earlier: dict[Access, Access] = {}
        self._completed: dict[Access, Access] = {}
        self._origins: defaultdict[tuple[Symbol, ...], _Places] = defaultdict(_Places)
        self._near: dict[Access, list[Access]] = {}
        self._met: dict[tuple[Access, Access, bool], Threads | None] = {}
        self._order: dict[Access, int] = {}
        self._gaps: dict[tuple[ThreadValue, ActiveThreads], float] = {}

    def add(self, access: Access) -> Access:
        """
        Returns the access that stands for all that do the same. One whose threads may get in each other's way stands
        for itself: whether it comes again in a loop or is another instruction makes a difference.
        """
        key: tuple[object, ...] = (access.op,)
        if not access.kind.is_in_order or not access.writes or self._is_apart(access):
            footprints = tuple(f.key for f in access.reads), tuple(f.key for f in access.writes)
            key = type(access.op), access.kind, access.active, footprints, access.barrier, access.shape, access.atomic
        known = self._interned.setdefault(key, access)
        if known is access:
            self._register(access)
            if access.kind is AccessKind.BULK_WRITE:
                self._completed[access] = replace(access, kind=AccessKind.GLOBAL)
                self._register(self._completed[access])
        return known

    def completed(self, access: Access) -> Access:
        """The write of its thread that a bulk store is once the thread has waited for its end."""
        return self._completed[access]

    def earlier(self, access: Access) -> Access:
        """The access that stands for what instructions did before they do it again."""
        if access not in self._earlier:
            self._earlier[access] = replace(access)
            self._register(self._earlier[access])
        return self._earlier[access]

    def _register(self, access: Access) -> None:
        self._order[access] = len(self._order)
        for write, footprints in ((False, access.reads), (True, access.writes)):
            for footprint in footprints:
                self._origins[footprint.origin].add(access, footprint, write=write)

    def _around(self, access: Access) -> Iterator[Access]:
        """Accesses that may meet `access`, one of the two a write; some come more than once."""
        for write, footprints in ((False, access.reads), (True, access.writes)):
            for footprint in footprints:
                yield from self._origins[footprint.origin].near(footprint, write=write)

    def is_alone(self, access: Access) -> bool:
        """Returns True if no other access of the entry meets it, one of the two a write."""
        own = ((False, access.reads), (True, access.writes))
        if all(self._origins[one.origin].is_written_once() for one in access.footprints):
            return True
        if all(self._origins[one.origin].is_apart(one, write=write) for write, some in own for one in some):
            return True
        return all(other is access for other in self._around(access))

    def near(self, access: Access, pending: Collection[Access]) -> list[Access]:
        """Returns accesses of `pending` that may meet `access`, one of the two a write, in the order of addition."""
        if access not in self._near:
            self._near[access] = sorted(set(self._around(access)), key=self._order.__getitem__)
        return [other for other in self._near[access] if other in pending]

    def gap(self, address: ThreadValue, active: ActiveThreads) -> float:
        """The smallest distance between the addresses of two threads."""
        key = address, active
        if key not in self._gaps:
            self._gaps[key] = _smallest_gap(address.numbers[active.threads])
        return self._gaps[key]

    def _is_apart(self, access: Access) -> bool:
        """Returns True if no two threads write the same bytes, which they touch in this access only."""
        (footprint,) = access.writes
        return not access.reads and self.gap(footprint.address, access.active) >= footprint.columns

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


def are_apart(offsets: Mapping[tuple[ThreadValue, ActiveThreads], list[int]], size: int) -> bool:
    """Returns True if `size` bytes at none of these offsets from addresses of threads meet others."""
    if len(offsets) == 1:
        (((address, active), own),) = offsets.items()
        own = sorted(own)
        if any(after - before < size for before, after in pairwise(own)):
            return False
        if _smallest_gap(numbers := address.numbers[active.threads]) >= own[-1] - own[0] + size:
            return True
        return _smallest_gap(np.add.outer(own, numbers).ravel()) >= size
    starts = [np.add.outer(own, key[0].numbers[key[1].threads]).ravel() for key, own in offsets.items()]
    return _smallest_gap(np.concatenate(starts)) >= size


def _smallest_gap(numbers: Numbers) -> float:
    """The smallest distance between two numbers."""
    distances = np.diff(numbers)
    if (distances < 0).any():
        distances = np.diff(np.sort(numbers))
    return int(distances.min()) if len(distances) else inf


def meet(before: tuple[Footprint, ...], own: Threads, after: tuple[Footprint, ...], others: Threads) -> Threads | None:
    """[t, u]: thread t of `own` touches some of `before` where thread u of `others` touches some of `after`."""
    found: Threads | None = None
    for one in before:
        for other in after:
            if (met := one.meets(own, other, others)) is not None:
                found = met if found is None else found | met
    return found
