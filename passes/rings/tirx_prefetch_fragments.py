"""`tirx-prefetch-fragments`: the fragments of a step are loaded before those of the last one are multiplied."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.diagnostics import remark
from tirx.dialects.tirx import ForOp, KernelOp, LoadOp, MmaOp, kernels
from tirx.dialects.traits import is_pure
from tirx.passes.ir.emitter import Emitter
from tirx.passes.rings.attempt import attempt, prove_together
from tirx.remarks import MultipliedInSteps
from tirx.values import dataclass

if TYPE_CHECKING:
    from tirx.passes.products.fragment_steps import StagedProduct, Steps


@dataclass(frozen=True)
class TirxPrefetchFragmentsPass(ModulePass):
    """Splits products of mma.sync, and the loads of their operands from shared memory, into steps along K.

    The fragments of a step are loaded before the products of the step before, so that a thread holds those of two steps
    at a time. In a loop over the slots of a ring the first fragments of the next slot are loaded before the last
    products of this one; `next_slot=false` leaves that out. Sums are the same, in the same order.
    """

    name = "tirx-prefetch-fragments"

    next_slot: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            prove_together(kernel, self.name, partial(self._prefetch, kernel))

    def _prefetch(self, kernel: KernelOp) -> None:
        if not any(isinstance(inner, MmaOp) for inner in kernel.walk()):
            return
        from tirx.passes.products.fragment_steps import StagedProduct, plan_steps
        from tirx.passes.rings.next_slot import prefetch_next_slots  # imports what only such kernels need

        loops = [inner for inner in kernel.walk() if isinstance(inner, ForOp)]
        if self.next_slot and loops:
            attempt(kernel, "loads no fragments of the next slot ahead", partial(prefetch_next_slots, loops))
        for mma in [inner for inner in kernel.walk() if isinstance(inner, MmaOp)]:
            product = StagedProduct.of(mma)
            if product is None or not _loads_may_move(product):
                continue
            steps = plan_steps(product)
            if steps.count > 1:
                remark(mma, MultipliedInSteps(steps.count, steps.size))
                _split(steps)


def _loads_may_move(product: StagedProduct) -> bool:
    """Returns True if nothing between the loads and the product may write what they load."""
    op: Operation | None = product.mma.prev_op
    missing = {product.a, product.b}
    while op is not None and missing:
        missing.discard(op)  # pyright: ignore[reportArgumentType]
        multiplies = isinstance(op, MmaOp) and op.result is not None
        if not (isinstance(op, LoadOp) or multiplies or is_pure(op)):
            return False
        op = op.prev_op
    return not missing


def _split(steps: Steps) -> None:
    """Replaces a product and its loads by steps, where the product is."""
    product = steps.product
    mma = product.mma
    emit = Emitter.before(mma)
    sources = product.a.source, product.b.source
    total: SSAValue = mma.accumulator
    fragments = steps.load(0, emit, sources)
    for index in range(steps.count):
        following = steps.load(index + 1, emit, sources) if index + 1 < steps.count else fragments
        total = steps.multiply(emit, fragments, total)
        fragments = following
    assert mma.result is not None
    mma.result.replace_all_uses_with(total)
    product.erase()
