import re

import pytest

from tirx.ptx.features import FEATURES, UnsupportedFeature, required_version, smallest_version, supporting_targets
from tirx.ptx.ptxas import assemble, find_ptxas
from tirx.ptx.targets import TARGETS, PtxVersion, Target, format_version

SM_80, SM_90, SM_100A, SM_100F = (Target.parse(name) for name in ("sm_80", "sm_90", "sm_100a", "sm_100f"))

_MMA = "{%f0,%f0,%f0,%f0,%f0,%f0,%f0,%f0}"
_SCALED = "[%r0], %rd0, %rd0, %r1, [%r2], [%r3], %p0"

PROBES = {
    "bf16.cvt": "cvt.rn.bf16.f32 %h0, %f0",
    "bf16.extend": "cvt.f32.bf16 %f0, %h0",
    "bf16.neg": "neg.bf16 %h0, %h1",
    "bf16.fma": "fma.rn.bf16 %h0, %h1, %h2, %h3",
    "bf16.arith": "add.rn.bf16 %h0, %h1, %h2",
    "bf16.setp": "setp.lt.bf16 %p0, %h0, %h1",
    "f16.minmax": "min.f16 %h0, %h1, %h2",
    "bf16.minmax": "max.bf16 %h0, %h1, %h2",
    "minmax.NaN": "max.NaN.f32 %f0, %f1, %f2",
    "bar.warp.sync": "bar.warp.sync 0xffffffff",
    "cluster": "mov.u32 %r0, %cluster_ctarank",
    "elect.sync": "elect.sync _|%p0, 0xffffffff",
    "fence.mbarrier_init": "fence.mbarrier_init.release.cluster",
    "fence.proxy.async": "fence.proxy.async",
    "mbarrier": "mbarrier.init.shared::cta.b64 [%r0], 1",
    "mbarrier.arrive.count": "mbarrier.arrive.shared::cta.b64 _, [%r0], 2",
    "mbarrier.expect_tx": "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r0], 16",
    "mbarrier.try_wait": "mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], 0",
    "mma.m8n8k4.f16": f"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {_MMA}, {{%r0,%r1}}, {{%r0,%r1}}, {_MMA}",
    "mma.m8n8k4.f64": "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd0,%fd1}, {%fd2}, {%fd3}, {%fd0,%fd1}",
    "tcgen05": "tcgen05.mma.ws.cta_group::1.kind::f16 [%r0], %rd0, %rd0, %r1, %p0, %rd1",
    "tcgen05.scale_input_d": "tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd0, %rd0, %r1, %p0, 3",
    "tcgen05.kind::i8": "tcgen05.mma.cta_group::1.kind::i8 [%r0], %rd0, %rd0, %r1, %p0",
    "tcgen05.scale_vec::1X": f"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X {_SCALED}",
    "tcgen05.scale_vec::2X": f"tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X {_SCALED}",
    "tcgen05.scale_vec::4X": f"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X {_SCALED}",
    "tcgen05.block16": f"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 {_SCALED}",
    "tcgen05.block32": f"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 {_SCALED}",
    "tcgen05.ld.red": "tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {%f0, %f1}, %f2, [%r0]",
    "tcgen05.shift": "tcgen05.shift.cta_group::1.down [%r0]",
    "tcgen05.sparse_mxf4": "tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale.scale_vec::2X "
    "[%r0], %rd0, %rd0, [%r4], %r1, [%r2], [%r3], %p0",
}
"""An instruction that needs the feature and nothing later."""

OLDER = {(7, 0): (6, 5), (7, 1): (7, 0), (7, 8): (7, 7), (8, 0): (7, 8), (8, 7): (8, 6), (8, 8): (8, 7), (6, 4): (6, 3)}
"""A PTX version -> one that came before."""


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


def _kernel(instruction: str, target: Target, version: PtxVersion) -> str:
    return (
        f".version {format_version(version)}\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n"
        "  .reg .pred %p<2>;\n  .reg .b16 %h<4>;\n  .reg .b32 %r<5>;\n  .reg .b64 %rd<2>;\n"
        f"  .reg .f32 %f<3>;\n  .reg .f64 %fd<4>;\n  {instruction};\n  ret;\n}}\n"
    )


def test_every_feature_has_a_probe():
    assert PROBES.keys() == FEATURES.keys()


@pytest.mark.skipif(find_ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize("feature", FEATURES)
def test_table_agrees_with_ptxas(feature: str):
    """Accepted in the version of the table, rejected in the one before and on the newest target without the feature."""
    supporting = supporting_targets(feature)
    target = Target.parse(supporting[0])
    version = required_version(feature, target)
    accepted = assemble(_kernel(PROBES[feature], target, version), target.name)
    assert accepted.ok, accepted.stderr
    if version > target.min_ptx:
        assert not assemble(_kernel(PROBES[feature], target, OLDER[version]), target.name).ok
    lacking = [t for name, t in TARGETS.items() if name not in supporting]
    if lacking:
        assert not assemble(_kernel(PROBES[feature], lacking[-1], (9, 0)), lacking[-1].name).ok
