"""Code of one role of the scheduled level, or of a kernel without roles: what `tirx-lower-rings` makes of each op."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, i16, i32, i64
from xdsl.ir import Block, Operation, SSAValue

from tirx.dialects import ptx, tirx
from tirx.dialects.tcgen05 import CommitOp, FenceOp, FencePosition
from tirx.dialects.traits import is_pure, is_terminator
from tirx.dialects.xdsl_private import clone
from tirx.layout.axis import WARP_SIZE
from tirx.passes.ir.emitter import Emitter
from tirx.passes.match.pipelining import stores_number
from tirx.passes.rings.asynchronous_copies import CopyCode
from tirx.passes.rings.barrier_rounds import is_covered
from tirx.passes.rings.beside_products import read_beside
from tirx.passes.rings.proof.bound_releases import Passes
from tirx.passes.rings.proof.parties import SELF, Members, Owner, is_issued_by_one_thread, issuer, response_place
from tirx.passes.rings.proof.slots import Place, place_of, slot_tile, yielded
from tirx.passes.rings.ring_code import (
    Counter,
    RingStorage,
    Turns,
    Variable,
    arrive,
    expect_bytes,
    read_integers,
    write_integers,
)
from tirx.passes.rings.ring_plan import UNCOUNTED, Passing, RingsPlan, Side, Station, To
from tirx.passes.rings.role_code import RoleCode, in_first_block
from tirx.passes.rings.skewed_loop import SkewedLoop
from tirx.passes.rings.tile_order import launched_tiles, persistent_tiles


def _is_of_one_thread(op: Operation) -> bool:
    """True for a wait for bulk stores, which the thread that started them makes (there may be none), and for a release
    with integers, which one thread writes.
    """
    return (isinstance(op, tirx.AwaitOp) and op.awaited_queue is tirx.Queue.STORE) or (
        isinstance(op, tirx.ReleaseOp) and bool(op.values)
    )


class Schedule(RoleCode):
    """Emits the code of one role."""

    def __init__(
        self, plan: RingsPlan, storage: RingStorage, owner: Owner, values: dict[SSAValue, SSAValue], emit: Emitter
    ):
        super().__init__(plan, storage, owner, values)
        self.copies = CopyCode(self)
        self.bound = plan.bound_releases(owner)
        places = self.plan.places[self.owner]
        if not self.is_single or any(name == SELF for _, name in places):
            self.thread = emit(ptx.ReadSpecialOp("tid.x")).result
            self.first_lane = emit.compare(emit.mod(self.thread, WARP_SIZE), emit.constant(0, i32), "eq")
        if not self.is_single and (
            any(members is not Members.ALL for members in places.values())
            or any(is_issued_by_one_thread(op) or _is_of_one_thread(op) for op in self.owner.walk())
        ):
            self.leader = emit(tirx.LeaderOp()).result
        self.sharing: dict[tuple[int, ...], Sequence[SSAValue]] = {}
        """Differences of ranks -> the ranks of the blocks that share slots, at whose barriers releases arrive."""
        self.masks: dict[tuple[int, ...], SSAValue] = {}
        """The same blocks, a bit for each, where the tensor core arrives."""
        self._find_sharing(emit)
        self.acquired: dict[Place, Counter] = {}
        self.passed: dict[Place, Counter] = {}
        self.open: dict[Place, Variable] = {}
        self.turns: dict[tirx.RingOp, Turns] = {}
        self.fenced: dict[Operation, tirx.ReleaseOp] = {}
        """Last reads of slots by threads that a fence follows, and the releases that need none then."""
        self.together: set[Block] = set()
        """The blocks under construction at whose ends the lanes of a warp are together, until one lane arrives."""
        for place in places:
            ring, name = place
            station, side = self._side(place)
            if name == SELF:
                before_role = self.owner.thread_set.first
                own = emit.add(self.thread, -before_role) if before_role else self.thread
                self.turns[ring] = Turns.declare(emit, own, side.warps * WARP_SIZE, side.parties, ring.num_slots)
                continue
            waits = plan.rings[ring].before(station).first is not None
            parity = int(station.index == 0) if waits else None
            self.acquired[place] = Counter.declare(emit, ring.num_slots, parity)
            if side.passing is Passing.BYTES or side.passing in UNCOUNTED or ring.result.type.is_tile_id:
                continue
            if side.passing is Passing.GROUPS or not self._released_where_acquired(place):
                self.passed[place] = Counter.declare(emit, ring.num_slots, None)
            if side.passing is Passing.GROUPS:
                self.open[place] = Variable.declare(emit, 0)

    def _find_sharing(self, emit: Emitter) -> None:
        """Computes which blocks of the cluster get copies and arrivals, where these are not all of them."""
        stations = [self.plan.station(place) for place in self.plan.places[self.owner] if place[1] != SELF]
        grouped = dict.fromkeys(station.differences for station in stations if station.to is To.GROUP)
        several = self.plan.led < self.plan.kernel.cluster_size and any(each.to is To.FIRST for each in stations)
        if not grouped and not self.copies.groups and not several:
            return
        rank = emit(ptx.ReadSpecialOp("cluster_ctarank")).result
        if several:
            self.first_block = emit.bit_and(rank, -self.plan.led)
        self.copies.begin(rank, emit)
        for differences in grouped:
            self.sharing[differences] = [emit.xor(rank, each) for each in differences]
        for station in stations:
            commits = station.side(self.owner).passing is Passing.COMMIT
            if commits and station.to is To.GROUP and station.differences not in self.masks:
                one = emit.constant(1, i32)
                bits = [emit.value(arith.ShLIOp(one, each)) for each in self.sharing[station.differences]]
                self.masks[station.differences] = emit.value(arith.TruncIOp(reduce(emit.bit_or, bits), i16))

    def _released_where_acquired(self, place: Place) -> bool:
        """True if the only release at a station stands in the block of the only acquire, behind it."""
        ops = [
            op for op in self.owner.walk() if isinstance(op, tirx.AcquireOp | tirx.ReleaseOp) and place_of(op) == place
        ]
        match ops:
            case [tirx.AcquireOp() as acquire, tirx.ReleaseOp() as release]:
                return acquire.parent is release.parent
            case _:
                return False

    def _side(self, place: Place) -> tuple[Station, Side]:
        station = self.plan.station(place)
        return station, station.side(self.owner)

    # Blocks

    def skip(self, part: tirx.AtOp, emit: Emitter) -> None:
        self.copies.skip(part, emit)

    def counts_rounds(self, part: tirx.AtOp) -> bool:
        return self.copies.counts_rounds(part)

    def block(self, block: Block, emit: Emitter) -> None:
        for op in block.ops:
            self.operation(op, emit)
        self.close(emit)

    def operation(self, op: Operation, emit: Emitter) -> None:
        """Emits one operation."""
        emit = emit.located(op.location)
        match op:
            case tirx.RingOp():
                pass
            case tirx.YieldOp() if isinstance(op.parent_op(), tirx.AtOp | tirx.ForOp | tirx.TilesOp | tirx.RoleOp):
                pass
            case tirx.AcquireOp():
                self._acquire(op, emit)
            case tirx.ReleaseOp():
                self._release(op, emit)
            case tirx.AsyncCopyOp():
                self._publish(op, emit)
                self.copies.copy(op, emit)
            case tirx.AsyncMmaOp():
                self._publish(op, emit)
                self._product(op, emit)
            case tirx.AwaitOp():
                self._await(op, emit)
            case tirx.ForOp():
                self._for(op, emit)
            case tirx.TilesOp():
                self._tiles(op, emit)
            case tirx.AsyncNextOp():
                self._next(op, emit)
            case _:
                self._other(op, emit)
        if op in self.fenced:
            self.close(emit)
            emit(ptx.FenceProxyAsyncOp("shared::cta"))

    def _other(self, op: Operation, emit: Emitter) -> None:
        """Everything else stays; what is inside of it may be scheduled."""
        by_each = isinstance(op, memref.LoadOp | memref.StoreOp | memref.AllocaOp) and not stores_number(op)
        if is_terminator(op) or not (is_pure(op) or by_each):
            self.close(emit)
        if _wants_whole_warps(op):
            self._bring_together(emit)
        if isinstance(op, tirx.MapOp | tirx.FoldOp):  # a body on scalars
            emit(clone(op, self.values))
            return
        new = emit(op.clone_without_regions(self.values) if op.regions else clone(op, self.values))
        self.values.update(zip(op.results, new.results, strict=True))
        for region, into in zip(op.regions, new.regions, strict=True):
            for block in region.blocks:
                inside = Block(arg_types=block.arg_types)
                for argument, copy in zip(block.args, inside.args, strict=True):
                    copy.name_hint = argument.name_hint
                    self.values[argument] = copy
                into.add_block(inside)
                self.block(block, emit.at(inside))

    # Rings

    def _acquire(self, op: tirx.AcquireOp, emit: Emitter) -> None:
        ring = tirx.RingOp.of(op.ring)
        if ring in self.turns:
            self._take_turn(ring, emit)
            return
        place = place_of(op)
        station, side = self._side(place)
        counter, before = self.acquired[place], self.plan.rings[ring].before(station)
        slot = counter.slot.get(emit)
        self.slot_of[op] = slot
        if side.passing is Passing.ORDER:
            pass
        elif before.first is None:
            self.copies.wait_for_fill(op, emit)
            if not is_covered(self.owner, op):
                self.barrier(emit)
                self.together.add(emit.block)
        else:
            self._wait_for_slot(place, slot, emit)
        if side.passing is Passing.BYTES:
            full = self.storage.mbarrier(emit, station, slot)
            self.elected(emit, lambda inside: self._expect(inside, station, full, side.bytes), side.members)
        if ring.result.type.holds_scalars and op.tiles:
            address = self.storage.address(emit, ring, slot)
            self.values.update(zip(op.tiles, read_integers(emit, address, op.tiles.types), strict=True))
        else:
            for index, tile in enumerate(op.tiles):
                self.values[tile] = self.storage.slot(emit, ring, index, slot, tile.name_hint)
        counter.advance(emit)
        if side.passing is Passing.THREADS and station.needs_fence and (found := read_beside(op)) is not None:
            last, release = found
            self.fenced[last] = release

    def _wait_for_slot(self, place: Place, slot: SSAValue, emit: Emitter) -> None:
        """Waits at the mbarrier behind the station before; all lanes of the waiting warps come together."""
        ring, _ = place
        station, side = self._side(place)
        counter = self.acquired[place]
        if counter.parity is None:
            return
        parity = counter.parity.get(emit)
        mbarrier = self.storage.mbarrier(emit, self.plan.rings[ring].before(station), slot)
        if side.members is not Members.ALL:
            self.elected(emit, lambda inside: self._wait(inside, ring, side, mbarrier, parity), side.members)
            return
        self.close(emit)
        self._wait(emit, ring, side, mbarrier, parity)
        # The waiting loop may let the lanes of a warp go on apart from each other.
        emit(ptx.BarWarpSyncOp())
        self.together.add(emit.block)

    def _wait_for_all(self, place: Place, emit: Emitter) -> None:
        """Waits until each slot is free once more, so that no arrival at its mbarrier is under way."""
        counter = self.acquired[place]

        def body(inside: Emitter, index: SSAValue, carried: Sequence[SSAValue]) -> tuple[()]:
            self._wait_for_slot(place, counter.slot.get(inside), inside)
            counter.advance(inside)
            self.close(inside)
            return ()

        self.close(emit)
        self.rounds(emit, emit.constant(0, IndexType()), emit.constant(counter.slots, IndexType()), [], body)

    def _wait(self, emit: Emitter, ring: tirx.RingOp, side: Side, mbarrier: SSAValue, parity: SSAValue) -> None:
        """Waits for a slot. tcgen05 orders what comes behind with work of other threads by a fence of its own, for the
        operands of products as well: what threads wrote to the accumulator came before.
        """
        self.storage.wait(emit, mbarrier, parity)
        if self.plan.rings[ring].in_tensor_memory or side.passing is Passing.COMMIT:
            emit(FenceOp(FencePosition.AFTER))

    def _expect(self, emit: Emitter, station: Station, mbarrier: SSAValue, count: int) -> None:
        """Announces the bytes of a use; those of both blocks of a pair in the first one, where they are waited for, and
        answers that come to all blocks in each of them.
        """
        if station.to is To.FIRST:
            emit = emit.branch(in_first_block(emit, self.plan))
        expect_bytes(emit, mbarrier, count, self._ranks(station) if station.to is To.ALL else ())

    def _take_turn(self, ring: tirx.RingOp, emit: Emitter) -> None:
        turns = self.turns[ring]
        assert turns.counter.parity is not None
        first = self.storage.mbarrier(emit, self.plan.rings[ring].stations[0], emit.constant(0, i32))
        self.close(emit)
        self.storage.wait(emit, turns.behind(emit, first, 1), turns.counter.parity.get(emit))
        emit(ptx.BarWarpSyncOp())

    def _end_turn(self, ring: tirx.RingOp, emit: Emitter) -> None:
        turns = self.turns[ring]
        first = self.storage.mbarrier(emit, self.plan.rings[ring].stations[0], emit.constant(0, i32))
        mbarrier = turns.behind(emit, first, 0)
        turns.counter.advance(emit)
        self.close(emit)
        emit(ptx.BarWarpSyncOp())
        arrive(emit.branch(self.first_lane), mbarrier)

    def _release(self, op: tirx.ReleaseOp, emit: Emitter) -> None:
        ring = tirx.RingOp.of(op.ring)
        if ring in self.turns:
            self._end_turn(ring, emit)
            return
        place = place_of(op)
        station, side = self._side(place)
        if op.values:
            passed = self.passed.get(place)
            slot = self._slot_held(place) if passed is None else passed.slot.get(emit)
            address, values = self.storage.address(emit, ring, slot), [self.value(value) for value in op.values]
            self.elected(emit, lambda inside: write_integers(inside, address, values))
        match side.passing:
            case Passing.BYTES | Passing.ORDER:
                pass
            case Passing.THREADS:
                mbarrier = self._passing_mbarrier(op, place, station, emit)
                self.close(emit)
                if self.plan.rings[ring].in_tensor_memory:
                    emit(FenceOp(FencePosition.BEFORE))
                self._arrive(emit, station, side, mbarrier, is_fenced=op in self.fenced.values())
            case Passing.GROUPS:
                self.copies.commit(op, emit)
                opened = self.open[place]
                opened.set(emit, emit.add(opened.get(emit), 1))
            case Passing.NOINC:
                mbarrier = self._passing_mbarrier(op, place, station, emit)
                self.copies.arrive_by_hardware(mbarrier, emit)
            case Passing.BARRIER:
                self.copies.commit(op, emit)
                if op.after is None and station.needs_fence:
                    self.close(emit)
                    emit(ptx.FenceProxyAsyncOp("shared::cta"))
            case Passing.COMMIT:
                mbarrier = self._passing_mbarrier(op, place, station, emit)
                mask, group = self._mask(station, emit), self.plan.cta_group
                commit = CommitOp(mbarrier, multicast=mask, cta_group=group, reads_a=op.early is not None)
                self.elected(emit, lambda inside: inside(commit), side.members)

    def _passing_mbarrier(self, op: tirx.ReleaseOp, place: Place, station: Station, emit: Emitter) -> SSAValue:
        """The mbarrier that a release arrives at; the counter of passed uses goes on."""
        if (passed := self.passed.get(place)) is not None:
            mbarrier = self.storage.mbarrier(emit, station, passed.slot.get(emit))
            passed.advance(emit)
            return mbarrier
        return self.storage.mbarrier(emit, station, self._slot_held(place))

    def _slot_held(self, place: Place) -> SSAValue:
        """The index of the slot that the only acquire at a station gave."""
        acquire = next(acquire for acquire in self.slot_of if place_of(acquire) == place)
        return self.slot_of[acquire]

    def _arrive(
        self,
        emit: Emitter,
        station: Station,
        side: Side,
        mbarrier: SSAValue,
        condition: SSAValue | None = None,
        is_fenced: bool = False,
    ) -> None:
        """Lets a lane of every warp arrive once all lanes are done, or the elected thread, where `condition` holds.
        `is_fenced`: a fence behind the last read of the slot was enough.
        """
        fences = side.passing is Passing.THREADS and station.needs_fence and not is_fenced
        if side.members is not Members.ALL:

            def by_one_thread(inside: Emitter) -> None:
                if fences:
                    inside(ptx.FenceProxyAsyncOp("shared::cta"))
                arrive(inside if condition is None else inside.branch(condition), mbarrier, self._ranks(station))

            self.elected(emit, by_one_thread, side.members)
            return
        self.close(emit)
        if fences:
            emit(ptx.FenceProxyAsyncOp("shared::cta"))
        if side.passing is Passing.THREADS:
            emit(ptx.BarWarpSyncOp())
        both = self.first_lane if condition is None else emit.bit_and(condition, self.first_lane)
        arrive(emit.branch(both), mbarrier, self._ranks(station))
        self.together.clear()

    def _ranks(self, station: Station) -> Sequence[int | SSAValue]:
        """The blocks of the cluster at whose barriers a release arrives; none for the own one."""
        match station.to:
            case To.OWN:
                return ()
            case To.FIRST:
                return (self.first_block,)
            case To.ALL:
                return range(self.plan.kernel.cluster_size)
            case To.GROUP:
                return self.sharing[station.differences]

    def _mask(self, station: Station, emit: Emitter) -> SSAValue | None:
        """The same blocks, a bit for each; None for the own one."""
        if station.to is To.ALL:
            return emit.constant((1 << self.plan.kernel.cluster_size) - 1, i16)
        return self.masks[station.differences] if station.to is To.GROUP else None

    def _await(self, op: tirx.AwaitOp, emit: Emitter) -> None:
        queue = op.awaited_queue
        self.close(emit)
        if queue is tirx.Queue.WGMMA:
            self._bring_together(emit)
            self._other(op, emit)
        else:
            self.copies.wait(op, emit)
        for place, passes in self.bound.get(op, ()):
            for index in range(passes.possible):
                self._pass_on(op, place, passes, index < passes.certain, emit)

    def _pass_on(self, op: tirx.AwaitOp, place: Place, passes: Passes, is_certain: bool, emit: Emitter) -> None:
        """Passes the oldest use on whose release waits for a group, if more are open than stay pending."""
        station, side = self._side(place)
        opened, passed = self.open[place], self.passed[place]
        count = opened.get(emit)
        mbarrier = self.storage.mbarrier(emit, station, passed.slot.get(emit))
        if op.awaited_queue is tirx.Queue.CP_ASYNC:
            emit(ptx.BarWarpSyncOp())
        goes = None if is_certain else emit.compare(count, emit.constant(passes.keep, i32), "sgt")
        one = emit.constant(1, i32) if goes is None else emit.extend(goes, i32)
        opened.set(emit, emit(arith.SubiOp(count, one)).result)
        passed.advance(emit, goes)
        self._arrive(emit, station, side, mbarrier, goes)

    # Asynchronous work

    def _publish(self, op: Operation, emit: Emitter) -> None:
        """Threads that have written a slot which asynchronous work is about fence, and all threads meet."""
        if self.plan.extraction.is_touched_by_threads(op):
            self.close(emit)
            emit(ptx.FenceProxyAsyncOp("shared::cta"))
            self.barrier(emit)

    # Cluster launch control

    def _next(self, op: tirx.AsyncNextOp, emit: Emitter) -> None:
        """Asks for the next tile, in the first block for all of them; the mbarriers expect the answer already."""
        ring = tirx.RingOp.of(op.ring)
        place = ring, ring.station_names[0]
        slot = self._slot_held(place)
        at = self.storage.address(emit, ring, slot)
        mbarrier = self.storage.mbarrier(emit, self.plan.rings[ring].stations[0], slot)
        request = ptx.TryCancelOp(at, mbarrier, multicast=ring.across is not None)
        self.elected(emit, lambda inside: inside(request), issuer(op))

    def _response(self, op: tirx.TilesOp, emit: Emitter) -> ptx.QueryCancelOp:
        """Waits for the answer to a request, reads it and gives its slot back."""
        place = response_place(op)
        assert place is not None
        ring, _ = place
        station, side = self._side(place)
        counter = self.acquired[place]
        slot = counter.slot.get(emit)
        self._wait_for_slot(place, slot, emit)
        low, high = emit(ptx.LdOp(ptx.Space.SHARED, self.storage.address(emit, ring, slot), [i64, i64])).res
        found = emit(ptx.QueryCancelOp(low, high))
        counter.advance(emit)
        self._arrive(emit, station, side, self.storage.mbarrier(emit, station, slot))
        return found

    def _bring_together(self, emit: Emitter) -> None:
        """Before an instruction that wants all lanes of a warp at once: one that arrived may be behind the others."""
        if emit.block not in self.together:
            emit(ptx.BarWarpSyncOp())
            self.together.add(emit.block)

    def _product(self, op: tirx.AsyncMmaOp, emit: Emitter) -> None:
        if op.on_tensor_memory:

            def by_one_thread(inside: Emitter) -> None:
                slots = (slot_tile(tile) for tile in (op.a, op.b))
                parts = {slot.acquire.parent_op() for slot in slots if slot is not None}
                if any(isinstance(part, tirx.AtOp) and not part.is_ancestor(op) for part in parts):
                    # That behind its wait for the slot was in another branch of this thread.
                    inside(FenceOp(FencePosition.AFTER))
                inside(op.clone(self.values))

            self.elected(emit, by_one_thread, issuer(op))
        else:
            self._bring_together(emit)
            self._other(op, emit)

    # Loops

    def _for(self, op: tirx.ForOp, emit: Emitter) -> None:
        self.close(emit)
        if op.rounds_ahead:
            SkewedLoop(self, op).emit(emit)
            return
        inits = [self.started(emit, init, arg.type) for init, arg in zip(op.inits, op.carried, strict=True)]
        lower, upper = emit.constant(0, IndexType()), self.trips(op, emit)

        def body(inside: Emitter, index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.values[op.index] = index
            self.values.update(zip(op.carried, carried, strict=True))
            for inner in op.body.block.ops:
                if isinstance(inner, tirx.AtOp):
                    self.block(inner.body.block, inside)
                    self.values.update(zip(inner.values, map(self.value, yielded(inner)), strict=True))
                else:
                    self.operation(inner, inside)
            self.close(inside)
            return [self.value(value) for value in yielded(op)]

        finals = self.rounds(emit, lower, upper, inits, body, op.index.name_hint)
        self.values.update(zip(op.finals, finals, strict=True))

    def _tiles(self, op: tirx.TilesOp, emit: Emitter) -> None:
        self.close(emit)

        def body(inside: Emitter, coordinates: Sequence[SSAValue]) -> None:
            self.values.update(zip(op.body.block.args, coordinates, strict=True))
            self.block(op.body.block, inside)

        if response_place(op) is not None:
            launched_tiles(op, emit, lambda inside: self._response(op, inside), body)
        else:
            table = None if op.source is None else self.value(op.source)
            persistent_tiles(op, [self.value(extent) for extent in op.extents], table, emit, body)

    def finish(self, emit: Emitter) -> None:
        """Emits what a role does at its end: no block leaves while others, or bulk stores, use its shared memory."""
        self.copies.drain(emit)
        for place in filter(self.plan.is_left_behind, self.acquired):
            self._wait_for_all(place, emit)
        self.close(emit)
        if self.plan.spans_blocks and isinstance(self.owner, tirx.KernelOp):
            emit(tirx.BarrierOp())


def _wants_whole_warps(op: Operation) -> bool:
    """True for matrix instructions on registers and tcgen05.ld and st, which all lanes of a warp execute together."""
    match op:
        case tirx.LoadOp() | tirx.StoreOp() if op.engine is not None and op.engine.data in (
            tirx.Engine.LDMATRIX,
            tirx.Engine.STMATRIX,
        ):
            return True
        case tirx.LoadOp() | tirx.StoreOp() | tirx.CopyOp() | tirx.FillOp():
            tiles = [value.type for value in op.operands if isinstance(value.type, tirx.TileType)]
            return any(tile.memory is tirx.MemorySpace.TENSOR for tile in tiles)
        case tirx.MmaOp():
            return not op.on_tensor_memory
        case _:
            return False
