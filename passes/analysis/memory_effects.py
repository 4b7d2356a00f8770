"""What the instructions of a kernel read and write in shared and tensor memory, and by which means."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Operation, SSAValue

from tirx.dialects.ptx.base import width
from tirx.dialects.ptx.core import SharedAllocOp
from tirx.dialects.ptx.matrix import LdMatrixOp, StMatrixOp
from tirx.dialects.ptx.mbarrier import MbarrierInitOp
from tirx.dialects.ptx.memory import LdOp, LdU8Op, Space, StOp, StU8Op
from tirx.dialects.ptx.tcgen05 import Tcgen05AllocOp, Tcgen05CpOp, Tcgen05ShiftOp
from tirx.dialects.ptx.tcgen05_ld_st import Tcgen05LdOp, Tcgen05LdRedOp, Tcgen05StOp
from tirx.dialects.ptx.tcgen05_mma import Tcgen05MmaBlockScaleOp, Tcgen05MmaOp, Tcgen05MmaWsOp
from tirx.dialects.ptx.tma import CpAsyncBulkTensorLoadOp, CpAsyncBulkTensorStoreOp
from tirx.passes.analysis.thread_flow import Visitors
from tirx.passes.analysis.thread_values import WARP, Numbers, Symbol, Threads, ThreadValue, ThreadValues
from tirx.smem.swizzle_modes import Major
from tirx.smem.walk import read_addresses
from tirx.tcgen05 import LD_SHAPES, LegalityError, SmemDescriptor
from tirx.tcgen05.mma_facts import MmaFacts
from tirx.tcgen05.tmem import COLUMN_BITS

MmaOps = Tcgen05MmaOp | Tcgen05MmaBlockScaleOp | Tcgen05MmaWsOp

_MBARRIER_BYTES = 8
_SLOT_BYTES = 4
_PATTERN_BYTES = 1024
"""The longest that a swizzle takes to repeat."""

_ROW_BYTES = 16
"""A row of a core matrix of an operand, and the least that a bulk copy moves."""

# Lanes of every 32 that are touched for sure: all data paths put rows in at least 16, metadata of 16-bit types in 8.
_ROWS, _METADATA_ROWS, _COPIED_ROWS = 16, 8, 1
_SHIFTED_COLUMNS = 8
"""32 bytes (PTX ISA, "tcgen05.shift")."""


class Means(enum.Enum):
    """How an instruction gets at memory."""

    GENERIC = enum.auto()
    """ld, st, ldmatrix, stmatrix, and the address that tcgen05.alloc stores: in the order of the thread."""
    GLOBAL = enum.auto()
    """ld, st of global memory."""
    INIT = enum.auto()
    """mbarrier.init."""
    TENSOR_CORE = enum.auto()
    """tcgen05.mma, cp, shift: complete with a tcgen05.commit and its mbarrier."""
    TENSOR_LOAD = enum.auto()
    """tcgen05.ld: complete with tcgen05.wait::ld."""
    TENSOR_STORE = enum.auto()
    """tcgen05.st: complete with tcgen05.wait::st."""
    BULK_LOAD = enum.auto()
    """cp.async.bulk to shared memory: complete with its mbarrier."""
    BULK_STORE = enum.auto()
    """cp.async.bulk from shared memory: complete with its group."""


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

    @property
    def granules(self) -> frozenset[int]:
        """The 16 bytes of its allocation that it takes, by number; those of the first row alone if it has no legal
        layout."""
        return _granules(self)


@lru_cache(maxsize=256)
def _granules(operand: Operand) -> frozenset[int]:
    try:
        descriptor = SmemDescriptor.decode(operand.descriptor)
        bits = read_addresses(descriptor, operand.major, operand.shape, operand.bits)
    except LegalityError:
        return frozenset((operand.descriptor & 0x3FFF,))
    return frozenset(np.unique(bits // (8 * _ROW_BYTES)).tolist())


@dataclass(frozen=True, eq=False)
class Place:
    """
    `rows` x `columns` from where each thread says: bytes of shared or global memory (one row), or lanes and columns of
    tensor memory, in `all_warps` the same lanes of every 32. What is touched for sure, not all that may be.
    """

    origin: tuple[Symbol, ...]
    row: Numbers
    column: Numbers
    rows: int
    columns: int
    all_warps: bool = False
    operand: Operand | None = None
    """An operand from there on: more rows like the one that `columns` tells, in places of their own."""

    @staticmethod
    def linear(address: ThreadValue, size: int, offset: int = 0) -> Place:
        """`size` bytes."""
        return Place(address.symbols, np.zeros_like(address.numbers), address.numbers + offset, 1, size)

    @staticmethod
    def tensor(address: ThreadValue, lanes: int, columns: int, offset: int = 0, all_warps: bool = False) -> Place:
        """Lanes and columns from an address (lane << 16 | column) on."""
        numbers = address.numbers + offset
        return Place(address.symbols, numbers >> 16, numbers & 0xFFFF, lanes, columns, all_warps)

    @cached_property
    def _bounds(self) -> tuple[int, int]:
        """The first column that some thread touches, and the first behind the last."""
        if self.operand is not None:
            return min(self._granules) * _ROW_BYTES, (max(self._granules) + 1) * _ROW_BYTES
        return int(self.column.min()), int(self.column.max()) + self.columns

    @cached_property
    def _is_linear(self) -> bool:
        return self.rows == 1 and not self.row.any()

    @cached_property
    def _granules(self) -> frozenset[int]:
        """What it touches, in units of the size of most accesses: most pairs are apart there already."""
        if self.operand is not None:
            return self.operand.granules
        last = (self.column + (self.columns - 1)) // _ROW_BYTES
        return frozenset((self.column // _ROW_BYTES).tolist()).union(last.tolist())

    def meets(self, own: Threads, other: Place, others: Threads) -> Threads | None:
        """
        [t, u]: thread t of `own` touches here what thread u of `others` touches in `other`. None if no two do.
        """
        (low, high), (other_low, other_high) = self._bounds, other._bounds
        if high <= other_low or other_high <= low or self.origin != other.origin:
            return None
        linear = self._is_linear and other._is_linear
        if linear and max(self.columns, other.columns) <= _ROW_BYTES and self._granules.isdisjoint(other._granules):
            return None
        first, second = np.flatnonzero(own)[:, None], np.flatnonzero(others)[None, :]
        if self.operand is not None or other.operand is not None:
            met = self._in(other, first) & other._in(self, second)
        else:
            met = _near(self.column[first], self.columns, other.column[second], other.columns)
        if not linear:
            rows, other_rows = self.row[first], other.row[second]
            if self.all_warps or other.all_warps:
                rows, other_rows = rows % WARP, other_rows % WARP
            met &= _near(rows, self.rows, other_rows, other.rows)
        if not met.any():
            return None
        found = np.zeros((len(own), len(others)), np.bool_)
        found[first, second] = met
        return found

    def _in(self, other: Place, threads: npt.NDArray[np.intp]) -> Threads:
        """Which threads touch a granule that `other` touches."""
        if self.operand is not None:
            return np.ones(threads.shape, np.bool_)  # all of them the same
        granules = np.fromiter(other._granules, np.int64)
        first = self.column[threads] // _ROW_BYTES
        last = (self.column[threads] + (self.columns - 1)) // _ROW_BYTES
        return np.isin(first, granules) | np.isin(last, granules)


def _near(a: Numbers, size_a: int, b: Numbers, size_b: int) -> Threads:
    apart = a - b
    return (apart < size_b) & (apart > -size_a)


@dataclass(frozen=True, eq=False)
class Effect:
    """
    What one instruction does to memory, in all threads that come to it. Places that are not known are left out.
    """

    op: Operation
    means: Means
    visitors: Visitors
    reads: tuple[Place, ...] = ()
    writes: tuple[Place, ...] = ()
    tensor_reads: tuple[Place, ...] = ()
    tensor_writes: tuple[Place, ...] = ()
    barrier: SSAValue | None = None
    shape: tuple[int | None, int | None] = (None, None)
    """M and N of a product."""

    @property
    def threads(self) -> Threads:
        """Those that may execute it."""
        return self.visitors.threads

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """All that it touches in shared or global memory."""
        return self.reads + self.writes

    @property
    def tensor_places(self) -> tuple[Place, ...]:
        """All that it touches in tensor memory."""
        return self.tensor_reads + self.tensor_writes


def effect_of(op: Operation, values: ThreadValues, visitors: Visitors) -> Effect | None:
    """The effect of an instruction on memory; None if it has none, or none that is known."""
    places = _Places(values)
    match op:
        case LdOp():
            found = places.linear(op.address, _bytes(op.res.types), op.offset.value.data)
            return _generic(op, op.space.data, visitors, reads=found)
        case LdU8Op():
            return _generic(op, op.space.data, visitors, reads=places.linear(op.address, 1, op.offset.value.data))
        case StOp():
            found = places.linear(op.address, _bytes(op.data.types), op.offset.value.data)
            return _generic(op, op.space.data, visitors, writes=found)
        case StU8Op():
            return _generic(op, op.space.data, visitors, writes=places.linear(op.address, 1, op.offset.value.data))
        case LdMatrixOp():
            return _generic(op, Space.SHARED, visitors, reads=places.matrix_rows(op, len(op.res)))
        case StMatrixOp():
            return _generic(op, Space.SHARED, visitors, writes=places.matrix_rows(op, len(op.data)))
        case Tcgen05AllocOp():
            return _generic(op, Space.SHARED, visitors, writes=places.linear(op.dst, _SLOT_BYTES))
        case MbarrierInitOp():
            found = places.linear(op.barrier, _MBARRIER_BYTES)
            return Effect(op, Means.INIT, visitors, writes=found, barrier=op.barrier) if found else None
        case CpAsyncBulkTensorLoadOp():
            found = places.linear(op.dst, _ROW_BYTES)
            return Effect(op, Means.BULK_LOAD, visitors, writes=found, barrier=op.barrier)
        case CpAsyncBulkTensorStoreOp():
            return Effect(op, Means.BULK_STORE, visitors, reads=places.linear(op.src, _ROW_BYTES))
        case Tcgen05LdOp() | Tcgen05LdRedOp():
            found = places.moved(op, packed=isinstance(op, Tcgen05LdOp) and op.pack is not None)
            return Effect(op, Means.TENSOR_LOAD, visitors, tensor_reads=found)
        case Tcgen05StOp():
            found = places.moved(op, packed=op.unpack is not None)
            return Effect(op, Means.TENSOR_STORE, visitors, tensor_writes=found)
        case Tcgen05CpOp():
            rows, bits = (int(number) for number in re.findall(r"\d+", op.shape.data)[:2])
            source = places.operand(op.source, "K", (rows, bits // 8), 8)
            written = places.tensor(op.taddr, _COPIED_ROWS, bits // COLUMN_BITS)
            return Effect(op, Means.TENSOR_CORE, visitors, source, tensor_writes=written)
        case Tcgen05ShiftOp():
            found = places.tensor(op.taddr, _ROWS, _SHIFTED_COLUMNS)
            return Effect(op, Means.TENSOR_CORE, visitors, tensor_reads=found, tensor_writes=found)
        case Tcgen05MmaOp() | Tcgen05MmaBlockScaleOp() | Tcgen05MmaWsOp():
            return places.product(op, visitors)
        case _:
            return None


def _generic(
    op: Operation, space: Space, visitors: Visitors, reads: tuple[Place, ...] = (), writes: tuple[Place, ...] = ()
) -> Effect | None:
    if space is Space.SHARED_CLUSTER or not (reads or writes):
        return None
    if space is Space.SHARED:
        return Effect(op, Means.GENERIC, visitors, reads, writes)
    reads, writes = (tuple(map(_in_global_memory, places)) for places in (reads, writes))
    return Effect(op, Means.GLOBAL, visitors, reads, writes)


def _in_global_memory(place: Place) -> Place:
    """Numbers alone are an address in each memory."""
    return replace(place, origin=(*place.origin, Symbol("value", Space.GLOBAL)))


class _Places:
    """Places by the operands of instructions; none where a value is not known."""

    def __init__(self, values: ThreadValues):
        self._values = values

    def linear(self, address: SSAValue, size: int, offset: int = 0) -> tuple[Place, ...]:
        value = self._values.get(address)
        return () if value is None else (Place.linear(value, size, offset),)

    def tensor(self, address: SSAValue | None, rows: int, columns: int | None) -> tuple[Place, ...]:
        """`rows` of every 32 lanes; one column where it is not known how many."""
        value = None if address is None else self._values.get(address)
        return () if value is None else (Place.tensor(value, rows, columns or 1, all_warps=True),)

    def operand(
        self, descriptor: SSAValue, major: Major | None = None, shape: tuple[int, int] | None = None, bits: int = 0
    ) -> tuple[Place, ...]:
        """The operand that a matrix descriptor describes; its first row where the rest is not known."""
        value = self._values.get(descriptor)
        start = None if value is None else value.descriptor_start()
        if value is None or start is None:
            return ()
        operand = None
        if major is not None and shape is not None and value.is_uniform and _is_aligned(start):
            operand = Operand(int(value.numbers[0]) & (1 << 64) - 1, major, shape, bits)
        return (replace(Place.linear(start, _ROW_BYTES), operand=operand),)

    def product(self, op: MmaOps, visitors: Visitors) -> Effect:
        facts = MmaFacts(op.description)
        operands, reads = (), ()
        idesc, group, bits = facts.idesc, facts.mma.cta_group, 256 // facts.kind.k
        if op.a.type == i32:
            reads = self.tensor(op.a, _ROWS, facts.a_columns)
        elif idesc is None:
            operands = self.operand(op.a)
        else:
            stored = idesc.k // 2 if idesc.sparse else idesc.k
            operands = self.operand(op.a, idesc.a_major, (idesc.m // group, stored), bits)
        if idesc is None:
            operands += self.operand(op.b)
        else:
            operands += self.operand(op.b, idesc.b_major, (idesc.n // group, idesc.k), bits)
        reads += self.tensor(op.sparse_metadata, _METADATA_ROWS, 1)
        if isinstance(op, Tcgen05MmaBlockScaleOp):
            reads += self.tensor(op.scale_a, _ROWS, facts.sfa_columns)
            reads += self.tensor(op.scale_b, _METADATA_ROWS, 1)
        written = self.tensor(op.d, _ROWS, facts.d_columns)
        shape = facts.m, facts.n
        return Effect(op, Means.TENSOR_CORE, visitors, operands, (), reads, written, shape=shape)

    def moved(self, op: Tcgen05LdOp | Tcgen05LdRedOp | Tcgen05StOp, *, packed: bool) -> tuple[Place, ...]:
        value = self._values.get(op.taddr)
        if value is None:
            return ()
        shape = next(row for row in LD_SHAPES.values() if row.name == op.shape.data)
        columns = shape.columns * op.num.value.data * (2 if packed else 1)
        return (Place.tensor(value, shape.lanes, columns, op.offset.value.data),)

    def matrix_rows(self, op: LdMatrixOp | StMatrixOp, matrices: int) -> tuple[Place, ...]:
        """The rows of 8x8 matrices: thread 8i + r of a warp gives the address of row r of matrix i."""
        value = self._values.get(op.address)
        if value is None or op.shape.data != "m8n8":
            return ()
        ids = np.arange(len(value.numbers))
        givers = ids - ids % WARP + ids % (8 * matrices)
        if givers.max() >= len(ids):
            return ()
        return (Place.linear(ThreadValue(value.symbols, value.numbers[givers]), _ROW_BYTES),)


def _is_aligned(start: ThreadValue) -> bool:
    """Whether swizzles, which act on the bits of addresses, see those of an offset in the allocation."""
    match start.symbols:
        case (Symbol("shared", SharedAllocOp() as alloc),):
            return alloc.align.data % _PATTERN_BYTES == 0
        case _:
            return not start.symbols


def _bytes(types: Sequence[Attribute]) -> int:
    return sum(width(type_) for type_ in types) // 8
