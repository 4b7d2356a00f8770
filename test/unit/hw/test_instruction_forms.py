"""Closed forms of instructions: a sample of `python test/sweeps/certify.py`, and instructions that have none."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from instruction_features import FEATURE_PATTERNS, instruction_features
from instruction_forms import canonical
from unit.cases import together

from tirx.dialects.ptx import PTX
from tirx.dialects.ptx.base import PTXInstruction
from tirx.dialects.tcgen05 import TCGEN05
from tirx.dialects.wgmma import WGMMA
from tirx.hw.errors import LegalityError
from tirx.hw.features import FEATURES

INSTRUCTIONS = [op for each in (PTX, TCGEN05, WGMMA) for op in each.operations if issubclass(op, PTXInstruction)]
_CERTIFY = Path(__file__).parents[2] / "sweeps" / "certify.py"


def test_sample():
    """`ptxas` takes every so many-th form on the targets that have it, and refuses it on one that has not."""
    found, legal, assembled = runpy.run_path(str(_CERTIFY))["certify"](120)
    assert found == []
    assert legal > 50 < assembled


def test_every_row_has_a_form():
    """Rows that no closed form needs are those of instructions of the dialects, which are certified, too."""
    of_dialects = {need for op in INSTRUCTIONS for need in (*op.NEEDS, *op.forms_need())}
    assert FEATURES.keys() - {feature for _, feature in FEATURE_PATTERNS} - of_dialects == set()


def test_order():
    """Modifiers may stand in any order, but types and state spaces."""
    assert canonical("cvt.satfinite.rn.e4m3x2.f16x2 %rs1, %r1") == "cvt.rn.satfinite.e4m3x2.f16x2 %rs1, %r1"
    assert canonical("cvt.rn.satfinite.f16x2.e4m3x2 %rs1, %r1") is None


@together(
    "text",
    [
        "tcgen05.mma.cta_group::1.kind::f16.ashift.collector::a::fill [%r0], [%r1], %rd2, %r3, %p1",
        "tcgen05.mma.cta_group::1.kind::f16.ashift [%r0], %rd1, %rd2, %r3, %p1",
        "tcgen05.mma.cta_group::2.kind::f16 [%r0], %rd1, %rd2, %r3, {%r1, %r2, %r3, %r4}, %p1",
        "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r1, %r2}, [%r0]",
        "mbarrier.try_wait.parity.acquire.shared::cta.b64 %p1, [%r1], %r2",
        "mbarrier.try_wait.parity.cta.shared::cta.b64 %p1, [%r1], %r2",
        "mbarrier.init.b64 [%r1], %r2",
        "cvt.rn.satfinite.e4m3x2.u32 %rs1, %r1",
        "setmaxnreg.inc.sync.aligned.u32 97",
        "setminnreg.inc.sync.aligned.u32 96",
    ],
)
def test_no_form(text: str):
    with pytest.raises(LegalityError, match="no target"):
        instruction_features(text)
