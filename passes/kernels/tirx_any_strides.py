"""`tirx-any-strides`: lets kernels take arrays of any strides."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from tirx.dialects.tirx import kernels
from tirx.passes.match.run_time_strides import ANY_STRIDES


class TirxAnyStridesPass(ModulePass):
    """Marks every kernel with `tirx.any_strides`: copies of memrefs with run-time strides have no engine that rests on
    strides of multiples of 16 bytes, but `ld_st`. A written engine holds all the same.
    """

    name = "tirx-any-strides"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            kernel.attributes[ANY_STRIDES] = UnitAttr()
