"""The parts of a pipelined loop whose products run a round apart."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.dialects.nesting import operations, walk
from tirx.dialects.tirx import AcquireOp, AsyncMmaOp, AwaitOp, ReleaseOp, TileType, YieldOp
from tirx.dialects.traits import is_pure
from tirx.dialects.xdsl_private import operands_of
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.rings.delayed_products import carried_sums, is_only_carried, users_among
from tirx.passes.rings.proof.slots import place_of, slot_tile


def delayed_parts(use: Block, carried: Sequence[SSAValue], skew: int) -> tuple[list[tuple[int, Block]], YieldOp]:
    """Splits the block of an iteration, where all products are started and none is awaited: parts with their offsets
    from the first round, and what the loop yields.

    A round starts the early products of an iteration and the late ones of the iteration before, works on the early sums
    while the late products run, and goes on with what needs their sums.
    """
    end = use.last_op
    assert isinstance(end, YieldOp)
    end.detach()
    scalars = [op for op in use.ops if _is_scalar(op)]
    early, groups = _groups(use, carried, skew, end, scalars)
    blocks = [(stage, _block(ops, scalars)) for stage, ops in groups if ops]
    for op in reversed(scalars):
        erase(op)
    _end_parts(blocks, early[0])
    return blocks, end


def _groups(
    use: Block, carried: Sequence[SSAValue], skew: int, end: YieldOp, scalars: Sequence[Operation]
) -> tuple[list[AsyncMmaOp], list[tuple[int, list[Operation]]]]:
    """Returns the early products, and of each part its offset from the first round and its operations but scalars."""
    products = [op for op in use.ops if isinstance(op, AsyncMmaOp)]
    late = [op for op in products if is_only_carried(op, end)]
    early = [op for op in products if op not in late]
    behind = users_among(carried_sums(late, end, carried), [op for op in use.ops if op not in late])
    starts = _with_slots(early, use)
    late_starts = _with_slots(late, use)
    acquires = [op for op in late_starts if isinstance(op, AcquireOp)]
    late_starts.difference_update(acquires)
    starts |= _needed_for(starts, use) - late_starts
    rest = [op for op in use.ops if op not in {*starts, *late_starts, *acquires, *behind, *scalars}]
    behind |= _only_read_by(late, rest, use)
    rest = [op for op in rest if op not in behind]

    def in_order(chosen: Container[Operation]) -> list[Operation]:
        return [op for op in use.ops if op in chosen and op not in scalars]

    return early, [
        (skew, in_order(starts)),
        (skew + 1, [op for op in use.ops if op in late_starts]),
        # Waiting for slots here keeps work on the early sums apart from what waits for the late products: ptxas moves
        # arithmetic across a wait, but not across the loop that asks an mbarrier.
        (skew, [*_awaits(early), *rest, *(op for op in use.ops if op in acquires)]),
        (skew + 1, [_await(op) for op in late]),
        (skew, in_order(behind)),
    ]


def _awaits(early: Sequence[AsyncMmaOp]) -> list[Operation]:
    """Returns waits for those products whose sums no other one of them goes on with."""
    summed = {op.accumulator for op in early}
    return [_await(op) for op in early if op.results[0] not in summed]


def _only_read_by(late: Sequence[AsyncMmaOp], rest: Sequence[Operation], use: Block) -> set[Operation]:
    """Returns the operations of `rest` whose results only late products read, directly or not.

    What late products read in registers may not be written while those of the iteration before read them.
    """
    delayed: set[Operation] = set(late)
    for op in reversed(rest):
        users = {use.find_ancestor_op_in_block(each.operation) for result in op.results for each in result.uses}
        if users and users <= delayed:
            delayed.add(op)
    return delayed - {*late}


def early_parts(use: Block, early: Sequence[AsyncMmaOp], skew: int) -> tuple[list[tuple[int, Block]], YieldOp]:
    """Splits the block of an iteration: products that run a round ahead, with the slots that they use, and the rest.

    Returns the same as `delayed_parts`. The early products need nothing of the rest but scalars, which both compute.
    """
    end = use.last_op
    assert isinstance(end, YieldOp)
    end.detach()
    slots = (slot_tile(operand) for op in early for operand in op.operands)
    places = {slot.place for slot in slots if slot and slot.acquire.parent is use}
    starts: set[Operation] = set(early)
    ops = operations(use)
    starts.update(op for op in ops if isinstance(op, AcquireOp | ReleaseOp) and place_of(op) in places)
    starts |= _needed_for(starts, use)
    scalars = [op for op in ops if _is_scalar(op)]
    yielded = _needed_for([end], use)
    ahead = [op for op in ops if op in starts and not _is_scalar(op)]
    rest = [op for op in ops if (op in yielded if _is_scalar(op) else op not in starts)]
    blocks = [(skew, _block(ahead, scalars)), (skew + 1, _block(rest, [op for op in scalars if op not in yielded]))]
    for op in reversed(scalars):
        if op not in yielded:
            erase(op)
    _end_parts(blocks, early[0])
    return blocks, end


def _end_parts(blocks: Sequence[tuple[int, Block]], product: Operation) -> None:
    """Lets each part give what other parts use."""
    for _, block in blocks:
        computed = [value for op in block.ops for value in op.results if _is_used_outside(value, block)]
        Emitter(InsertPoint.at_end(block), product.location)(YieldOp(*computed))


def _is_scalar(op: Operation) -> bool:
    """True for an operation that every part can compute again: pure, and without tiles."""
    return is_pure(op) and not op.regions and not any(isinstance(result.type, TileType) for result in op.results)


def _with_slots(products: Iterable[AsyncMmaOp], block: Block) -> set[Operation]:
    """Products, the acquires of the slots that they read and the releases behind."""
    found: set[Operation] = set(products)
    used = {operand for op in found for operand in op.operands}
    rings = {op.ring for op in block.ops if isinstance(op, AcquireOp) and any(tile in used for tile in op.tiles)}
    return found | {op for op in block.ops if isinstance(op, AcquireOp | ReleaseOp) and op.ring in rings}


def _needed_for(wanted: Iterable[Operation], block: Block) -> set[Operation]:
    """The operations of a block that others depend on."""
    found: set[Operation] = set()
    work = list(wanted)
    while work:
        for inner in walk(work.pop()):
            for owner in [operand.owner for operand in operands_of(inner)]:
                if isinstance(owner, Operation) and owner.parent is block and owner not in found:
                    found.add(owner)
                    work.append(owner)
    return found


def _await(product: AsyncMmaOp) -> AwaitOp:
    """Waits for a product; everything else uses the tile then."""
    pending = product.results[0]
    op = AwaitOp(pending)
    op.location = product.location
    assert op.result is not None
    op.result.name_hint = pending.name_hint
    pending.replace_uses_with_if(op.result, lambda use: use.operation is not op)
    return op


def await_where_needed(product: AsyncMmaOp) -> AwaitOp | None:
    """Waits for a product in front of the first operation of its block that needs its sum, or at the end.

    Returns None if another product adds to the sum: it goes on without a wait.
    """
    block, (pending,) = product.parent, product.results
    assert block is not None
    users = {block.find_ancestor_op_in_block(use.operation) for use in pending.uses}
    match [use.operation for use in pending.uses]:
        case [AsyncMmaOp(accumulator=sums)] if sums is pending:
            return None
        case _:
            first = next((op for op in block.ops if op in users), block.last_op)
            assert first is not None
            wait = _await(product)
            block.insert_op_before(wait, first)
            return wait


def _block(ops: Sequence[Operation], scalars: Sequence[Operation]) -> Block:
    block = Block()
    for op in ops:
        if op.parent is not None:
            op.detach()
        block.add_op(op)
    first = block.first_op
    used = {operand for op in operations(block) for inner in walk(op) for operand in operands_of(inner)}
    known: dict[SSAValue, SSAValue] = {}
    wanted: list[Operation] = []
    for op in reversed(scalars):
        if any(result in used for result in op.results):
            wanted.insert(0, op)
            used.update(op.operands)
    for op in wanted:
        copy = op.clone(known)
        copy.location = op.location
        assert first is not None
        block.insert_op_before(copy, first)
    for inner in (inner for op in operations(block) for inner in walk(op)) if known else ():
        for i, operand in enumerate(operands_of(inner)):
            if operand in known:
                inner.operands[i] = known[operand]
    return block


def _is_used_outside(value: SSAValue, block: Block) -> bool:
    return any(not block.is_ancestor(use.operation) for use in value.uses)
