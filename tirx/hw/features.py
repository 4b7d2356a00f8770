"""Capabilities of targets, asked by name: the targets and PTX versions that have each instruction (or modifier).

Source: the "PTX ISA Notes" and "Target ISA Notes" of each instruction in the PTX ISA, checked with `ptxas` 13.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tirx.hw.targets import TARGETS, PtxVersion, Target, format_version
from tirx.values import dataclass


@dataclass(frozen=True)
class Since:
    """Available from a PTX version on, for every target whose compute capability (times ten) is at least `cc`.

    `before`: the compute capability that has it no longer. `later`: targets which got it in a later version.
    """

    ptx: PtxVersion
    cc: int
    before: int | None = None
    later: tuple[tuple[str, PtxVersion], ...] = ()

    def has(self, target: Target) -> bool:
        """Returns True if `target` has the feature."""
        return self.cc <= target.cc and (self.before is None or target.cc < self.before)

    def version(self, target: Target) -> PtxVersion | None:
        """First PTX version in which `target` has the feature; None if it never has."""
        return max(dict(self.later).get(target.name, self.ptx), target.min_ptx) if self.has(target) else None


@dataclass(frozen=True)
class Specific:
    """Available from a PTX version on, for architecture- and family-specific targets that are named.

    A name in `a` is that target. One in `f` is a family: all targets that have what this one has. `lacks`: those that
    are known not to have the feature, in the same notation. `unknown`: target and the reason why nobody can tell. Other
    targets with a suffix `a` are refused because nobody has looked, and ones with `f` because no family promises the
    feature. Targets without a suffix never have it.
    """

    ptx: PtxVersion
    on: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()

    def has(self, target: Target) -> bool | None:
        """Returns True if `target` has the feature, None if that is not known."""
        if target.suffix == "" or target.name in dict(self.unknown):
            return None if target.suffix else False
        for names, verdict in ((self.on, True), (self.lacks, False)):
            if target.name in names:
                return verdict
        for names, verdict in ((self.on, True), (self.lacks, False)):
            if any(name.endswith("f") and target.is_of_family(TARGETS[name]) for name in names):
                return verdict
        promised = any(name.endswith("f") for name in self.on)
        return None if promised or target.suffix == "a" else False

    def version(self, target: Target) -> PtxVersion | None:
        """First PTX version in which `target` has the feature; None if it never has, or nobody knows."""
        return max(self.ptx, target.min_ptx) if self.has(target) else None


Requirement = Since | Specific

_TENSOR_MEMORY = ("sm_100f", "sm_110f")
"""The families with tensor memory."""

_OTHERS = ("sm_90a", "sm_120f")
"""Specific targets and families without tensor memory."""

_NARROW = Specific((8, 6), (*_TENSOR_MEMORY, "sm_120f"), lacks=("sm_90a",))
_TCGEN05 = Specific((8, 6), _TENSOR_MEMORY, lacks=_OTHERS)
_TCGEN05_FROM_8_8 = Specific((8, 8), _TENSOR_MEMORY, lacks=_OTHERS)

_CHIPS = ("sm_100a", "sm_103a", "sm_107a", "sm_110a")
_NO_FAMILY = Specific((8, 6), _CHIPS, lacks=_OTHERS)
"""Instructions of each chip with tensor memory that no family promises."""

_NO_FAMILY_FROM_8_7 = Specific((8, 7), _CHIPS, lacks=_OTHERS)
_SPECIFIC = Specific((8, 0), ("sm_90a", *_TENSOR_MEMORY, "sm_120f"))
_FAMILY_100 = Specific((8, 6), ("sm_100f",), lacks=("sm_110f", *_OTHERS))
_K96 = Specific((8, 8), ("sm_103a", "sm_107a"), lacks=("sm_100a", "sm_110a", *_OTHERS))
_NOT_RUBIN = ("sm_100f", "sm_110f", *_OTHERS)
_RUBIN = Specific((9, 4), ("sm_107f",), lacks=_NOT_RUBIN)
_RUBIN_CHIP = Specific((9, 4), ("sm_107a",), lacks=_NOT_RUBIN)
_WIDE_K = Specific(
    *((9, 4), ("sm_107a",), _NOT_RUBIN),
    unknown=(("sm_107f", "a bit of a descriptor, of which ptxas says nothing and no compiler was seen to make use"),),
)
_DESKTOP = Specific((8, 7), ("sm_120f",), lacks=("sm_90a", *_TENSOR_MEMORY))
_NOT_WGMMA = (*_TENSOR_MEMORY, "sm_120f")

FEATURES: Mapping[str, Requirement] = {
    "bf16.cvt": Since((7, 0), 80),
    "bf16.cvt.integer": Since((7, 8), 90),
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
    "f16.cvt.satfinite": Since((8, 1), 80),
    "f16x2.cvt": Since((7, 0), 80),
    "f32.mixed": Since((8, 6), 100),
    "f32x2": Since((8, 6), 100),
    "f8x2.cvt": Since((7, 8), 89, later=(("sm_89", (8, 1)),)),
    "narrow.cvt": _NARROW,
    "narrow.cvt.to_bf16x2": Specific((9, 2), (*_TENSOR_MEMORY, "sm_120f"), lacks=("sm_90a",)),
    "narrow.cvt.from_bf16x2": Specific((9, 1), (*_TENSOR_MEMORY, "sm_120f"), lacks=("sm_90a",)),
    "narrow.cvt.rz": _RUBIN,
    "narrow.cvt.scaled::n1": _RUBIN,
    "cvt.pzo": _RUBIN,
    "cvt.rs": Specific((8, 7), ("sm_100a", "sm_103a", "sm_107a"), lacks=("sm_110a", *_OTHERS)),
    "cvt.s2f6x2": Specific((9, 1), (*_CHIPS, "sm_120a", "sm_121a"), lacks=("sm_90a",)),
    "cvt.tf32.satfinite": Since((8, 6), 100),
    "cvt.ue5m3x2": _RUBIN,
    "f16.minmax": Since((7, 0), 80),
    "bf16.minmax": Since((7, 0), 80),
    "minmax.NaN": Since((7, 0), 80),
    "applypriority.async.bulk": _RUBIN,
    "atom.b16": Since((6, 3), 70),
    "bar.warp.sync": Since((6, 0), 70),
    "barrier.cluster": Since((8, 0), 90),
    "cluster": Since((7, 8), 90),
    "clmad": Since((9, 3), 80),
    "clusterlaunchcontrol": Since((8, 6), 100),
    "clusterlaunchcontrol.multicast": _NARROW,
    "cp.async": Since((7, 0), 80),
    "cp.async.bulk.cp_mask": Since((8, 6), 100),
    "cp.async.bulk.ignore_oob": Since((9, 2), 90),
    "cp.async.bulk.multicast::cluster::16b": Since((9, 4), 90),
    "cp.async.bulk.multicast::cluster::32b": _RUBIN,
    "cp.async.bulk.prefetch.evict_last": _RUBIN,
    "cp.async.bulk.relaxed": Since((9, 3), 90),
    "cp.async.bulk.relaxed.shared::cluster": Specific((9, 3), ("sm_90a", *_TENSOR_MEMORY), lacks=("sm_120f",)),
    "cp.async.bulk.tensor": Since((8, 0), 90),
    "cp.async.bulk.tensor.cta_group": _TCGEN05,
    "cp.async.bulk.tensor.im2col::w": _TCGEN05,
    "cp.async.bulk.tensor.im2col_no_offs::w": _RUBIN,
    "cp.async.bulk.tensor.override": _RUBIN,
    "cp.async.bulk.tensor.report": _RUBIN,
    "cp.async.bulk.tensor.scatter4": _TCGEN05,
    "cp.async.bulk.tensor.shared::cluster.gather4": _TCGEN05,
    "cp.async.bulk.tensor.shared::cta": Since((8, 6), 90),
    "cp.async.bulk.tensor.shared::cta.gather4": Since((8, 6), 100),
    "cp.async.bulk.tensor.shared::cta.im2col::w": Since((8, 6), 100),
    "cp.async.bulk.wait_group.sync_restrict": Since((9, 5), 90),
    "cvta.param": Since((7, 7), 70),
    "elect.sync": Since((8, 0), 90),
    "fence.mbarrier_init": Since((8, 0), 90),
    "fabric": Since((9, 3), 100),
    "fabric.groups": Since((9, 5), 100),
    "fence.alias.sync_restrict": Since((9, 5), 90),
    "fence.proxy.alias.acquire": Since((9, 4), 90),
    "fence.proxy.async": Since((8, 0), 90),
    "fence.proxy.tensormap": Since((8, 3), 90),
    "griddepcontrol": Since((7, 8), 90),
    "ldmatrix": Since((6, 5), 75),
    "ldmatrix.b8": _NARROW,
    "ldmatrix.s8.s4": Specific((9, 4), ("sm_90a", *_TENSOR_MEMORY, "sm_120f")),
    "ld.proxy::readonly": Since((9, 4), 90),
    "locality_domain": Since((9, 5), 100),
    "mbarrier": Since((7, 8), 80),
    "mbarrier.arrive.count": Since((7, 8), 90),
    "mbarrier.cluster": Since((8, 0), 90),
    "mbarrier.layout": Since((9, 3), 90),
    "mbarrier.multicast::cluster::32b": _RUBIN,
    "mbarrier.phase_type": Since((9, 3), 90),
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
    "mma.block_scale": _DESKTOP,
    "mma.block_scale.4X.ue8m0": Specific((9, 1), ("sm_120f",), lacks=("sm_90a", *_TENSOR_MEMORY)),
    "mma.kind::f8f6f4": _DESKTOP,
    "mma.sp": Since((8, 5), 80),
    "mma.sp.f8": Since((8, 5), 89),
    "mma.m16n8k32.f8.f32": Since((8, 4), 89),
    "mma.m16n8.f8": Since((8, 7), 89),
    "mmio": Since((8, 2), 70),
    "mmio.ordered": Since((9, 3), 70),
    "multimem": Since((8, 1), 90),
    "multimem.async": Since((9, 3), 100),
    "multimem.cp.async.bulk": Since((9, 1), 90),
    "narrow.arith": Specific((9, 4), ("sm_100a", "sm_103a"), lacks=("sm_107a", "sm_110a", *_OTHERS)),
    "packed_integers": Specific((9, 2), ("sm_107f", "sm_120f"), lacks=("sm_90a", *_TENSOR_MEMORY)),
    "nanosleep": Since((6, 2), 70),
    "packed.mixed": _RUBIN,
    "prefetch.tensormap": Since((8, 0), 90),
    "prefetch.valid_addr": Since((9, 4), 90),
    "red.noftz.f32": Since((9, 4), 90),
    "red.bf16": Since((7, 8), 90),
    "red.f16": Since((6, 3), 70),
    "red.f16x2": Since((6, 2), 60),
    "red.vector": Since((8, 1), 90),
    "redux.sync": Since((7, 0), 80),
    "redux.sync.f32": _FAMILY_100,
    "set.packed": _RUBIN,
    "setmaxnreg": _SPECIFIC,
    "shfl.sync": Since((6, 0), 30),
    "sin.2pi": Since((9, 5), 70),
    "spcompress": _RUBIN_CHIP,
    "st.async.global": Since((8, 7), 100),
    "stmatrix": Since((7, 8), 90),
    "stmatrix.b8": _NARROW,
    "tcgen05": _TCGEN05,
    "tcgen05.scale_input_d": _FAMILY_100,
    "tcgen05.alloc.exclusive": Specific((9, 4), _TENSOR_MEMORY, lacks=_OTHERS),
    "tcgen05.collector::b": _RUBIN,
    "tcgen05.commit.multicast::cluster::32b": _RUBIN,
    "tcgen05.commit.sync_restrict": _RUBIN,
    "tcgen05.decompress::lut::b": _RUBIN,
    "tcgen05.decompress::lut::b.scale_vec::1X": _RUBIN_CHIP,
    "tcgen05.kind::i8": Specific((8, 6), ("sm_100a", "sm_110a"), lacks=("sm_103a", "sm_107a", *_OTHERS)),
    "tcgen05.kind::ti16": _RUBIN,
    "tcgen05.scale_vec::1X": _NO_FAMILY,
    "tcgen05.scale_vec::2X": _NO_FAMILY,
    "tcgen05.kind::mxf4nvf4.scale_vec::2X": _NO_FAMILY_FROM_8_7,
    "tcgen05.scale_vec::4X": _NO_FAMILY_FROM_8_7,
    "tcgen05.block16": _TCGEN05_FROM_8_8,
    "tcgen05.block32": _TCGEN05_FROM_8_8,
    "tcgen05.ld.red": Specific((8, 8), ("sm_103f", "sm_110f"), lacks=("sm_100f", *_OTHERS)),
    "tcgen05.ld.spcompress": _RUBIN_CHIP,
    "tcgen05.shift": _NO_FAMILY,
    "tcgen05.sparse_mxf4": _NO_FAMILY,
    "tensormap.query": Specific((9, 5), ("sm_90a", *_TENSOR_MEMORY, "sm_120f")),
    "tensormap.swizzle_96B": Specific((8, 8), ("sm_103a", "sm_107a"), lacks=("sm_100a", "sm_110a", *_OTHERS)),
    "trace.mark": Specific((9, 5), ("sm_107f",), lacks=_NOT_RUBIN),
    "wgmma": Specific((8, 0), ("sm_90a",), lacks=_NOT_WGMMA),
    "wgmma.mixed_integers": Specific((8, 4), ("sm_90a",), lacks=_NOT_WGMMA),
    "wgmma.sparse": Specific((8, 2), ("sm_90a",), lacks=_NOT_WGMMA),
    # A directive of entries: its probe ends the entry, so that it stays the last.
    "per_cta_memory": Since((9, 4), 80),
}
"""Feature name -> requirement. The names are what `PTXInstruction.features` returns; `ptxas` knows them."""

CAPABILITIES: Mapping[str, Requirement] = {
    # PTX ISA, "cp.async.bulk.tensor": elsewhere `.multicast::cluster` may be slow.
    "fast_multicast": _SPECIFIC,
    # A bit of the matrix descriptor; its only use is K = 96.
    "matrix_descriptor.absolute_lbo": _K96,
    # Seen in the SASS of sm_80 to sm_90: shuffles and FMAs. sm_70 and sm_75 have HMMA.884.
    "mma.m8n8k4.f16.is_emulated": Since((7, 0), 80),
    # PTX ISA, mma: m8n8k4 is optimised for sm_70 and may be much slower elsewhere.
    "mma.f16.prefers_m16n8k8": Since((6, 5), 75, before=80),
    # Measured on an H200: 33 TFLOP/s for m8n8k4 and 65 to 66 for m16n8k4, k8 and k16, of which k8 leaves room in the
    # registers for the fragments of the next step.
    "mma.f64.prefers_m16n8k8": Since((7, 8), 90),
    # Bits of the instruction descriptor.
    "tcgen05.K96": _K96,
    "tcgen05.wide_K": _WIDE_K,
    # 128 lanes with one row of A each, instead of 32 with four.
    "tcgen05.scale_a_128_lanes": _WIDE_K,
    # 2:4 elements instead of 4:8 in pairs: the metadata of sparse 4-bit kinds has twice the codes.
    "tcgen05.sparsity_version_1": _WIDE_K,
    "tcgen05.scale_ue5m3": _WIDE_K,
    # 15 bits of address and leading offset, and the bit of the 24-byte segment.
    "matrix_descriptor.15_bits": _WIDE_K,
    # Columns 512 to 575, by an exclusive allocation only.
    "tensor_memory.576_columns": _WIDE_K,
    # CUDA driver API, `cuTensorMapEncodeTiled`, `swizzle`: CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B.
    "tensor_map.atom_32B": Since((8, 6), 100),
}
"""Facts about targets of which no version of PTX knows, so that `ptxas` cannot be asked."""

_ROWS = {**FEATURES, **CAPABILITIES}


WAYS_OUT: Mapping[str, tuple[str, str]] = {
    "tcgen05.kind::i8": ("tcgen05.kind::ti16", "use 8-bit floats (kind::f8f6f4) or 11-bit integers (kind::ti16)"),
}
"""Feature -> another one, and what to do without the first on targets that have the second."""


class UnsupportedFeature(ValueError):
    """The target does not have the feature, as far as anybody knows; `supported` are the targets that do."""

    rule = "target-feature"

    def __init__(self, feature: str, target: Target):
        self.feature = feature
        self.target = target
        self.supported = supporting_targets(feature)
        found = f"'{feature}' does not exist on {target}"
        if (row := _ROWS[feature]).has(target) is None:
            reasons = dict(row.unknown) if isinstance(row, Specific) else {}
            found = f"'{feature}' is not known to exist on {target}: {reasons.get(target.name, 'nobody has looked')}"
        other, advice = WAYS_OUT.get(feature, (None, ""))
        way_out = f"; {advice}" if other is not None and supports(target, other) else ""
        super().__init__(f"{found}; supported on {', '.join(self.supported)}{way_out}")


def supports(target: Target, *features: str) -> bool:
    """Returns True if `target` is known to have all of `features`, rows of `FEATURES` or `CAPABILITIES`."""
    return all(_ROWS[feature].has(target) is True for feature in features)


def supporting_targets(feature: str) -> tuple[str, ...]:
    """Names of the targets that have `feature`, oldest first."""
    return tuple(name for name, target in TARGETS.items() if supports(target, feature))


def since(*features: str) -> str:
    """The first PTX version and the targets that have all of `features` (one or more), as the reference says it.

    >>> from tirx.hw.features import since
    >>> since("cp.async"), since("tcgen05.ld.spcompress")
    ('PTX 7.0, sm_80 and newer', 'PTX 9.4, sm_107a')
    """
    rows = [_ROWS[feature] for feature in features]
    targets = [name for name, target in TARGETS.items() if supports(target, *features)]
    is_kept = all(isinstance(row, Since) and row.before is None for row in rows)
    where = f"{targets[0]} and newer" if is_kept else ", ".join(targets)
    return f"PTX {format_version(max(row.ptx for row in rows))}, {where}"


def first_target(feature: str) -> str:
    """Name of the oldest target that has `feature`."""
    return supporting_targets(feature)[0]


def required_version(feature: str, target: Target) -> PtxVersion:
    """The smallest PTX version in which `target` has `feature`; UnsupportedFeature if it never has."""
    version = _ROWS[feature].version(target)
    if version is None:
        raise UnsupportedFeature(feature, target)
    return version


def smallest_version(features: Iterable[str], target: Target) -> PtxVersion:
    """The smallest PTX version that knows `target` and all of `features`; UnsupportedFeature as above."""
    return max((required_version(feature, target) for feature in sorted(features)), default=target.min_ptx)
