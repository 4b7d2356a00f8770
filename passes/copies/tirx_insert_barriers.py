"""`tirx-insert-barriers`: a barrier wherever threads of a block would race on memory that they share."""

from __future__ import annotations

from bisect import bisect_left

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects import tirx
from tirx.dialects.nesting import operations, walk
from tirx.dialects.ptx.sync import BarWarpSyncOp, FenceProxyAsyncOp
from tirx.dialects.ptx.tma import CpAsyncBulkWaitGroupOp
from tirx.dialects.tirx.threads import WARPGROUP_THREADS, WarpgroupOp
from tirx.dialects.traits import is_pure
from tirx.passes.copies.bulk_order import order_bulk_copies
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.scheduled import require_lowered
from tirx.passes.ir.tile_loops import is_tile_loop, parts_of_tiles
from tirx.passes.match.global_accesses import effects_of, may_access, written_by
from tirx.passes.match.memory_by_lifetime import shared_bytes
from tirx.values import dataclass, replace

_Place = SSAValue | int
"""A memref, an allocation that has no place yet, or a run of bytes of shared memory, by number."""

_OF_THE_BLOCK = (tirx.Engine.TCGEN05_CP, tirx.Engine.TMA, tirx.Engine.TMA_STORE, tirx.Engine.TMA_REDUCE)
"""Engines whose copies one thread starts for the block: they come with barriers of their own."""

_TENSOR_MEMORY = -1
"""The place of all tensor tiles: those that are not in use at the same time share columns."""


@dataclass(frozen=True)
class _Accesses:
    """The places that some thread reads and writes.

    `by_proxy`: those of them that are read through the async proxy, by wgmma. `unfenced`: places in shared memory that
    threads have written, which no proxy fence has made visible there since. `running`: products by wgmma that nothing
    has waited for yet.
    """

    reads: frozenset[_Place] = frozenset()
    writes: frozenset[_Place] = frozenset()
    by_proxy: frozenset[_Place] = frozenset()
    unfenced: frozenset[_Place] = frozenset()
    running: frozenset[tirx.AsyncMmaOp] = frozenset()

    def __or__(self, other: _Accesses) -> _Accesses:
        return _Accesses(
            self.reads | other.reads,
            self.writes | other.writes,
            self.by_proxy | other.by_proxy,
            self.unfenced | other.unfenced,
            self.running | other.running,
        )

    def then(self, other: _Accesses) -> _Accesses:
        """Returns the accesses pending behind these and `other`."""
        return replace(self | other, by_proxy=frozenset())

    def without(self, *places: _Place) -> _Accesses:
        """The accesses to all other places."""
        reads, writes, unfenced = (one.difference(places) for one in (self.reads, self.writes, self.unfenced))
        return replace(self, reads=reads, writes=writes, unfenced=unfenced)

    def met(self, fenced: bool) -> _Accesses:
        """Returns the accesses pending behind a barrier, through which products go on; `fenced`: a fence is with it."""
        return _Accesses(unfenced=frozenset() if fenced else self.unfenced, running=self.running)

    def needs_fence(self, pending: _Accesses) -> bool:
        """Returns True if something is read here through the async proxy that `pending` has written past it."""
        return not self.by_proxy.isdisjoint(pending.unfenced)

    def races(self, pending: _Accesses) -> bool:
        """Returns True if a place is written here that `pending` reads or writes, or read that it writes."""
        return not (
            self.reads.isdisjoint(pending.writes)
            and self.writes.isdisjoint(pending.writes)
            and self.writes.isdisjoint(pending.reads)
        )


_NOTHING = _Accesses()


def _runs_of_bytes(kernel: tirx.KernelOp) -> dict[SSAValue, frozenset[_Place]]:
    """The runs of bytes that each shared tile covers: tiles that share bytes have a run in common."""
    ends = {
        op.result: (op.start, op.start + shared_bytes(op.result.type))
        for op in kernel.walk()
        if isinstance(op, tirx.AllocOp) and op.start is not None and op.result.type.memory is tirx.MemorySpace.SHARED
    }
    cuts = sorted({end for both in ends.values() for end in both})
    return {
        tile: frozenset(range(bisect_left(cuts, start), bisect_left(cuts, end))) for tile, (start, end) in ends.items()
    }


def _is_barrier(op: Operation) -> bool:
    """Returns True if `op` synchronises the whole block: a tcgen05 product does before it starts, and waits for its
    end. So does a copy of scale factors, or the product that it goes with, and a copy by the tensor memory accelerator.
    """
    match op:
        case tirx.BarrierOp():
            return True
        case tirx.MmaOp():
            return op.on_tensor_memory
        case tirx.CopyOp():
            return op.engine is not None and op.engine.data in _OF_THE_BLOCK
        case _:
            return False


def _wait_in_front(barrier: Operation) -> Operation:
    """Returns the wait for bulk copies that stands in front of a barrier, with nothing between them that a proxy fence
    would have to be behind; without one, the barrier. A fence in front of the wait takes its time while copies go on.
    """
    found, op = barrier, barrier.prev_op
    while op is not None and all(map(_is_waiting, walk(op))):
        if any(isinstance(inner, CpAsyncBulkWaitGroupOp) for inner in walk(op)):
            found = op
        op = op.prev_op
    return found


def _is_waiting(op: Operation) -> bool:
    """Returns True for a wait for bulk copies, with the counters, branches and warps that meet around it."""
    match op:
        case CpAsyncBulkWaitGroupOp() | BarWarpSyncOp() | scf.IfOp() | scf.YieldOp():
            return True
        case memref.LoadOp() | memref.StoreOp():
            return isinstance(op.memref.owner, memref.AllocaOp)
        case _:
            return is_pure(op)


_ACTING = (tirx.SlotOp, tirx.AwaitOp, FenceProxyAsyncOp)
"""Operations without regions that change what is pending without an access of their own."""


class _BarrierInsertion:
    """Inserts barriers into the blocks of one kernel.

    What is pending behind an operation with regions depends only on what is pending before it, and is computed once
    for each such state: nested loops take no longer than loops in a row.
    """

    def __init__(self, kernel: tirx.KernelOp):
        self._runs = _runs_of_bytes(kernel)
        # In a block of one warpgroup, one warp reaches each lane of tensor memory; in larger ones several do. Which
        # threads of an operation of another dialect do is not known.
        self._warps_share_lanes = kernel.num_threads > WARPGROUP_THREADS or any(
            isinstance(type_ := operand.type, tirx.TileType) and type_.memory is tirx.MemorySpace.TENSOR
            for op in kernel.walk()
            if tirx.is_foreign(op)
            for operand in op.operands
        )
        self._order = {op: at for at, op in enumerate(kernel.walk()) if isinstance(op, tirx.AsyncMmaOp)}
        self._written = written_by(kernel)
        self._behind: dict[tuple[Operation, _Accesses], tuple[_Accesses, _Accesses]] = {}
        self._accesses: dict[Operation, _Accesses | None] = {}
        self._acting: dict[Block, tuple[Operation, ...]] = {}
        """The operations of a block, before anything is inserted, that may change what is pending."""

    def block(self, block: Block, pending: _Accesses, *, insert: bool = False) -> _Accesses:
        """Returns the accesses since the last barrier at the end of `block`, from those at its start."""
        if (acting := self._acting.get(block)) is None:
            acting = self._acting[block] = tuple(
                op for op in operations(block) if op.regions or type(op) in _ACTING or self._of(op) is not _NOTHING
            )
        barrier: Operation | None = None  # the last one of this block, if nothing with regions is behind it
        for op in acting:
            if isinstance(op, WarpgroupOp):
                # Threads of other warpgroups pass by: all can meet only in front of it.
                pending, barrier = self._meet(op, self._inside(op), pending, insert), None
            if isinstance(op, tirx.RolesOp):
                # Roles run at the same time, and share nothing but rings; all threads meet at their end.
                inside = self._inside(op)
                pending = self._meet(op, inside, pending, insert)
                for role in op.roles if insert else ():
                    self.block(role.body.block, _Accesses(unfenced=pending.unfenced), insert=True)
                pending = replace(pending, unfenced=pending.unfenced | inside.unfenced).met(fenced=False)
                continue
            if op.regions:
                barrier = None
                around = self._tile_accesses(op)
                pending = self._meet(op, around, pending, insert).then(around)
                start, end = self._regions(op, pending)
                if insert:
                    for region in op.regions:
                        for inner in region.blocks:
                            self.block(inner, start, insert=True)
                pending = end.then(around)
                continue
            if isinstance(op, tirx.SlotOp):
                # Another use of the ring: its barriers and fences order it behind the accesses to the one before.
                pending = pending.without(op.result)
            if isinstance(op, FenceProxyAsyncOp):
                pending = replace(pending, unfenced=frozenset())
            if pending.running and isinstance(op, tirx.AwaitOp | tirx.MmaOp):
                pending = self._behind_products(op, pending)
            accesses = self._of(op)
            if accesses is None:
                # Products on tensor memory and scale copies see to the async proxy as well.
                pending = pending.met(fenced=not isinstance(op, tirx.BarrierOp))
                barrier = op if isinstance(op, tirx.BarrierOp) else None
            elif accesses is not _NOTHING:
                if barrier is not None and accesses.needs_fence(pending) and not accesses.races(pending):
                    # What is read here was written before threads met: there it needs the fence, and no barrier more.
                    if insert:
                        Emitter.before(_wait_in_front(barrier))(FenceProxyAsyncOp("shared::cta"))
                    pending = replace(pending, unfenced=pending.unfenced & pending.writes)
                met = self._meet(op, accesses, pending, insert)
                barrier = barrier if met is pending else None
                pending = met.then(accesses)
        return pending

    @staticmethod
    def _meet(op: Operation, accesses: _Accesses, pending: _Accesses, insert: bool) -> _Accesses:
        """Returns what is pending in front of `op`, behind the fence and the barrier that its accesses need."""
        fence = accesses.needs_fence(pending)
        if not fence and not accesses.races(pending):
            return pending
        if insert:
            emit = Emitter.before(op)
            if fence:
                emit(FenceProxyAsyncOp("shared::cta"))
            emit(tirx.BarrierOp())
        return pending.met(fence)

    def _places(self, *tiles: SSAValue) -> frozenset[_Place]:
        """The places of those of `tiles` that lie in memory that threads share."""
        found: set[_Place] = set()
        for tile in tiles:
            if not isinstance(type_ := tile.type, tirx.TileType):
                found.add(tile)
                continue
            match type_.memory:
                case tirx.MemorySpace.SHARED | tirx.MemorySpace.GLOBAL:
                    root = tirx.base_allocation(tile)
                    found |= self._runs.get(root, {root})
                case tirx.MemorySpace.TENSOR if isinstance(root := tirx.base_allocation(tile), OpResult) and isinstance(
                    root.op, tirx.SlotOp
                ):
                    found.add(root)
                case tirx.MemorySpace.TENSOR if self._warps_share_lanes:
                    found.add(_TENSOR_MEMORY)
                case _:
                    pass
        return frozenset(found)

    def _tile_accesses(self, op: Operation) -> _Accesses:
        """Returns the reads and writes of a tile operation in the memory that threads share."""
        if not may_access(op):
            return _NOTHING
        match op:
            case memref.StoreOp() if isinstance(op.memref.owner, memref.AllocaOp):
                return _NOTHING
            case tirx.MmaOp() | tirx.AsyncMmaOp():
                reads = self._places(op.a, op.b)
                running = frozenset({op} if isinstance(op, tirx.AsyncMmaOp) and self._read_by(op) else ())
                return _Accesses(reads, by_proxy=reads, running=running) if reads else _NOTHING
            case _:  # of `cp.async` the ring orders what happens to its slot
                effects = effects_of(op, self._written)
        if not effects.reads and not effects.writes:
            return _NOTHING
        shared = (
            tile
            for tile in effects.writes
            if isinstance(type_ := tile.type, tirx.TileType) and type_.memory is tirx.MemorySpace.SHARED
        )
        reads, writes = self._places(*effects.reads), self._places(*effects.writes)
        return _Accesses(reads, writes, unfenced=self._places(*shared))

    def _read_by(self, *products: tirx.AsyncMmaOp) -> frozenset[_Place]:
        """The places that products by wgmma read as long as they run, without slots, which their ring orders."""
        tiles = (tile for op in products if not op.on_tensor_memory for tile in (op.a, op.b))
        return self._places(*(tile for tile in tiles if isinstance(tirx.base_allocation(tile).owner, tirx.AllocOp)))

    def _behind_products(self, op: tirx.AwaitOp | tirx.MmaOp, pending: _Accesses) -> _Accesses:
        """Returns what is pending behind a wait: products have read their tiles up to here that may end at it.

        They end in their order, so that waiting for the sum of one waits for all in front of it.
        """
        may_end = ended = pending.running
        if isinstance(op, tirx.MmaOp):
            if op.plan is None or not isinstance(op.plan.data, tirx.WgmmaPlan):
                return pending
        elif op.awaited_queue is not tirx.Queue.WGMMA:
            return pending
        elif op.value is None:
            if op.pending is None or op.pending.value.data:
                ended = frozenset[tirx.AsyncMmaOp]()
        elif isinstance(product := op.value.owner, tirx.AsyncMmaOp):
            may_end = ended = frozenset(each for each in ended if self._order[each] <= self._order[product])
        else:
            ended = frozenset[tirx.AsyncMmaOp]()
        return replace(pending, reads=pending.reads | self._read_by(*may_end), running=pending.running - ended)

    def _of(self, op: Operation) -> _Accesses | None:
        """The accesses of an operation without regions, None if it is a barrier."""
        if op in self._accesses:
            return self._accesses[op]
        found = self._accesses[op] = None if _is_barrier(op) else self._tile_accesses(op)
        return found

    def _inside(self, op: Operation) -> _Accesses:
        found = _NOTHING
        for inner in walk(op):
            if (accesses := self._of(inner)) is not None and accesses is not _NOTHING:
                found |= accesses
        return found

    def _regions(self, op: Operation, pending: _Accesses) -> tuple[_Accesses, _Accesses]:
        """Returns the accesses pending at the start of the regions of `op`, of which it may run none, and behind it."""
        key = op, pending
        if key not in self._behind:
            start, end = pending, self._once(op, pending)
            apart = self._written_apart(op)
            # What a loop has pending at its end meets what it does at its start. More at the start may move its
            # barriers and so leave more at the end: until nothing is new.
            while not isinstance(op, scf.IfOp | WarpgroupOp) and (joined := start | end.without(*apart)) != start:
                start, end = joined, self._once(op, joined)
            self._behind[key] = start, end
        return self._behind[key]

    def _written_apart(self, op: Operation) -> set[SSAValue]:
        """The memrefs that a tile loop does not read, and writes only by views, of other elements in each iteration."""
        if not is_tile_loop(op):
            return set()
        accesses = self._inside(op)
        views = [inner for inner in walk(op) if isinstance(inner, tirx.ViewOp) and inner.source in accesses.writes]
        whole = {at for inner in walk(op) if tirx.is_foreign(inner) for at in tirx.tile_effects(inner).writes}
        return parts_of_tiles(op, views) - accesses.reads - whole

    def _once(self, op: Operation, pending: _Accesses) -> _Accesses:
        end = pending
        for region in op.regions:
            for block in region.blocks:
                end |= self.block(block, pending)
        return end


class TirxInsertBarriersPass(ModulePass):
    """Tile operations are sequential; threads are not. Inserts `tirx.barrier` between two operations that touch the
    same allocation or memref, one of them writing, when no barrier stands between them on some path.

    A product of wgmma reads shared memory through the async proxy: behind threads that have written what it reads
    stands `fence.proxy.async` in front of the barrier, which every product on tensor memory brings with it. It may be a
    barrier that is there for something else; where threads wait for bulk copies in front of that, they fence first. An
    asynchronous product reads its tiles until it is awaited.

    Iterations of a tile loop that write other parts of a memref need none between them.

    Something that may read or overwrite what a bulk store of a ring writes waits for the end of the store. Between
    accesses of threads and bulk copies of the same elements stands a proxy fence. Parts of one memref are compared by
    their indices, and in a loop with those of other iterations.

    Operations of other dialects read and write the tiles and memrefs that they are given, unless they say what they do
    (`TileOpInterface`). Memrefs are taken not to overlap (see `tirx.kernel`). Tensor memory counts where several warps
    reach one lane.
    """

    name = "tirx-insert-barriers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            require_lowered(walk(kernel))
            order_bulk_copies(kernel)
            _BarrierInsertion(kernel).block(kernel.body.block, _NOTHING, insert=True)
