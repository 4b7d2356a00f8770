import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from tirx.hw.evidence import NUMBERS, PTXAS, Evidence, evidence
from tirx.hw.features import (
    CAPABILITIES,
    FEATURES,
    Since,
    UnsupportedFeature,
    required_version,
    since,
    smallest_version,
    supports,
)
from tirx.hw.targets import TARGETS, PtxVersion, Target

Rejected = Callable[[Sequence[Sequence[str]], str, PtxVersion], dict[str, str]]

SM_80, SM_90, SM_100A, SM_100F = (Target.parse(name) for name in ("sm_80", "sm_90", "sm_100a", "sm_100f"))

_D, _A = "{%f0,%f0,%f0,%f0}", "{%r0,%r0,%r0,%r0}"
_MMA = "{%f0,%f0,%f0,%f0,%f0,%f0,%f0,%f0}"
_SCALED = "[%r0], %rd0, %rd0, %r1, [%r2], [%r3], %p0"
_LOAD = "global.tile.mbarrier::complete_tx::bytes"
_BOX = "[%r0], [%rd0, {%r1, %r1}], [%r2]"
_ROWS = "[%rd0, {%r1, %r1, %r1, %r1, %r1}]"
_BULK = "shared::cluster.global.mbarrier::complete_tx::bytes"
_BULK_OPERANDS = "[%r0], [%rd0], %r1, [%r2]"
_COMMIT = "cta_group::1.mbarrier::arrive::one"
_PLAIN = "[%r0], %rd0, %rd0, %r1, %p0"
_GATHER = f"global.tile::gather4.mbarrier::complete_tx::bytes [%r0], {_ROWS}, [%r2]"

PROBES = {
    "bf16.cvt": "cvt.rn.bf16.f32 %h0, %f0",
    "bf16.cvt.integer": "cvt.rn.bf16.s32 %h0, %r0",
    "bf16.extend": "cvt.f32.bf16 %f0, %h0",
    "bf16.neg": "neg.bf16 %h0, %h1",
    "bf16.fma": "fma.rn.bf16 %h0, %h1, %h2, %h3",
    "bf16.arith": "add.rn.bf16 %h0, %h1, %h2",
    "bf16.setp": "setp.lt.bf16 %p0, %h0, %h1",
    "f16.abs": "abs.f16 %h0, %h1",
    "f16.ex2": "ex2.approx.f16 %h0, %h1",
    "bf16.ex2": "ex2.approx.ftz.bf16 %h0, %h1",
    "f16.tanh": "tanh.approx.f16 %h0, %h1",
    "bf16.tanh": "tanh.approx.bf16 %h0, %h1",
    "f32.tanh": "tanh.approx.f32 %f0, %f1",
    "f16x2.cvt": "cvt.rn.f16x2.f32 %r0, %f0, %f1",
    "f8x2.cvt": "cvt.rn.satfinite.e4m3x2.f32 %h0, %f0, %f1",
    "atom.b16": "atom.relaxed.gpu.global.cas.b16 %h0, [%rd0], %h1, %h2",
    "nanosleep": "nanosleep.u32 %r0",
    "red.f16": "red.global.add.noftz.f16 [%rd0], %h0",
    "red.f16x2": "red.global.add.noftz.f16x2 [%rd0], %r0",
    "red.bf16": "red.global.add.noftz.bf16x2 [%rd0], %r0",
    "red.vector": "red.global.add.v2.f32 [%rd0], {%f0, %f1}",
    "narrow.cvt": "cvt.rn.satfinite.e2m3x2.f32 %h0, %f0, %f1",
    "f16.minmax": "min.f16 %h0, %h1, %h2",
    "bf16.minmax": "max.bf16 %h0, %h1, %h2",
    "minmax.NaN": "max.NaN.f32 %f0, %f1, %f2",
    "bar.warp.sync": "bar.warp.sync 0xffffffff",
    "barrier.cluster": "barrier.cluster.arrive.release.aligned",
    "cp.async": "cp.async.ca.shared.global [%r0], [%rd0], 4",
    "cp.async.bulk.tensor": f"cp.async.bulk.tensor.2d.shared::cluster.{_LOAD} {_BOX}",
    "cp.async.bulk.tensor.cta_group": f"cp.async.bulk.tensor.2d.shared::cluster.{_LOAD}.cta_group::2 {_BOX}",
    "cp.async.bulk.tensor.scatter4": "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group "
    f"{_ROWS}, [%r0]",
    "cp.async.bulk.tensor.shared::cluster.gather4": f"cp.async.bulk.tensor.2d.shared::cluster.{_GATHER}",
    "cp.async.bulk.tensor.shared::cta": f"cp.async.bulk.tensor.2d.shared::cta.{_LOAD} {_BOX}",
    "cp.async.bulk.tensor.shared::cta.gather4": f"cp.async.bulk.tensor.2d.shared::cta.{_GATHER}",
    "cvta.param": "cvta.param.u64 %rd0, %rd1",
    "clusterlaunchcontrol": "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 "
    "[%r0], [%r1]",
    "clusterlaunchcontrol.multicast": "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
    ".multicast::cluster::all.b128 [%r0], [%r1]",
    "cluster": "mov.u32 %r0, %cluster_ctarank",
    "elect.sync": "elect.sync _|%p0, 0xffffffff",
    "fence.mbarrier_init": "fence.mbarrier_init.release.cluster",
    "fence.proxy.async": "fence.proxy.async",
    "fence.proxy.tensormap": "fence.proxy.tensormap::generic.release.gpu",
    "griddepcontrol": "griddepcontrol.wait",
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r1]",
    "ldmatrix.b8": "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%r2]",
    "mbarrier": "mbarrier.init.shared::cta.b64 [%r0], 1",
    "mbarrier.arrive.count": "mbarrier.arrive.shared::cta.b64 _, [%r0], 2",
    "mbarrier.cluster": "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r0]",
    "mbarrier.expect_tx": "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r0], 16",
    "mbarrier.relaxed": "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r0]",
    "mbarrier.try_wait": "mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], 0",
    "mma.m8n8k4.f16": f"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {_MMA}, {{%r0,%r1}}, {{%r0,%r1}}, {_MMA}",
    "mma.m8n8k4.f64": "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd0,%fd1}, {%fd2}, {%fd3}, {%fd0,%fd1}",
    "mma.m16n8k8.f16": f"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {_D}, {{%r0,%r1}}, {{%r0}}, {_D}",
    "mma.m16n8k16.f16": f"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {_D}, {_A}, {{%r0,%r1}}, {_D}",
    "mma.m16n8.bf16": f"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {_D}, {{%r0,%r1}}, {{%r0}}, {_D}",
    "mma.m16n8.tf32": f"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {_D}, {{%r0,%r1}}, {{%r0}}, {_D}",
    "mma.m16n8.i8": f"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {_A}, {{%r0,%r1}}, {{%r0}}, {_A}",
    "mma.m16n8.f64": "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
    "{%fd0,%fd1,%fd2,%fd3}, {%fd0,%fd1}, {%fd2}, {%fd0,%fd1,%fd2,%fd3}",
    "mma.m16n8k32.f8.f32": f"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {_D}, {_A}, {{%r0,%r1}}, {_D}",
    "mma.m16n8.f8": f"mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32 {_D}, {{%r0,%r1}}, {{%r0}}, {_D}",
    "mma.sp": "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
    f"{_D}, {{%r0,%r1}}, {{%r0,%r1}}, {_D}, %r2, 0x0",
    "mma.sp.f8": "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32 "
    f"{_D}, {_A}, {_A}, {_D}, %r2, 0x0",
    "prefetch.tensormap": "prefetch.tensormap [%rd0]",
    "redux.sync": "redux.sync.add.s32 %r0, %r1, 0xffffffff",
    "redux.sync.f32": "redux.sync.max.f32 %f0, %f1, 0xffffffff",
    "setmaxnreg": "setmaxnreg.inc.sync.aligned.u32 104",
    "shfl.sync": "shfl.sync.idx.b32 %r0, %r1, 0, 31, 0xffffffff",
    "stmatrix": "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r0], {%r1}",
    "stmatrix.b8": "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r0], {%r1}",
    "tcgen05": "tcgen05.mma.ws.cta_group::1.kind::f16 [%r0], %rd0, %rd0, %r1, %p0, %rd1",
    "tcgen05.scale_input_d": "tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd0, %rd0, %r1, %p0, 3",
    "tcgen05.kind::i8": "tcgen05.mma.cta_group::1.kind::i8 [%r0], %rd0, %rd0, %r1, %p0",
    "tcgen05.scale_vec::1X": f"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X {_SCALED}",
    "tcgen05.scale_vec::2X": f"tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X {_SCALED}",
    "tcgen05.kind::mxf4nvf4.scale_vec::2X": "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::2X "
    f"{_SCALED}",
    "tcgen05.scale_vec::4X": f"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X {_SCALED}",
    "tcgen05.block16": f"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 {_SCALED}",
    "tcgen05.block32": f"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 {_SCALED}",
    "tcgen05.ld.red": "tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {%f0, %f1}, %f2, [%r0]",
    "tcgen05.shift": "tcgen05.shift.cta_group::1.down [%r0]",
    "tcgen05.sparse_mxf4": "tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale.scale_vec::2X "
    "[%r0], %rd0, %rd0, [%r4], %r1, [%r2], [%r3], %p0",
    "wgmma": "wgmma.fence.sync.aligned",
    "wgmma.mixed_integers": f"wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8 {_A}, %rd0, %rd0, %p0",
    "wgmma.sparse": f"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {_D}, %rd0, %rd0, %r0, 0, %p0, 1, 1, 0, 0",
    "applypriority.async.bulk": "applypriority.async.bulk.global.bulk_group.L2::evict_normal [%rd1], 128",
    "clmad": "clmad.lo.u64 %rd0, %rd1, %rd2, %rd3",
    "cp.async.bulk.multicast::cluster::16b": f"cp.async.bulk.{_BULK}.multicast::cluster::16b {_BULK_OPERANDS}, %h0",
    "cp.async.bulk.multicast::cluster::32b": f"cp.async.bulk.{_BULK}.multicast::cluster::32b {_BULK_OPERANDS}, %r3",
    "cp.async.bulk.prefetch.evict_last": "cp.async.bulk.prefetch.tensor.2d.L2.global.tile.L2::evict_last "
    "[%rd0, {%r1, %r1}]",
    "cp.async.bulk.relaxed": "cp.async.bulk.relaxed.gpu.shared::cta.global.mbarrier::complete_tx::bytes.b128 "
    f"{_BULK_OPERANDS}",
    "cp.async.bulk.relaxed.shared::cluster": "cp.async.bulk.relaxed.gpu.shared::cluster.global"
    f".mbarrier::complete_tx::bytes.b128 {_BULK_OPERANDS}",
    "cvt.tf32.satfinite": "cvt.rn.satfinite.tf32.f32 %r0, %f0",
    "cp.async.bulk.tensor.override": f"cp.async.bulk.tensor.2d.shared::cta.{_LOAD}.override::global_address "
    "[%r0], [%rd0, %rd1, {%r1, %r1}], [%r2]",
    "cp.async.bulk.tensor.report": f"cp.async.bulk.tensor.2d.shared::cta.{_LOAD}.mbarrier::report::disabled {_BOX}",
    "cvt.pzo": "cvt.rn.pzo.tf32.f32 %r0, %f0",
    "cvt.rs": "cvt.rs.satfinite.e5m2x4.f32 %r0, {%f0, %f1, %f2, %f3}, %r1",
    "cvt.s2f6x2": "cvt.rn.satfinite.s2f6x2.f32 %h0, %f0, %f1",
    "cvt.ue5m3x2": "cvt.rn.satfinite.ue5m3x2.f32 %h0, %f0, %f1",
    "fence.proxy.alias.acquire": "fence.proxy.alias.acquire.sys",
    "locality_domain": "mov.u32 %r0, %locality_domain_id",
    "mbarrier.layout": "mbarrier.check_layout.layout::v1.shared::cta.b64 %p0, [%r0]",
    "mbarrier.multicast::cluster::32b": "mbarrier.arrive.release.cluster.shared::cluster.multicast::cluster::32b.b64 "
    "_, [%r0], %r1",
    "mbarrier.phase_type": "mbarrier.try_wait.parity.phase_type::primary.shared::cta.b64 %p0|%p1, [%r0], %r1",
    "mma.block_scale": "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32"
    f".ue8m0 {_D}, {_A}, {{%r0,%r1}}, {_D}, %r0, {{%h0,%h1}}, %r0, {{%h0,%h1}}",
    "mma.block_scale.4X.ue8m0": "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1"
    f".e2m1.f32.ue8m0 {_D}, {_A}, {{%r0,%r1}}, {_D}, %r0, {{0,0}}, %r0, {{0,0}}",
    "mma.kind::f8f6f4": "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32 "
    f"{_D}, {_A}, {{%r0,%r1}}, {_D}",
    "mmio.ordered": "st.mmio.release.sys.global.u32 [%rd0], %r0",
    "narrow.cvt.from_bf16x2": "cvt.rn.satfinite.e4m3x2.bf16x2 %h0, %r0",
    "narrow.cvt.rz": "cvt.rz.satfinite.e4m3x2.f32 %h0, %f0, %f1",
    "narrow.cvt.scaled::n1": "cvt.rn.satfinite.scaled::n1::ue8m0.e4m3x2.f32 %h0, %f0, %f1, %b0",
    "narrow.cvt.to_bf16x2": "cvt.rn.bf16x2.e4m3x2 %r0, %h0",
    "packed.mixed": "add.rn.f32x2.bf16x2.f32x2 %rd0, %r0, %rd1",
    "set.packed": "set.lt.u8x4 %r0, %r1, %r2",
    "packed_integers": "max.s8x4 %r0, %r1, %r2",
    "spcompress": "spcompress.b16.b4.sp::2:4.x1 {%r0}, {%r1}, {%r2, %r3}, %r4",
    "tcgen05.alloc.exclusive": "tcgen05.alloc.exclusive.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 64",
    "tcgen05.collector::b": f"tcgen05.mma.cta_group::1.kind::f16.collector::b::fill {_PLAIN}",
    "tcgen05.commit.multicast::cluster::32b": f"tcgen05.commit.{_COMMIT}.shared::cluster.multicast::cluster::32b.b64 "
    "[%r0], %r1",
    "tcgen05.commit.sync_restrict": f"tcgen05.commit.{_COMMIT}.sync_restrict::shared::read::mma::a.shared::cluster.b64 "
    "[%r0]",
    "tcgen05.decompress::lut::b": "tcgen05.mma.cta_group::1.kind::f8f6f4.decompress::lut::b "
    "[%r0], %rd0, %rd0, [%r2], %r1, %p0",
    "tcgen05.decompress::lut::b.scale_vec::1X": "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale"
    ".decompress::lut::b.scale_vec::1X [%r0], %rd0, %rd0, [%r4], %r1, [%r2], [%r3], %p0",
    "tcgen05.kind::ti16": f"tcgen05.mma.cta_group::1.kind::ti16 {_PLAIN}",
    "tcgen05.ld.spcompress": "tcgen05.ld.spcompress.sync.aligned.32x32b.x4.min.sp::2:4.f32.b2 {%r0}, {%r1, %r2}, [%r3]",
    "tensormap.swizzle_96B": "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%rd0], 4",
    "trace.mark": "trace.mark 1",
    "cp.async.bulk.cp_mask": "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1], [%r1], %r2, %h0",
    "cp.async.bulk.ignore_oob": "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob "
    "[%r0], [%rd0], %r1, %r2, %r3, [%r2]",
    "cp.async.bulk.tensor.im2col::w": "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col::w "
    "[%rd0, {%r1, %r1, %r1}], {%h0, %h0}",
    "cp.async.bulk.tensor.im2col_no_offs::w": "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs::w.bulk_group "
    "[%rd0, {%r1, %r1, %r1}], [%r0]",
    "cp.async.bulk.tensor.shared::cta.im2col::w": "cp.async.bulk.tensor.3d.shared::cta.global.im2col::w"
    ".mbarrier::complete_tx::bytes [%r0], [%rd0, {%r1, %r1, %r1}], [%r2], {%h0, %h0}",
    "cp.async.bulk.wait_group.sync_restrict": "cp.async.bulk.wait_group.sync_restrict::proxy::async 0",
    "f16.cvt.satfinite": "cvt.rn.satfinite.f16x2.f32 %r0, %f0, %f1",
    "f32.mixed": "add.f32.f16 %f0, %h0, %f1",
    "f32x2": "add.rn.f32x2 %rd0, %rd1, %rd2",
    "fabric": "fabric.submit",
    "fabric.groups": "fabric.submit.commit_group",
    "fence.alias.sync_restrict": "fence.alias.sync_restrict::read.release.sys",
    "ldmatrix.s8.s4": "ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4 {%r0}, [%r1]",
    "ld.proxy::readonly": "ld.proxy::readonly.global.u32 %r0, [%rd0]",
    "mmio": "ld.mmio.relaxed.sys.global.u32 %r0, [%rd0]",
    "multimem": "multimem.st.weak.global.u32 [%rd0], %r0",
    "multimem.async": "multimem.st.async.release.gpu.global.u32 [%rd0], %r0",
    "multimem.cp.async.bulk": "multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r0], %r1",
    "narrow.arith": "mul.rn.e4m3x4.e4m3x4.e4m3x4 %r0, %r1, %r2",
    "prefetch.valid_addr": "prefetch.global.L1::32B.valid_addr [%rd0]",
    "red.noftz.f32": "red.global.add.noftz.f32 [%rd0], %f0",
    "sin.2pi": "sin.approx.ftz.2pi.f32 %f0, %f1",
    "st.async.global": "st.async.release.gpu.global.u32 [%rd0], %r0",
    "tensormap.query": "tensormap.query.alloc_class_large.global.b1024 %p0, [%rd0]",
    "per_cta_memory": "ret; } .visible .entry per_cta_memory() .minperctamemory 64 { ret",
}
"""An instruction that needs the feature and nothing later."""

VERSIONS = sorted(
    {(6, 0), (6, 1), (6, 3), (6, 4), (6, 5)}
    | {target.min_ptx for target in TARGETS.values()}
    | {required_version(f, target) for target in TARGETS.values() for f in FEATURES if supports(target, f)}
)
"""Every PTX version in which a row of the tables begins, and some of the oldest."""


def test_version_depends_on_feature_and_target():
    assert required_version("elect.sync", SM_90) == (8, 0)
    assert required_version("elect.sync", SM_100A) == (8, 6)
    assert required_version("mma.m8n8k4.f16", Target.parse("sm_70")) == (6, 4)
    assert required_version("tcgen05", SM_100A) == (8, 6)
    assert required_version("tcgen05", SM_100F) == (8, 8)
    assert required_version("tcgen05.scale_vec::4X", SM_100A) == (8, 7)


def test_smallest_version():
    assert smallest_version(frozenset(), SM_90) == (7, 8)
    assert smallest_version(frozenset({"mbarrier.try_wait", "elect.sync"}), SM_90) == (8, 0)


def test_unsupported_feature_lists_the_targets_that_have_it():
    message = "'tcgen05.kind::i8' does not exist on sm_100f; supported on sm_100a, sm_110a"
    with pytest.raises(UnsupportedFeature, match=re.escape(message)) as error:
        required_version("tcgen05.kind::i8", SM_100F)
    assert error.value.supported == ("sm_100a", "sm_110a")


def test_every_feature_has_a_probe():
    assert PROBES.keys() == FEATURES.keys()


def test_every_row_knows_every_target():
    """A target that is new belongs into the rows of its chip, as having the feature or not, or with a reason."""
    rows = {**FEATURES, **CAPABILITIES}
    reasons = {feature: dict(row.unknown) for feature, row in rows.items() if not isinstance(row, Since)}
    unknown = [(name, feature) for feature, row in rows.items() for name, t in TARGETS.items() if row.has(t) is None]
    left = "".join(f"\n{name}: {feature}" for name, feature in unknown if name not in reasons.get(feature, ()))
    assert not left, f"expected a row to say whether the target has it:{left}"
    with pytest.raises(UnsupportedFeature, match="'tcgen05.wide_K' is not known to exist on sm_107f: a bit of a desc"):
        required_version("tcgen05.wide_K", Target.parse("sm_107f"))


def test_a_target_that_no_row_knows_is_refused_by_name(monkeypatch: pytest.MonkeyPatch):
    new = [Target(f"sm_105{suffix}", (9, 9), 1 << 18, 1 << 18, 1) for suffix in ("", "a", "f")]
    for target in new:
        monkeypatch.setitem(TARGETS, target.name, target)
    plain, chip, family = new
    for target, features in (
        (plain, {"mma.m16n8.f64": True, "tcgen05": False, "tcgen05.shift": False, "tcgen05.K96": False}),
        (chip, {"mma.m16n8.f64": True, "tcgen05": True, "tcgen05.shift": None, "tcgen05.K96": None, "wgmma": False}),
        (family, {"mma.m16n8.f64": True, "tcgen05": True, "tcgen05.ld.red": True, "tcgen05.shift": False}),
    ):
        assert {f: {**FEATURES, **CAPABILITIES}[f].has(target) for f in features} == features
        assert [f for f in features if supports(target, f)] == [f for f, known in features.items() if known]
    message = "'tcgen05.shift' is not known to exist on sm_105a: nobody has looked; supported on sm_100a, sm_103a"
    with pytest.raises(UnsupportedFeature, match=re.escape(message)):
        required_version("tcgen05.shift", chip)
    assert required_version("tcgen05", chip) == (9, 9)


def test_a_family_without_a_promise_is_not_known():
    other = Target("sm_130f", (9, 9), 1 << 18, 1 << 18, 1)
    assert [FEATURES[f].has(other) for f in ("tcgen05", "wgmma", "redux.sync")] == [None, False, True]


@pytest.mark.sample(14)
@pytest.mark.parametrize("name", TARGETS)
def test_targets_agree_with_ptxas(name: str, rejected: Rejected):
    """In the newest version, `ptxas` accepts for a target exactly the features that the table gives it."""
    found = rejected([list(PROBES.values())], name, VERSIONS[-1]).keys()
    assert {f for f in FEATURES if PROBES[f] in found} == {f for f in FEATURES if not supports(Target.parse(name), f)}


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.sample(5)
def test_versions_agree_with_ptxas(name: str, rejected: Rejected):
    """`ptxas` accepts every feature from the version of the table on, and not in the version before."""
    target = Target.parse(name)
    needed = {f: required_version(f, target) for f in FEATURES if supports(target, f)}
    first_versions = set(needed.values())
    before = {older for older, newer in pairwise(VERSIONS) if newer in first_versions and older >= target.min_ptx}
    for version in sorted(first_versions | before):
        found = rejected([[PROBES[f] for f in needed]], name, version).keys()
        expected = {f for f, first in needed.items() if first > version}
        assert {f for f in needed if PROBES[f] in found} == expected, version


def test_evidence():
    """Every feature of a target is assembled; a capability is only written of, until something has multiplied."""
    rubin = Target.parse("sm_107a")
    assert all(evidence(f, rubin).assembled == PTXAS for f in FEATURES if supports(rubin, f))
    assert all(evidence(f, rubin).assembled is None for f in CAPABILITIES if supports(rubin, f))
    assert evidence("tcgen05.wide_K", rubin) == Evidence(evidence("tcgen05.K96", rubin).text, None, "model")
    assert {name for name, _ in NUMBERS} <= {*FEATURES, *CAPABILITIES}
    assert since("mma.f16.prefers_m16n8k8") == "PTX 6.5, sm_75"  # which newer targets do not have
    assert evidence("tensor_map.atom_32B", Target.parse("sm_100a")).text.startswith("PTX ISA 8.")
    with pytest.raises(
        UnsupportedFeature,
        match=(
            r"^'tcgen05\.kind::i8' does not exist on sm_107a; supported on sm_100a, sm_110a; use 8-bit "
            r"floats \(kind::f8f6f4\) or 11-bit integers \(kind::ti16\)$"
        ),
    ):
        evidence("tcgen05.kind::i8", rubin)
