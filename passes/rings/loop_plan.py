"""Plans of pipelined loops: which tiles become rings, with how many slots, and which products are asynchronous."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, UnrealizedConversionCastOp
from xdsl.ir import BlockArgument, Operation, SSAValue, Use

from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.dialects.nesting import top_of, walk
from tirx.hw.features import supports
from tirx.hw.targets import Target
from tirx.passes.ir.index_analysis import never_runs, ranges_found_once
from tirx.passes.ir.scheduled import STAGES, is_scheduling, kernel_of
from tirx.passes.match.bulk_copies import ring_engine
from tirx.passes.match.memory_by_lifetime import aligned_bytes
from tirx.passes.match.pipelining import (
    Access,
    NotApplicable,
    StagedTile,
    accesses,
    check_loop,
    copies_to_shared,
    in_hardware_terms,
    is_ordering,
    is_rare,
    require_whole_warps,
    staged_tile,
    stores_number,
    tile_name,
    writes_to,
)
from tirx.passes.match.slots import BARRIER_BYTES, MOST_STAGES, operand_limit
from tirx.passes.rings.delayed_products import can_delay, computes
from tirx.passes.rings.exchanges import exchange_bytes
from tirx.passes.rings.held_tiles import HeldTile, held_tiles
from tirx.passes.rings.proof.tile_accesses import reads_as_a
from tirx.passes.rings.start_values import FEWEST_SLOTS, Schedule, fewest_slots, start_values
from tirx.passes.rings.tensor_exchanges import (
    ExchangedTile,
    ScalePlan,
    SharedTile,
    choose_slots,
    copied_scales,
    early_products,
    exchanged_tiles,
    held_metadata,
    shared_accumulators,
)
from tirx.remarks import Reason, StaysSequential
from tirx.rules import ScheduleOptionError
from tirx.values import dataclass


@dataclass(frozen=True)
class RingPlan:
    """Tiles that become one ring: filled by one engine, and passed on behind one operation of the loop's body."""

    tiles: tuple[StagedTile, ...]
    engine: tirx.Engine
    last: Operation
    after: tirx.Queue | None
    """The queue of the products that read the slots; None where they are complete at once."""
    behind_await: bool = False
    """True if slots are passed on behind the wait for `last`, a product, beside which threads read them."""

    @property
    def fill_queue(self) -> tirx.Queue:
        return tirx.ASYNC_ENGINES[self.engine].queue

    @property
    def is_fenced(self) -> bool:
        """Returns True if threads wait for their copies, and fence them, before the asynchronous proxy reads a slot."""
        return self.engine is tirx.Engine.CP_ASYNC and self.after is not None

    @property
    def slot_bytes(self) -> int:
        """Bytes that one slot takes in shared memory, alignment included."""
        return sum(aligned_bytes(tile.alloc.result.type) for tile in self.tiles)

    @property
    def names(self) -> str:
        return ", ".join(tile.name for tile in self.tiles)


@dataclass
class LoopPlan:
    """A loop that becomes a `tirx.for` with rings. `products` are those that become asynchronous, `held` the tiles that
    one slot holds for all iterations. `delayed`: some products run a round later, see `can_delay`; `early`: those that
    run a round earlier than all else, see `early_products`.
    """

    loop: scf.ForOp
    rings: tuple[RingPlan, ...]
    schedule: Schedule
    held: tuple[HeldTile, ...] = ()
    products: tuple[tirx.MmaOp, ...] = ()
    awaited: tuple[tirx.MmaOp, ...] = ()
    """Products by wgmma that are asynchronous up to the first operation of their iteration that needs their sum."""
    delayed: bool = False
    accumulators: tuple[SharedTile, ...] = ()
    scales: ScalePlan | None = None
    metadata: tuple[SharedTile, ...] = ()
    exchanged: tuple[ExchangedTile, ...] = ()
    early: tuple[tirx.MmaOp, ...] = ()
    slots: int = FEWEST_SLOTS
    held_slots: int = 1
    """Slots of each tile in `held`: two let a persistent block load that of its next tile while it works on this."""
    asked: int | None = None
    """The number of slots that the program asks for."""
    note: str | None = None
    """The reason why each product is awaited."""

    @property
    def slot_bytes(self) -> int:
        return sum(ring.slot_bytes for ring in self.rings)

    @property
    def of_pairs(self) -> bool:
        """True if products read the slots of both blocks of a pair."""
        return any(product.pair is not None for product in self.products)

    @property
    def rounds_apart(self) -> int:
        """Rounds between the first and the last products of an iteration."""
        return int(self.delayed or bool(self.early))

    @property
    def is_fenced(self) -> bool:
        """Returns True if threads wait for the copies that fill some of the slots."""
        return any(ring.is_fenced for ring in self.rings)

    @property
    def pending(self) -> int:
        """Iterations whose products, none of them rounds apart, may be unfinished while the next ones are issued."""
        return min(self.schedule.pending, self.slots - 2) if self.products else 0

    @property
    def skew(self) -> int:
        """Rounds that fills run ahead: the slot to fill has to be free again without a wait. Where products are rounds
        apart, a role of its own fills and runs ahead by itself. Threads wait for copies that they fence a round later.
        """
        return 0 if self.rounds_apart else 1 if self.is_fenced else self.slots - 1 - self.pending

    @property
    def most(self) -> int:
        """The most slots that are of use."""
        match self.loop.attributes.get(MOST_STAGES):
            case IntegerAttr(value=value):
                return value.data
            case _ if self.is_fenced:  # a slot that is filled, one that is multiplied, and those still read
                return min(2 + self.schedule.pending, self.schedule.slots)
            case _:
                return self.schedule.slots


@ranges_found_once()
def plan_loops(kernel: tirx.KernelOp, target: Target, stages: int | None) -> list[LoopPlan]:
    """The loops of a kernel that become pipelines, with their slots.

    `stages` is the number of slots where a loop does not say it, None to choose it. Remarks tell what stays as it is
    and why. Raises LocatedError for a loop with slots written by hand that cannot have them.
    """
    plans: list[LoopPlan] = []
    ops = walk(kernel)
    rare = [op for op in ops if is_rare(type(op))]
    written = next(filter(in_hardware_terms, rare), None)
    has_order = is_scheduling(kernel) or any(is_ordering(op) or stores_number(op) for op in rare)
    for loop in [op for op in ops if isinstance(op, scf.ForOp) and not never_runs(op)]:
        asked = _asked(loop)
        wanted = stages if asked is None else asked
        copies = [] if wanted == 1 else copies_to_shared(loop)
        if not copies:
            if asked is not None and asked > 1:
                raise ScheduleOptionError(
                    loop, f"expected a loop that copies global tiles to shared memory for {STAGES}"
                )
            continue
        try:
            if written is not None:
                raise NotApplicable(written, f"'{written.name}' is in the terms of the hardware")
            require_whole_warps(kernel)
            if has_order:
                check_loop(loop)
            plan = _plan_loop(loop, copies)
        except NotApplicable as e:
            if asked is not None:
                raise ScheduleOptionError(
                    e.where, f"expected a loop that can be pipelined for {STAGES}, found that {e.reason}"
                ) from e
            remark(e.where, Reason(e.reason))
            continue
        plan.asked = wanted
        plans.append(plan)
    return _with_slots(kernel, target, _without_outer_loops(plans))


def _without_outer_loops(plans: Sequence[LoopPlan]) -> list[LoopPlan]:
    """Leaves out loops around others.

    A tile that a loop inside holds has one ring, of that loop. A loop that runs ahead cannot have one with rings in it
    (`ring-undecided`): the inner one fills its rings more often. One with `tirx.stages` is left to the proof.
    """
    held = {tile.alloc for plan in plans for tile in plan.held}
    found: list[LoopPlan] = []
    for plan in plans:
        shared = next((tile.alloc for ring in plan.rings for tile in ring.tiles if tile.alloc in held), None)
        if shared is not None:
            reason = f"a loop inside of it holds {tile_name(shared)}"
        elif _asked(plan.loop) is None and any(_is_around(plan.loop, each.loop) for each in plans):
            reason = "a loop inside of it fills rings"
        else:
            found.append(plan)
            continue
        if _asked(plan.loop) is not None:
            raise ScheduleOptionError(
                plan.loop, f"expected a loop that can be pipelined for {STAGES}, found that {reason}"
            )
        remark(plan.loop, Reason(reason))
    return found


def _is_around(loop: scf.ForOp, other: scf.ForOp) -> bool:
    return loop is not other and loop.is_ancestor(other)


def _asked(loop: scf.ForOp) -> int | None:
    match loop.attributes.get(STAGES):
        case None:
            return None
        case IntegerAttr(value=value) if value.data >= 1:
            return value.data
        case found:
            raise ScheduleOptionError(loop, f"expected {STAGES} to be an integer of 1 or more, found {found}")


def _plan_loop(loop: scf.ForOp, copies: Sequence[tirx.CopyOp]) -> LoopPlan:
    """The rings of one loop with these copies to shared memory. Raises NotApplicable if no tile can have one."""
    staged: list[tuple[StagedTile, tirx.Engine]] = []
    problems: list[NotApplicable] = []
    roots = dict.fromkeys(tirx.base_allocation(copy.destination) for copy in copies)
    for root in roots:
        if not isinstance(alloc := root.owner, tirx.AllocOp):
            continue
        try:
            tile = staged_tile(loop, alloc)
            staged.append((tile, _engine(tile)))
        except NotApplicable as e:
            problems.append(e)
    if not staged:
        raise problems[0]
    for problem in problems:
        remark(problem.where, Reason(problem.reason))
    schedule = start_values(op for op in walk(loop) if isinstance(op, tirx.MmaOp))
    held = tuple(held_tiles(loop, {tile.alloc for tile, _ in staged}))
    try:
        return _plan_of_products(loop, staged, held, schedule)
    except NotApplicable as e:
        if (
            pair := next((op for op in walk(loop) if isinstance(op, tirx.MmaOp) and op.pair is not None), None)
        ) is not None:
            # Both blocks would have to wait for each other in every iteration.
            raise NotApplicable(pair, f"the loop of products of pairs stays sequential: {e.reason}") from e
        note = f"each product is awaited: {e.reason}"
        awaited, ready = _awaited_products(loop, staged, held), staged
        while fenced := {tile: op for tile, engine in ready if (op := _fencing(tile, engine, awaited)) is not None}:
            for tile, op in fenced.items():
                read = f"'{op.name}' reads by the asynchronous proxy what cp_async copies"
                remark(op, Reason(f"{tile.name} keeps one buffer: {read}, and threads wait for it"))
            ready = [each for each in ready if each[0] not in fenced]
            if not ready:
                raise NotApplicable(loop, note) from e
            awaited = _awaited_products(loop, ready, held)
        rings = _joined(loop, _rings(loop, ready, awaited), awaited)
        return LoopPlan(loop, rings, schedule, held, awaited=awaited, note=note)


def _awaited_products(
    loop: scf.ForOp, staged: Sequence[tuple[StagedTile, tirx.Engine]], held: Sequence[HeldTile]
) -> tuple[tirx.MmaOp, ...]:
    """The products by wgmma of every iteration that read slots, registers and what stays as it is until the next one.

    There are none where something else reads one of these slots, too.
    """
    tiles = [tile for tile, _ in staged]
    slots = {tile.alloc.result for tile in (*tiles, *held)}
    products = [op for op in loop.body.block.ops if isinstance(op, tirx.MmaOp) and not op.on_tensor_memory]

    def is_ready(tile: SSAValue, op: tirx.MmaOp) -> bool:
        if tirx.TileType.of(tile).memory is tirx.MemorySpace.REGISTER:
            return True
        root = tirx.base_allocation(tile)
        return root in slots or _is_complete(root, op, loop)

    found = tuple(
        op
        for op in products
        if op.b_type.memory is tirx.MemorySpace.SHARED and is_ready(op.a, op) and is_ready(op.b, op)
    )
    try:
        _check_readers(tiles, found)
    except NotApplicable:
        return ()
    return found


def _is_complete(root: SSAValue, product: tirx.MmaOp, loop: scf.ForOp) -> bool:
    """Returns True if nothing of an iteration writes a tile behind a product: the product, which ends in the iteration,
    reads the tile undisturbed as long as it runs.
    """
    return isinstance(root.owner, tirx.AllocOp) and all(
        top.is_before_in_block(product)
        for op, tile in accesses(root)
        if writes_to(op, tile) and (top := top_of(op, loop)) is not None
    )


def _engine(tile: StagedTile) -> tirx.Engine:
    """The engine that fills a tile. Raises NotApplicable if there is none, or none that its readers can follow."""
    choices = [(fill, ring_engine(fill)) for fill in tile.fills]
    engine = choices[0][1].engine
    for fill, choice in choices:
        if not choice.is_asynchronous:
            raise NotApplicable(fill, f"{tile.name} keeps one buffer: nothing fills it asynchronously, {choice.reason}")
        if choice.engine is not engine:
            raise NotApplicable(
                fill, f"{tile.name} keeps one buffer: {choice.engine} does this copy to it, and {engine} the one before"
            )
    return engine


def _fencing(tile: StagedTile, engine: tirx.Engine, products: Collection[tirx.MmaOp]) -> Operation | None:
    """The first operation besides `products` that reads by the asynchronous proxy what `cp.async` copies to a tile."""
    reads = [read.op for read in tile.reads if engine is tirx.Engine.CP_ASYNC and read.op not in products]
    by_hardware = (
        op
        for op in reads
        if isinstance(op, tirx.MmaOp)
        or (isinstance(op, tirx.CopyOp) and op.destination_type.memory is tirx.MemorySpace.TENSOR)
    )
    return next(by_hardware, None)


def _plan_of_products(
    loop: scf.ForOp, staged: Sequence[tuple[StagedTile, tirx.Engine]], held: tuple[HeldTile, ...], schedule: Schedule
) -> LoopPlan:
    """The plan with asynchronous products. Raises NotApplicable where something that they touch is in no ring."""
    tiles = [tile for tile, _ in staged]
    slots = [tile.alloc for tile in (*tiles, *held)]
    exchanged: tuple[ExchangedTile, ...] = ()
    early: tuple[tirx.MmaOp, ...] = ()
    delayed = False
    products = _products(loop, slots, on_tensor_memory=False)
    try:
        for op in products:
            _require_carried(loop, op)
    except NotApplicable:
        delayed = can_delay(loop, products, [fill for tile in tiles for fill in tile.fills])
        if not delayed:
            raise
    if not products:
        products = _products(loop, slots, on_tensor_memory=True)
        exchanged = exchanged_tiles(loop, products)
        early = early_products(loop, products, exchanged, [tile.alloc for tile in tiles])
        choose_slots(loop, exchanged, early)
    scales = copied_scales(loop, products, tiles)
    metadata = held_metadata(loop, products)
    accumulators = shared_accumulators(loop, products, {tile.alloc for tile in exchanged})
    asynchronous = {*products, *(() if scales is None else scales.copies)}
    _check_readers(tiles, asynchronous)
    rings = _rings(loop, staged, asynchronous)
    if (delayed or early) and any(ring.is_fenced for ring in rings):
        raise NotApplicable(loop, "products would run rounds apart from cp_async, for which threads have to wait")
    touched = accumulators, scales, metadata, exchanged
    return LoopPlan(loop, rings, schedule, held, products, (), delayed, *touched, early)


def _rings(
    loop: scf.ForOp, staged: Sequence[tuple[StagedTile, tirx.Engine]], asynchronous: Collection[Operation]
) -> tuple[RingPlan, ...]:
    """The rings of the tiles: apart by engine, by what passes slots on, and A from others where it comes back early."""
    kernel = kernel_of(loop)
    early = supports(kernel.require_target(), "tcgen05.commit.sync_restrict")
    groups: dict[tuple[tirx.Engine, Operation, tirx.Queue | None, bool], list[StagedTile]] = {}
    for tile, engine in staged:
        last = _last_use(loop, tile)
        after = None
        if any(read.op in asynchronous for read in tile.reads):
            on_tensor = [op for op in asynchronous if isinstance(op, tirx.MmaOp) and op.on_tensor_memory]
            after = tirx.Queue.TCGEN05 if on_tensor else tirx.Queue.WGMMA
            if isinstance(last, tirx.CopyOp):  # of scale factors, in the queue of the products that use them
                last = max(on_tensor, key=list(loop.body.block.ops).index)
        as_a = early and all(read.op in asynchronous and reads_as_a(read.op, read.tile) for read in tile.reads)
        groups.setdefault((engine, last, after, as_a), []).append(tile)
    return tuple(RingPlan(tuple(group), *key[:3]) for key, group in groups.items())


def _joined(loop: scf.ForOp, rings: Sequence[RingPlan], awaited: Sequence[tirx.MmaOp]) -> tuple[RingPlan, ...]:
    """Joins the rings that TMA fills for awaited products and for threads that read while these run.

    One wait is enough for both: threads would wait for the second ring when the slots of both have come already. Where
    only some products of the loop read a ring, threads read while the last of these runs.
    """
    order = {op: i for i, op in enumerate(loop.body.block.ops)}
    found = list(rings)
    for ring in rings:
        last = next((op for op in awaited if op is ring.last), None)
        if ring.engine is not tirx.Engine.TMA or ring.after is not tirx.Queue.WGMMA or last is None:
            continue
        uses = [use for result in last.results for use in result.uses]
        if len(uses) == 1 and _is_added_to(uses[0]) and uses[0].operation in awaited:
            continue  # nothing waits for its sum by itself
        tiles = {tile.alloc.result for tile in ring.tiles}
        own = [op for op in awaited if not tiles.isdisjoint(map(tirx.base_allocation, (op.a, op.b)))]
        started = order[own[0] if len(own) == len(awaited) else last]
        needed = min(_needs(loop, last, order))
        beside = [
            other
            for other in found
            if other.engine is tirx.Engine.TMA
            and other.after is None
            and all(started < order[read.top] < needed for tile in other.tiles for read in tile.reads)
        ]
        if beside:
            joined = (*ring.tiles, *(tile for other in beside for tile in other.tiles))
            found[found.index(ring)] = RingPlan(joined, ring.engine, ring.last, None, behind_await=True)
            found = [other for other in found if other not in beside]
    return tuple(found)


def _needs(loop: scf.ForOp, product: tirx.MmaOp, order: Mapping[Operation, int]) -> Iterator[int]:
    """The places of the operations of a loop's body that use the sum of a product; the end of the body is one."""
    yield len(order)
    for use in (use for result in product.results for use in result.uses):
        if (top := top_of(use.operation, loop)) is not None:
            yield order[top]


def _last_use(loop: scf.ForOp, tile: StagedTile) -> Operation:
    """The operation of the loop's body behind which a slot is passed on.

    Fragments that products use count as reads of the products: what loads them may move behind earlier products. So do
    tiles that fragments are computed of: slots of wgmma are passed on while products run, and mma.sync has one ring of
    all its operands then, for which threads wait once.
    """
    order = {op: i for i, op in enumerate(loop.body.block.ops)}
    tops = [read.top for read in tile.reads]
    for read in tile.reads:
        if isinstance(read.op, tirx.LoadOp):
            products = [op for op in _reached(read.op) if isinstance(op, tirx.MmaOp)]
            tops += [top for op in products if (top := top_of(op, loop)) is not None]
    return max(tops, key=order.__getitem__)


def _reached(op: Operation) -> Iterator[Operation]:
    """The operations that use the results of an operation, or what registers are computed of them without products."""
    for use in (use for result in op.results for use in result.uses):
        yield use.operation
        if isinstance(use.operation, tirx.MmaOp):
            continue
        if isinstance(use.operation, UnrealizedConversionCastOp) or computes(use.operation):
            yield from _reached(use.operation)


def _products(loop: scf.ForOp, staged: Sequence[tirx.AllocOp], on_tensor_memory: bool) -> tuple[tirx.MmaOp, ...]:
    """The products whose operands in shared memory are slots: those on tensor memory, or in registers by wgmma."""
    products = [
        op
        for op in walk(loop)
        if isinstance(op, tirx.MmaOp)
        and op.on_tensor_memory is on_tensor_memory
        and (on_tensor_memory or op.b_type.memory is tirx.MemorySpace.SHARED)
    ]
    roots = {alloc.result for alloc in staged}
    for op in products:
        if top_of(op, loop) is not op:
            raise NotApplicable(op, f"'{op.name}' does not run in every iteration")
        for tile in (op.a, op.b):
            root = tirx.base_allocation(tile)
            if tirx.TileType.of(tile).memory is tirx.MemorySpace.SHARED and root not in roots:
                hint = f"%{root.name_hint}" if root.name_hint else "a tile"
                raise NotApplicable(op, f"'{op.name}' reads {hint}, which is in no ring")
    return tuple(products)


def _require_carried(loop: scf.ForOp, op: tirx.MmaOp) -> None:
    """Raises NotApplicable unless A is in memory and nothing but products of the loop touches the accumulator."""
    if op.a_type.memory is not tirx.MemorySpace.SHARED:
        raise NotApplicable(op, f"'{op.name}' reads A from registers")
    for value in (op.accumulator, *op.results):
        uses = list(value.uses)
        if isinstance(value, BlockArgument) and value.owner is not loop.body.block:
            raise NotApplicable(op, f"'{op.name}' starts from a value from outside of the loop")
        carried = isinstance(value, BlockArgument) or isinstance(value.owner, tirx.MmaOp)
        if not carried or [_goes_on(loop, use) for use in uses] != [True]:
            others = (use.operation for use in uses if use.operation is not loop.body.block.last_op)
            other = next((user for user in others if not isinstance(user, tirx.MmaOp)), op)
            raise NotApplicable(op, f"'{other.name}' needs the sum of '{op.name}' in the same iteration")


def _goes_on(loop: scf.ForOp, use: Use) -> bool:
    """True if a product adds to a sum: to this value, or to the one that the loop carries on."""
    if use.operation is loop.body.block.last_op:
        return any(_is_added_to(other) for other in loop.body.block.args[1:][use.index].uses)
    return _is_added_to(use)


def _is_added_to(use: Use) -> bool:
    return isinstance(use.operation, tirx.MmaOp) and use.operation.accumulator is use.operation.operands[use.index]


def _check_readers(tiles: Sequence[StagedTile], asynchronous: Collection[Operation]) -> None:
    """Raises NotApplicable for a tile that both asynchronous operations and threads read."""
    for tile in tiles:
        others: list[Access] = [read for read in tile.reads if read.op not in asynchronous]
        if others and len(others) != len(tile.reads):
            raise NotApplicable(others[0].op, f"'{others[0].op.name}' reads {tile.name} beside the products")


def _with_slots(kernel: tirx.KernelOp, target: Target, plans: list[LoopPlan]) -> list[LoopPlan]:
    """The plans that get slots: all first what they need least, then one more each as long as there is room.

    The tiles of a loop that gets none need their room, too, for one buffer each.
    """
    in_rings = {tile.alloc for plan in plans for ring in plan.rings for tile in ring.tiles}
    left = operand_limit(target) - BARRIER_BYTES - exchange_bytes(kernel)
    for op in walk(kernel):
        if isinstance(op, tirx.AllocOp) and op.result.type.memory is tirx.MemorySpace.SHARED and op not in in_rings:
            left -= aligned_bytes(op.result.type)
        elif isinstance(op, tirx.RingOp):
            left -= op.num_slots * op.result.type.slot_bytes
    slot_bytes = [plan.slot_bytes for plan in plans]
    left -= sum(slot_bytes)
    kept: list[tuple[LoopPlan, int]] = []
    for plan, size in zip(plans, slot_bytes, strict=True):
        products = sum(isinstance(op, tirx.MmaOp) for op in walk(plan.loop))
        plan.slots = fewest_slots(products) if plan.asked is None else plan.asked
        need = (plan.slots - 1) * size
        if need > left:
            found = f"{plan.slots} slots of {size} bytes, with {max(left + size, 0)} bytes of shared memory left"
            if plan.loop.attributes.get(STAGES) is not None:
                raise ScheduleOptionError(plan.loop, f"expected room for {STAGES}, found none for {found}")
            remark(plan.loop, StaysSequential(found, target.name))
            continue
        left -= need
        kept.append((plan, size))
    grown = True
    while grown:
        grown = False
        for plan, size in kept:
            if plan.asked is None and plan.slots < plan.most and size <= left:
                plan.slots += 1
                left -= size
                grown = True
    for plan, _ in kept:
        held = sum(tile.slot_bytes for tile in plan.held)
        if plan.loop.parent_op() is not kernel and held <= left:
            plan.held_slots = 2
            left -= held
    return [plan for plan, _ in kept]
