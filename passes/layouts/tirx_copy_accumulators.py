"""`tirx-copy-accumulators`: what a product overwrites and something else reads gets a register of its own."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects.ptx.base import PTXInstruction
from tirx.dialects.ptx.conversion import MovOp
from tirx.dialects.ptx.core import entries
from tirx.dialects.wgmma import FenceOp
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.in_place import in_place_operands


def _place_of_copy(op: PTXInstruction, operand: SSAValue) -> Operation:
    """The operation in front of which `operand` is copied for `op`: the fence that orders registers before products,
    where the operand exists in front of it.
    """
    before = op.prev_op
    while before is not None and before is not operand.owner:
        if isinstance(before, FenceOp):
            return before
        before = before.prev_op
    return op


class TirxCopyAccumulatorsPass(ModulePass):
    """Gives accumulators that an instruction overwrites a register of their own, by `ptx.mov`, where the operand is a
    constant, comes from outside of a loop, or is read again.

    The copies stand before the `wgmma.fence` that the product has.
    """

    name = "tirx-copy-accumulators"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for entry in entries(op):
            for found in list(in_place_operands(entry, problems_only=True)):
                emit = Emitter.before(_place_of_copy(found.op, found.operand))
                found.op.operands[found.operand_index] = emit(MovOp(found.operand, found.operand.type)).result
