"""`tirx-load-operands`: operands are brought where the hardware reads them."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.diagnostics import remark, warn
from tirx.dialects.tirx import AllocOp, CopyOp, LoadOp, MemorySpace, MmaOp, TileType, kernels
from tirx.dialects.tirx.product import SHARED_CLAUSES
from tirx.passes.ir.emitter import Emitter
from tirx.passes.match.copy_engines import is_scale_copy
from tirx.passes.match.families import MMA_SYNC, family_of
from tirx.passes.match.product import Product, kernel_around
from tirx.passes.match.wgmma_product import why_not_wgmma, why_slower
from tirx.remarks import MultipliedBySync
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


class TirxLoadOperandsPass(ModulePass):
    """Loads the operands of every product by mma.sync that are in shared memory, in front of the product. Scale factors
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
                for index in range(2):
                    tile = mma.operands[index]
                    type_ = TileType.of(tile)
                    if type_.memory is MemorySpace.SHARED:
                        fragment = TileType.get(type_.dims, type_.element_type, MemorySpace.REGISTER, None)
                        load = Emitter.before(mma)(LoadOp(tile, fragment))
                        load.result.name_hint = tile.name_hint
                        mma.operands[index] = load.result
