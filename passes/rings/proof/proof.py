"""Proves the rings of one kernel right, with an error at the operation that breaks a rule."""

from __future__ import annotations

from tirx.diagnostics import remark, wants_remarks
from tirx.dialects.tirx import KernelOp, RingOp
from tirx.passes.ir.scheduled import has_barriers
from tirx.passes.rings.proof.errors import located
from tirx.passes.rings.proof.extraction import Extraction
from tirx.passes.rings.proof.lowered import check_barriers
from tirx.passes.rings.proof.overwriting import check_copies
from tirx.passes.rings.proof.progress import check, smallest_slots
from tirx.remarks import FewestSlots


def prove(kernel: KernelOp) -> None:
    """Raises LocatedError if the rings of a kernel, or its barriers once they are lowered, are or may be wrong."""
    with located(kernel):
        _prove(kernel)


def _prove(kernel: KernelOp) -> None:
    if has_barriers(kernel):
        check_barriers(kernel)
        return
    extraction = Extraction(kernel)
    extracted = extraction.run()
    if extracted is None:
        return
    check_copies(extraction)
    check(extracted)
    if not wants_remarks():
        return
    least = smallest_slots(extracted)
    for name, ring in extracted.rings.items():
        if isinstance(ring.origin, RingOp):
            remark(ring.origin, FewestSlots(name, least[name], ring.slots))
