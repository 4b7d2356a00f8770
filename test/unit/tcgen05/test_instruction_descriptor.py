"""The instruction descriptor: the worked constants, 240 descriptors of CUTLASS, and the verifier."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx.tcgen05 import KINDS, InstructionDescriptor, LegalityError, portable

DATA = json.loads((Path(__file__).parent / "data/instruction_descriptors.json").read_text())
SCALE_OF_KIND = {"mxf8f6f4": "ue8m0", "mxf4": "ue8m0", "mxf4nvf4": "ue4m3"}


def example(kind: str, **fields: Any) -> InstructionDescriptor:
    """A legal descriptor of that kind, with some fields replaced."""
    row = KINDS[kind]
    a, d = row.operands[0][0], row.accumulators[-1][0]
    base = InstructionDescriptor(kind, a, a, d, m=128, n=128, scale=SCALE_OF_KIND.get(kind))
    return replace(base, **fields)


@pytest.mark.parametrize(
    ("descriptor", "word"),
    [
        (InstructionDescriptor("f16", "f16", "f16", "f32", 128, 128), 0x08200010),
        (InstructionDescriptor("f16", "bf16", "bf16", "f32", 128, 256), 0x08400490),
        (InstructionDescriptor("tf32", "tf32", "tf32", "f32", 64, 64), 0x04100910),
        (InstructionDescriptor("i8", "s8", "s8", "s32", 128, 128), 0x082004A0),
        (InstructionDescriptor("f16", "f16", "f16", "f32", 32, 64, max_shift=16), 0x82100010),
        (InstructionDescriptor("mxf8f6f4", "e4m3", "e4m3", "f32", 128, 128, scale="ue8m0"), 0x08A00000),
        (InstructionDescriptor("mxf4nvf4", "e2m1", "e2m1", "f32", 256, 128, scale="ue4m3"), 0x10200480),
    ],
)
def test_worked_constants(descriptor: InstructionDescriptor, word: int):
    assert descriptor.encode() == word
    assert InstructionDescriptor.decode(word, descriptor.kind) == descriptor


def of_vector(vector: dict[str, Any]) -> InstructionDescriptor:
    return InstructionDescriptor(
        kind=vector["kind"],
        a=vector["a"].removesuffix("u"),
        b=vector["b"].removesuffix("u"),
        d=vector["c"],
        m=vector["M"],
        n=vector["N"],
        a_major=vector["a_major"],
        b_major=vector["b_major"],
        negate_a=bool(vector["a_neg"]),
        negate_b=bool(vector["b_neg"]),
        sparse=bool(vector["sparse"]),
        saturate=bool(vector["sat"]),
        scale=vector["sf"],
    )


def forbidden_by_isa(vector: dict[str, Any]) -> str | None:
    """Why the ISA forbids what the library compiles, or None."""
    mn_major = [vector[x] for x in ("a", "b") if vector[f"{x}_major"] == "MN"]
    if vector["c"] == "f16" and vector["kind"] == "f16" and {vector["a"], vector["b"]} != {"f16"}:
        return "D = f16 is expected with A and B of f16"
    if mn_major and (vector["kind"] in ("mxf4", "mxf4nvf4") or {"e2m1", "e2m1u", "e2m3", "e3m2"} & set(mn_major)):
        return "is expected K"
    if vector["kind"] in SCALE_OF_KIND and vector["sparse"] and vector["cta_group"] == 2 and vector["M"] != 256:
        return "expected M in {256}"
    if vector["b_major"] == "MN" and KINDS[vector["kind"]].operands[0][0] in ("e4m3", "u8"):
        step = 16 * vector["cta_group"]  # the library checks it for some of its operations only
        return f"N in steps of {step}" if vector["N"] % step else None
    return None


@pytest.mark.parametrize("vector", DATA["accepted"], ids=lambda v: f"{v['op']}-{v['idesc']}")
def test_accepted_vectors(vector: dict[str, Any]):
    descriptor, word = of_vector(vector), int(vector["idesc"], 16)
    assert descriptor.encode_unchecked() == word
    assert InstructionDescriptor.decode(word, vector["kind"]) == descriptor
    reason = forbidden_by_isa(vector)
    if reason is None:
        descriptor.verify(vector["cta_group"], ws=False)
        assert descriptor.encode() == word
    else:
        with pytest.raises(LegalityError, match=re.escape(reason)):
            descriptor.verify(vector["cta_group"], ws=False)


def test_few_accepted_vectors_are_forbidden():
    reasons = Counter(forbidden_by_isa(vector) for vector in DATA["accepted"])
    assert reasons[None] > 200


@pytest.mark.parametrize("vector", DATA["rejected"], ids=lambda v: f"{v['op']}-{v['M']}x{v['N']}")
def test_rejected_vectors(vector: dict[str, Any]):
    """What the library rejects is rejected here too, unless it is about A in tensor memory, which no descriptor tells,
    or a shape that the ISA's table has; that one is not portable."""
    try:
        of_vector(vector).verify(vector["cta_group"], ws=False)
    except LegalityError:
        return
    shape = (vector["kind"], vector["M"], vector["N"], vector["cta_group"], False, bool(vector["sparse"]))
    assert vector["a_src"] == "tmem" or not portable(*shape), vector["errors"]


RUNTIME = [v for v in DATA["runtime"] if v["call"] != "sm103_k96"]


@pytest.mark.parametrize("vector", RUNTIME, ids=lambda v: v["idesc"])
def test_runtime_vectors(vector: dict[str, Any]):
    p = vector["params"]
    if "max_shift" in p:
        kind = {"f16": "f16", "tf32": "tf32", "e4m3": "f8f6f4"}[p["a"]]
        shift = (0, 8, 16, 32)[int(p["max_shift"])]
        descriptor = InstructionDescriptor(
            kind, p["a"], p["b"], p["c"], p["M"], p["N"], sparse=bool(p["sparse"]), max_shift=shift
        )
        assert descriptor.encode() == int(vector["idesc"], 16)
        return
    kind = "mxf4nvf4" if p["a"] == "e2m1" else "mxf8f6f4"
    descriptor = InstructionDescriptor(
        kind=kind,
        a=p["a"].removesuffix("u"),
        b=p["b"].removesuffix("u"),
        m=p["M"],
        n=p["N"],
        sparse=bool(p["sparse"]),
        scale=p["sf"],
        sf_a_id=p["a_sf_id"],
        sf_b_id=p["b_sf_id"],
        sparsity_selector=p["sparse_id2"],
    )
    assert descriptor.encode_unchecked() == int(vector["idesc"], 16)
    legal = p["sparse_id2"] == 0 and {p["a_sf_id"], p["b_sf_id"]} <= set(KINDS[kind].sf_ids)
    if legal:
        assert descriptor.encode() == int(vector["idesc"], 16)
    else:
        with pytest.raises(LegalityError, match="sf_._id|sparsity_selector"):
            descriptor.encode()


def test_k_of_96():
    descriptor = example("mxf4nvf4", k96=True)
    assert descriptor.encode() == 0x88200480
    assert (descriptor.k, example("mxf4").k, example("mxf4", sparse=True).k) == (96, 64, 128)
    with pytest.raises(LegalityError, match="expected k96 False, got True"):
        example("mxf4", k96=True, sparse=True).verify()


def test_mlir_spellings():
    assert InstructionDescriptor("f8f6f4", "f8E4M3FN", "f4E2M1FN", "f32", 128, 64) == InstructionDescriptor(
        "f8f6f4", "e4m3", "e2m1", "f32", 128, 64
    )
    assert InstructionDescriptor("i8", "ui8", "i8", "i32", 128, 64).encode() == 0x08100420
    assert example("mxf4", scale="f8E8M0FNU") == example("mxf4")


@pytest.mark.parametrize(
    ("descriptor", "message"),
    [
        (example("f16", a="tf32"), "kind::f16: expected A type f16 or bf16, got tf32"),
        (example("tf32", d="f16"), "kind::tf32: expected D type f32, got f16"),
        (
            example("f16", a="bf16", d="f16"),
            "D = f16 is expected with A and B of f16, got bf16 and f16; nearest is D = f32",
        ),
        (example("f16", scale="ue8m0"), "kind::f16: expected scale type None, got ue8m0"),
        (example("mxf8f6f4", scale=None), "kind::mxf8f6f4: expected scale type ue8m0, got None"),
        (example("mxf4", scale="ue4m3"), "expected scale type ue8m0, got ue4m3"),
        (example("mxf4", sf_a_id=1), "expected sf_a_id 0 or 2, got 1"),
        (example("f16", sf_b_id=1), "expected sf_b_id 0, got 1"),
        (example("f8f6f4", a="e2m1", a_major="MN"), "a_major of e2m1 is expected K"),
        (example("mxf4", b_major="MN"), "b_major of e2m1 is expected K"),
        (example("f16", saturate=True), "expected saturate False, got True"),
        (example("i8", negate_a=True), "expected negate_a False, got True"),
        (example("f16", sparsity_selector=1), "expected sparsity_selector 0, got 1"),
        (example("f8f6f4", sparse=True, sparsity_selector=1), "expected sparsity_selector 0, got 1"),
        (example("mxf4", max_shift=8), "expected max_shift 0, got 8"),
        (example("f16", max_shift=4), "expected max_shift 0 or 8 or 16 or 32, got 4"),
        (example("f16", m=96), "expected M in {64, 128}, got 96; nearest is 64"),
        (example("f16", n=12), "expected N in .8, 16, ..., 256., got 12; nearest is 8"),
        (example("f16", n=96, max_shift=8), "expected N in {64, 128, 256}, got 96; nearest is 64"),
    ],
)
def test_the_verifier_names_the_field(descriptor: InstructionDescriptor, message: str):
    with pytest.raises(LegalityError, match=message):
        descriptor.verify()
    with pytest.raises(LegalityError, match=message):
        descriptor.encode()


def test_what_the_bits_do_not_say_can_be_passed():
    pair = example("f16", m=256)
    pair.verify()
    pair.verify(cta_group=2)
    with pytest.raises(LegalityError, match="cta_group 1: expected M in {64, 128}, got 256; nearest is 128"):
        pair.verify(cta_group=1)
    small = example("f16", m=32, n=64)
    small.verify(ws=True)
    with pytest.raises(LegalityError, match="expected M in"):
        small.verify(ws=False)
    with pytest.raises(
        LegalityError, match="kind::mxf4: expected one of cta_group 1, cta_group 2, got cta_group 1 .ws"
    ):
        example("mxf4").verify(cta_group=1, ws=True)
    with pytest.raises(LegalityError, match="expected max_shift 0, got 8"):
        example("f16", m=64, n=64, max_shift=8).verify(ws=False)


def test_mn_major_b_of_8_bits_needs_wider_steps():
    example("f8f6f4", n=24).verify(1, False)
    with pytest.raises(LegalityError, match="MN-major B of e4m3, cta_group 1: expected N in steps of 16, got 24"):
        example("f8f6f4", n=24, b_major="MN").verify(1, False)
    with pytest.raises(LegalityError, match="MN-major B of e4m3, cta_group 2: expected N in steps of 32, got 48"):
        example("f8f6f4", n=48, b_major="MN").verify(2, False)
    example("f16", n=24, b_major="MN").verify(1, False)


@pytest.mark.parametrize(
    ("word", "kind", "message"),
    [
        (1 << 6, "f16", "expected 0 in the reserved bits, got 0x40"),
        (1 << 23, "f16", "expected 0 in the reserved bits, got 0x800000"),
        (1 << 3, "mxf4", "expected 0 in the reserved bits, got 0x8"),
        (7 << 7, "f8f6f4", "A type: expected a code of 0 .e4m3., 1 .e5m2., 3"),
        (3 << 4, "f16", "D type: expected a code of"),
        (1 << 32, "f16", "expected a 32-bit"),
        (0, "f32", "expected a kind of tcgen05.mma"),
    ],
)
def test_words_that_are_no_descriptor(word: int, kind: str, message: str):
    with pytest.raises(LegalityError, match=message):
        InstructionDescriptor.decode(word, kind)


def test_values_that_do_not_fit():
    with pytest.raises(LegalityError, match="M: expected a multiple of 16, got 100; nearest is 96"):
        example("f16", m=100).encode_unchecked()
    with pytest.raises(LegalityError, match="n: expected a code of 6 bits, got 64"):
        example("f16", n=512).encode_unchecked()
    with pytest.raises(LegalityError, match="a_major: expected K or MN, got 'M'"):
        example("f16", a_major="M")


@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(KINDS)))
def test_decode_and_encode_agree_on_any_word(word: int, kind: str):
    try:
        descriptor = InstructionDescriptor.decode(word, kind)
    except LegalityError:
        return
    assert descriptor.encode_unchecked() == word
