"""Statements of an instruction about itself: who executes it, the memory that it touches, what it synchronises.

The checks in `tirx.passes.checks` read these statements and no list of operations: `PTXInstruction.effects` is
abstract, so that an instruction that states nothing cannot be made.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TypeAlias

from xdsl.ir import SSAValue

from tirx.smem.swizzle_modes import TCGEN05_OPERANDS, Major, OperandFamily
from tirx.values import dataclass


class Issue(enum.Enum):
    """The threads that execute an instruction together (PTX ISA, "Issue Granularity", and `.sync.aligned`)."""

    THREAD = enum.auto()
    """Each thread for itself."""
    ONE_THREAD = enum.auto()
    """One thread of the CTA: the work is done once for each thread that executes it."""
    WARP = enum.auto()
    """All lanes of a warp."""
    ONE_WARP = enum.auto()
    """All lanes of one warp of the CTA: the work is done once for each warp that executes it."""
    WARPGROUP = enum.auto()
    """All lanes of four neighbouring warps."""

    @property
    def is_converged(self) -> bool:
        """True if whole warps execute the instruction."""
        return self not in (Issue.THREAD, Issue.ONE_THREAD)


@dataclass(frozen=True)
class Completion:
    """A way to wait for an asynchronous access: the instructions, and where to put them."""

    by: str
    fix: str


class AccessKind(enum.Enum):
    """The way to memory: the proxy, and whether accesses keep the order of their thread."""

    __hash__ = object.__hash__  # that of Enum is not built in

    GENERIC = enum.auto()
    """ld, st, ldmatrix, stmatrix of shared memory, and the address that tcgen05.alloc stores: in order."""
    GLOBAL = enum.auto()
    """ld, st of global memory: in order."""
    INIT = enum.auto()
    """mbarrier.init: in order."""
    TENSOR_CORE = enum.auto()
    """tcgen05.mma, cp, shift: complete with a tcgen05.commit and its mbarrier."""
    TENSOR_A = enum.auto()
    """A of tcgen05.mma in shared memory, where a commit may track it alone: complete as TENSOR_CORE is."""
    TENSOR_LOAD = enum.auto()
    """tcgen05.ld: complete with tcgen05.wait::ld."""
    TENSOR_STORE = enum.auto()
    """tcgen05.st: complete with tcgen05.wait::st."""
    COPY = enum.auto()
    """cp.async: complete with its group or with the mbarrier of cp.async.mbarrier.arrive; through the generic proxy."""
    BULK_LOAD = enum.auto()
    """cp.async.bulk to shared memory: complete with its mbarrier."""
    BULK_STORE = enum.auto()
    """cp.async.bulk from shared memory, its reads: complete with its group, or with the reads of that."""
    BULK_WRITE = enum.auto()
    """cp.async.bulk from shared memory, what it does to global memory: complete with its group."""
    WARPGROUP = enum.auto()
    """wgmma.mma_async: complete with its group."""

    @property
    def is_in_order(self) -> bool:
        """True if the access takes place in the order of its thread, through the generic proxy."""
        return self not in COMPLETIONS

    @property
    def is_generic(self) -> bool:
        """True if the access takes place through the generic proxy, in the order of its thread or not."""
        return self.is_in_order or self is AccessKind.COPY

    @property
    def is_tcgen05(self) -> bool:
        """True if the access is ordered by the tcgen05 fences (PTX ISA, "tcgen05 Memory Consistency Model")."""
        return self in (*TENSOR_CORE_KINDS, AccessKind.TENSOR_LOAD, AccessKind.TENSOR_STORE)

    @property
    def completes_at_mbarrier(self) -> bool:
        """True if a phase of an mbarrier says that the access is complete."""
        return self in (*TENSOR_CORE_KINDS, AccessKind.BULK_LOAD)


TENSOR_CORE_KINDS = (AccessKind.TENSOR_CORE, AccessKind.TENSOR_A)
"""What a `tcgen05.commit` tracks."""

_BY_COMMIT = Completion(
    "a tcgen05.commit and a wait on its mbarrier",
    "put tcgen05.commit behind it and ptx.mbarrier.wait_parity before this",
)


COMPLETIONS: Mapping[AccessKind, Completion] = {
    AccessKind.TENSOR_LOAD: Completion("tcgen05.wait::ld", "put tcgen05.wait ld before it"),
    AccessKind.TENSOR_STORE: Completion("tcgen05.wait::st", "put tcgen05.wait st before it"),
    AccessKind.TENSOR_CORE: _BY_COMMIT,
    AccessKind.TENSOR_A: _BY_COMMIT,
    AccessKind.COPY: Completion(
        "cp.async.commit_group and wait_group",
        "put ptx.cp.async.commit_group behind it and ptx.cp.async.wait_group 0 before this",
    ),
    AccessKind.BULK_LOAD: Completion("a wait on its mbarrier", "put ptx.mbarrier.wait_parity before this"),
    AccessKind.BULK_STORE: Completion(
        "cp.async.bulk.commit_group and wait_group.read", "put ptx.cp.async.bulk.wait_group 0 read before this"
    ),
    AccessKind.BULK_WRITE: Completion(
        "cp.async.bulk.commit_group and wait_group",
        "put ptx.cp.async.bulk.wait_group 0 before this, in the thread that started it, and ptx.bar.sync 0 for others",
    ),
    AccessKind.WARPGROUP: Completion(
        "wgmma.commit_group and wait_group", "put wgmma.commit_group behind it and wgmma.wait_group 0 before this"
    ),
}
"""Kinds of asynchronous accesses -> how to wait for them."""


@dataclass(frozen=True)
class Bytes:
    """`size` bytes of shared or global memory at `address + offset`."""

    address: SSAValue
    size: int
    offset: int = 0


@dataclass(frozen=True)
class MatrixRows:
    """`matrices` 8x8 matrices of 16-byte rows: lane 8i + r of a warp gives the shared address of row r of matrix i."""

    address: SSAValue
    matrices: int


@dataclass(frozen=True)
class SharedMatrix:
    """A matrix in shared memory that a matrix descriptor (i64) of `family` describes: `shape` is (rows, K), elements
    are in slots of `bits`. Without `major` and `shape` only its first 16 bytes are known. `is_a`: the operand whose
    reads a `tcgen05.commit` may track alone.
    """

    descriptor: SSAValue
    major: Major | None = None
    shape: tuple[int, int] | None = None
    bits: int = 0
    family: OperandFamily = TCGEN05_OPERANDS
    is_a: bool = False


@dataclass(frozen=True)
class TensorCells:
    """`lanes` x `columns` of tensor memory at `address` (lane << 16 | column) plus `offset` columns; in `all_warps` the
    same lanes of every 32. These are touched for certain, others may be.
    """

    address: SSAValue
    lanes: int
    columns: int
    offset: int = 0
    all_warps: bool = False


@dataclass(frozen=True)
class TensorBox:
    """The box at `coordinates` (i32, innermost first) of a tensor in global memory that the map at `map` describes."""

    map: SSAValue
    coordinates: tuple[SSAValue, ...]


Region: TypeAlias = Bytes | MatrixRows | SharedMatrix | TensorCells | TensorBox
"""A part of memory, by the operands of an instruction."""


@dataclass(frozen=True)
class MemoryAccess:
    """Reads and writes of an instruction. `barrier` is the mbarrier that it initialises or completes on."""

    kind: AccessKind
    reads: tuple[Region, ...] = ()
    writes: tuple[Region, ...] = ()
    barrier: SSAValue | None = None
    warp_wide: bool = False
    """A warp does it together: it is done for all lanes."""
    shape: tuple[int | None, int | None] | None = None
    """M and N of a product of the tensor core, None for other accesses."""
    atomic: bool = False
    """One step towards other atomic accesses, which need no barrier between them."""


# What an instruction does to accesses that came before it


@dataclass(frozen=True)
class Synchronization:
    """The effect of an instruction on accesses that came before it; each form is a class."""


@dataclass(frozen=True)
class AtMbarrier(Synchronization):
    """At the mbarrier with this address."""

    barrier: SSAValue


@dataclass(frozen=True)
class OfKind(Synchronization):
    """To the accesses of the thread of one kind."""

    kind: AccessKind


class BlockBarrier(Synchronization):
    """The threads of the block meet."""


class WarpBarrier(Synchronization):
    """The lanes of each warp meet."""


@dataclass(frozen=True)
class ClusterArrive(Synchronization):
    """The thread arrives at the barrier of the cluster; `relaxed` orders nothing."""

    relaxed: bool


class ClusterWait(Synchronization):
    """The thread waits for all threads of the cluster to arrive."""


@dataclass(frozen=True)
class MbarrierArrive(AtMbarrier):
    """The thread arrives at an mbarrier; `relaxed` orders nothing."""

    relaxed: bool = False
    announces: bool = False
    """It also announces bytes of asynchronous copies."""


@dataclass(frozen=True)
class MbarrierTransaction(AtMbarrier):
    """The pending bytes of an mbarrier change; `announces` if they grow."""

    announces: bool


class MbarrierWait(AtMbarrier):
    """The thread waits for a phase of an mbarrier, or asks whether it is complete."""


class MbarrierInvalidate(AtMbarrier):
    """The memory of an mbarrier may be used for something else."""


@dataclass(frozen=True)
class ProxyFence(Synchronization):
    """Accesses of `kinds` become visible to the async proxy."""

    kinds: tuple[AccessKind, ...]


class CommitGroup(OfKind):
    """The thread's accesses of `kind` so far form a group."""

    @property
    def kinds(self) -> tuple[AccessKind, ...]:
        """`kind`, and what complete groups do elsewhere."""
        return _of_groups(self.kind)


@dataclass(frozen=True)
class WaitGroup(OfKind):
    """All groups of the thread's accesses of `kind` but the last `pending` are complete; `read`: they have read their
    source.
    """

    pending: int
    read: bool = False

    @property
    def kinds(self) -> tuple[AccessKind, ...]:
        """`kind`, and what complete groups do elsewhere."""
        return (self.kind,) if self.read else _of_groups(self.kind)


def _of_groups(kind: AccessKind) -> tuple[AccessKind, ...]:
    return (kind, AccessKind.BULK_WRITE) if kind is AccessKind.BULK_STORE else (kind,)


@dataclass(frozen=True)
class TensorCommit(AtMbarrier):
    """An mbarrier tracks the tensor core's accesses that the thread has started, with `reads_a` only reads of A from
    shared memory (PTX ISA, "tcgen05.commit")."""

    reads_a: bool = False


class CopyArrive(AtMbarrier):
    """An mbarrier tracks the thread's cp.async so far (PTX ISA, "cp.async.mbarrier.arrive")."""


class WaitAll(OfKind):
    """All accesses of `kind` of the thread are complete."""


@dataclass(frozen=True)
class TensorFence(Synchronization):
    """`tcgen05.fence::before_thread_sync`, or `after_thread_sync`."""

    after: bool


@dataclass(frozen=True)
class Effects:
    """The memory access and the synchronisation of an instruction, None for those that it has not. `outside` is what a
    bulk copy from shared memory does to global memory, later than `access`.
    """

    access: MemoryAccess | None = None
    synchronization: Synchronization | None = None
    outside: MemoryAccess | None = None


NO_EFFECTS = Effects()
"""The instruction touches no memory that is checked, and orders nothing."""
