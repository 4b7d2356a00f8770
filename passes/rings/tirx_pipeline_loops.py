"""`tirx-pipeline-loops`: loops that copy global tiles to shared memory fill rings ahead of what reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.diagnostics import remark, wants_remarks
from tirx.dialects import tirx
from tirx.dialects.nesting import walk
from tirx.dialects.xdsl_private import clone
from tirx.passes.ir.emitter import Emitter, constant_value, erase, erase_dead, keep_attributes, take_over
from tirx.passes.ir.scheduled import STAGES
from tirx.passes.ir.trip_count import trip_count
from tirx.passes.ir.views import copied_view
from tirx.passes.match.pipelining import accesses, needed_values, slice_of, tile_name
from tirx.passes.match.slots import MOST_STAGES
from tirx.passes.rings.attempt import attempt, prove_together
from tirx.passes.rings.delayed_parts import await_where_needed, delayed_parts, early_parts
from tirx.passes.rings.start_values import FILL, USE
from tirx.passes.rings.store_rings import ring_stores, staged_stores
from tirx.remarks import (
    ExchangeMade,
    LoadedAhead,
    ProductsEarly,
    ProductsLate,
    ProductsPending,
    Reason,
    RingMade,
    SlotHeld,
    StartValues,
)
from tirx.rules import ScheduleOptionError
from tirx.values import dataclass

if TYPE_CHECKING:
    from tirx.passes.rings.held_tiles import HeldTile
    from tirx.passes.rings.loop_plan import LoopPlan, RingPlan
    from tirx.passes.rings.tensor_exchanges import ExchangedTile, SharedTile

AUTO = "auto"
COPY = "cp"
"""The first station of a ring of scale factors in tensor memory."""


@dataclass(frozen=True)
class TirxPipelineLoopsPass(ModulePass):
    """
    An `scf.for` that copies global tiles to shared memory and reads them becomes a `tirx.for` that fills rings ahead.

    The test is made for each tile: every iteration fills it before it reads it, nothing else touches it, and the
    source is known iterations ahead and not written meanwhile. Products that read rings by hardware stay pending
    where nothing else needs their sum; other products of wgmma do until something needs it, if an iteration does not
    write what they read behind them. Those whose sums only the next iteration needs run a round later than others, and
    those on tensor memory whose sums threads read a round earlier; what threads and products hand each other there are
    rings. A tile that is loaded before the loop becomes a ring of its own, as does a shared tile of a loop
    that a bulk store empties. Where A may come back early (`tirx-release-early`) it has a ring of its own. What threads
    read while products run for which they wait comes with the operands of these, in one ring.
    `stages` is the number of slots, `auto` for what shared memory has room for (3 to 6); `tirx.stages = 4` on a loop
    says it for that loop, and 1 keeps it as it is. Remarks name every choice and, for what stays as it is, what is in
    the way. Of loops within each other the innermost that copies has the rings. Rings that
    `tirx-check-rings` could not prove right are taken back.
    """

    name = "tirx-pipeline-loops"

    stages: int | str = AUTO

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.stages != AUTO and (not isinstance(self.stages, int) or self.stages < 1):
            raise ScheduleOptionError(op, f"expected stages to be {AUTO} or 1 or more, found {self.stages}")
        stages = self.stages if isinstance(self.stages, int) else None
        for kernel in tirx.kernels(op):
            prove_together(kernel, self.name, partial(_make_rings, kernel, stages), until="tirx-specialize-warps")


def _make_rings(kernel: tirx.KernelOp, stages: int | None) -> None:
    target = kernel.require_target()
    if any(isinstance(inner, scf.ForOp) for inner in walk(kernel)):
        from tirx.passes.rings.loop_plan import plan_loops  # imports what only kernels with loops need

        plans = plan_loops(kernel, target, stages)
        if plans:
            asked = any(STAGES in plan.loop.attributes for plan in plans)
            attempt(kernel, "keeps its loops", partial(_pipeline, kernel, plans), asked)
    if stored := staged_stores(kernel):
        attempt(kernel, "waits for its bulk stores", partial(ring_stores, kernel, stored))


def _pipeline(kernel: tirx.KernelOp, plans: Sequence[LoopPlan]) -> None:
    awaits = any(ring.is_fenced for plan in plans for ring in plan.rings)
    for plan in plans:
        _Pipeline(kernel, plan, awaits).rewrite()
        if wants_remarks():
            remark(kernel, StartValues(str(plan.schedule)))


class _Pipeline:
    """Rewrites one loop. `awaits`: threads wait for their `cp.async` by `tirx.await`, in all loops of the kernel."""

    def __init__(self, kernel: tirx.KernelOp, plan: LoopPlan, awaits: bool):
        self.kernel = kernel
        self.awaits = awaits
        self.plan = plan
        self.loop = plan.loop
        self.location = plan.loop.location
        self.rings: dict[RingPlan, tirx.RingOp] = {}
        self.held: list[tirx.RingOp] = []
        self.started: dict[tirx.MmaOp, tirx.AsyncMmaOp] = {}
        self.repeated: list[Operation] = []
        """The operations of the loop that copies need, which the part that fills does again."""

    def rewrite(self) -> None:
        plan, loop = self.plan, self.loop
        for ring in plan.rings:
            self.rings[ring] = self._ring([tile.alloc for tile in ring.tiles], plan.slots, (FILL, USE))
        if wants_remarks():
            self._remark()
        for tile in plan.held:
            self._hold(tile)
        for accumulator in plan.accumulators:
            self._take_turns(accumulator)
        emit = Emitter.before(loop)
        trips = trip_count(emit, loop)
        yielded = loop.body.block.last_op
        assert isinstance(yielded, scf.YieldOp)
        types = [self._carried_type(argument) for argument in loop.body.block.args[1:]]
        body = Block(arg_types=[IndexType(), *types])
        for new, old in zip(body.args, loop.body.block.args, strict=True):
            new.name_hint = old.name_hint
        ahead, fill = self._fill_parts(body)
        skew = plan.skew + (ahead is not None)
        for old, new in zip(loop.body.block.args[1:], body.args[1:], strict=True):
            old.replace_all_uses_with(new)
        waits, use = self._use_parts(body)
        end = None
        parts = [(skew, use)]
        if plan.delayed:
            parts, end = delayed_parts(use, body.args[1:], skew)
        elif plan.early:
            parts, end = early_parts(use, [self.started[op] for op in plan.early], skew)
        for stage, block in ((skew, waits), (skew - plan.skew, fill), (0, ahead), *parts):
            if block is not None:
                self._part(body, stage, block)
        if end is None:
            end = tirx.YieldOp(*(() if body.last_op is None else body.last_op.results))
        Emitter(InsertPoint.at_end(body), self.location)(end)
        pipelined = tirx.ForOp(self._symbol(), trips, Region(body), loop.iter_args, skew + plan.rounds_apart)
        pipelined.attributes.update(
            {name: value for name, value in loop.attributes.items() if name not in (STAGES, MOST_STAGES)}
        )
        emit(pipelined)
        self._replace_results(pipelined)
        erase(loop)
        staged = [tile.alloc for ring in plan.rings for tile in ring.tiles]
        scales = () if plan.scales is None else plan.scales.allocs
        held = [tile.alloc for tile in plan.held]
        tensors = (each.alloc for each in (*plan.accumulators, *plan.metadata, *plan.exchanged))
        for alloc in (*staged, *held, *scales, *tensors):
            erase(alloc)

    def _part(self, body: Block, stage: int, block: Block) -> None:
        """Adds a part; what it computes for other parts becomes its results."""
        part = tirx.AtOp(stage, Region(block))
        part.location = self.location
        body.add_op(part)
        assert block.last_op is not None
        for inside, result in zip(block.last_op.operands, part.values, strict=True):
            result.name_hint = inside.name_hint
            if inside.owner.parent is block:
                inside.replace_uses_with_if(result, lambda use: not block.is_ancestor(use.operation))

    # Rings

    def _ring(
        self, allocs: Sequence[tirx.AllocOp], slots: int, stations: Sequence[str], carries: bool = False
    ) -> tirx.RingOp:
        """A ring in the place of allocations, at the top of the kernel; in front of the loop if they are in it."""
        block = self.kernel.body.block
        top = block.find_ancestor_op_in_block(allocs[0]) or block.find_ancestor_op_in_block(self.loop)
        assert top is not None
        emit = Emitter(InsertPoint.before(top), self.location)
        labels = [alloc.result.name_hint or "" for alloc in allocs]
        labels = [label if label.isidentifier() and labels.count(label) == 1 else "" for label in labels]
        contents = [[(label, alloc.result.type)] for label, alloc in zip(labels, allocs, strict=True)]
        across = tirx.Across.PAIR if self.plan.of_pairs else None
        ring = emit(tirx.RingOp(slots, stations, tirx.RingType.get(*contents), across, carries=carries))
        ring.result.name_hint = "_".join(filter(None, labels)) or None
        return ring

    def _hold(self, tile: HeldTile) -> None:
        """The tile is a slot of a ring: filled before the loop, held by the readers until behind it."""
        ring = self._ring([tile.alloc], self.plan.held_slots, (FILL, USE))
        slot = self._acquire(Emitter.before(tile.fills[0]), ring, FILL)
        Emitter.after(tile.fills[-1])(tirx.ReleaseOp(ring.result, FILL, tirx.Queue.TMA))
        for fill in tile.fills:
            emit = Emitter.before(fill)
            destination = copied_view(fill.destination, {tile.alloc.result: slot}, emit)
            copy = emit(tirx.AsyncCopyOp(fill.source, destination, tirx.Engine.TMA))
            copy.location = fill.location
            keep_attributes(fill, copy)
            erase(fill)
        read = self._acquire(Emitter.before(self.loop), ring, USE)
        _rebase(tile.alloc.result, lambda _: read)
        self.held.append(ring)

    def _take_turns(self, tile: SharedTile | ExchangedTile) -> None:
        """Puts a ring in the place of a tile, whose slots are held in turns."""
        stations = tuple(dict.fromkeys(turn.station for turn in tile.turns))
        ring = self._ring([tile.alloc], tile.slots, stations, tile.carries)
        slots: dict[Operation, SSAValue] = {}
        end: Emitter | None = None
        for turn in tile.turns:
            begin = Emitter.before(turn.ops[0]) if end is None or not turn.directly else end
            slot = self._acquire(begin, ring, turn.station)
            slots.update((inner, slot) for op in turn.ops for inner in walk(op))
            end = Emitter.after(turn.ops[-1]) if turn.ops else begin
            end(tirx.ReleaseOp(ring.result, turn.station, turn.queue))
        _rebase(tile.alloc.result, slots.__getitem__)

    def _acquire(self, emit: Emitter, ring: tirx.RingOp, station: str) -> SSAValue:
        tile = emit(tirx.AcquireOp(ring.result, station)).tiles[0]
        tile.name_hint = ring.result.name_hint
        return tile

    # The loop

    def _index(self, emit: Emitter, iteration: SSAValue) -> SSAValue:
        """The counter of the sequential loop in an iteration."""
        step, low = constant_value(self.loop.step), constant_value(self.loop.lb)
        index = iteration if step == 1 else emit.mul(iteration, self.loop.step)
        index = index if low == 0 else emit.add(index, self.loop.lb)
        if index is not iteration:
            index.name_hint = self.loop.body.block.args[0].name_hint
        return index

    def _symbol(self) -> str:
        used = {op.loop.data for op in walk(self.kernel) if isinstance(op, tirx.ForOp | tirx.TilesOp)}
        hint = self.loop.body.block.args[0].name_hint or "loop"
        return next(name for name in chain((hint,), (f"{hint}_{i}" for i in count(1))) if name not in used)

    def _carried_type(self, argument: SSAValue) -> Attribute:
        pending = any(op.accumulator is argument for op in self.plan.products) and not self.plan.delayed
        return tirx.PendingType(argument.type) if pending else argument.type

    def _fill_parts(self, body: Block) -> tuple[Block | None, Block]:
        """The part that copies the tiles of an iteration, with copies of what computes their places.

        Loads that places depend on, such as those of indices of rows, are a part of their own, which runs a round
        before: nothing waits for memory in front of the copies.
        """
        part = Block()
        emit = Emitter(InsertPoint.at_end(part), self.location)
        fills = [fill for ring in self.plan.rings for tile in ring.tiles for fill in tile.fills]
        known: dict[SSAValue, SSAValue] = {self.loop.body.block.args[0]: self._index(emit, body.args[0])}
        needed = {op for fill in fills for op in slice_of(fill.source, self.loop)}
        self.repeated = [op for op in self.loop.body.block.ops if op in needed]
        loads = [op for op in self.repeated if isinstance(op, tirx.LoadOp | memref.LoadOp)]
        ahead = self._ahead_part(body, loads) if loads else None
        if ahead is not None:
            yielded = ahead.last_op
            assert yielded is not None
            known.update(zip((load.results[0] for load in loads), yielded.operands, strict=True))
        wanted: set[SSAValue] = {fill.source for fill in fills}
        places: list[Operation] = []
        for op in reversed(self.repeated):
            if op not in loads and not wanted.isdisjoint(op.results):
                places.append(op)
                wanted.update(needed_values(op))
        for op in reversed(places):
            _copy_into(part, op, known)
        for plan, ring in self.rings.items():
            tiles = emit(tirx.AcquireOp(ring.result, FILL)).tiles
            _name(tiles, plan)
            known |= {tile.alloc.result: slot for tile, slot in zip(plan.tiles, tiles, strict=True)}
            for fill in (fill for tile in plan.tiles for fill in tile.fills):
                source = known.get(fill.source, fill.source)
                destination = copied_view(fill.destination, known, emit)
                copy = emit(tirx.AsyncCopyOp(source, destination, plan.engine))
                copy.location = fill.location
                keep_attributes(fill, copy)
            emit(tirx.ReleaseOp(ring.result, FILL, plan.fill_queue))
        emit(tirx.YieldOp())
        return ahead, part

    def _ahead_part(self, body: Block, loads: Sequence[tirx.LoadOp | memref.LoadOp]) -> Block:
        """The part that loads what places of copies depend on."""
        part = Block()
        emit = Emitter(InsertPoint.at_end(part), self.location)
        known: dict[SSAValue, SSAValue] = {self.loop.body.block.args[0]: self._index(emit, body.args[0])}
        needed = {op for load in loads for op in slice_of(load.results[0], self.loop)}
        for op in self.repeated:
            if op in needed:
                _copy_into(part, op, known)
        emit(tirx.YieldOp(*(known[load.results[0]] for load in loads)))
        remark(loads[0], LoadedAhead(", ".join(map(_value_name, loads))))
        return part

    def _use_parts(self, body: Block) -> tuple[Block | None, Block]:
        """The part that does the rest of an iteration, behind one that waits for the slots that `cp.async` fills.

        With `cp.async` all threads fill: that they have passed this wait says that they have read the slot of the round
        before, which the fill of the same round overwrites.
        """
        old = self.loop.body.block
        part = Block()
        index = self._index(Emitter(InsertPoint.at_end(part), self.location), body.args[0])
        old.args[0].replace_all_uses_with(index)
        fills = {fill for ring in self.rings for tile in ring.tiles for fill in tile.fills}
        for op in tuple(old.ops):
            match op:
                case scf.YieldOp():
                    last = tirx.YieldOp(*op.operands)
                    part.add_op(last)
                    erase(op)
                case _ if op in fills:
                    erase(op)
                case _:
                    op.detach()
                    part.add_op(op)
        self._erase_repeated(part)
        early = Block()
        slots: list[SSAValue] = []
        if self.awaits and any(plan.engine is tirx.Engine.CP_ASYNC for plan in self.rings):
            # The copies of the round before, and of none in the last rounds.
            Emitter(InsertPoint.at_end(early), self.location)(tirx.AwaitOp(queue=tirx.Queue.CP_ASYNC))
        for plan, ring in self.rings.items():
            emit = Emitter(InsertPoint.at_end(early), self.location)
            if plan.engine is not tirx.Engine.CP_ASYNC:
                roots = {tile.alloc.result for tile in plan.tiles}
                used = {op for root in roots for op, _ in accesses(root)}
                first = next(op for op in part.ops if not used.isdisjoint(walk(op)))
                emit = Emitter(InsertPoint.before(first), self.location)
            tiles = emit(tirx.AcquireOp(ring.result, USE)).tiles
            _name(tiles, plan)
            for slot, tile in zip(tiles, plan.tiles, strict=True):
                _rebase(tile.alloc.result, lambda _, slot=slot: slot)
            if not plan.behind_await:
                Emitter(InsertPoint.after(plan.last), self.location)(tirx.ReleaseOp(ring.result, USE, plan.after))
            slots += tiles if plan.engine is tirx.Engine.CP_ASYNC else []
        self._asynchronous_products(part)
        if not early.ops:
            return None, part
        Emitter(InsertPoint.at_end(early), self.location)(tirx.YieldOp(*slots))
        return early, part

    def _erase_repeated(self, part: Block) -> None:
        """Erases what only copies have needed: the part that fills does it."""
        for op in reversed(self.repeated):
            if not any(result.uses for result in op.results):
                erase(op)
        erase_dead(part)

    def _asynchronous_products(self, part: Block) -> None:
        plan = self.plan
        if plan.scales is not None:
            self._scale_ring(part)
        for tile in (*plan.metadata, *plan.exchanged):
            self._take_turns(tile)
        behind: Operation | None = None
        for product in (*plan.products, *plan.awaited):
            emit = Emitter.before(product)
            types = [] if product.result is None else [tirx.PendingType(product.result.type)]
            started = emit(
                tirx.AsyncMmaOp.create(
                    operands=product.operands,
                    result_types=types,
                    properties=product.properties,
                    attributes=product.attributes,
                )
            )
            for old, new in zip(product.results, started.results, strict=True):
                take_over(old, new)
            erase(product)
            self.started[product] = behind = started
        waits = {product: await_where_needed(self.started[product]) for product in plan.awaited}
        for ring in (ring for ring in plan.rings if ring.behind_await):
            wait = next(op for product, op in waits.items() if product is ring.last)
            assert wait is not None
            Emitter.after(wait)(tirx.ReleaseOp(self.rings[ring].result, USE))
        if (
            plan.awaited
            or plan.delayed
            or not isinstance(behind, tirx.AsyncMmaOp)
            or behind.queue is not tirx.Queue.WGMMA
        ):
            return
        while isinstance(behind.next_op, tirx.ReleaseOp):
            behind = behind.next_op
        pending = plan.pending * len(plan.products)
        Emitter.after(behind)(tirx.AwaitOp(queue=tirx.Queue.WGMMA, pending=pending))

    def _scale_ring(self, part: Block) -> None:
        """Scale factors go to a slot in tensor memory, in the order of the queue of the products that read them."""
        scales = self.plan.scales
        assert scales is not None
        ring = self._ring(scales.allocs, 1, (COPY, USE))
        copies = [op for op in part.ops if op in scales.copies]
        given = Emitter.before(copies[0])(tirx.AcquireOp(ring.result, COPY)).tiles
        roots: list[SSAValue] = [alloc.result for alloc in scales.allocs]
        known: dict[SSAValue, SSAValue] = dict(zip(roots, given, strict=True))
        last: Operation = copies[0]
        for op in copies:
            emit = Emitter.before(op)
            last = emit(
                tirx.AsyncCopyOp(op.operands[0], copied_view(op.operands[1], known, emit), tirx.Engine.TCGEN05_CP)
            )
            erase(op)
        emit = Emitter.after(last)
        emit(tirx.ReleaseOp(ring.result, COPY, tirx.Queue.TCGEN05))
        taken = emit(tirx.AcquireOp(ring.result, USE)).tiles
        for alloc, tile, slot in zip(scales.allocs, given, taken, strict=True):
            tile.name_hint = slot.name_hint = alloc.result.name_hint
            _rebase(alloc.result, lambda _, slot=slot: slot)
        Emitter.after(self.plan.products[-1])(tirx.ReleaseOp(ring.result, USE, tirx.Queue.TCGEN05))

    def _replace_results(self, pipelined: tirx.ForOp) -> None:
        """The values behind the loop; sums that may be pending are awaited."""
        emit = Emitter.after(pipelined)
        for old, new in zip(self.loop.results, pipelined.finals, strict=True):
            value: SSAValue = new
            new.name_hint = old.name_hint
            if isinstance(new.type, tirx.PendingType):
                awaited = emit(tirx.AwaitOp(new)).result
                assert awaited is not None
                awaited.name_hint = old.name_hint
                value = awaited
            old.replace_all_uses_with(value)
        on_tensor = any(op.on_tensor_memory for op in self.plan.products)
        for ring in self.held:
            emit(tirx.ReleaseOp(ring.result, USE, tirx.Queue.TCGEN05 if on_tensor else None))

    def _remark(self) -> None:
        plan = self.plan
        for ring in plan.rings:
            ahead = None if plan.rounds_apart else plan.skew
            remark(self.loop, RingMade(plan.slots, ring.slot_bytes, ring.names, ahead, ring.engine, ring.after))
        for tile in plan.held:
            remark(self.loop, SlotHeld(tile.slot_bytes, tile_name(tile.alloc), tirx.Engine.TMA))
        for tile in plan.exchanged:
            name, stations = tile_name(tile.alloc), tuple(tile.exchange.value)
            remark(self.loop, ExchangeMade(tile.slots, tile.columns, name, stations))
        if plan.early:
            remark(self.loop, ProductsEarly())
        if plan.delayed:
            remark(self.loop, ProductsLate())
        elif plan.products and not plan.early:
            until = "while the next ones run" if plan.pending else "until the next ones start"
            remark(self.loop, ProductsPending(until))
        if plan.note is not None:
            remark(self.loop, Reason(plan.note))


def _copy_into(part: Block, op: Operation, known: dict[SSAValue, SSAValue]) -> None:
    part.add_op(clone(op, known))


def _value_name(op: Operation) -> str:
    hint = op.results[0].name_hint
    return f"%{hint}" if hint else f"what '{op.name}' gives"


def _name(slots: Sequence[SSAValue], plan: RingPlan) -> None:
    for slot, tile in zip(slots, plan.tiles, strict=True):
        slot.name_hint = tile.alloc.result.name_hint


def _rebase(root: SSAValue, pick: Callable[[Operation], SSAValue]) -> None:
    """Every operation that uses an allocation, or views of it, uses the tile that `pick` gives it."""
    for op, tile in list(accesses(root)):
        emit = Emitter.before(op)
        found = copied_view(tile, {root: pick(op)}, emit)
        for i, operand in enumerate(op.operands):
            if operand is tile:
                op.operands[i] = found
    _erase_views(root)


def _erase_views(tile: SSAValue) -> None:
    for use in tuple(tile.uses):
        _erase_views(use.operation.results[0])
        erase(use.operation)
