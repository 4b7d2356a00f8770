"""Every form of wgmma.mma_async: `ptxas` accepts for sm_90a what the tables have, and refuses what they do not have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import pytest
from unit.cases import together

from tirx.hw.errors import LegalityError
from tirx.hw.features import required_version
from tirx.hw.targets import PtxVersion, Target
from tirx.sim.isa.wgmma import _KINDS as SIMULATED  # pyright: ignore[reportPrivateUsage]
from tirx.wgmma.check import RegisterOperand, SmemOperand, Wgmma, find_violations
from tirx.wgmma.fragments import SPARSE_METADATA
from tirx.wgmma.kinds import KINDS, Form, check_form, find_kind, form_findings, split_n

Rejected = Callable[[Sequence[Sequence[str]], str, PtxVersion], dict[str, str]]

SM_90A = Target.parse("sm_90a")
NEWEST: PtxVersion = (9, 0)
FLAG = (False, True)
TYPES = ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "b1")
RESULTS = ("f16", "bf16", "f32", "s32")
ALL_N = (*range(8, 257, 8), 4, 12, 264)


def _vector(register: str, count: int) -> str:
    return f"{{{', '.join(f'%{register}{i}' for i in range(count))}}}"


def _text(form: Form, in_smem: bool, transposes: tuple[bool, bool] = (False, False), selector: int = 0) -> str:
    """The instruction as PTX, legal or not."""
    kind = KINDS.get((form.a, form.b)) or KINDS[form.a, form.a]
    types = f"{form.d}.{form.a}.{form.b}{kind.suffix}"
    k = kind.instruction_k(form.sparse)
    name = f"wgmma.mma_async{'.sp' * form.sparse}.sync.aligned.m64n{form.n}k{k}{'.satfinite' * form.saturate}.{types}"
    if (form.a, form.b) in KINDS:
        assert name == form.mnemonic
    d = _vector("f" if form.d == "f32" else "r", max(form.n // 2 // (2 if form.d in ("f16", "bf16") else 1), 1))
    a = "%rd0" if in_smem else _vector("r", 4)
    immediates: tuple[int, ...] = ()
    if kind.negates or form.negate_a or form.negate_b:
        immediates = (-1 if form.negate_a else 1, -1 if form.negate_b else 1)
    if kind.transposes:
        immediates += ((int(transposes[0]),) if in_smem else ()) + (int(transposes[1]),)
    elif any(transposes):
        immediates += (int(transposes[0]), int(transposes[1]))
    if (form.a, form.b) in KINDS and not (form_findings(form) or any(transposes)):
        assert immediates == form.immediates(in_smem)
    metadata = ("%r130", str(selector)) if form.sparse else ()
    return f"{name} {', '.join((d, a, '%rd1', *metadata, '%p0', *map(str, immediates)))}"


def _sizes() -> Iterator[Form]:
    """All N of f16, s8 and bits, which have sizes of their own, and every third N of the others and of sparse A."""
    for (a, b), sparse in product(KINDS, FLAG):
        for d, n in product(KINDS[a, b].results, ALL_N[:: 1 if a == b in ("f16", "s8", "b1") and not sparse else 3]):
            yield Form(a, b, d, n, sparse)


def _types() -> Iterator[Form]:
    """All triples of types."""
    for a, b, d in product(TYPES, TYPES, RESULTS):
        yield Form(a, b, d, 16)


def _modifiers() -> Iterator[Form]:
    for (a, b), sparse, saturate, minus_a, minus_b in product(KINDS, FLAG, FLAG, FLAG, FLAG):
        yield Form(a, b, KINDS[a, b].results[0], 8, sparse, saturate, minus_a, minus_b)


def _judged(form: Form, in_smem: bool, transposes: tuple[bool, bool] = (False, False), selector: int = 0) -> bool:
    """Returns True if the rules accept an instruction."""
    instruction = Wgmma(
        form,
        SmemOperand() if in_smem else RegisterOperand(),
        SmemOperand(),
        RegisterOperand(),
        RegisterOperand() if form.sparse else None,
        selector if form.sparse else None,
        *transposes,
        target="sm_90a",
        ptx=NEWEST,
    )
    return not find_violations(instruction)


def _compare(cases: dict[str, bool], rejected: Rejected) -> None:
    """`ptxas` refuses the instructions that the rules refuse, and only these."""
    found = rejected([list(cases)], "sm_90a", NEWEST)
    assert {text: found[text] for text in cases if cases[text] and text in found} == {}
    assert [text for text in cases if not cases[text] and text not in found] == []


def test_sizes(rejected: Rejected):
    cases = {_text(form, in_smem): _judged(form, in_smem) for form in _sizes() for in_smem in FLAG}
    # A in memory or registers; f16, bf16, tf32, 4 pairs of 8-bit floats; integers; bits, which are never sparse.
    assert sum(cases.values()) == 2 * ((32 + 11) * 2 + (11 + 11) * (1 + 1 + 4 * 2) + (18 + 6) + (6 + 6) * 3 + 18)
    _compare(cases, rejected)


def test_types(rejected: Rejected):
    cases = {_text(form, True): _judged(form, True) for form in _types()}
    assert sum(cases.values()) == 2 + 1 + 1 + 4 * 2 + 4 + 1
    _compare(cases, rejected)


def test_modifiers(rejected: Rejected):
    cases = {
        _text(form, in_smem, transposes): _judged(form, in_smem, transposes)
        for form, in_smem, transposes in product(_modifiers(), FLAG, tuple(product(FLAG, FLAG)))
        # An A in registers has no imm-trans-a that could be wrong.
        if not (transposes[0] and not in_smem)
    }
    _compare(cases, rejected)


def test_selectors(rejected: Rejected):
    cases = {
        _text(form, True, selector=selector): _judged(form, True, selector=selector)
        for a, b in KINDS
        for selector in range(4)
        if (form := Form(a, b, KINDS[a, b].results[0], 8, sparse=True)).kind.sparse
    }
    _compare(cases, rejected)


@pytest.mark.parametrize("version", [(8, 0), (8, 1), (8, 2), (8, 3), (8, 4)])
def test_versions(version: PtxVersion, rejected: Rejected):
    """`features` names what `ptxas` asks for."""
    forms = [
        Form(a, b, KINDS[a, b].results[0], 8, sparse)
        for (a, b), sparse in product(KINDS, FLAG)
        if not sparse or KINDS[a, b].sparse
    ]
    found = rejected([[_text(form, True) for form in forms]], "sm_90a", version)
    for form in forms:
        needed = max(required_version(feature, SM_90A) for feature in form.features)
        assert (_text(form, True) in found) == (needed > version)


def test_the_simulator_has_the_same_kinds():
    """Two tables written apart."""
    assert SIMULATED.keys() == KINDS.keys()
    for types, theirs in SIMULATED.items():
        ours = KINDS[types]
        assert (ours.k, ours.bits, ours.results) == (theirs.depth, theirs.bits, theirs.results)
        assert (ours.negates, ours.transposes) == (theirs.negates, theirs.transposes)


@together(
    ("form", "rule", "message"),
    [
        (Form("f16", "bf16", "f32", 8), "types", "expected element types f16 x f16, .*, found f16 x bf16"),
        (Form("bf16", "bf16", "f16", 8), "d-type", "bf16 x bf16: expected D of f32, found f16"),
        (Form("f16", "f16", "f32", 260), "shape", "N from 8 to 256 in steps of 8, found 260; nearest is 256"),
        (Form("s8", "u8", "s32", 40), "shape", "steps of 8 up to 32 and of 16 beyond, found 40; nearest is 32"),
        (Form("b1", "b1", "s32", 8, sparse=True), "sparse", "b1 x b1: expected a dense A, found a sparse one"),
        (Form("f16", "f16", "f32", 8, saturate=True), "saturate", "only products of s8 and u8 saturate"),
        (Form("s8", "s8", "s32", 8, negate_b=True), "negate", "only floating-point operands are negated"),
    ],
)
def test_forms_that_do_not_exist(form: Form, rule: str, message: str):
    with pytest.raises(LegalityError, match=message) as error:
        check_form(form)
    assert error.value.rule == rule
    assert error.value.section and error.value.fix


def test_numbers():
    form = Form("f16", "f16", "f16", 256)
    assert (form.shape, form.k, form.d_registers, form.d_elements, form.a_registers) == ("m64n256k16", 16, 64, 128, 4)
    sparse = Form("tf32", "tf32", "f32", 96, sparse=True)
    assert (sparse.shape, sparse.d_registers, sparse.k_bytes) == ("m64n96k16", 48, (32, 64))
    assert all(Form(a, b, "s32", 8).a_registers == 4 for a, b in KINDS)
    assert {bits: facts.chunk * facts.codes for bits, facts in SPARSE_METADATA.items()} == {
        find_kind(a, a).bits: find_kind(a, a).instruction_k(sparse=True) for a in ("s8", "f16", "tf32")
    }


def test_splits():
    assert split_n(512, "f16", "f16")[:2] == [(256, 256), (128,) * 4]
    assert split_n(40, "s8", "s8")[0] == (32, 8)
    assert split_n(320, "bf16", "bf16")[0] == (160, 160)
    assert split_n(320, "bf16", "bf16", step=64)[0] == (256, 64)
    assert split_n(96, "f16", "f16", step=64) == [(96,)]
    for n in range(8, 520, 8):
        for types in (("f16", "f16"), ("s8", "u8")):
            for sizes in split_n(n, *types):
                assert sum(sizes) == n and set(sizes) <= set(KINDS[types].n)
    with pytest.raises(LegalityError, match="expected N in steps of 8, found 12; nearest is 16"):
        split_n(12, "f16", "f16")
