"""Loops over slots of rings that load the first fragments of the next slot before the last products of this one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.dialects.traits import is_pure
from tirx.passes.copies.spread_fill import SpreadFill
from tirx.passes.ir.emitter import Emitter, erase, erase_dead, move
from tirx.passes.ir.views import copied_view
from tirx.passes.products.fragment_steps import StagedProduct, Steps, plan_steps
from tirx.passes.rings.proof.slots import yielded
from tirx.remarks import CopiesInPieces, FragmentsAhead, NoSlotToSpare
from tirx.values import dataclass, replace


@dataclass(frozen=True)
class _Found:
    """A product whose operands come from slots that are acquired in the same iteration.

    `block` is the body of the loop or of one of its parts. `acquires` are there, or all in `waits`, a part of the same
    round in front of it. `releases` stand behind the product. `frees`: nothing else reads the slots.
    """

    product: StagedProduct
    block: Block
    acquires: tuple[tirx.AcquireOp, ...]
    waits: tirx.AtOp | None
    releases: tuple[tirx.ReleaseOp, ...]
    frees: bool


def prefetch_next_slots(loops: Iterable[tirx.ForOp]) -> None:
    """Splits the loops that `prefetch_next_slot` can split."""
    for loop in loops:
        prefetch_next_slot(loop)


def prefetch_next_slot(loop: tirx.ForOp) -> None:
    """Splits the part of a loop that multiplies what it reads from the slots of rings, where there is one such product.

    The new parts are the products of all steps but the last, with the loads of the later steps and the release of the
    slot; the acquire of the next slot with the loads of its first step, a round earlier; and the last products, with
    what stands behind them. Copies by `cp.async` start between the steps. Other loops stay as they are.
    """
    found = _find(loop)
    if found is None:
        return
    late = _late_round(loop, found)
    if late is None:
        remark(loop, NoSlotToSpare())
        return
    if not loop.parts:
        found = _as_part(loop, found)
    _split(loop, found, late)
    remark(loop, FragmentsAhead())


def _find(loop: tirx.ForOp) -> _Found | None:
    """The one product of the loop that can be split, None without one or with several."""
    products = [op for op in loop.walk() if isinstance(op, tirx.MmaOp)]
    if len(products) != 1 or (product := StagedProduct.of(products[0])) is None:
        return None
    block = product.mma.parent
    assert block is not None
    if block.parent_op() not in (loop, *loop.parts):
        return None
    slots = _acquired(product, loop)
    if slots is None:
        return None
    acquires, waits = slots
    if waits is not None and any(acquire.parent is not waits.body.block for acquire in acquires):
        return None  # of one operand the slot is acquired in the part with the product
    if waits is not None and not _precedes(waits, block, acquires):
        return None
    releases = _releases(product, block, acquires)
    if releases is None or _is_in(product.mma.accumulator, block):
        return None
    users = {user for acquire in acquires for tile in acquire.tiles for user in _readers(tile)}
    return _Found(product, block, tuple(acquires), waits, tuple(releases), users <= {product.a, product.b})


def _acquired(product: StagedProduct, loop: tirx.ForOp) -> tuple[list[tirx.AcquireOp], tirx.AtOp | None] | None:
    """Returns who acquires the slots of both operands, and the part of the loop that does; None if nobody does."""
    acquires: list[tirx.AcquireOp] = []
    waits: tirx.AtOp | None = None
    for load in (product.a, product.b):
        source = _slot(load.source)
        if isinstance(source, OpResult) and isinstance(part := source.op, tirx.AtOp):
            if part not in loop.parts or (waits is not None and waits is not part):
                return None  # a slot for all iterations of an inner loop stays
            waits, source = part, yielded(part)[source.index]
        elif waits is not None:
            return None
        if not isinstance(source.owner, tirx.AcquireOp):
            return None
        if source.owner not in acquires:
            acquires.append(source.owner)
    return acquires, waits


def _releases(product: StagedProduct, block: Block, acquires: Sequence[tirx.AcquireOp]) -> list[tirx.ReleaseOp] | None:
    """Returns the releases of the slots behind the product; None if one is missing or effects stand before it."""
    rings = {acquire.ring for acquire in acquires}
    found: list[tirx.ReleaseOp] = []
    before = True
    for op in block.ops:
        if op is product.mma:
            before = False
        elif isinstance(op, tirx.ReleaseOp) and op.ring in rings and op.after is None and not before:
            found.append(op)
        elif before and not (op in acquires or isinstance(op, tirx.LoadOp | tirx.PartOp) or is_pure(op)):
            return None
    return found if len(found) == len(rings) else None


def _slot(tile: SSAValue) -> SSAValue:
    """The tile that a view is a part of."""
    while isinstance(op := tile.owner, tirx.PartOp):
        tile = op.source
    return tile


def _readers(tile: SSAValue) -> Iterator[Operation]:
    """The operations that use a tile, views of it, or what a part gives of it to other parts."""
    for use in tile.uses:
        match use.operation:
            case tirx.SubviewOp() | tirx.ReshapeOp() | tirx.TransposeOp() as view:
                yield from _readers(view.result)
            case tirx.YieldOp() as last if isinstance(part := last.parent_op(), tirx.AtOp):
                yield from _readers(part.values[use.index])
            case op:
                yield op


def _precedes(waits: tirx.AtOp, block: Block, acquires: Sequence[tirx.AcquireOp]) -> bool:
    """Returns True if a part in front of the product, in the same round, does nothing but acquire these slots."""
    part = block.parent_op()
    assert isinstance(part, tirx.AtOp)
    others = [op for op in waits.body.block.ops if op not in acquires and not isinstance(op, tirx.YieldOp)]
    return part.offset == waits.offset and all(map(is_pure, others))


def _late_round(loop: tirx.ForOp, found: _Found) -> int | None:
    """The offset of the products; their slot is acquired a round earlier. None where there is no room for that.

    Threads that both fill and read a ring must not wait for what they give back later themselves: a fill stands in
    front of the release of its round, but behind it with `cp.async`, where the acquire is a barrier for both.
    """
    slots = min(tirx.RingOp.of(acquire.ring).num_slots for acquire in found.acquires)
    part = found.block.parent_op()
    now = part.offset if isinstance(part, tirx.AtOp) else 0
    fills = [part for part in loop.parts if _fills(part, found)]
    if not fills:
        return now + 1 if slots > 1 else None
    by_barrier = found.waits is not None and found.frees and all(_is_cp_async(fill) for fill in fills)
    late = min(now + 1, slots if by_barrier else slots - 1)
    return late if late - 1 > max(fill.offset for fill in fills) else None


def _fills(part: tirx.AtOp, found: _Found) -> bool:
    rings = {acquire.ring for acquire in found.acquires}
    return any(isinstance(op, tirx.AcquireOp) and op.ring in rings and op not in found.acquires for op in part.walk())


def _is_cp_async(part: tirx.AtOp) -> bool:
    copies = [op for op in part.walk() if isinstance(op, tirx.AsyncCopyOp)]
    return bool(copies) and all(op.engine.data is tirx.Engine.CP_ASYNC for op in copies)


def _as_part(loop: tirx.ForOp, found: _Found) -> _Found:
    """Moves the body of a loop into a part of it."""
    last = loop.body.block.last_op
    assert isinstance(last, tirx.YieldOp)
    inner = Block()
    move([op for op in loop.body.block.ops if op is not last], inner)
    results = dict.fromkeys(value for value in last.operands if _is_in(value, inner))
    part = _part(loop, 0, inner, list(results))
    given = dict(zip(results, part.values, strict=True))
    Emitter.before(last)(part)
    last.operands = [given.get(value, value) for value in last.operands]
    return replace(found, block=inner)


def _is_in(value: SSAValue, block: Block) -> bool:
    """Returns True if an operation of the block computes the value."""
    return isinstance(value, OpResult) and value.op.parent is block


def _part(loop: tirx.ForOp, offset: int, block: Block, values: Sequence[SSAValue]) -> tirx.AtOp:
    """A part of the loop that gives these values of its block."""
    Emitter(InsertPoint.at_end(block), loop.location)(tirx.YieldOp(*values))
    part = tirx.AtOp(offset, Region(block))
    part.location = loop.location
    for value, result in zip(values, part.values, strict=True):
        result.name_hint = value.name_hint
    return part


def _middle(
    loop: tirx.ForOp, found: _Found, late: int, steps: Steps, fragments: tuple[SSAValue, SSAValue]
) -> tuple[list[tirx.AtOp], tuple[SSAValue, SSAValue], SSAValue]:
    """Makes parts of all steps but the last: one part, or several with copies between them.

    Returns them, with the fragments of the last step and the sum of the others.
    """
    product = found.product
    spread = SpreadFill.of(loop, late - 1, steps.count) if found.waits is not None and found.frees else None
    pieces = [] if spread is None else spread.cut()
    if pieces:
        remark(loop, CopiesInPieces(len(pieces) + 1))
    middle: list[tirx.AtOp] = []
    total: SSAValue = product.mma.accumulator
    index = 1
    while index < steps.count:
        block = Block()
        emit = Emitter(InsertPoint.at_end(block), loop.location)
        sources = copied_view(product.a.source, {}, emit), copied_view(product.b.source, {}, emit)
        end = index + 1 if pieces else steps.count
        for step in range(index, end):
            following = steps.load(step, emit, sources)
            total = steps.multiply(emit, fragments, total)
            fragments = following
        index = end
        if index == steps.count and found.frees:
            move(found.releases, block)
        middle.append(_part(loop, late, block, [*fragments, total]))
        fragments, total = (middle[-1].values[0], middle[-1].values[1]), middle[-1].values[2]
        if pieces:
            middle.append(pieces[len(middle) // 2])
    if steps.count == 1 and found.frees:
        block = Block()
        move(found.releases, block)
        middle.append(_part(loop, late, block, []))
    return middle, fragments, total


def _split(loop: tirx.ForOp, found: _Found, late: int) -> None:
    """Replaces the part with the product by three; see `prefetch_next_slot`."""
    old = found.block.parent_op()
    assert isinstance(old, tirx.AtOp)
    product, mma = found.product, found.product.mma
    steps = plan_steps(product)

    # The next slot and its first fragments.
    early = Block()
    emit = Emitter(InsertPoint.at_end(early), loop.location)
    roots: dict[SSAValue, SSAValue] = {}  # the tiles of slots, as other parts and this one know them
    if found.waits is None:
        roots = {tile: tile for acquire in found.acquires for tile in acquire.tiles}
        moved: Sequence[Operation] = found.acquires
    else:
        roots = dict(zip(found.waits.values, yielded(found.waits), strict=True))
        moved = [op for op in found.waits.body.block.ops if op is not found.waits.body.block.last_op]
    move(moved, early)
    first = steps.load(
        0, emit, (copied_view(product.a.source, roots, emit), copied_view(product.b.source, roots, emit))
    )
    ahead = _part(loop, late - 1, early, [*roots.values(), *first])
    for root, value in zip(roots, ahead.values, strict=False):
        root.replace_uses_with_if(value, lambda use: use.operation.parent is not early)

    middle, fragments, total = _middle(loop, found, late, steps, (ahead.values[-2], ahead.values[-1]))

    # The last step, and what stands behind it.
    result = steps.multiply(Emitter.before(mma), fragments, total)
    assert mma.result is not None
    mma.result.replace_all_uses_with(result)
    product.erase()
    erase_dead(found.block)
    place = Emitter.before(found.waits or old)
    for part in (*middle, ahead):
        place(part)
    if found.waits is not None:
        erase(found.waits)
    old.stage = IntegerAttr(late, i32)
    loop.skew = IntegerAttr(max(part.offset for part in loop.parts), i32)
