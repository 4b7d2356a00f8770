"""Proves the rings of one kernel right, with an error at the operation that breaks a rule."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from tirx.diagnostics import remark, wants_remarks
from tirx.dialects.nesting import walk
from tirx.dialects.tirx import KernelOp, RingOp
from tirx.dialects.xdsl_private import blocks, operands_of, successors_of, type_of
from tirx.passes.ir.scheduled import has_lowered_rings
from tirx.passes.rings.proof.errors import located
from tirx.passes.rings.proof.extraction import Extraction
from tirx.passes.rings.proof.lowered import check_barriers
from tirx.passes.rings.proof.overwriting import check_copies
from tirx.passes.rings.proof.progress import check, smallest_slots
from tirx.remarks import FewestSlots


def prove(kernel: KernelOp) -> Extraction | None:
    """Raises LocatedError if the rings of a kernel, or its barriers once they are lowered, are or may be wrong.

    A kernel that is as it was when it was proved the last time is right still. Returns the programs of its roles, which
    hold until the kernel changes; None where they are not known.
    """
    if has_lowered_rings(kernel):
        with located(kernel):
            check_barriers(kernel)
        return None
    now = _state(kernel)
    if not wants_remarks() and _PROVED.get(kernel) == now:
        return vars(kernel).get(_PROGRAMS)
    with located(kernel):
        extraction = _prove(kernel)
    _PROVED[kernel] = now
    vars(kernel)[_PROGRAMS] = extraction
    return extraction


def take_programs(kernel: KernelOp) -> Extraction | None:
    """Returns the programs of the roles of a kernel that is as it was when it was proved, for whom changes it.

    They are forgotten; None for another kernel.
    """
    programs = vars(kernel).pop(_PROGRAMS, None)
    return programs if programs is not None and _PROVED.get(kernel) == _state(kernel) else None


_PROVED = WeakKeyDictionary[KernelOp, list[object]]()
"""What kernels were when they were proved; copies of a kernel are other ones. It must not hold the IR of any."""

_PROGRAMS = "proved_programs"
"""The attribute of the object of a kernel with the programs of its roles: it holds them, since they hold its IR."""


def _state(kernel: KernelOp) -> list[object]:
    """All that a pass can change of a kernel.

    IR goes by its identity. Where another operation has that of one that is gone, it says the same in the same place.
    """
    state: list[object] = []
    for op in walk(kernel):
        state += id(op), type(op), id(op.parent), *map(id, operands_of(op)), None, *op.properties.items()
        if op.results:
            state += None, *map(id, op.results), *map(type_of, op.results)
        if op.attributes:
            state.append(dict(op.attributes))
        if successors := successors_of(op):
            state += map(id, successors)
        for region in op.regions:
            for block in blocks(region):
                state += id(block), *map(id, block.args), *map(type_of, block.args)
    return state


def _prove(kernel: KernelOp) -> Extraction | None:
    extraction = Extraction(kernel)
    extracted = extraction.model
    if extracted is None:
        return None
    check_copies(extraction)
    extraction.happens = check(extracted)
    if not wants_remarks():
        return extraction
    least = smallest_slots(extracted)
    for name, ring in extracted.rings.items():
        if isinstance(ring.origin, RingOp):
            remark(ring.origin, FewestSlots(name, least[name], ring.slots))
    return extraction
