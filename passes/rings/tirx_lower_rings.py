"""`tirx-lower-rings`: rings, skewed loops and roles become barriers, plain loops and sets of warps."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.dialects.tirx import kernels
from tirx.passes.ir.scheduled import is_scheduling


class TirxLowerRingsPass(ModulePass):
    """
    Lowers the scheduled level: each ring becomes storage of its slots and mbarriers, acquires wait and releases arrive.

    Slot indices and parities are counters of each role, carried through all its loops and never set back. Arrival
    counts, bytes, proxy fences and the threads that issue and arrive follow from who uses a ring. `tirx.for` becomes
    plain loops, `tirx.tiles` a loop with the stride of the grid. Roles stay; `convert-tirx-to-ptx` gives them their
    warps. Products of registers and their `tirx.await` stay, too.
    """

    name = "tirx-lower-rings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            if any(is_scheduling(inner) for inner in kernel.body.block.ops):
                from tirx.passes.rings.scheduled_kernel import lower_kernel  # imports what only such kernels need

                lower_kernel(kernel)
