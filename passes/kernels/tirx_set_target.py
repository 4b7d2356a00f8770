"""`tirx-set-target`: overrides the GPU that kernels are compiled for."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import KernelOp, kernels
from tirx.hw.targets import Target, TargetError
from tirx.rules import invalid
from tirx.values import dataclass


@dataclass(frozen=True)
class TirxSetTargetPass(ModulePass):
    """Sets the target of every kernel of the module, for example `tirx-set-target{target=sm_90a}`.

    Raises LocatedError at a kernel when there is no such target, and at an operation that the target does not have.
    Whether the layouts are legal for it is for `tirx-check-layouts` to say.
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
            _check_instructions(kernel)


def _check_instructions(kernel: KernelOp) -> None:
    """Operations that name an instruction verify that the target has it: what they say now is an error of the input."""
    for op in kernel.walk():
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as error:
            raise invalid(op, error) from error
