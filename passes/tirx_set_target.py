"""`tirx-set-target`: overrides the GPU that kernels are compiled for."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import kernels
from tirx.hw.targets import Target, TargetError


@dataclass(frozen=True)
class TirxSetTargetPass(ModulePass):
    """
    Sets the target of every kernel of the module, for example `tirx-set-target{target=sm_90a}`.

    Raises LocatedError at a kernel when there is no such target. Whether the kernel is legal for it is for
    `tirx-check-layouts` to say.
    """

    name = "tirx-set-target"

    target: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            try:
                Target.parse(self.target)
            except TargetError as e:
                raise LocatedError(kernel, str(e)) from e
            kernel.target = StringAttr(self.target)
