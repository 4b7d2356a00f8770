"""Helpers shared by the decoders of tcgen05."""

from __future__ import annotations

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import Mask
from tirx.sim.isa.decoder import Decoder
from tirx.sim.program.code import Source


def warp_wide(decoder: Decoder) -> None:
    decoder.need("sync")
    decoder.need("aligned")


def cta_group(decoder: Decoder) -> int:
    """cta_group: 1, or 2 for a pair of CTAs; all of a kernel must have the same."""
    found = int(decoder.need("cta_group::1", "cta_group::2")[-1])
    symbols = decoder.symbols
    if symbols.cta_group not in (None, found):
        raise decoder.error(
            f"expected .cta_group::{symbols.cta_group} like the tcgen05 instructions before, found .cta_group::{found}"
        )
    symbols.cta_group = found
    return found


def value_of(source: Source, group: ThreadGroup, mask: Mask, lane: int) -> int:
    return int(source(group, mask)[lane])
