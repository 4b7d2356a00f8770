"""`convert-tirx-to-mma`: products of register tiles become `mma.sync` on fragments."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.diagnostics import warn
from tirx.dialects.tirx import MmaOp, MmaSyncOp, MmaSyncPlan, ZeroOp, kernels
from tirx.hw.targets import Target
from tirx.mma.fragments import MmaVariant
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.match.mma_product import is_emulated, planned_steps, product_variants, start_slots
from tirx.passes.match.product import Product, legal
from tirx.rules import StageError


def _warn_if_emulated(mma: MmaOp, variant: MmaVariant, target: Target | None) -> None:
    if target is not None and is_emulated(variant, target):
        warn(
            mma,
            f"mma.m8n8k4 on f16 is emulated on {target.name}: correct, but without tensor cores; "
            "it is native on sm_70 and sm_75",
            "emulated-instruction",
        )


class ConvertTirxToMmaPass(ModulePass):
    """Every `tirx.mma` on register values becomes a chain of `tirx.mma_sync`, one per fragment and step of K.

    Which fragments meet is found from the layouts: an instruction is used only if every lane holds exactly the
    elements that the PTX ISA gives it.
    """

    name = "convert-tirx-to-mma"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            target = kernel.target_info
            for mma in [m for m in kernel.walk() if isinstance(m, MmaOp) and m.result is not None]:
                if mma.plan is None or not isinstance(mma.plan.data, MmaSyncPlan):
                    raise StageError(mma, "expected a plan of mma_sync; tirx-select-instructions chooses it")
                product = Product.of(mma)
                with legal(mma):
                    product_variants(product, None)
                    steps = planned_steps(product, mma.plan.data)
                    slots = start_slots(product, steps)
                _warn_if_emulated(mma, steps[0].variant, target)
                emit = Emitter.before(mma)
                a, b, value = mma.a, mma.b, mma.accumulator
                if product.start is not None:
                    value = emit(ZeroOp(product.accumulator)).result  # instructions overwrite all of it
                for step, slot in zip(steps, slots, strict=True):
                    operands = (a, step.a_reg), (b, step.b_reg), (value, step.c_reg)
                    start = None if slot is None else (mma.accumulator, slot)
                    factors = list(zip(mma.scales, step.scales or (), strict=True))
                    scales = (factors[0], factors[1]) if factors else None
                    codes = None if step.metadata is None or mma.metadata is None else (mma.metadata, *step.metadata)
                    value = emit(MmaSyncOp(step.variant.name, *operands, start, scales, codes)).result
                if mma.result is not None:
                    mma.result.replace_all_uses_with(value)
                erase(mma)
