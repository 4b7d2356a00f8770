"""Every instruction that the ISA has (data/instructions.txt): ptxas assembles it, and the simulator decodes it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from unit.cases import Sampled
from unit.sim.assembled import require_ok
from unit.sim.kernels import DATA

from tirx.ptx.ptxas import assemble, find_ptxas
from tirx.sim import SimError
from tirx.sim.isa.registry import known_instructions
from tirx.sim.program.linker import link
from tirx.sim.reader import parse

_DECLARATIONS = """.reg .pred %p<8>; .reg .b8 %b<8>; .reg .b16 %h<16>; .reg .b32 %r<32>; .reg .b64 %d<16>;
  .reg .f32 %f<16>; .reg .f64 %g<8>; .reg .b128 %q<8>; .shared .align 1024 .b8 s[1024]; .shared .align 8 .b64 bar;"""
_WHY = re.compile("not simulated")


def _forms() -> Iterator[tuple[str, str, bool]]:
    """Target, instruction, and whether the simulator refuses it."""
    target, operands, refused = "", "", False
    for line in (DATA / "instructions.txt").read_text().splitlines():
        if line.startswith("  "):
            for opcode in line.split():
                yield target, f"{opcode} {operands}".strip(), refused
        elif line and not line.startswith("#"):
            refused = line.startswith("refused ")
            target, _, operands = line.removeprefix("refused ").partition(" ")


_FORMS = list(_forms())
_TARGETS = sorted({target for target, _, _ in _FORMS})


def _module(target: str, instructions: list[str]) -> str:
    text = f".version 9.3\n.target {target}\n.address_size 64\n"
    for index, instruction in enumerate(instructions):
        body = instruction + ";"
        if "TABLE" in body:
            body = f"L0: TABLE: .branchtargets L0, L1; {body} L1:"
        if "PROTOTYPE" in body:
            body = f"PROTOTYPE: .callprototype (.param .b32 _) _ (.param .b32 _); {body}"
        text += f".visible .entry k{index}() {{ {_DECLARATIONS}\n  {body} ret; }}\n"
    return text


@pytest.mark.skipif(find_ptxas() is None, reason="no ptxas")
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.sample(2)
def test_instructions_exist(target: str):
    result = assemble(
        _module(target, [form for own, form, _ in _FORMS if own == target]), target, warnings_as_errors=False
    )
    require_ok(result)


@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.sample(3)
def test_instructions_are_decoded(target: str, sampled: Sampled):
    own = sampled([(form, refused) for each, form, refused in _FORMS if each == target], 200)
    module = parse(_module(target, [form for form, _ in own]))
    for index, (form, refused) in enumerate(own):
        if not refused:
            link(module, f"k{index}")
            continue
        with pytest.raises(SimError) as caught:
            link(module, f"k{index}")
        assert _WHY.search(caught.value.message), form
        assert caught.value.line is not None and caught.value.text.startswith(form.split()[0])


def test_the_table_has_all_families():
    """Every instruction that is registered is in the table; tcgen05 has tests of its own."""
    named = {form.split(".")[0].split(" ")[0] for _, form, _ in _FORMS}
    assert set(known_instructions()) - named == {"tcgen05"}
