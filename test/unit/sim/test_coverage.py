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
