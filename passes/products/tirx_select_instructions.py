"""`tirx-select-instructions`: the instructions of every product, decided once and stored on it."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.diagnostics import for_each
from tirx.dialects.tirx import AsyncMmaOp, MmaOp, PlanAttr, kernels
from tirx.passes.match.families import match
from tirx.passes.match.product import Product


class TirxSelectInstructionsPass(ModulePass):
    """Stores on every product of tiles with layouts how it is multiplied: the family, the kind and the shape of the
    instruction.

    Later passes read the plan. One that is written stays where the hardware multiplies in this way, and is an error
    elsewhere.
    """

    name = "tirx-select-instructions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            for_each((inner for inner in kernel.walk() if isinstance(inner, MmaOp | AsyncMmaOp)), _select)


def _select(mma: MmaOp | AsyncMmaOp) -> None:
    mma.plan = PlanAttr(match(mma, Product.of(mma)))
