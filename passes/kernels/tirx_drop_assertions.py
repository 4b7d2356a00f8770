"""`tirx-drop-assertions`: leaves assertions out."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.dialects.tirx import AssertOp
from tirx.passes.ir.emitter import erase


class TirxDropAssertionsPass(ModulePass):
    """Erases every `tirx.assert` of a module, in functions that kernels call, too. What computes its condition, and
    nothing else needs, goes later.
    """

    name = "tirx-drop-assertions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in list(op.walk()):
            if isinstance(each, AssertOp):
                erase(each)
