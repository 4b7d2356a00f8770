"""What is known of an index value: its range and what divides it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, SSAValue

from tirx.dialects.tirx import BlockIdOp, CtaRankOp, ForOp, GridAxis, KernelOp, TilesOp
from tirx.hw.integers import Integers
from tirx.passes.emit.emitter import constant_value

INDEX_BITS = 64
"""Bits of an index."""

_GRID_DIMENSION = {GridAxis.X: 0, GridAxis.Y: 1, GridAxis.Z: 2}

_BINARY: Mapping[type[Operation], Callable[[Integers, Integers], Integers]] = {
    arith.AddiOp: Integers.__add__,
    arith.SubiOp: Integers.__sub__,
    arith.MuliOp: Integers.__mul__,
}


def index_range(value: SSAValue) -> Integers:
    """The values that an index or integer may have, by the operations that define it."""
    # Operands first, without recursion: chains of operations may be longer than the stack.
    known: dict[SSAValue, Integers] = {}
    pending = [value]
    while pending:
        one = pending[-1]
        if one in known:
            pending.pop()
        elif waiting := [source for source in _sources(one) if source not in known]:
            pending += waiting
        else:
            known[one] = _derive(one, known)
            pending.pop()
    return known[value]


def _width(value: SSAValue) -> int:
    match value.type:
        case IntegerType(width=width):
            return width.data
        case _:
            return INDEX_BITS


def _loop_of(value: SSAValue) -> scf.ForOp | None:
    """The loop that counts with `value`."""
    block = value.owner
    if not isinstance(block, Block) or not isinstance(loop := block.parent_op(), scf.ForOp):
        return None
    return loop if value is block.args[0] else None


def _extent_of(value: SSAValue) -> SSAValue | int | None:
    """What the iteration of a `tirx.for` or the coordinate of a tile counts up to; None for other values."""
    if not isinstance(block := value.owner, Block):
        return None
    match block.parent_op():
        case ForOp() as loop if value is loop.index:
            return loop.trips if loop.constant_trips is None else loop.constant_trips.value.data
        case TilesOp() as loop if loop.extents:
            return loop.extents[block.args.index(value)]
        case _:
            return None


def _sources(value: SSAValue) -> tuple[SSAValue, ...]:
    """The values that `_derive` asks for."""
    if (loop := _loop_of(value)) is not None:
        return loop.lb, loop.ub
    if (extent := _extent_of(value)) is not None:
        return () if isinstance(extent, int) else (extent,)
    match value.owner:
        case arith.AddiOp() | arith.SubiOp() | arith.MuliOp() | arith.IndexCastOp() as op:
            return tuple(op.operands)
        case arith.DivUIOp() as op:
            return (op.lhs,)
        case _:
            return ()


def _derive(value: SSAValue, known: Mapping[SSAValue, Integers]) -> Integers:
    width = _width(value)
    if (constant := constant_value(value)) is not None:
        return Integers.of(constant, width)
    if (loop := _loop_of(value)) is not None:
        return _induction_range(known[loop.lb], known[loop.ub], constant_value(loop.step))
    if (extent := _extent_of(value)) is not None:
        high = extent if isinstance(extent, int) else known[extent].high
        return Integers.within(0, None if high is None else max(high - 1, 0), width)
    match value.owner:
        case CtaRankOp():
            return Integers.within(0, 1, width)
        case BlockIdOp() as op:
            kernel = next((around for around in ancestors(op) if isinstance(around, KernelOp)), None)
            grid = None if kernel is None else kernel.grid_dims
            return Integers.within(0, None if grid is None else grid[_GRID_DIMENSION[op.axis.data]] - 1, width)
        case arith.DivUIOp() as op if (divisor := constant_value(op.rhs)) is not None and divisor > 0:
            return known[op.lhs].unsigned_quotient(divisor)
        case arith.IndexCastOp() as op:
            source = known[op.input]
            if source.width < width:
                # What follows of the width alone is no limit that any value is known to reach.
                return Integers.within(source.low, source.high, width, source.divisor)
            return source.extend(width, signed=True)
        case arith.AddiOp() | arith.SubiOp() | arith.MuliOp() as op:
            return _BINARY[type(op)](known[op.lhs], known[op.rhs])
        case _:
            return Integers(width)


def _induction_range(low: Integers, high: Integers, step: int | None) -> Integers:
    """The values of the counter of a loop from `low` to `high`, in its body."""
    if step is None or step <= 0:
        return Integers(low.width, low=low.low)
    divisor = Integers.of(step, low.width).join(low).divisor
    last = None
    if high.high is not None:
        last = (high.high - 1) // divisor * divisor
        if low.low is not None and low.low == low.high:
            last = low.low + max(0, high.high - 1 - low.low) // step * step
    return Integers(low.width, low=low.low, high=last, divisor=divisor)


def ancestors(op: Operation) -> Iterator[Operation]:
    """The operations around `op`, innermost first."""
    around = op.parent_op()
    while around is not None:
        yield around
        around = around.parent_op()


def never_runs(op: Operation) -> bool:
    """Returns True if `op` is a loop whose bounds show that its body does not run."""
    if not isinstance(op, scf.ForOp):
        return False
    low, high = constant_value(op.lb), constant_value(op.ub)
    return low is not None and high is not None and low >= high


def trip_count_is_positive(loop: scf.ForOp) -> bool:
    """Returns True if the bounds of a loop show that its body runs at least once."""
    low, high = constant_value(loop.lb), constant_value(loop.ub)
    return low is not None and high is not None and low < high
