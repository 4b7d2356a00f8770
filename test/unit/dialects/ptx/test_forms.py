"""Forms of instructions of the dialects: `ptxas` accepts what tirx does, and no more. `families.py` lists the forms.

tirx judges by the verifier, and per target by the table of features; `ptxas` judges all of them in a few modules.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import pytest
from unit.cases import Sampled, together
from unit.dialects.ptx.families import FAMILIES, NEWEST, NO_FORMS, OTHER, STRICTER, WHERE, WIDE, WORD
from unit.dialects.ptx.forms import Form, entries_of, forms_of
from xdsl.dialects.builtin import UnitAttr
from xdsl.utils.exceptions import VerifyException

from tirx.dialects import ptx, wgmma
from tirx.dialects.ptx import (
    mbarrier,
    packed,
)
from tirx.dialects.ptx.base import PTXInstruction
from tirx.dialects.tcgen05 import TCGEN05
from tirx.hw.features import supports
from tirx.hw.targets import TARGETS, PtxVersion, Target

Rejected = Callable[[Sequence[Sequence[str]], str, PtxVersion], dict[str, str]]


@cache
def _forms(family: Callable[[], Iterator[PTXInstruction]], sampled: Sampled) -> tuple[Form, ...]:
    return forms_of(sampled(family(), 60))


@cache
def _samples(sampled: Sampled) -> tuple[Form, ...]:
    """Three legal forms of every instruction for each set of features: first, middle and last of its family's."""
    alike: dict[tuple[str, int, frozenset[str]], list[Form]] = {}
    for family in FAMILIES:
        for form in _forms(family, sampled):
            if form.message is None:
                name = ".".join(form.text.split(".")[:3])
                alike.setdefault((name, form.group, form.features), []).append(form)
    chosen = (forms[i] for forms in alike.values() for i in (0, len(forms) // 2, -1))
    return tuple(dict.fromkeys(chosen))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__.strip("_"))
def test_the_verifier_refuses_what_ptxas_rejects(
    family: Callable[[], Iterator[PTXInstruction]], rejected: Rejected, sampled: Sampled
):
    """On a target that has the instructions."""
    target = WHERE.get(family.__name__, "sm_100a")
    forms = _forms(family, sampled)
    bad = rejected(entries_of(forms), target, NEWEST)
    assert any(form.message is None for form in forms)
    for form in forms:
        if form.message is None or not any(re.search(text, form.message) for text in STRICTER):
            refused = form.message is not None or form.needs(Target.parse(target)) is None
            assert refused == (form.text in bad), (form, bad.get(form.text))


@pytest.mark.sample(7)
@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if supports(target, "cluster")])
def test_the_table_refuses_what_ptxas_rejects(name: str, rejected: Rejected, sampled: Sampled):
    """Samples of legal forms, in the version that tirx prints for them, and in the newest if it refuses them."""
    target = Target.parse(name)
    versions: dict[PtxVersion, list[Form]] = {}
    lacking: list[Form] = []
    for form in _samples(sampled):
        version = form.needs(target)
        (lacking if version is None else versions.setdefault(version, [])).append(form)
    assert versions
    assert rejected(entries_of(lacking), name, NEWEST).keys() == {form.text for form in lacking}
    for version, forms in versions.items():
        assert rejected(entries_of(forms), name, version) == {}


def test_every_instruction_has_a_form():
    dialects = (ptx.PTX, TCGEN05, wgmma.WGMMA)
    expected = {op for dialect in dialects for op in dialect.operations if issubclass(op, PTXInstruction)}
    assert {op.name for op in expected - {type(op) for family in FAMILIES for op in family()}} == NO_FORMS.keys()


@together(
    ("op", "features"),
    [
        (mbarrier.MbarrierArriveOp(WORD), ("mbarrier",)),
        (mbarrier.MbarrierArriveOp(WORD, 2), ("mbarrier.arrive.count",)),
        (mbarrier.MbarrierArriveOp(WORD, cluster=True), ("mbarrier", "mbarrier.cluster")),
        (mbarrier.MbarrierArriveOp(WORD, remote=True), ("mbarrier", "mbarrier.cluster")),
        (mbarrier.MbarrierArriveOp(WORD, relaxed=True), ("mbarrier", "mbarrier.relaxed")),
        (mbarrier.MbarrierTestWaitParityOp(WORD, OTHER), ("mbarrier",)),
        (mbarrier.MbarrierTestWaitParityOp(WORD, OTHER, cluster=True), ("mbarrier", "mbarrier.cluster")),
        (mbarrier.MbarrierWaitParityOp(WORD, OTHER), ("mbarrier.try_wait",)),
        (mbarrier.MbarrierWaitParityOp(WORD, OTHER, relaxed=True), ("mbarrier.try_wait", "mbarrier.relaxed")),
    ],
)
def test_what_forms_of_mbarriers_need(op: PTXInstruction, features: tuple[str, ...]):
    """Also on targets before sm_90, which the forms above leave out."""
    assert op.features() == features


@together("operation", packed.PairOperation)
def test_operands_of_pairs(operation: packed.PairOperation):
    """PTX ISA, "Half Precision Floating Point Instructions": `neg d, a`, `fma d, a, b, c`, `add d, a, b`."""
    count = {"fma": 3, "neg": 1, "abs": 1, "ex2": 1, "tanh": 1}.get(operation, 2)
    packed.PairOp(operation, packed.PairFormat.F16X2, [WORD] * count).verify()
    for other in {1, 2, 3, 4} - {count}:
        with pytest.raises(VerifyException, match=f"expected {count} operands of {operation}, found {other}"):
            packed.PairOp(operation, packed.PairFormat.F16X2, [WORD] * other).verify()


def test_formats_of_pairs():
    """Pairs of bytes are converted only."""
    add, narrow = packed.PairOperation.ADD, packed.PairFormat.E4M3X2
    for op in (packed.PairOp(add, narrow, [WORD, WORD]), packed.MixedPairOp(add, narrow, WORD, [WIDE])):
        with pytest.raises(VerifyException, match="expected f16x2 or bf16x2, found e4m3x2"):
            op.verify()
    with pytest.raises(VerifyException, match="expected add, sub or fma, found mul"):
        packed.MixedPairOp(packed.PairOperation.MUL, packed.PairFormat.F16X2, WORD, [WIDE]).verify()
    with pytest.raises(VerifyException, match="expected 1 pairs of f32 of add, found 2"):
        packed.MixedPairOp(add, packed.PairFormat.F16X2, WORD, [WIDE, WIDE]).verify()


def test_rows_take_their_operands_and_flags():
    least = ptx.MinOp(WORD, OTHER, nan=False, unsigned=True)
    assert (least.unsigned, least.nan, tuple(least.operands)) == (UnitAttr(), None, (WORD, OTHER))
    with pytest.raises(TypeError, match="ptx.min: expected lhs, rhs, unsigned, nan, found 1 operands"):
        ptx.MinOp(WORD)
    with pytest.raises(TypeError, match="ptx.add: expected lhs, rhs, found 2 operands, unsigned"):
        ptx.AddOp(WORD, WORD, unsigned=True)
