"""The checker of whole tcgen05.mma instructions: every rule is broken by one instruction and kept by another."""

from dataclasses import replace
from typing import Any

import pytest
from unit.cases import together, with_less_known
from unit.tcgen05.descriptor_vectors import DATA, forbidden_by_isa
from unit.tcgen05.mma_form_cases import FORM_CASES
from unit.tcgen05.mma_instructions import Cases, mma
from unit.tcgen05.mma_modifier_cases import MODIFIER_CASES
from unit.tcgen05.mma_smem_cases import SMEM_CASES
from unit.tcgen05.mma_tmem_cases import TMEM_CASES

from tirx.hw.errors import LegalityError
from tirx.hw.rules import Finding
from tirx.tcgen05.check import MMA_RULES, Mma, SmemOperand, TmemOperand, check_mma, find_violations
from tirx.tcgen05.zero_column_mask import ZeroColumnMask

CASES: Cases = {**FORM_CASES, **SMEM_CASES, **TMEM_CASES, **MODIFIER_CASES}


def by_name(findings: tuple[Finding, ...]) -> dict[str, Finding]:
    return {finding.rule: finding for finding in findings}


def test_every_rule_has_both_cases():
    names = [rule.name for rule in MMA_RULES]
    assert len(set(names)) == len(names)
    assert list(CASES) == names
    for broken, kept in CASES.values():
        assert broken and kept


BROKEN = [(name, case, message) for name, (broken, _) in CASES.items() for case, message in broken]
KEPT = [(name, case) for name, (_, kept) in CASES.items() for case in kept]


@together(("name", "case", "message"), BROKEN)
def test_broken(name: str, case: Mma, message: str):
    findings = by_name(find_violations(case))
    assert name in findings
    with pytest.raises(LegalityError, match=message):
        raise LegalityError(str(findings[name]))
    assert findings[name].fix and findings[name].section and str(findings[name]).endswith(f"[{name}]")
    with pytest.raises(LegalityError, match=r"\[[a-z0-9-]+\]$"):
        check_mma(case)


@together(("name", "case"), KEPT)
def test_kept(name: str, case: Mma):
    assert find_violations(case) == ()
    check_mma(case)


@together("name", [name for name in CASES if name not in ("ws-cta-group", "ws-kind")])
def test_most_violations_are_found_alone(name: str):
    """One mistake gives one message, for at least one of the instructions of each rule."""
    assert any(len(find_violations(case)) == 1 for case, _ in CASES[name][0])


@together("kind", ["f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"])
def test_what_is_not_known_breaks_no_rule(kind: str):
    scale_vector = "block16" if kind == "mxf4nvf4" else None
    assert find_violations(Mma(kind, scale_vector=scale_vector)) == ()
    assert (
        find_violations(Mma(kind, scale_vector=scale_vector, a=SmemOperand(), b=SmemOperand(), d=TmemOperand())) == ()
    )
    known = mma(kind)
    for field in ("a", "b", "d", "descriptor", "scale_a", "scale_b", "target"):
        assert find_violations(replace(known, **{field: None})) == ()


FACTS = ("a", "b", "d", "descriptor", "mask", "sparse_metadata", "scale_a", "scale_b", "target", "ptx")
"""Fields of an instruction that may be unknown; the others are its modifiers."""


@together("case", [case for _, case, *_ in (*KEPT, *BROKEN)])
def test_who_knows_less_finds_no_more(case: Mma):
    found = by_name(find_violations(case)).keys()
    for known in with_less_known(case, FACTS, (SmemOperand, TmemOperand)):
        assert by_name(find_violations(known)).keys() <= found


def test_an_unknown_kind_is_the_only_finding():
    (finding,) = find_violations(Mma("bf16"))
    assert finding.rule == "kind" and "expected a kind out of f16, tf32" in finding.message


def test_all_violations_are_listed():
    found = by_name(find_violations(mma(mask=ZeroColumnMask(), ashift=True, disable_output_lane=8, scale_input_d=16)))
    assert list(found) == ["mask-needs-ws", "ashift-a", "disable-output-lane-size", "scale-input-d-range"]
    with pytest.raises(LegalityError, match=r"; use tcgen05.mma.ws \[mask-needs-ws\]$"):
        check_mma(mma(mask=ZeroColumnMask(), ashift=True))


@together("vector", DATA["accepted"])
def test_whole_instructions_of_a_library(vector: dict[str, Any]):
    """With the operands that the library would pass, the checker refuses what the ISA forbids, and only that."""
    kind = vector["kind"]
    word = int(vector["idesc"], 16)
    legal = forbidden_by_isa(vector) is None
    scaled = "block16" if vector["sf"] == "ue4m3" or vector["vs"] == 16 else "block32"
    case = Mma(
        kind,
        vector["cta_group"],
        sparse=bool(vector["sparse"]),
        scale_vector=scaled if kind.startswith("mx") else None,
        a=TmemOperand() if vector["a_src"] == "tmem" else SmemOperand(),
        b=SmemOperand(),
        descriptor=word,
    )
    assert (find_violations(case) == ()) == legal
