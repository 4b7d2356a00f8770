"""Every instruction that the ISA has (data/instructions.txt): ptxas assembles it, and the simulator decodes it."""

from __future__ import annotations

import re

import outputs
import pytest
from unit.cases import Sampled, together
from unit.sim.assembled import require_ok
from unit.sim.forms import FORMS, module
from unit.sim.wrong_forms import ROOTS, answers

from tirx.ptx.ptxas import assemble, find_ptxas
from tirx.sim import SimError
from tirx.sim.isa.registry import known_instructions
from tirx.sim.program.linker import link
from tirx.sim.reader import parse

_WHY = re.compile("not simulated")
_TARGETS = sorted({target for target, _, _ in FORMS})


@pytest.mark.skipif(find_ptxas() is None, reason="no ptxas")
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.sample(2)
def test_instructions_exist(target: str, sampled: Sampled):
    forms = sampled([form for own, form, _ in FORMS if own == target], 200)
    require_ok(assemble(module(target, forms), target, warnings_as_errors=False))


@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.sample(3)
def test_instructions_are_decoded(target: str, sampled: Sampled):
    own = sampled([(form, refused) for each, form, refused in FORMS if each == target], 200)
    read = parse(module(target, [form for form, _ in own]))
    for index, (form, refused) in enumerate(own):
        if not refused:
            link(read, f"k{index}")
            continue
        with pytest.raises(SimError) as caught:
            link(read, f"k{index}")
        assert _WHY.search(caught.value.message), form
        assert caught.value.line is not None and caught.value.text.startswith(form.split()[0])


def test_the_table_has_all_families():
    """Every instruction that is registered is in the table."""
    named = {form.split(".")[0].split(" ")[0] for _, form, _ in FORMS}
    assert set(known_instructions()) <= named


@together("root", ROOTS)
def test_wrong_forms_are_refused(root: str):
    said = answers(root)
    assert "5: expected" in said and ".nosuch" in said
    outputs.check(f"decoding/{root}", said)


@together(
    "form",
    [
        *(f"{each}.rn.f32x2.f16x2.f32x2 %d0, %r0, %d1" for each in ("add", "sub", "mul")),
        "fma.rn.f32x2.bf16x2.f32x2.f32x2 %d0, %r0, %d1, %d2",
        "cvt.rn.bf16x2.ue5m3x2 %r0, %h0",
        "cvt.rn.satfinite.ue5m3x2.f32 %h0, %f0, %f1",
        *(f"set.lt.{each} %r0, %r1, %r2" for each in ("u8x4", "s16x2")),
        "neg.s8x4 %r0, %r1",
        "cvt.rs.f16x2.f32 %r0, %f0, %f1, %r1",
        "cvt.rs.satfinite.e4m3x4.f32 %r0, {%f0, %f1, %f2, %f3}, %r1",
        "cvt.rn.f16x2.f32 %r0, %f0, %f1",
        "cvt.rn.bf16x2.f32 %r0, %f0, %f1",
        "cvt.rn.f16x2.e4m3x2 %r0, %h0",
        "cvt.rn.satfinite.e4m3x2.f32 %h0, %f0, %f1",
        "cvt.rn.satfinite.e2m1x2.f32 %b0, %f0, %f1",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d0], [s], 16",
        "cvt.rn.satfinite.e4m3x2.f16x2 %h0, %r0",
        "cvt.pack.sat.u16.s32 %r0, %r1, %r2",
        "cvt.pack.sat.u8.s32.b32 %r0, %r1, %r2, %r3",
        "fence.proxy.async",
        "fence.proxy.tensormap::generic.release.gpu",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d0], 16, [bar]",
        "cp.async.commit_group",
        "cp.async.wait_all",
        "cp.async.bulk.commit_group",
        "st.bulk.shared::cta [s], 64, 0",
        "cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%d0, {%r0}]",
    ],
)
def test_forms_of_which_the_table_has_others(form: str):
    _refuses_more("sm_107a", form)


@together(
    ("target", "form"),
    [
        ("sm_100a", "mul.rn.satfinite.e4m3x4.e4m3x4.e2m1x4 %r0, %r1, %h0"),
        ("sm_90a", "wgmma.fence.sync.aligned"),
        ("sm_90a", "wgmma.commit_group.sync.aligned"),
    ],
)
def test_forms_of_other_targets(target: str, form: str):
    _refuses_more(target, form)


def _refuses_more(target: str, form: str) -> None:
    """Decodes a form; not with an operand more, nor with a modifier that nobody knows."""
    link(parse(module(target, [form])), "k0")
    for wrong, said in (
        (f"{form}, 5" if " " in form else f"{form} 5", "operands, found "),
        (form.replace(".", ".nosuch.", 1), "(unknown modifier|expected) ."),
    ):
        with pytest.raises(SimError, match=said):
            link(parse(module(target, [wrong])), "k0")
