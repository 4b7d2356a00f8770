"""The rules about operands of wgmma: each is broken by one instruction, and says what to do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from unit.cases import together, with_less_known

from tirx.hw.errors import LegalityError
from tirx.layout import TileLayout
from tirx.smem.wgmma_descriptor import WgmmaDescriptor
from tirx.symbolic.integers import Integers
from tirx.wgmma.check import (
    WGMMA_RULES,
    RegisterOperand,
    SmemOperand,
    Wgmma,
    WgmmaFacts,
    check_wgmma,
    find_violations,
)
from tirx.wgmma.fragments import accumulator_layout, metadata_layout, operand_a_layout
from tirx.wgmma.kinds import FORM_RULES, Form

K_128B = WgmmaDescriptor(0, None, 1024, "128B")

LEGAL = Wgmma(
    Form("f16", "f16", "f32", 64),
    SmemOperand(K_128B, 64, "f16", "K", 16),
    SmemOperand(replace(K_128B, start=0x4000), 64, "f16", "K", 16),
    RegisterOperand("f32", accumulator_layout(64, 64)),
    threads=256,
    first_warp=4,
    target="sm_90a",
    ptx=(8, 0),
)
S8 = replace(
    LEGAL,
    form=Form("s8", "s8", "s32", 64),
    a_operand=SmemOperand(K_128B, 64, "s8", "K", 32),
    b_operand=SmemOperand(K_128B, 64, "s8", "K", 32),
    d_operand=RegisterOperand("s32", accumulator_layout(64, 64)),
)
IN_REGISTERS = replace(LEGAL, a_operand=RegisterOperand("f16", operand_a_layout(64, 16, "f16")))
SPARSE = replace(
    LEGAL,
    form=replace(LEGAL.form, sparse=True),
    b_operand=SmemOperand(K_128B, 64, "f16", "K", 32),
    metadata=RegisterOperand(None, metadata_layout(64, 32, "f16")),
    selector=0,
    ptx=(8, 2),
)


def _a(base: Wgmma = LEGAL, **fields: Any) -> Wgmma:
    assert isinstance(base.a_operand, SmemOperand)
    return replace(base, a_operand=replace(base.a_operand, **fields))


def _b(base: Wgmma = LEGAL, **fields: Any) -> Wgmma:
    assert base.b_operand is not None
    return replace(base, b_operand=replace(base.b_operand, **fields))


def _moved(layout: TileLayout, **offsets: int) -> TileLayout:
    return TileLayout(layout.shard, layout.replica, offsets)


SECOND_METADATA = RegisterOperand(None, _moved(metadata_layout(64, 32, "f16"), laneid=2, m=8))

CASES: dict[str, tuple[Wgmma, str]] = {
    "target": (replace(SPARSE, ptx=(8, 1)), "'wgmma.sparse' needs PTX 8.2 on sm_90a, found 8.1"),
    "warpgroup": (replace(LEGAL, first_warp=2), "starts at a multiple of 4 warps, found warp 2"),
    "threads": (replace(LEGAL, threads=192), "expected whole warpgroups of 128 threads, found 192"),
    "a-transpose": (
        replace(IN_REGISTERS, transpose_a=True),
        "expected a K-major A of f16, found imm-trans-a = 1",
    ),
    "b-transpose": (
        _b(replace(S8, transpose_b=True), major="MN", descriptor=None),
        "expected a K-major B of s8, found imm-trans-b = 1",
    ),
    "a-descriptor-bits": (_a(descriptor=1 << 46), "descriptor of A: bits 46-48: expected 0, found 0x1"),
    "b-descriptor-bits": (
        _b(descriptor=Integers(64, 0, 1 << 61)),
        "descriptor of B: bits 52-61: expected 0, found 0x200",
    ),
    "a-type": (_a(dtype="bf16"), "expected A of f16, as the instruction says, found bf16"),
    "b-type": (_b(dtype="s8"), "expected B of f16, as the instruction says, found s8"),
    "d-operand-type": (replace(LEGAL, d_operand=RegisterOperand("f16")), "expected D of f32, .*, found f16"),
    "a-major": (_a(major="MN"), "expected K-major A with imm-trans = 0, found MN-major"),
    "b-major": (replace(LEGAL, transpose_b=True), "expected MN-major B with imm-trans = 1, found K-major"),
    "a-k": (_a(k=32), "expected slices of A of 16 stored elements along K, found slices of 32"),
    "b-k": (_b(SPARSE, k=16), "expected slices of B of 32 stored elements along K, found slices of 16"),
    "a-descriptor": (_a(descriptor=replace(K_128B, base_offset=1)), "descriptor of A: matrix base offset"),
    "b-descriptor": (
        _b(SPARSE, descriptor=replace(K_128B, start=96)),
        "descriptor of B: start address: expected 64 bytes of K within one 128-byte row",
    ),
    "a-rows": (_a(rows=56), "expected 64 rows of A from its start address on, found 56"),
    "b-rows": (_b(rows=56), "expected 64 rows of B from its start address on, found 56"),
    "a-layout": (
        replace(LEGAL, a_operand=RegisterOperand("f16", operand_a_layout(64, 8, "tf32"))),
        "expected A where wgmma has it",
    ),
    "d-layout": (
        replace(LEGAL, d_operand=RegisterOperand("f32", _moved(accumulator_layout(64, 64), laneid=1))),
        "expected D where wgmma has it",
    ),
    "metadata": (replace(LEGAL, selector=0), "expected no sparsity metadata and no selector in a dense product"),
    "selector": (replace(SPARSE, metadata=None, selector=2), "expected a sparsity selector below 2, found 2"),
    "metadata-layout": (replace(SPARSE, selector=1), "expected metadata from lane 2 of four on, as selector 1 says"),
}


@together(
    "legal",
    [
        LEGAL,
        S8,
        IN_REGISTERS,
        SPARSE,
        replace(SPARSE, selector=1, metadata=SECOND_METADATA),
        replace(LEGAL, d_operand=RegisterOperand("f32", _moved(accumulator_layout(64, 64), m=32, warpid=4))),
        Wgmma(Form("b1", "b1", "s32", 8), SmemOperand(K_128B, k=256)),
        replace(LEGAL, transpose_a=True, a_operand=SmemOperand(K_128B, 64, "f16", "MN")),
        replace(LEGAL, form=Form("tf32", "tf32", "f32", 64), a_operand=SmemOperand(dtype="f32"), b_operand=None),
        Wgmma(LEGAL.form),
    ],
)
def test_legal(legal: Wgmma):
    assert find_violations(legal) == ()
    check_wgmma(legal)


def test_every_rule_has_a_case():
    assert CASES.keys() == {rule.name for rule in WGMMA_RULES}
    names = [rule.name for rule in (*FORM_RULES, *WGMMA_RULES)]
    assert len(set(names)) == len(names)


@together("name", CASES)
def test_rules(name: str):
    broken, message = CASES[name]
    assert [finding.rule for finding in find_violations(broken)] == [name]
    with pytest.raises(LegalityError, match=message) as error:
        check_wgmma(broken)
    assert error.value.rule == name


def test_the_form_comes_first():
    """Without a form that exists, other rules have no meaning."""
    wrong = replace(LEGAL, form=Form("f16", "s8", "f32", 300), first_warp=1)
    assert [finding.rule for finding in find_violations(wrong)] == ["types"]
    wrong = replace(LEGAL, form=Form("s8", "s8", "f32", 40, saturate=True))
    assert [finding.rule for finding in find_violations(wrong)] == ["d-type", "shape"]


FACTS = ("a_operand", "b_operand", "d_operand", "metadata", "threads", "first_warp", "target", "ptx")


@together("name", CASES)
def test_who_knows_less_finds_no_more(name: str):
    for known in with_less_known(CASES[name][0], FACTS, (SmemOperand, RegisterOperand)):
        assert {finding.rule for finding in find_violations(known)} <= {name}


def test_unknown_bits_break_nothing():
    """Of a descriptor whose address is not known, the swizzle is still checked."""
    known = Integers(64, zeros=(1 << 64) - 1 & ~0x3FFF, ones=0)
    assert find_violations(_a(descriptor=known)) == ()
    assert WgmmaFacts(LEGAL).a_smem is LEGAL.a_operand
