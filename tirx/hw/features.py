"""Which target and PTX version each instruction (or modifier) needs, as a table.

Source: the "PTX ISA Notes" and "Target ISA Notes" of each instruction in the PTX ISA, checked with `ptxas` 13.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tirx.hw.targets import TARGETS, PtxVersion, Target, format_version
from tirx.values import dataclass


@dataclass(frozen=True)
class Since:
    """Available from a PTX version on, for every target whose compute capability (times ten) is at least `cc`."""

    ptx: PtxVersion
    cc: int

    def version(self, target: Target) -> PtxVersion | None:
        """First PTX version in which `target` has the feature; None if it never has."""
        return max(self.ptx, target.min_ptx) if target.cc >= self.cc else None


@dataclass(frozen=True)
class PerTarget:
    """Available for the listed targets only, each from its own PTX version on."""

    first: tuple[tuple[str, PtxVersion], ...]

    def version(self, target: Target) -> PtxVersion | None:
        """First PTX version in which `target` has the feature; None if it never has."""
        return dict(self.first).get(target.name)


Requirement = Since | PerTarget

_FAMILY_120 = ("sm_120a", "sm_120f", "sm_121a", "sm_121f")
"""Arch-specific and family targets without tensor memory."""

_A_AND_F = PerTarget(
    (
        ("sm_100a", (8, 6)),
        ("sm_100f", (8, 8)),
        ("sm_103a", (8, 8)),
        ("sm_103f", (8, 8)),
        ("sm_110a", (9, 0)),
        ("sm_110f", (9, 0)),
    )
)
"""The arch-specific and family targets with tensor memory."""

_A_ONLY = PerTarget((("sm_100a", (8, 6)), ("sm_103a", (8, 8)), ("sm_110a", (9, 0))))
"""The arch-specific targets alone: instructions that no family promises."""

_A_ONLY_FROM_8_7 = PerTarget(tuple((name, max(ptx, (8, 7))) for name, ptx in _A_ONLY.first))

_100_AND_103 = PerTarget(tuple((name, ptx) for name, ptx in _A_AND_F.first if "110" not in name))

_A_AND_F_FROM_8_8 = PerTarget(tuple((name, max(ptx, (8, 8))) for name, ptx in _A_AND_F.first))

_A_AND_F_WITH_120 = PerTarget((*_A_AND_F.first, *((name, TARGETS[name].min_ptx) for name in _FAMILY_120)))

_F8 = PerTarget(
    tuple(
        (name, max((8, 1) if target.cc == 89 else (7, 8), target.min_ptx))
        for name, target in TARGETS.items()
        if target.cc >= 89
    )
)
"""Conversions of 8-bit floats came to sm_89 after sm_90 had them."""

FEATURES: Mapping[str, Requirement] = {
    "bf16.cvt": Since((7, 0), 80),
    "bf16.extend": Since((7, 1), 80),
    "bf16.neg": Since((7, 0), 80),
    "bf16.fma": Since((7, 0), 80),
    "bf16.arith": Since((7, 8), 90),
    "bf16.setp": Since((7, 8), 90),
    "f16.abs": Since((6, 5), 53),
    "f16.ex2": Since((7, 0), 75),
    "bf16.ex2": Since((7, 8), 90),
    "f16.tanh": Since((7, 0), 75),
    "bf16.tanh": Since((7, 8), 90),
    "f32.tanh": Since((7, 0), 75),
    "f16x2.cvt": Since((7, 0), 80),
    "f8x2.cvt": _F8,
    "narrow.cvt": _A_AND_F_WITH_120,
    "f16.minmax": Since((7, 0), 80),
    "bf16.minmax": Since((7, 0), 80),
    "minmax.NaN": Since((7, 0), 80),
    "bar.warp.sync": Since((6, 0), 70),
    "barrier.cluster": Since((8, 0), 90),
    "cluster": Since((7, 8), 90),
    "clusterlaunchcontrol": Since((8, 6), 100),
    "clusterlaunchcontrol.multicast": _A_AND_F_WITH_120,
    "cp.async": Since((7, 0), 80),
    "cp.async.bulk.tensor": Since((8, 0), 90),
    "cp.async.bulk.tensor.cta_group": _A_AND_F,
    "cp.async.bulk.tensor.scatter4": _A_AND_F,
    "cp.async.bulk.tensor.shared::cluster.gather4": _A_AND_F,
    "cp.async.bulk.tensor.shared::cta": Since((8, 6), 90),
    "cp.async.bulk.tensor.shared::cta.gather4": Since((8, 6), 100),
    "cvta.param": Since((7, 7), 70),
    "elect.sync": Since((8, 0), 90),
    "fence.mbarrier_init": Since((8, 0), 90),
    "fence.proxy.async": Since((8, 0), 90),
    "fence.proxy.tensormap": Since((8, 3), 90),
    "griddepcontrol": Since((7, 8), 90),
    "ldmatrix": Since((6, 5), 75),
    "ldmatrix.b8": _A_AND_F_WITH_120,
    "mbarrier": Since((7, 8), 80),
    "mbarrier.arrive.count": Since((7, 8), 90),
    "mbarrier.cluster": Since((8, 0), 90),
    "mbarrier.expect_tx": Since((8, 0), 90),
    "mbarrier.relaxed": Since((8, 6), 90),
    "mbarrier.try_wait": Since((7, 8), 90),
    "mma.m8n8k4.f16": Since((6, 4), 70),
    "mma.m8n8k4.f64": Since((7, 0), 80),
    "mma.m16n8k8.f16": Since((6, 5), 75),
    "mma.m16n8k16.f16": Since((7, 0), 80),
    "mma.m16n8.bf16": Since((7, 0), 80),
    "mma.m16n8.tf32": Since((7, 0), 80),
    "mma.m16n8.i8": Since((7, 0), 80),
    "mma.m16n8.f64": Since((7, 8), 90),
    "mma.m16n8k32.f8.f32": Since((8, 4), 89),
    "mma.m16n8.f8": Since((8, 7), 89),
    "prefetch.tensormap": Since((8, 0), 90),
    "red.bf16": Since((7, 8), 90),
    "red.vector": Since((8, 1), 90),
    "redux.sync": Since((7, 0), 80),
    "redux.sync.f32": _100_AND_103,
    "setmaxnreg": PerTarget((("sm_90a", (8, 0)), *_A_AND_F_WITH_120.first)),
    "shfl.sync": Since((6, 0), 30),
    "stmatrix": Since((7, 8), 90),
    "stmatrix.b8": _A_AND_F_WITH_120,
    "tcgen05": _A_AND_F,
    "tcgen05.scale_input_d": _100_AND_103,
    "tcgen05.kind::i8": PerTarget((("sm_100a", (8, 6)), ("sm_110a", (9, 0)))),
    "tcgen05.scale_vec::1X": _A_ONLY,
    "tcgen05.scale_vec::2X": _A_ONLY,
    "tcgen05.kind::mxf4nvf4.scale_vec::2X": _A_ONLY_FROM_8_7,
    "tcgen05.scale_vec::4X": _A_ONLY_FROM_8_7,
    "tcgen05.block16": _A_AND_F_FROM_8_8,
    "tcgen05.block32": _A_AND_F_FROM_8_8,
    "tcgen05.ld.red": PerTarget((("sm_103a", (8, 8)), ("sm_103f", (8, 8)), ("sm_110a", (9, 0)), ("sm_110f", (9, 0)))),
    "tcgen05.shift": _A_ONLY,
    "tcgen05.sparse_mxf4": _A_ONLY,
    "wgmma": PerTarget((("sm_90a", (8, 0)),)),
    "wgmma.mixed_integers": PerTarget((("sm_90a", (8, 4)),)),
    "wgmma.sparse": PerTarget((("sm_90a", (8, 2)),)),
}
"""Feature name -> requirement. The names are what `PTXInstruction.features` returns."""


class UnsupportedFeature(ValueError):
    """The target has no such instruction; `supported` are the targets that do."""

    rule = "target-feature"

    def __init__(self, feature: str, target: Target, supported: tuple[str, ...]):
        super().__init__(f"'{feature}' does not exist on {target}; supported on {', '.join(supported)}")
        self.feature = feature
        self.target = target
        self.supported = supported


def supporting_targets(feature: str) -> tuple[str, ...]:
    """Names of the targets that have `feature`, oldest first."""
    requirement = FEATURES[feature]
    return tuple(name for name, target in TARGETS.items() if requirement.version(target) is not None)


def required_version(feature: str, target: Target) -> PtxVersion:
    """The smallest PTX version in which `target` has `feature`; UnsupportedFeature if it never has."""
    version = FEATURES[feature].version(target)
    if version is None:
        raise UnsupportedFeature(feature, target, supporting_targets(feature))
    return version


def has_features(features: Iterable[str], target: Target) -> bool:
    """Returns True if `target` has all of `features`."""
    return all(FEATURES[feature].version(target) is not None for feature in features)


def smallest_version(features: frozenset[str], target: Target) -> PtxVersion:
    """The smallest PTX version that knows `target` and all of `features`; UnsupportedFeature as above."""
    return max((required_version(feature, target) for feature in sorted(features)), default=target.min_ptx)


__all__ = [
    "FEATURES",
    "PerTarget",
    "Requirement",
    "Since",
    "UnsupportedFeature",
    "format_version",
    "has_features",
    "required_version",
    "smallest_version",
    "supporting_targets",
]
