"""The targets that have tensor memory, forms of tcgen05, and what is new in PTX ISA 9.4 ("Target ISA Notes").

The simulator is the witness of the compiler, so that it has a table of its own: a new target is a name in these rows.
Rows have the names of those of the compiler, with whose table a test compares this one.
"""

from __future__ import annotations

_ARCHITECTURES = ("sm_100a", "sm_103a", "sm_107a", "sm_110a")
_RUBIN = ("sm_107a", "sm_107f")
_FAMILY_100 = ("sm_100a", "sm_100f", "sm_103a", "sm_103f", *_RUBIN)
_ALL = (*_FAMILY_100, "sm_110a", "sm_110f")

TARGETS: dict[str, tuple[str, ...]] = {
    # The most that a CTA may have of shared and of tensor memory.
    "327 KiB": ("sm_107", *_RUBIN),
    "tensor_memory.576_columns": ("sm_107a",),
    # Bits of descriptors that older targets reserve.
    "tcgen05.K96": ("sm_103a", "sm_107a"),
    "tcgen05.wide_K": ("sm_107a",),
    "matrix_descriptor.15_bits": ("sm_107a",),
    "matrix_descriptor.absolute_lbo": ("sm_103a", "sm_107a"),
    # Forms of instructions.
    "cvt.ue5m3x2": _RUBIN,
    "packed_integers": (*_RUBIN, "sm_120a", "sm_120f", "sm_121a", "sm_121f"),
    "narrow.arith": ("sm_100a", "sm_103a"),
    "packed.mixed": _RUBIN,
    "set.packed": _RUBIN,
    "spcompress": ("sm_107a",),
    "tcgen05": _ALL,
    "tcgen05.alloc.exclusive": _ALL,
    "tcgen05.scale_input_d": _FAMILY_100,
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
    "tcgen05.ld.red": ("sm_103a", "sm_103f", *_RUBIN, "sm_110a", "sm_110f"),
    "tcgen05.ld.spcompress": ("sm_107a",),
    "tcgen05.shift": _ARCHITECTURES,
    "tcgen05.sparse_mxf4": _ARCHITECTURES,
}
# Names that targets had before PTX 9.0.
_RENAMED = {"sm_101a": "sm_110a", "sm_101f": "sm_110f"}


def has(target: str, feature: str) -> bool:
    """Returns True if the target of a module has a row of `TARGETS`."""
    return _RENAMED.get(target, target) in TARGETS[feature]
