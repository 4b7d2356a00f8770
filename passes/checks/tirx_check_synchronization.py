"""`tirx-check-synchronization`: no access of a kernel comes before one that it has to wait for."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.diagnostics import Errors
from tirx.dialects.ptx.base import PTXInstruction
from tirx.dialects.ptx.core import entries
from tirx.dialects.ptx.effects import NO_EFFECTS


class TirxCheckSynchronizationPass(ModulePass):
    """
    Checks kernels of the ptx dialect for what `ptxas` lets through: a fence, wait, commit or barrier that is missing.

    On every path through a kernel,

    - registers of tcgen05.ld are used, and what tcgen05.ld and st access is accessed otherwise, after tcgen05.wait;
    - what tcgen05.mma, cp and shift access is, but by what is in a pipeline with them, after a tcgen05.commit and a
      wait on its mbarrier, and by tcgen05.ld and st after a tcgen05.fence::after_thread_sync (PTX ISA 9.7.16.6.2 and
      9.7.16.6.4);
    - tensor memory goes from one thread to another with tcgen05.fence::before_thread_sync, a synchronisation, and
      tcgen05.fence::after_thread_sync (9.7.16.6.3), and is given back when all are done with it, and always;
    - shared memory goes from the generic to the async proxy with fence.proxy.async, on either side of the
      synchronisation, and is written again after what reads it (9.7.9.25.2, "Async Proxy");
    - bulk copies announce their bytes and are waited for, mbarriers are initialised before they are used, those of the
      slots of a ring one by one;
    - whoever waits for an mbarrier is told by an arrival, and whoever arrives at one in a loop does not run ahead of
      those that wait for it in a loop: it stops where they stand still, also where several rings connect them;
    - shared and global memory goes from one thread of the block to another with a barrier;
    - global memory goes from threads to bulk tensor copies with fence.proxy.async and a barrier, and what a bulk store
      writes is touched after a wait_group of its thread without `.read`, where the box is at known coordinates.

    An operand that was written with another swizzle than its matrix descriptor reads it with is a warning, where bulk
    tensor copies or stores at known addresses write it.

    Errors are certain: every reported kernel is wrong, if its loops run often enough to come to all slots of a ring.
    Let through is what cannot be known here: addresses that are loaded or depend on loops (the stages of a ring),
    threads that loaded values choose, what all threads synchronise in some turns of a loop only, blocks of more than
    one dimension, memory of other blocks, and what bulk copies touch behind their first 16 bytes.
    Two accesses are only compared where a path through the kernel leads from one to the other: not those of warps with
    parts of their own, between barriers of both.
    """

    name = "tirx-check-synchronization"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        errors = Errors()
        for entry in entries(op):
            if all(not isinstance(each, PTXInstruction) or each.effects() is NO_EFFECTS for each in entry.body.walk()):
                continue
            from tirx.passes.checks.synchronization_rules import check_synchronization  # which not all kernels need

            with errors.attempt():
                check_synchronization(entry)
        errors.raise_all()
