"""What the decoders of tcgen05 share."""

from __future__ import annotations

from tirx.hw.features import supporting_targets
from tirx.sim.core.strand import Strand
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


def value_of(source: Source, strand: Strand, mask: Mask, lane: int) -> int:
    return int(source(strand, mask)[lane])


def thread_of(strand: Strand, lane: int) -> int:
    """The index in the cluster of the thread of a lane."""
    return int(strand.lanes[lane]) + strand.cta.first_thread


# Names that targets had before PTX 9.0.
_RENAMED = {"sm_101a": "sm_110a", "sm_101f": "sm_110f"}


def need_feature(decoder: Decoder, feature: str) -> None:
    """SimError unless the module's target has `feature` of `tirx.hw.features`."""
    target, supported = decoder.symbols.target, supporting_targets(feature)
    if _RENAMED.get(target, target) not in supported:
        raise decoder.error(f"{feature} does not exist on {target or 'no target'}; supported on {', '.join(supported)}")
