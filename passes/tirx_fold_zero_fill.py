"""`tirx-fold-zero-fill`: the first product overwrites the accumulator instead of a fill with zeros."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, i1
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects.tirx import (
    AsyncMmaOp,
    FillOp,
    MemorySpace,
    MmaOp,
    SplatOp,
    TileType,
    ZeroOp,
    base_allocation,
    kernels,
)
from tirx.dialects.wgmma import UninitializedOp
from tirx.passes.analysis.index_analysis import trip_count_is_positive
from tirx.passes.emit.emitter import Emitter
from tirx.passes.plan.families import is_of_warpgroups


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


def _start_of(value: SSAValue, user: Operation) -> tuple[SSAValue, list[scf.ForOp]] | None:
    """
    What an accumulator that only `user` reads starts as, with the loops that carry it, the outermost last.

    None where something else reads it, or a loop may not run.
    """
    loops: list[scf.ForOp] = []
    while value.has_one_use():
        if not isinstance(value, BlockArgument):
            return value, loops
        loop = value.owner.parent_op()
        if not isinstance(loop, scf.ForOp) or user.parent_op() is not loop or not trip_count_is_positive(loop):
            return None
        loops.append(loop)
        value, user = loop.iter_args[value.index - 1], loop
    return None


def _is_zero_tile(value: SSAValue) -> bool:
    match value.owner:
        case SplatOp() as op:
            return _is_zero(op.value)
        case owner:
            return isinstance(owner, ZeroOp)


def _fold_value(mma: MmaOp | AsyncMmaOp) -> None:
    """Lets a warpgroup's product overwrite an accumulator that starts at zero."""
    if mma.accumulate is not None or not is_of_warpgroups(mma):
        return
    loops: list[scf.ForOp] = []
    if not _is_zero_tile(mma.accumulator):
        found = _start_of(mma.accumulator, mma)
        if found is None or not _is_zero_tile(start := found[0]):
            return
        loops, first = found[1], start.owner
        assert isinstance(first, Operation)
        uninitialized = Emitter.before(first)(UninitializedOp(TileType.of(start))).tile
        start.replace_all_uses_with(uninitialized)
        first.detach()
        first.erase()
    accumulate = _is_later(Emitter.before(mma), loops)
    product = Emitter.before(mma)(mma.with_accumulate(accumulate))
    for old, new in zip(mma.results, product.results, strict=True):
        old.replace_all_uses_with(new)
    mma.detach()
    mma.erase()


def _is_later(emit: Emitter, loops: Sequence[scf.ForOp]) -> SSAValue:
    """Emits a predicate that holds in all iterations but the first of all these loops together."""
    later: SSAValue | None = None
    for loop in loops:
        here = emit(arith.CmpiOp(loop.body.block.args[0], loop.lb, "ne")).result
        later = here if later is None else emit(arith.OrIOp(later, here)).result
    return emit.constant(0, i1) if later is None else later


@dataclass(frozen=True)
class TirxFoldZeroFillPass(ModulePass):
    """
    `tirx.fill %acc, 0` followed by products becomes `accumulate(%p)` on the first product, with `%p` false the
    first time it runs. For tensor memory, where the hardware has this as `enable-input-d`, and for accumulators of
    wgmma (`scale-d`), which then need no start value. A product that is -0 stays -0, where 0 + -0 would be 0.
    """

    name = "tirx-fold-zero-fill"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for fill in [f for kernel in kernels(op) for f in kernel.walk() if isinstance(f, FillOp)]:
            if fill.tile_type.memory is not MemorySpace.TENSOR or not _is_zero(fill.value):
                continue
            if (found := _overwriting_mma(fill)) is None:
                continue
            mma, loops = found
            emit = Emitter.before(mma)
            emit(mma.with_accumulate(_is_later(emit, loops)))
            mma.detach()
            mma.erase()
            fill.detach()
            fill.erase()
        for kernel in kernels(op):
            for mma in list(kernel.walk()):
                if isinstance(mma, MmaOp | AsyncMmaOp) and mma.result is not None:
                    _fold_value(mma)
