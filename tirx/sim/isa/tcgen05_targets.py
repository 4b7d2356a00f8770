"""Targets of tcgen05, of its forms and of what is new in PTX ISA 9.4 ("Target ISA Notes" of the instructions)."""

from __future__ import annotations

from tirx.sim.isa.decoder import Decoder

_ARCHITECTURES = ("sm_100a", "sm_103a", "sm_107a", "sm_110a")
_RUBIN = ("sm_107a", "sm_107f")
_ALL = ("sm_100a", "sm_100f", "sm_103a", "sm_103f", *_RUBIN, "sm_110a", "sm_110f")

TARGETS: dict[str, tuple[str, ...]] = {
    "tcgen05": _ALL,
    "tcgen05.alloc.exclusive": _ALL,
    "576 columns": ("sm_107a",),
    "tcgen05.scale_input_d": _ALL[:6],
    "tcgen05.kind::i8": ("sm_100a", "sm_110a"),
    "tcgen05.kind::ti16": _RUBIN,
    "tcgen05.decompress::lut::b": _RUBIN,
    "tcgen05.decompress::lut::b.scale_vec::1X": ("sm_107a",),
    "tcgen05.collector::b": _RUBIN,
    "tcgen05.commit.sync_restrict": _RUBIN,
    "multicast::cluster::32b": _RUBIN,
    "override::global_address": _RUBIN,
    "tcgen05.scale_vec::1X": _ARCHITECTURES,
    "tcgen05.scale_vec::2X": _ARCHITECTURES,
    "tcgen05.kind::mxf4nvf4.scale_vec::2X": _ARCHITECTURES,
    "tcgen05.scale_vec::4X": _ARCHITECTURES,
    "tcgen05.block16": _ALL,
    "tcgen05.block32": _ALL,
    "tcgen05.ld.red": _ALL[2:],
    "tcgen05.ld.spcompress": ("sm_107a",),
    "tcgen05.shift": _ARCHITECTURES,
    "tcgen05.sparse_mxf4": _ARCHITECTURES,
}
# Names that targets had before PTX 9.0.
_RENAMED = {"sm_101a": "sm_110a", "sm_101f": "sm_110f"}


def need_feature(decoder: Decoder, feature: str) -> None:
    """Raises SimError unless the module's target has `feature`, a key of `TARGETS`."""
    target, supported = decoder.symbols.target, TARGETS[feature]
    if _RENAMED.get(target, target) not in supported:
        raise decoder.error(f"{feature} does not exist on {target or 'no target'}; supported on {', '.join(supported)}")
