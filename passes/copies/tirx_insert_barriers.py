"""`tirx-insert-barriers`: a barrier wherever threads of a block would race on memory that they share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects import tirx
from tirx.dialects.nesting import operations, walk
from tirx.dialects.ptx.sync import BarWarpSyncOp, FenceProxyAsyncOp
from tirx.dialects.ptx.tma import CpAsyncBulkWaitGroupOp
from tirx.dialects.tirx.threads import WARPGROUP_THREADS, WarpgroupOp
from tirx.dialects.traits import is_pure
from tirx.dialects.xdsl_private import blocks
from tirx.passes.copies.bulk_order import order_bulk_copies
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.scheduled import require_lowered
from tirx.passes.ir.tile_loops import is_tile_loop, parts_of_tiles
from tirx.passes.match.global_accesses import accessing_kinds, effects_of, one_of_each_kind, written_by
from tirx.passes.match.memory_by_lifetime import shared_bytes

_OF_THE_BLOCK = (tirx.Engine.TCGEN05_CP, tirx.Engine.TMA, tirx.Engine.TMA_STORE, tirx.Engine.TMA_REDUCE)
"""Engines of copies that one thread starts for the block: they come with barriers of their own."""


class _Accesses(NamedTuple):
    """The places that some thread reads and writes. Places are bits: see `_Places`.

    `by_proxy`: those of them that are read through the async proxy, by wgmma. `unfenced`: places in shared memory that
    threads have written, which no proxy fence has made visible there since. `running`: products by wgmma that nothing
    has waited for yet, the bits of their numbers.
    """

    reads: int = 0
    writes: int = 0
    by_proxy: int = 0
    unfenced: int = 0
    running: int = 0

    def joined(self, other: _Accesses) -> _Accesses:
        """Returns the accesses of both."""
        a, b, c, d, e = self
        v, w, x, y, z = other
        return _Accesses(a | v, b | w, c | x, d | y, e | z)

    def then(self, other: _Accesses) -> _Accesses:
        """Returns the accesses pending behind these and `other`."""
        a, b, _, d, e = self
        v, w, _, y, z = other
        return _Accesses(a | v, b | w, 0, d | y, e | z)

    def without(self, places: int) -> _Accesses:
        """The accesses to all other places."""
        reads, writes, by_proxy, unfenced, running = self
        return _Accesses(reads & ~places, writes & ~places, by_proxy, unfenced & ~places, running)

    def met(self, fenced: bool) -> _Accesses:
        """Returns the accesses pending behind a barrier, through which products go on; `fenced`: a fence is with it."""
        return _Accesses(unfenced=0 if fenced else self.unfenced, running=self.running)

    def needs_fence(self, pending: _Accesses) -> bool:
        """Returns True if something is read here through the async proxy that `pending` has written past it."""
        return bool(self.by_proxy & pending.unfenced)

    def races(self, pending: _Accesses) -> bool:
        """Returns True if a place is written here that `pending` reads or writes, or read that it writes."""
        return bool(self.reads & pending.writes or self.writes & (pending.reads | pending.writes))


_NOTHING = _Accesses()


class _Places:
    """The places of a kernel: memrefs, allocations that have no bytes yet, and runs of bytes of shared memory, of which
    those of tiles that share bytes have one in common. A set of places is an integer with the bits of their numbers.

    All tensor tiles are one place: those that are not in use at the same time share columns.
    """

    def __init__(self, allocations: Iterable[tirx.AllocOp], warps_share_lanes: bool):
        ends = {
            op.result: (op.start, op.start + shared_bytes(op.result.type))
            for op in allocations
            if op.start is not None and op.result.type.memory is tirx.MemorySpace.SHARED
        }
        cuts = {end: at for at, end in enumerate(sorted({end for both in ends.values() for end in both}))}
        self._of: dict[SSAValue | None, int] = {
            tile: (1 << cuts[end]) - (1 << cuts[start]) for tile, (start, end) in ends.items()
        }
        self._number, self._warps_share_lanes = len(cuts), warps_share_lanes

    def of(self, root: SSAValue | None) -> int:
        """The place of a memref or an allocation; None for all of tensor memory."""
        if (found := self._of.get(root)) is None:
            found = self._of[root] = 1 << self._number
            self._number += 1
        return found

    def of_tiles(self, tiles: Iterable[SSAValue]) -> int:
        """The places of those of `tiles` that lie in memory that threads share."""
        found = 0
        for tile in tiles:
            if not isinstance(type_ := tile.type, tirx.TileType):
                found |= self.of(tile)
            elif type_.memory in (tirx.MemorySpace.SHARED, tirx.MemorySpace.GLOBAL):
                found |= self.of(tirx.base_allocation(tile))
            elif type_.memory is tirx.MemorySpace.TENSOR:
                if isinstance((root := tirx.base_allocation(tile)).owner, tirx.SlotOp):
                    found |= self.of(root)
                elif self._warps_share_lanes:
                    found |= self.of(None)
        return found


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


_ACTING = (tirx.BarrierOp, tirx.SlotOp, tirx.AwaitOp, FenceProxyAsyncOp)
"""Operations without regions that change what is pending without an access of their own."""


class _BarrierInsertion:
    """Inserts barriers into the blocks of one kernel.

    What is pending behind an operation with regions depends only on what is pending before it, and is computed once
    for each such state: nested loops take no longer than loops in a row.
    """

    def __init__(self, kernel: tirx.KernelOp):
        ops = walk(kernel)
        foreign = {kind for kind, op in one_of_each_kind(ops).items() if tirx.is_foreign(op)}
        # In a block of one warpgroup, one warp reaches each lane of tensor memory; in larger ones several do. Which
        # threads of an operation of another dialect do is not known.
        warps_share_lanes = kernel.num_threads > WARPGROUP_THREADS or any(
            isinstance(type_ := operand.type, tirx.TileType) and type_.memory is tirx.MemorySpace.TENSOR
            for op in (op for op in ops if type(op) in foreign)
            for operand in op.operands
        )
        self._places = _Places((op for op in ops if type(op) is tirx.AllocOp), warps_share_lanes)
        self._written, self._accessing = written_by(ops), accessing_kinds(ops)
        self._behind: dict[tuple[Operation, _Accesses], tuple[_Accesses, _Accesses, bool]] = {}
        self._read_by: list[int] = []
        """The places that products by wgmma read as long as they run, without slots, which their ring orders."""
        self._numbers: dict[Operation, int] = {}
        self._inside: dict[Operation, _Accesses] = {}
        self._apart: dict[Operation, int] = {}
        self._acting: dict[Block, list[tuple[Operation, _Accesses | None]]] = {}
        """The operations of a block, before anything is inserted, that may change what is pending, and the accesses of
        each itself: None for a barrier.
        """
        self._insertions = 0
        """Places where something was found to be inserted, over and over."""
        self._look(kernel)

    def _look(self, op: Operation, own: _Accesses = _NOTHING) -> _Accesses:
        """Returns the accesses of an operation with regions, itself and all inside of it, and notes those of each."""
        found = own
        for region in op.regions:
            for block in blocks(region):
                acting = self._acting[block] = list[tuple[Operation, _Accesses | None]]()
                for inner in operations(block):
                    kind, accesses = type(inner), _NOTHING
                    if kind in self._accessing:
                        accesses = None if _is_barrier(inner) else self._tile_accesses(inner)
                    elif kind is tirx.BarrierOp:
                        accesses = None
                    if inner.regions:
                        found = found.joined(self._look(inner, accesses or _NOTHING))
                    elif accesses is _NOTHING and kind not in _ACTING:
                        continue
                    elif accesses:
                        found = found.joined(accesses)
                    acting.append((inner, accesses))
        self._inside[op] = found
        return found

    def block(self, block: Block, pending: _Accesses, *, insert: bool = False) -> _Accesses:
        """Returns the accesses since the last barrier at the end of `block`, from those at its start."""
        barrier: Operation | None = None  # the last one of this block, if nothing with regions is behind it
        for op, accesses in self._acting[block]:
            kind = type(op)
            if op.regions:
                barrier = None
                if kind is tirx.RolesOp or kind is WarpgroupOp:
                    # Threads of other warpgroups pass by: all can meet only in front of it.
                    pending = self._meet(op, self._inside[op], pending, insert)
                pending = self._around(op, accesses or _NOTHING, pending, insert)
                continue
            if kind is tirx.SlotOp:
                # Another use of the ring: its barriers and fences order it behind the accesses to the one before.
                pending = pending.without(self._places.of(op.results[0]))
            elif kind is FenceProxyAsyncOp:
                pending = pending._replace(unfenced=0)
            elif pending.running and isinstance(op, tirx.AwaitOp | tirx.MmaOp):
                pending = self._behind_products(op, pending)
            if accesses is None:
                # Products on tensor memory and scale copies see to the async proxy as well.
                is_plain = kind is tirx.BarrierOp
                pending, barrier = pending.met(fenced=not is_plain), op if is_plain else None
            elif accesses is not _NOTHING:
                if barrier is not None and accesses.needs_fence(pending) and not accesses.races(pending):
                    # What is read here was written before threads met: there it needs the fence, and no barrier more.
                    self._insertions += 1
                    if insert:
                        Emitter.before(_wait_in_front(barrier))(FenceProxyAsyncOp("shared::cta"))
                    pending = pending._replace(unfenced=pending.unfenced & pending.writes)
                met = self._meet(op, accesses, pending, insert)
                barrier = barrier if met is pending else None
                pending = met.then(accesses)
        return pending

    def _around(self, op: Operation, own: _Accesses, pending: _Accesses, insert: bool) -> _Accesses:
        """Returns what is pending behind an operation with regions from what is in front of it."""
        if isinstance(op, tirx.RolesOp):
            # Roles run at the same time, and share nothing but rings; all threads meet at their end.
            self._insertions += not insert
            for role in op.roles if insert else ():
                self.block(role.body.block, _Accesses(unfenced=pending.unfenced), insert=True)
            return _Accesses(unfenced=pending.unfenced | self._inside[op].unfenced, running=pending.running)
        pending = self._meet(op, own, pending, insert).then(own)
        start, end, has_insertions = self._regions(op, pending)
        for block in (block for region in op.regions for block in blocks(region)) if insert and has_insertions else ():
            self.block(block, start, insert=True)
        return end.then(own)

    def _meet(self, op: Operation, accesses: _Accesses, pending: _Accesses, insert: bool) -> _Accesses:
        """Returns what is pending in front of `op`, behind the fence and the barrier that its accesses need."""
        fence = accesses.needs_fence(pending)
        if not fence and not accesses.races(pending):
            return pending
        self._insertions += 1
        if insert:
            emit = Emitter.before(op)
            if fence:
                emit(FenceProxyAsyncOp("shared::cta"))
            emit(tirx.BarrierOp())
        return pending.met(fence)

    def _tile_accesses(self, op: Operation) -> _Accesses:
        """Returns the reads and writes of a tile operation in the memory that threads share."""
        match op:
            case memref.LoadOp() | memref.StoreOp() if isinstance(op.memref.owner, memref.AllocaOp):
                return _NOTHING
            case tirx.MmaOp() | tirx.AsyncMmaOp():
                reads = self._places.of_tiles((op.a, op.b))
                running = 0
                if isinstance(op, tirx.AsyncMmaOp):
                    tiles = [] if op.on_tensor_memory else [op.a, op.b]
                    read = self._places.of_tiles(
                        each for each in tiles if isinstance(tirx.base_allocation(each).owner, tirx.AllocOp)
                    )
                    number = self._numbers[op] = len(self._read_by)
                    self._read_by.append(read)
                    running = 1 << number if read else 0
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
        of_tiles = self._places.of_tiles
        found = _Accesses(of_tiles(effects.reads), of_tiles(effects.writes), unfenced=of_tiles(shared))
        return _NOTHING if found == _NOTHING else found

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
                ended = 0
        elif isinstance(product := op.value.owner, tirx.AsyncMmaOp):
            may_end = ended = ended & ((2 << self._numbers[product]) - 1)
        else:
            ended = 0
        reads = pending.reads
        while may_end:
            number = may_end.bit_length() - 1
            reads |= self._read_by[number]
            may_end ^= 1 << number
        return pending._replace(reads=reads, running=pending.running & ~ended)

    def _regions(self, op: Operation, pending: _Accesses) -> tuple[_Accesses, _Accesses, bool]:
        """Returns the accesses pending at the start of the regions of `op`, of which it may run none, and behind it;
        and whether something is to be inserted into them.
        """
        key = op, pending
        if (found := self._behind.get(key)) is None:
            before = self._insertions
            start, end = pending, self._once(op, pending)
            if not isinstance(op, scf.IfOp | WarpgroupOp):
                apart = self._written_apart(op)
                # What a loop has pending at its end meets what it does at its start. More at the start may move its
                # barriers and so leave more at the end: until nothing is new.
                while (joined := start.joined(end.without(apart))) != start:
                    start, end = joined, self._once(op, joined)
            found = self._behind[key] = start, end, self._insertions > before
        self._insertions += found[2]
        return found

    def _written_apart(self, op: Operation) -> int:
        """The memrefs that a tile loop does not read, and writes only by views, of other elements in each iteration."""
        if (found := self._apart.get(op)) is None:
            found, place = 0, self._places.of
            if is_tile_loop(op):
                accesses, inside = self._inside[op], walk(op)
                views = [
                    each for each in inside if isinstance(each, tirx.ViewOp) and accesses.writes & place(each.source)
                ]
                for memory in parts_of_tiles(op, views):
                    found |= place(memory)
                for each in inside:
                    for written in tirx.tile_effects(each).writes if tirx.is_foreign(each) else ():
                        found &= ~place(written)
                found &= ~accesses.reads
            self._apart[op] = found
        return found

    def _once(self, op: Operation, pending: _Accesses) -> _Accesses:
        end = pending
        for region in op.regions:
            for block in blocks(region):
                end = end.joined(self.block(block, pending))
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
