"""`tirx-load-operands`: operands are brought where the hardware reads them."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f16
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.diagnostics import remark, warn
from tirx.dialects.tirx import AllocOp, CopyOp, LoadOp, MapOp, MemorySpace, MmaOp, SubviewOp, TileType, YieldOp, kernels
from tirx.dialects.tirx.product import SHARED_CLAUSES
from tirx.passes.ir.emitter import Emitter, erase, take_over
from tirx.passes.match.copy_engines import is_scale_copy
from tirx.passes.match.families import MMA_SYNC, family_of
from tirx.passes.match.mma_product import why_widened
from tirx.passes.match.product import Product, kernel_around
from tirx.passes.match.wgmma_product import why_not_wgmma, why_slower
from tirx.remarks import MultipliedBySync, MultipliedWide
from tirx.rules import FamilyClauseError


def _stage(copy: CopyOp) -> None:
    """Takes a copy from global memory through a shared tile."""
    start = kernel_around(copy)
    first = None if start is None else start.body.block.first_op
    assert first is not None
    staged = Emitter.before(first)(AllocOp(copy.source_type.in_memory(MemorySpace.SHARED))).result
    staged.owner.location = copy.location
    staged.name_hint = copy.source.name_hint
    Emitter.before(copy)(CopyOp(copy.source, staged))
    copy.operands[0] = staged


def _loaded(mma: MmaOp, tile: SSAValue) -> SSAValue:
    """The register tile of an operand."""
    type_ = TileType.of(tile)
    if type_.memory is not MemorySpace.SHARED:
        return tile
    fragment = TileType.get(type_.dims, type_.element_type, MemorySpace.REGISTER, None)
    load = Emitter.before(mma)(LoadOp(tile, fragment))
    load.result.name_hint = tile.name_hint
    return load.result


_WIDE_DEPTH = 32
"""Elements along K that are widened at a time: the registers of all of K would be too many."""


def _multiply_wide(mma: MmaOp) -> None:
    """Multiplies floats of 8 bits in f16, which has all their numbers, a part of K at a time."""
    depth, emit = mma.a_type.dims[-1], Emitter.before(mma)
    shared = all(TileType.of(tile).memory is MemorySpace.SHARED for tile in (mma.a, mma.b))
    whole = not shared or mma.accumulate is not None or mma.is_widening
    step = depth if whole else min(depth, _WIDE_DEPTH)
    sums: SSAValue = mma.accumulator
    for start in range(0, depth, step):
        product = mma.clone()
        for index in range(2):
            tile = mma.operands[index]
            if not whole:
                *outer, _ = dims = TileType.of(tile).dims
                part = (*outer, min(step, depth - start))
                tile = emit(SubviewOp.of(tile, (*[0] * (len(dims) - 1), start), part)).result
            product.operands[index] = _widened(mma, _loaded(mma, tile))
        product.operands[2] = sums
        (sums,) = emit(product).results
    assert mma.result is not None
    take_over(mma.result, sums)
    erase(mma)


def _widened(mma: MmaOp, tile: SSAValue) -> SSAValue:
    """The elements of a register tile in f16."""
    type_ = TileType.of(tile)
    body = Block(arg_types=[type_.element_type])
    wide = Emitter(InsertPoint.at_end(body), mma.location)
    wide(YieldOp(wide(arith.ExtFOp(body.args[0], f16)).result))
    result = TileType.get(type_.dims, f16, MemorySpace.REGISTER, type_.layout)
    widened = Emitter.before(mma)(MapOp([tile], Region(body), [result])).res[0]
    widened.name_hint = tile.name_hint
    return widened


class TirxLoadOperandsPass(ModulePass):
    """Loads the operands of every product by mma.sync that are in shared memory, in front of the product. Floats
    of 8 bits are multiplied in f16, which has their numbers, by targets that have no products of them. Scale factors
    that are copied from global to tensor memory go through a tile of shared memory, from which tcgen05.cp copies them
    to all partitions of lanes.

    Which products are by mma.sync depends on target and types: others read shared memory themselves.
    `tirx-pick-layouts` chooses who holds what, and `tirx-prefetch-fragments` splits the loads.
    """

    name = "tirx-load-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            for copy in [inner for inner in kernel.walk() if isinstance(inner, CopyOp)]:
                if copy.source_type.memory is MemorySpace.GLOBAL and is_scale_copy(copy):
                    _stage(copy)
            for mma in [inner for inner in kernel.walk() if isinstance(inner, MmaOp)]:
                product = Product.of(mma)
                if mma.result is None or family_of(product) is not MMA_SYNC:
                    continue
                for clause in SHARED_CLAUSES:
                    if getattr(mma, clause) is not None:
                        raise FamilyClauseError(
                            mma,
                            f"expected no clause '{clause}' on a product by mma.sync, found it; wgmma (sm_90a) and "
                            "tcgen05 have it",
                        )
                if (why := why_slower(product)) is not None:
                    warn(mma, f"multiplied by mma.sync instead of wgmma: {why}", "slower-product")
                elif (why := why_not_wgmma(product)) is not None:
                    remark(mma, MultipliedBySync(why))
                if (missing := why_widened(product)) is not None:
                    remark(mma, MultipliedWide(str(f16), missing))
                    _multiply_wide(mma)
                    continue
                for index in range(2):
                    mma.operands[index] = _loaded(mma, mma.operands[index])
