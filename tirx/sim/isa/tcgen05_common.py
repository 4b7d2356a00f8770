"""What the decoders of tcgen05 share."""

from __future__ import annotations

from tirx.ptx.features import supporting_targets
from tirx.sim.core.strand import Strand
from tirx.sim.core.types import Mask
from tirx.sim.isa.decoder import Decoder
from tirx.sim.program.code import Source


def warp_wide(decoder: Decoder) -> None:
    decoder.need("sync")
    decoder.need("aligned")


def cta_group(decoder: Decoder) -> int:
    """cta_group: 1, or 2 for a pair of CTAs."""
    return int(decoder.need("cta_group::1", "cta_group::2")[-1])


def value_of(source: Source, strand: Strand, mask: Mask, lane: int) -> int:
    return int(source(strand, mask)[lane])


def thread_of(strand: Strand, lane: int) -> int:
    """The index in the cluster of the thread of a lane."""
    return int(strand.lanes[lane]) + strand.cta.first_thread


def need_feature(decoder: Decoder, feature: str) -> None:
    """SimError unless the module's target has `feature` of `tirx.ptx.features`."""
    target, supported = decoder.symbols.target, supporting_targets(feature)
    if target not in supported:
        raise decoder.error(f"{feature} does not exist on {target or 'no target'}; supported on {', '.join(supported)}")
