"""`tirx-load-operands`: operands of mma.sync that are in shared memory are loaded into registers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.diagnostics import LocatedError, remark
from tirx.dialects.tirx import LoadOp, MemorySpace, MmaOp, TileType, kernels
from tirx.dialects.tirx.product import SHARED_CLAUSES
from tirx.passes.emit.emitter import Emitter
from tirx.passes.plan.families import MMA_SYNC, family_of
from tirx.passes.plan.product import Product
from tirx.passes.plan.wgmma_product import why_not_wgmma


@dataclass(frozen=True)
class TirxLoadOperandsPass(ModulePass):
    """
    Loads the operands of every product by mma.sync that are in shared memory, in front of the product.

    Which products these are depends on target and types: others read shared memory themselves. `tirx-pick-layouts`
    chooses who holds what, and `tirx-prefetch-fragments` splits the loads.
    """

    name = "tirx-load-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            for mma in [inner for inner in kernel.walk() if isinstance(inner, MmaOp)]:
                product = Product.of(mma)
                if mma.result is None or family_of(product) is not MMA_SYNC:
                    continue
                for clause in SHARED_CLAUSES:
                    if getattr(mma, clause) is not None:
                        raise LocatedError(
                            mma,
                            f"expected no clause '{clause}' on a product by mma.sync, found it; wgmma (sm_90a) and "
                            "tcgen05 have it",
                        )
                if (why := why_not_wgmma(product)) is not None:
                    remark(mma, f"mma.sync, because wgmma does not do this product: {why}")
                for index in range(2):
                    tile = mma.operands[index]
                    type_ = TileType.of(tile)
                    if type_.memory is MemorySpace.SHARED:
                        fragment = TileType.get(type_.dims, type_.element_type, MemorySpace.REGISTER, None)
                        load = Emitter.before(mma)(LoadOp(tile, fragment))
                        load.result.name_hint = tile.name_hint
                        mma.operands[index] = load.result
