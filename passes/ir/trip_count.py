"""The trip count of a loop, as a value."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from tirx.passes.ir.emitter import Emitter, constant_value


def trip_count(emit: Emitter, loop: scf.ForOp) -> SSAValue | int:
    """The number of iterations: 0 where the upper bound is not above the lower one."""
    low, high, step = (constant_value(value) for value in (loop.lb, loop.ub, loop.step))
    if low is not None and high is not None and step is not None and step > 0:
        return max(0, -(-(high - low) // step))
    zero = emit.constant(0, IndexType())
    length = loop.ub if low == 0 else emit.value(arith.SubiOp(loop.ub, loop.lb))
    length = emit.value(arith.MaxSIOp(length, zero))
    trips = length if step == 1 else emit.value(arith.CeilDivUIOp(length, loop.step))
    trips.name_hint = f"{loop.body.block.args[0].name_hint or 'loop'}_trips"
    return trips
