"""Places of tiles, mbarriers and slots in shared and tensor memory: one plan for a kernel, by lifetime.

Tiles that are not in use at the same time may share bytes or columns. A tile operation is complete before the next
begins, tensor cores included, so that the order of operations is the order of uses. Between threads,
`tirx-insert-barriers` looks at the places that this plan gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from heapq import heappop, heappush
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from tirx.dialects import tirx
from tirx.dialects.nesting import Listed, ancestors, top_of, walk
from tirx.dialects.ptx.parameters import ALIGNMENT_LIMIT
from tirx.hw.targets import Target
from tirx.layout import ComposeLayout
from tirx.passes.match.slots import operand_limit
from tirx.rules import MemoryRoomError
from tirx.smem.packing import UNIT_BYTES
from tirx.tcgen05.sparse_metadata import CODE_BITS
from tirx.tcgen05.tmem import COLUMNS, allocation_columns
from tirx.values import dataclass, replace

PLAIN_ALIGNMENT = 128
"""Bytes: enough for every vector access, and for copy engines."""

SWIZZLED_ALIGNMENT = 1024
"""Bytes: the swizzle acts on address bits, and the patterns of all modes repeat within 1024 bytes (PTX ISA, "Shared
memory descriptor", matrix base offset)."""

MBARRIER_BYTES = 8
"""Size and alignment of an mbarrier (PTX ISA, "Size and alignment of mbarrier object")."""

SLOT_BYTES = 4
"""Size and alignment of the word that tcgen05.alloc writes an address to."""

COLUMN_STEP = {CODE_BITS: 2}
"""Bits of an element -> columns that its tile starts at a multiple of: the address of sparsity metadata is even."""

REORDERED_TILES = 64
"""More tiles than these are placed in the order of their first uses only: to try other orders takes quadratic time."""


_COMPLETE = (tirx.CopyOp, tirx.FillOp, tirx.LoadOp, tirx.MmaOp, tirx.StoreOp)
"""Operations that are done with a tile when the next operation begins."""


class Lifetime(NamedTuple):
    """The operations of the kernel, by number, from the first to the last that use something.

    A loop is one operation: what it leaves in a tile may be read the next time round. So it is for tiles of its own
    where there is room, since tiles that share bytes need barriers between them in every iteration.
    """

    first: int
    last: int


@dataclass(frozen=True)
class Block:
    """A run of bytes of shared memory or of columns of tensor memory: `alloc` is the tile, None for other contents."""

    alloc: tirx.AllocOp | None
    size: int
    alignment: int
    lifetime: Lifetime
    start: int = 0

    @property
    def end(self) -> int:
        return self.start + self.size

    def meets(self, other: Block) -> bool:
        """Returns True if both are in use at some time."""
        return self.lifetime.first <= other.lifetime.last and other.lifetime.first <= self.lifetime.last

    def after(self, other: Block) -> int:
        """The first place behind another block where this one may start."""
        return -(-other.end // self.alignment) * self.alignment

    def name(self, unit: str) -> str:
        """The tile in a message."""
        hint = None if self.alloc is None else self.alloc.result.name_hint
        return f"{'a tile' if hint is None else f'%{hint}'} of {self.size} {unit}"


class Allocation(NamedTuple):
    """The plan of a kernel, with the place of every tile: bytes from the start of shared memory, or columns."""

    plan: tirx.MemoryPlan
    starts: Mapping[tirx.AllocOp, int]


def allocate(kernel: tirx.KernelOp, target: Target) -> Allocation:
    """Places all shared and tensor tiles of a kernel, and what the lowering of tensor memory keeps in shared memory.

    Tiles without a layout count as many bytes as they have elements, tensor tiles without one nothing. Tiles of one
    iteration of a loop share memory only in a kernel that has no room for them otherwise. Raises LocatedError at a
    tile for which there is no room, naming those that are in use with it.
    """
    inside = Listed(walk(kernel))
    lifetimes = _lifetimes(kernel, inside, within_loops=False)
    try:
        return _allocated(kernel, inside, target, lifetimes)
    except MemoryRoomError:
        shorter = _lifetimes(kernel, inside, within_loops=True)
        if shorter == lifetimes:
            raise
    return _allocated(kernel, inside, target, shorter)


def _allocated(
    kernel: tirx.KernelOp, inside: Listed, target: Target, lifetimes: Mapping[tirx.AllocOp, Lifetime]
) -> Allocation:
    allocs = list(lifetimes)
    in_tensor = [alloc for alloc in allocs if alloc.result.type.memory is tirx.MemorySpace.TENSOR]
    tensor = _place(
        [_tensor_block(alloc, lifetimes[alloc]) for alloc in in_tensor if alloc.result.type.layout is not None]
    )
    _check_room(tensor, COLUMNS, "columns", "columns of tensor memory")
    shared = _place(
        [_shared_block(op, lifetimes[op]) for op in allocs if op.result.type.memory is tirx.MemorySpace.SHARED]
    )
    has_descriptors = in_tensor or inside.where(lambda kind: kind.name.startswith("tcgen05."))
    limit = operand_limit(target) if has_descriptors else target.shared_limit
    memory = f"bytes of shared memory on {target}"
    memory += "" if limit == target.shared_limit else ", which its descriptors reach"
    _check_room(shared, limit, "bytes", memory)
    copies = (op for op in inside.of(tirx.CopyOp) if op.engine is not None and op.engine.data is tirx.Engine.TMA)
    loads = {tirx.thread_owner(op) for op in copies}
    words = {"mbarrier": MBARRIER_BYTES, "slot": SLOT_BYTES} if in_tensor else {}
    # Roles run at the same time, and wait for their own copies.
    words |= {"copies": MBARRIER_BYTES * len(loads)} if loads else {}
    others: dict[str, int] = {}
    for name, size in words.items():
        # They are in use all the time, next to every tile.
        block = _fitted(Block(None, size, min(size, MBARRIER_BYTES), Lifetime(0, len(lifetimes))), shared)
        shared.append(block)
        others[name] = block.start
    total = max((block.end for block in shared), default=0)
    if total > limit:
        raise MemoryRoomError(
            kernel,
            f"expected at most {limit} {memory}, found {total} with the mbarriers and the address of tensor memory",
        )
    plan = tirx.MemoryPlan(
        total,
        max((block.alignment for block in shared), default=tirx.MemoryPlan.alignment),
        total > target.static_shared_limit,
        allocation_columns(max(block.end for block in tensor)) if tensor else 0,
        **others,
    )
    return Allocation(plan, {block.alloc: block.start for block in (*shared, *tensor) if block.alloc is not None})


@lru_cache(maxsize=256)
def shared_bytes(type_: tirx.TileType) -> int:
    """Bytes that a shared tile takes: whole units of 16 bytes, which products read, holes included."""
    return -(-type_.span_bytes // UNIT_BYTES) * UNIT_BYTES


def shared_alignment(type_: tirx.TileType) -> int:
    """Bytes to which the base of a shared tile is aligned; the most for a tile whose layout is still to be picked."""
    match type_.layout:
        case None:
            return SWIZZLED_ALIGNMENT
        case ComposeLayout() as layout:
            return max(SWIZZLED_ALIGNMENT, layout.swizzle.period * type_.dtype.storage_bits // 8)
        case _:
            return PLAIN_ALIGNMENT


def aligned_bytes(type_: tirx.TileType) -> int:
    """Bytes of shared memory that a tile takes, rounded up to its alignment."""
    alignment = shared_alignment(type_)
    return -(-shared_bytes(type_) // alignment) * alignment


def slot_columns(ring: tirx.RingOp) -> int:
    """Columns of tensor memory of one slot of a ring, without tiles that have no layout."""
    return sum(max((_columns(view.type) for view in tile), default=0) for tile in ring.result.type.contents)


def allocated_columns(op: Operation) -> int:
    """Columns of tensor memory that an operation allocates, without tiles that have no layout."""
    match op:
        case tirx.AllocOp():
            return _columns(op.result.type)
        case tirx.RingOp():
            return op.num_slots * slot_columns(op)
        case _:
            return 0


def _columns(type_: Attribute) -> int:
    return type_.span_columns if isinstance(type_, tirx.TileType) and type_.memory is tirx.MemorySpace.TENSOR else 0


def _shared_block(alloc: tirx.AllocOp, lifetime: Lifetime) -> Block:
    type_ = alloc.result.type
    if (alignment := shared_alignment(type_)) > ALIGNMENT_LIMIT:
        raise MemoryRoomError(
            alloc, f"expected a layout that needs a base aligned to at most {ALIGNMENT_LIMIT} bytes, found {alignment}"
        )
    return Block(alloc, shared_bytes(type_), alignment, lifetime)


def _tensor_block(alloc: tirx.AllocOp, lifetime: Lifetime) -> Block:
    type_ = alloc.result.type
    return Block(alloc, type_.span_columns, COLUMN_STEP.get(type_.dtype.bits, 1), lifetime)


def _lifetimes(kernel: tirx.KernelOp, inside: Listed, *, within_loops: bool) -> dict[tirx.AllocOp, Lifetime]:
    """Lifetimes of the tiles; one that nothing uses lives where it is allocated.

    A tile that something else than a tile operation uses, such as `tirx.address` or a descriptor, lives all the time:
    what becomes of its address is not followed, and asynchronous work may still be on it. `within_loops`: a tile that
    each iteration of a loop overwrites first lives for a part of the iteration.
    """
    start: dict[Operation, int] = {}
    whole = Lifetime(0, len(inside.ops) - 1)

    @cache
    def end(op: Operation) -> int:
        return start[op] + len(walk(op)) - 1

    found: dict[tirx.AllocOp, Lifetime] = {}
    for alloc in inside.of(tirx.AllocOp):
        users = [op for op, _ in tirx.views_in_use(alloc.result)]
        if not all(type(op) in _COMPLETE for op in users):
            found[alloc] = whole
            continue
        start = start or {op: i for i, op in enumerate(inside.ops)}
        users.sort(key=start.__getitem__)
        loop = _loop_around(alloc, users) if users and within_loops else None
        used = [top for op in users or [alloc] if (top := top_of(op, loop or kernel)) is not None]
        found[alloc] = Lifetime(start[used[0]], max(map(end, used)))
    return found


def _loop_around(alloc: tirx.AllocOp, users: Sequence[Operation]) -> scf.ForOp | None:
    """The loop of which no iteration has the contents of a tile from the one before, and that has all its `users`.

    It allocates the tile, or what uses it first writes all of it.
    """
    first = users[0]
    loop = alloc.parent_op()
    if not isinstance(loop, scf.ForOp):
        match first:
            case tirx.FillOp():
                source, written = None, first.tile
            case tirx.CopyOp(reduce=None):
                source, written = first.source, first.destination
            case tirx.StoreOp(reduce=None):
                source, written = first.value, first.destination
            case _:
                return None
        while isinstance(op := written.owner, tirx.ReshapeOp | tirx.TransposeOp):
            written = op.source
        if written is not alloc.result or source is not None and tirx.base_allocation(source) is written:
            return None
        loop = first.parent_op()
    if not isinstance(loop, scf.ForOp) or any(top_of(op, loop) is None for op in users):
        return None
    # Roles and warpgroups run beside others.
    in_order = all(isinstance(each, scf.ForOp | scf.IfOp | tirx.KernelOp | ModuleOp) for each in ancestors(loop))
    return loop if in_order else None


def _place(blocks: Sequence[Block]) -> list[Block]:
    """Places the blocks in this order or, where it takes less room, the largest first."""
    if len(blocks) > REORDERED_TILES:
        return _in_order_of_use(blocks)
    order = range(len(blocks))
    found = (_first_fit(blocks, order), _first_fit(blocks, sorted(order, key=lambda i: -blocks[i].size)))
    return min(found, key=lambda placed: max((block.end for block in placed), default=0))


def _in_order_of_use(blocks: Sequence[Block]) -> list[Block]:
    """Every block at the first place that is free when its lifetime starts."""
    placed = list(blocks)
    live: list[tuple[int, int]] = []  # last use and index of what is in use
    for index in sorted(range(len(blocks)), key=lambda i: blocks[i].lifetime.first):
        while live and live[0][0] < blocks[index].lifetime.first:
            heappop(live)
        placed[index] = _fitted(blocks[index], (placed[i] for _, i in live))
        heappush(live, (blocks[index].lifetime.last, index))
    return placed


def _first_fit(blocks: Sequence[Block], order: Iterable[int]) -> list[Block]:
    """Every block, by its index in `order`, at the first place that none before it has while it is in use."""
    placed: dict[int, Block] = {}
    for index in order:
        block = blocks[index]
        placed[index] = _fitted(block, (other for other in placed.values() if block.meets(other)))
    return [placed[i] for i in range(len(blocks))]


def _fitted(block: Block, others: Iterable[Block]) -> Block:
    """The block at the first place beside the others."""
    start = 0
    for other in sorted(others, key=lambda other: other.start):
        if start + block.size <= other.start:
            break
        start = max(start, block.after(other))
    return replace(block, start=start)


def _check_room(blocks: Sequence[Block], limit: int, unit: str, what: str) -> None:
    for block in blocks:
        if block.end > limit and block.alloc is not None:
            others = [other.name(unit) for other in blocks if other is not block and other.alloc and block.meets(other)]
            raise MemoryRoomError(
                block.alloc,
                f"expected at most {limit} {what} in use at a time, found no room for {block.name(unit)}"
                f"{' next to ' if others else ''}{', '.join(others)}",
            )
