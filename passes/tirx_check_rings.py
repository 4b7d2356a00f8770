"""`tirx-check-rings`: rings neither deadlock nor lose a value, whatever the numbers of iterations."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tirx.diagnostics import LocatedError, Note, nearest_location, remark, wants_remarks
from tirx.dialects.tirx import KernelOp, RingOp, kernels
from tirx.passes.analysis.rings.extraction import Extraction
from tirx.passes.analysis.rings.lowered import check_barriers, has_barriers
from tirx.passes.analysis.rings.model import RingError
from tirx.passes.analysis.rings.progress import check, smallest_slots


def _located(error: RingError, kernel: KernelOp) -> LocatedError:
    origin = error.origin if isinstance(error.origin, Operation) else kernel
    notes = [Note(text, nearest_location(op)) for text, op in error.others if isinstance(op, Operation)]
    return LocatedError(origin, error.message, notes)


@dataclass(frozen=True)
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
        for kernel in kernels(op):
            try:
                _check(kernel)
            except RingError as error:
                raise _located(error, kernel) from error


def _check(kernel: KernelOp) -> None:
    if has_barriers(kernel):
        check_barriers(kernel)
        return
    extracted = Extraction(kernel).run()
    if extracted is None:
        return
    check(extracted)
    if not wants_remarks():
        return
    least = smallest_slots(extracted)
    for name, ring in extracted.rings.items():
        if isinstance(ring.origin, RingOp):
            remark(ring.origin, f"{name} is right with {least[name]} or more slots, found {ring.slots}")
