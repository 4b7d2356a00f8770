"""`tirx-fold-zero-fill`: the first product overwrites the accumulator instead of a fill with zeros."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, i1
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects.tirx import FillOp, MemorySpace, MmaOp, base_allocation
from tirx.passes.analysis.index_analysis import trip_count_is_positive
from tirx.passes.emit.emitter import Emitter


def _is_zero(value: SSAValue) -> bool:
    if not isinstance(op := value.owner, arith.ConstantOp):
        return False
    match op.value:
        case FloatAttr(value=data):
            # -0.0 + x is x, but 0.0 + -0.0 is 0.0: only the positive zero is what the product without input adds to.
            return data.data == 0.0 and str(data.data) == "0.0"
        case IntegerAttr(value=data):
            return data.data == 0
        case _:
            return False


def _touches(op: Operation, tile: SSAValue) -> bool:
    """Returns True if `op`, or an operation inside it, uses a view of the same allocation as `tile`."""
    root = base_allocation(tile)
    return any(base_allocation(operand) is root for inner in op.walk() for operand in inner.operands)


def _first_touch(op: Operation | None, tile: SSAValue) -> Operation | None:
    while op is not None and not _touches(op, tile):
        op = op.next_op
    return op


def _overwriting_mma(fill: FillOp) -> tuple[MmaOp, list[scf.ForOp]] | None:
    """Returns the product that uses the tile first on every path behind the fill, with the loops around it."""
    loops: list[scf.ForOp] = []
    op = _first_touch(fill.next_op, fill.tile)
    while isinstance(op, scf.ForOp) and trip_count_is_positive(op):
        loops.append(op)
        op = _first_touch(op.body.block.first_op, fill.tile)
    if isinstance(op, MmaOp) and op.accumulator is fill.tile and op.accumulate is None:
        return op, loops
    return None


@dataclass(frozen=True)
class TirxFoldZeroFillPass(ModulePass):
    """
    `tirx.fill %acc, 0` followed by products becomes `accumulate(%p)` on the first product, with `%p` false the
    first time it runs. Only for tensor memory, where the hardware has this as `enable-input-d`. A product that is -0
    stays -0, where 0 + -0 would be 0.
    """

    name = "tirx-fold-zero-fill"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for fill in [f for f in op.walk() if isinstance(f, FillOp)]:
            if fill.tile_type.memory is not MemorySpace.TENSOR or not _is_zero(fill.value):
                continue
            if (found := _overwriting_mma(fill)) is None:
                continue
            mma, loops = found
            emit = Emitter.before(mma)
            accumulate: SSAValue | None = None
            for loop in loops:
                later = emit(arith.CmpiOp(loop.body.block.args[0], loop.lb, "ne")).result
                accumulate = later if accumulate is None else emit(arith.OrIOp(accumulate, later)).result
            if accumulate is None:
                accumulate = emit.constant(0, i1)
            emit(mma.with_accumulate(accumulate))
            mma.detach()
            mma.erase()
            fill.detach()
            fill.erase()
