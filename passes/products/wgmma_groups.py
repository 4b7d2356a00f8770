"""The number of wgmma groups committed since a product, on every path to the wait for it."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from tirx.dialects.tirx import AsyncMmaOp, MmaOp, PendingType, WgmmaPlan
from tirx.dialects.wgmma import CommitGroupOp, WaitGroupOp
from tirx.passes.ir.emitter import constant_value

NO_GROUP = 1 << 20
"""More groups than there can be: nothing is pending."""


def groups_since(value: SSAValue, user: Operation) -> int:
    """The least number of groups that any path commits between the product of a pending tile and `user`.

    Those count that are behind the last operation between them that waits for all groups.

    Waiting until so many are pending waits for the product. Returns 0, which waits for all, for a value that cannot be
    followed, and `NO_GROUP` or more for a tile that nothing writes.
    """
    return _since(value, user, frozenset())


def _since(value: SSAValue, user: Operation, seen: frozenset[SSAValue]) -> int:
    if not isinstance(value.type, PendingType) or value in seen:
        return NO_GROUP  # round a loop unchanged: the way into the loop says
    seen |= {value}
    match value:
        case OpResult(op=AsyncMmaOp() as op):
            return _between(op, user)
        case OpResult(op=UnrealizedConversionCastOp() as op) if len(op.inputs) == 1:
            return _since(op.inputs[0], op, seen) + _between(op, user)
        case OpResult(op=arith.SelectOp() as op):
            return min(_since(op.lhs, op, seen), _since(op.rhs, op, seen)) + _between(op, user)
        case OpResult(op=scf.IfOp() as op):
            return min(_yielded(region, value.index, seen) for region in op.regions) + _between(op, user)
        case OpResult(op=scf.ForOp() as op):
            last = _yielded(op.body, value.index, seen)
            never = _since(op.iter_args[value.index], op, seen)
            return min(last, never) + _between(op, user)
        case BlockArgument(block=block) if isinstance(loop := block.parent_op(), scf.ForOp) and value.index:
            into = _since(loop.iter_args[value.index - 1], loop, seen)
            round_ = _yielded(loop.body, value.index - 1, seen)
            return min(into, round_) + _before(block.first_op, user, block)
        case _:
            return 0


def _yielded(region: Region, index: int, seen: frozenset[SSAValue]) -> int:
    last = region.blocks.last.last_op if region.blocks.last is not None else None
    return 0 if last is None else _since(last.operands[index], last, seen)


def _between(op: Operation, user: Operation) -> int:
    """Groups committed behind `op` on the way to `user`, which it dominates."""
    return _before(op.next_op, user, op.parent)


def _before(first: Operation | None, user: Operation, block: Block | None) -> int:
    """Groups committed from `first` in `block` on to `user`, in the first iteration of every loop around it, without
    those that something waits for.
    """
    count = 0
    while block is not None:
        around = next(op for op in _around(user) if op.parent is block)
        while first is not None and first is not around:
            count = 0 if _waits_for_all(first) else count + _committed(first)
            first = first.next_op
        if around is user:
            break
        block = next(op for op in _around(user) if op.parent_op() is around).parent
        first = None if block is None else block.first_op
    return count


def _waits_for_all(op: Operation) -> bool:
    """Returns True if no group is pending behind an operation."""
    if isinstance(op, WaitGroupOp):
        return op.pending.value.data == 0
    return isinstance(op, MmaOp) and op.plan is not None and isinstance(op.plan.data, WgmmaPlan)


def _around(op: Operation) -> Iterator[Operation]:
    """`op` and the operations around it."""
    around: Operation | None = op
    while around is not None:
        yield around
        around = around.parent_op()


def _committed(op: Operation) -> int:
    """The least number of groups that an execution of `op` commits."""
    match op:
        case AsyncMmaOp():
            return 0 if op.on_tensor_memory else 1
        case MmaOp():
            return 1 if op.plan is not None and isinstance(op.plan.data, WgmmaPlan) else 0
        case CommitGroupOp():
            return 1
        case scf.IfOp():
            return min(_in_region(region) for region in op.regions)
        case scf.ForOp():
            low, high, step = map(constant_value, (op.lb, op.ub, op.step))
            trips = 0 if low is None or high is None or not step else max(0, -((low - high) // step))
            return trips * _in_region(op.body)
        case _:
            return 0


def _in_region(region: Region) -> int:
    return sum(_committed(op) for block in region.blocks for op in block.ops)
