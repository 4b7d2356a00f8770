"""Modifiers shared by the forms of cp.async.bulk (PTX ISA, sections 9.7.9.25.5 and 9.7.9.26)."""

from __future__ import annotations

from tirx.sim.isa import bulk_reduce, bulk_tensor
from tirx.sim.isa.bulk_linear import linear, wait_group
from tirx.sim.isa.decoder import Decoder
from tirx.sim.program.code import Step


def reduction(decoder: Decoder) -> Step:
    """cp.reduce.async.bulk; `cp.reduce` has been taken."""
    decoder.need("async")
    decoder.need("bulk")
    return bulk_tensor.reduction(decoder) if decoder.flag("tensor") else bulk_reduce.reduction(decoder)


def copy(decoder: Decoder) -> Step:
    """Decodes cp.async.bulk and its relatives; the modifiers `cp.async.bulk` have been taken."""
    if decoder.flag("commit_group"):
        decoder.finish(0)
        return lambda group, mask: group.cta.bulk_copies.commit(group.lanes[mask])
    if decoder.flag("tensor"):
        return bulk_tensor.prefetch(decoder) if decoder.flag("prefetch") else bulk_tensor.copy(decoder)
    if decoder.flag("wait_group"):
        return wait_group(decoder)
    return linear(decoder)
