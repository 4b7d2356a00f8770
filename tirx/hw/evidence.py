"""Grades of evidence that a target has a feature: it is written, it is assembled, it has given numbers."""

from __future__ import annotations

from collections.abc import Mapping

from tirx.hw.features import CAPABILITIES, FEATURES, required_version
from tirx.hw.targets import Target, format_version
from tirx.values import dataclass

PTXAS = "13.5.37"
"""The version of `ptxas` that accepts each of `FEATURES` on the targets that have it, and refuses it on the others."""

_OF_RUBIN = "PTX ISA 9.4, as PTX.jl, CuTe DSL 4.8.1 and Triton read it"

NUMBERS: Mapping[tuple[str, int], str] = {
    ("wgmma", 90): "hardware",
    ("mma.m8n8k4.f64", 90): "hardware",
    ("mma.m16n8k16.f16", 90): "hardware",
    **{
        (feature, 107): "model"
        for feature in (
            *("tcgen05", "tcgen05.block16", "tcgen05.block32", "tcgen05.sparse_mxf4"),
            *("tcgen05.wide_K", "tcgen05.sparsity_version_1", "tcgen05.decompress::lut::b"),
            *("tcgen05.ld.red", "packed_integers", "packed.mixed", "set.packed", "spcompress"),
        )
    },
    ("narrow.arith", 100): "model",
    ("narrow.arith", 103): "model",
}
"""(feature, compute capability times ten) -> who has multiplied with it: a GPU, or only the simulator. Elsewhere nobody
has said."""


@dataclass(frozen=True)
class Evidence:
    """Grades of evidence for a feature on a target.

    `text`: who wrote that it exists. `assembled`: the version of `ptxas` that accepts it, None where `ptxas` knows
    nothing of it. `numbers`: "hardware", "model", or None where nothing has run.
    """

    text: str
    assembled: str | None
    numbers: str | None


def evidence(feature: str, target: Target) -> Evidence:
    """Returns the evidence that a target has a feature. Raises UnsupportedFeature for one that it is not known to have.

    >>> from tirx.hw.evidence import evidence
    >>> from tirx.hw.targets import Target
    >>> evidence("tcgen05.wide_K", Target.parse("sm_107a")).numbers
    'model'
    >>> evidence("tcgen05.wide_K", Target.parse("sm_107a")).text
    'PTX ISA 9.4, as PTX.jl, CuTe DSL 4.8.1 and Triton read it'
    >>> evidence("tcgen05.kind::ti16", Target.parse("sm_107a")).assembled
    '13.5.37'
    >>> evidence("tcgen05.kind::ti16", Target.parse("sm_107a")).text
    'PTX ISA 9.4'
    """
    version = required_version(feature, target)
    text = _OF_RUBIN if target.cc == 107 and feature in CAPABILITIES else f"PTX ISA {format_version(version)}"
    return Evidence(text, PTXAS if feature in FEATURES else None, NUMBERS.get((feature, target.cc)))
