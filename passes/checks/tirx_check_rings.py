"""`tirx-check-rings`: rings neither deadlock nor lose a value, whatever the numbers of iterations."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.diagnostics import for_each
from tirx.dialects.tirx import kernels
from tirx.passes.ir.scheduled import has_lowered_rings, is_scheduling


class TirxCheckRingsPass(ModulePass):
    """
    Proves for every kernel with rings, for all numbers of iterations and all conditions: no party waits for ever, no
    slot is overwritten while somebody reads it, no stale value is read, and asynchronous work is awaited.

    An error names the two operations and the interleaving, or says that the check cannot decide. A remark says
    with how few slots each ring is right.

    Behind `tirx-lower-rings` it reads the mbarriers back: each expects just the arrivals that all roles make for a use,
    and the bytes of the copies that fill it.
    """

    name = "tirx-check-rings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [kernel for kernel in kernels(op) if has_lowered_rings(kernel) or is_scheduling(kernel)]
        if found:
            from tirx.passes.rings.proof.proof import prove  # imports what only such kernels need

            for_each(found, prove)
