"""`tirx-check-synchronization`: no access of a kernel comes before one that it has to wait for."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.dialects.ptx.core import EntryOp
from tirx.passes.lowering.synchronization_rules import check_synchronization


@dataclass(frozen=True)
class TirxCheckSynchronizationPass(ModulePass):
    """
    Checks `ptx.entry`s for missing fences, waits, commits and barriers, none of which `ptxas` misses.
    """

    name = "tirx-check-synchronization"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for entry in op.walk():
            if isinstance(entry, EntryOp):
                check_synchronization(entry)
