"""The instruction descriptor: the worked constants, 240 descriptors of CUTLASS, and the verifier."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.cases import together
from unit.tcgen05.descriptor_vectors import DATA, SCALE_OF_KIND, forbidden_by_isa, of_vector

from tirx.hw.errors import LegalityError
from tirx.tcgen05.check import Mma, TmemOperand, find_violations
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor, smallest_max_shift
from tirx.tcgen05.kinds import KINDS
from tirx.tcgen05.shapes import portable


def example(kind: str, **fields: Any) -> InstructionDescriptor:
    """A legal descriptor of that kind, with some fields replaced."""
    row = KINDS[kind]
    a, d = row.operands[0][0], row.accumulators[-1][0]
    base = InstructionDescriptor(kind, a, a, d, m=128, n=128, scale=SCALE_OF_KIND.get(kind))
    return replace(base, **fields)


@together(
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


@together("vector", DATA["accepted"])
def test_accepted_vectors(vector: dict[str, Any]):
    descriptor, word = of_vector(vector), int(vector["idesc"], 16)
    if vector["sf"] is not None and vector["M"] % 128:  # no field of M holds it
        with pytest.raises(LegalityError, match="expected M 0, 128, 256, 384, found 64"):
            descriptor.encode_unchecked()
        return
    assert descriptor.encode_unchecked() == word
    forbidden = forbidden_by_isa(vector)
    if forbidden is not None and forbidden[1]:
        with pytest.raises(LegalityError, match=r"\(?bits? "):
            InstructionDescriptor.decode(word, vector["kind"])
    else:
        assert InstructionDescriptor.decode(word, vector["kind"]) == descriptor
    if forbidden is None:
        descriptor.verify(vector["cta_group"], ws=False)
        assert descriptor.encode() == word
    else:
        with pytest.raises(LegalityError, match=re.escape(forbidden[0])):
            descriptor.verify(vector["cta_group"], ws=False)


def allowed_by_isa(vector: dict[str, Any]) -> bool:
    """Returns True if the ISA allows a vector that the library does not compile.

    - A in tensor memory and N in finer steps than 16 (M = 128) or 32 (a CTA pair): the ISA's table of shapes does not
      ask where A is. Such shapes are not portable.
    - kind::mxf8f6f4 of a CTA pair with M = 128, which the table has, as the library's own message says.
    """
    if vector["kind"] == "mxf8f6f4" and vector["cta_group"] == 2:
        return vector["M"] == 128 and not vector["sparse"] and vector["N"] % 16 == 0
    in_table = {1: ((64, 128), 8), 2: ((128, 256), 16)}
    ms, step = in_table[vector["cta_group"]]
    return (
        vector["a_src"] == "tmem"
        and vector["kind"] in ("f16", "tf32", "f8f6f4")
        and vector["a_major"] == "K"
        and vector["M"] in ms
        and vector["N"] in range(step, 257, step)
    )


@together("vector", DATA["rejected"])
def test_rejected_vectors(vector: dict[str, Any]):
    """Vectors that the library rejects are rejected here too, up to those that the ISA allows. A in tensor memory is
    never transposed, which is no matter of the descriptor: the checker of whole instructions says so.
    """
    variant = (vector["cta_group"], False)
    if vector["a_src"] == "tmem" and vector["a_major"] == "MN":
        product = Mma(vector["kind"], vector["cta_group"], a=TmemOperand(), descriptor=of_vector(vector))
        assert "a-tmem-major" in {finding.rule for finding in find_violations(product)}
    elif allowed_by_isa(vector):
        of_vector(vector).verify(*variant)
        assert not portable(vector["kind"], vector["M"], vector["N"], *variant, bool(vector["sparse"]))
    else:
        with pytest.raises(LegalityError, match="expected|exists? on|does not exist"):
            of_vector(vector).verify(*variant)


RUNTIME = [v for v in DATA["runtime"] if v["call"] != "sm103_k96"]


@together("vector", RUNTIME)
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
    descriptor = example("mxf4nvf4", wide_k=True)
    assert descriptor.encode() == 0x88200480
    # Three scale factors may start at any byte of a column, and only they.
    odd = example("mxf4", wide_k=True, sf_a_id=3, sf_b_id=1)
    assert odd.encode() == example("mxf4", wide_k=True).encode() | 3 << 29 | 1 << 4
    assert InstructionDescriptor.decode(odd.encode(), "mxf4") == odd
    assert (descriptor.k, example("mxf4").k, example("mxf4", sparse=True).k) == (96, 64, 128)
    with pytest.raises(LegalityError, match="expected a code of K of 0 or 1, found 2"):
        example("mxf4", widest_k=True, sparse=True).verify()


def test_mlir_spellings():
    assert InstructionDescriptor("f8f6f4", "f8E4M3FN", "f4E2M1FN", "f32", 128, 64) == InstructionDescriptor(
        "f8f6f4", "e4m3", "e2m1", "f32", 128, 64
    )
    assert InstructionDescriptor("i8", "ui8", "i8", "i32", 128, 64).encode() == 0x08100420
    assert example("mxf4", scale="f8E8M0FNU") == example("mxf4")


@together(
    ("descriptor", "message"),
    [
        (example("f16", a="tf32"), "kind::f16: expected A type f16 or bf16, found tf32"),
        (example("tf32", d="f16"), "kind::tf32: expected D type f32, found f16"),
        (
            example("f16", a="bf16", d="f16"),
            "D = f16 is expected with A and B of f16, found bf16 and f16; nearest is D = f32",
        ),
        (example("f16", scale="ue8m0"), "kind::f16: expected scale type None, found ue8m0"),
        (example("mxf8f6f4", scale=None), "kind::mxf8f6f4: expected scale type ue8m0, found None"),
        (example("mxf4", scale="ue4m3"), "expected scale type ue8m0, found ue4m3"),
        (example("mxf4", sf_a_id=1), "expected sf_a_id 0 or 2, found 1"),
        (example("f16", sf_b_id=1), "expected sf_b_id 0, found 1"),
        (example("f8f6f4", a="e2m1", a_major="MN"), "a_major of e2m1 is expected K"),
        (example("mxf4", b_major="MN"), "b_major of e2m1 is expected K"),
        (example("f16", saturate=True), "expected saturate False, found True"),
        (example("i8", negate_a=True), "expected negate_a False, found True"),
        (example("f16", sparsity_selector=1), "expected sparsity_selector 0, found 1"),
        (example("f8f6f4", sparse=True, sparsity_selector=1), "expected sparsity_selector 0, found 1"),
        (example("mxf4", max_shift=8), "expected max_shift 0, found 8"),
        (example("f16", max_shift=4), "expected max_shift 0 or 8 or 16 or 32, found 4"),
        (example("f16", m=96), "expected M in {64, 128}, found 96; nearest is 64"),
        (example("f16", n=12), "expected N in .8, 16, ..., 256., found 12; nearest is 8"),
        (example("f16", n=96, max_shift=8), "expected N in {64, 128, 256}, found 96; nearest is 64"),
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
    with pytest.raises(LegalityError, match="cta_group 1: expected M in {64, 128}, found 256; nearest is 128"):
        pair.verify(cta_group=1)
    small = example("f16", m=32, n=64)
    small.verify(ws=True)
    with pytest.raises(LegalityError, match="expected M in"):
        small.verify(ws=False)
    with pytest.raises(
        LegalityError, match="kind::mxf4: expected one of cta_group 1, cta_group 2, found cta_group 1 .ws"
    ):
        example("mxf4").verify(cta_group=1, ws=True)
    with pytest.raises(LegalityError, match="expected max_shift 0, found 8"):
        example("f16", m=64, n=64, max_shift=8).verify(ws=False)


def test_mn_major_b_of_8_bits_needs_wider_steps():
    example("f8f6f4", n=24).verify(1, False)
    with pytest.raises(LegalityError, match="MN-major B of e4m3, cta_group 1: expected N in steps of 16, found 24"):
        example("f8f6f4", n=24, b_major="MN").verify(1, False)
    with pytest.raises(LegalityError, match="MN-major B of e4m3, cta_group 2: expected N in steps of 32, found 48"):
        example("f8f6f4", n=48, b_major="MN").verify(2, False)
    example("f16", n=24, b_major="MN").verify(1, False)


# kind -> a legal word of it
LEGAL = {
    "f16": 0x08200010,
    "tf32": 0x04100910,
    "f8f6f4": 0x08200010,
    "i8": 0x082004A0,
    "mxf8f6f4": 0x08A00000,
    "mxf4": 0x08A00480,
    "mxf4nvf4": 0x08200480,
}


def test_the_legal_words_are_legal():
    for kind, word in LEGAL.items():
        assert InstructionDescriptor.decode(word, kind).encode() == word


FOUR_BIT = ("mxf4", "mxf4nvf4")

# kind, first bit and width of a field, a code that it does not have, message
BAD_FIELDS = [
    *((kind, 0, 2, 1, r"sparsity_selector .bits 0-1.: expected a code of 0 .0., found 1") for kind in ("f8f6f4", "i8")),
    *((kind, 0, 2, 3, "expected 0 in the reserved bits 0-1, found 0b11") for kind in ("mxf8f6f4", "mxf4", "mxf4nvf4")),
    *((k, 3, 1, 1, r"saturate .bit 3.: expected a code of 0 .False., found 1") for k in ("f16", "tf32", "f8f6f4")),
    ("f16", 4, 2, 2, r"D type .bits 4-5.: expected a code of 0 .f16., 1 .f32., found 2"),
    ("tf32", 4, 2, 0, r"D type .bits 4-5.: expected a code of 1 .f32., found 0"),
    ("f8f6f4", 4, 2, 3, r"D type .bits 4-5.: expected a code of 0 .f16., 1 .f32., found 3"),
    ("i8", 4, 2, 1, r"D type .bits 4-5.: expected a code of 2 .s32., found 1"),
    *((kind, 4, 2, 1, r"sf_b_id .bits 4-5.: expected a code of 0 .0., 2 .2., found 1") for kind in FOUR_BIT),
    *((kind, 6, 1, 1, "expected 0 in the reserved bit 6, found 0b1") for kind in LEGAL),
    ("f16", 7, 3, 2, r"A type .bits 7-9.: expected a code of 0 .f16., 1 .bf16., found 2"),
    ("tf32", 7, 3, 0, r"A type .bits 7-9.: expected a code of 2 .tf32., found 0"),
    ("f8f6f4", 7, 3, 2, r"A type .bits 7-9.: expected a code of 0 .e4m3., 1 .e5m2., 3 .e2m3., .* found 2"),
    ("i8", 10, 3, 2, r"B type .bits 10-12.: expected a code of 0 .u8., 1 .s8., found 2"),
    ("mxf8f6f4", 10, 3, 6, r"B type .bits 10-12.: expected a code of 0 .e4m3., .*5 .e2m1., found 6"),
    ("mxf4", 7, 3, 5, r"A type .bits 7-9.: expected a code of 1 .e2m1., found 5"),
    ("mxf4", 10, 2, 0, r"B type .bits 10-11.: expected a code of 1 .e2m1., found 0"),
    ("i8", 13, 1, 1, r"negate_a .bit 13.: expected a code of 0 .False., found 1"),
    ("i8", 14, 1, 1, r"negate_b .bit 14.: expected a code of 0 .False., found 1"),
    *((kind, 15, 1, 1, r"a_major .bit 15.: expected a code of 0 .K., found 1") for kind in FOUR_BIT),
    *((kind, 16, 1, 1, r"b_major .bit 16.: expected a code of 0 .K., found 1") for kind in FOUR_BIT),
    *(
        (kind, 17, 6, code, f"N .bits 17-22.: expected a code of .*found {code}")
        for kind in LEGAL
        for code in (0, 33, 63)
    ),
    ("i8", 17, 6, 5, "N .bits 17-22.: expected a code of 1 .8., 2 .16., 3 .24., ..., 32 .256., found 5"),
    *((kind, 23, 1, 1, "expected 0 in the reserved bit 23, found 0b1") for kind in ("f16", "tf32", "f8f6f4", "i8")),
    *(
        (kind, 23, 1, 0, r"scale type .bits 23-24.: expected a code of 1 .ue8m0., found 0")
        for kind in ("mxf8f6f4", "mxf4")
    ),
    *(("f16", 24, 5, code, f"M .bits 24-28.: expected a code of 2 .32.*found {code}") for code in (0, 1, 3, 6, 12, 31)),
    *((kind, 25, 1, 1, "reserved bit 25, found 0b1") for kind in ("mxf8f6f4", "mxf4", "mxf4nvf4")),
    *(
        (kind, 27, 2, 0, "M .bits 27-28.: expected a code of 1 .128., 2 .256., found 0")
        for kind in ("mxf8f6f4", "mxf4")
    ),
    *((kind, 29, 1, 1, "wide_k .bit 29.: expected a code of 0 .False., found 1") for kind in ("f16", "tf32", "i8")),
    *((kind, 29, 2, 3, r"sf_a_id .bits 29-30.: expected a code of 0 .0., 2 .2., found 3") for kind in FOUR_BIT),
    ("mxf8f6f4", 3, 1, 1, "expected 0 in the reserved bit 3, found 0b1"),
]


@together(("kind", "first", "width", "code", "message"), BAD_FIELDS)
def test_words_that_are_no_descriptor(kind: str, first: int, width: int, code: int, message: str):
    word = LEGAL[kind] & ~(((1 << width) - 1) << first) | code << first
    with pytest.raises(LegalityError, match=f"^kind::{kind}: .*{message}"):
        InstructionDescriptor.decode(word, kind)


def test_what_is_no_word_of_a_kind():
    with pytest.raises(LegalityError, match="expected a 32-bit"):
        InstructionDescriptor.decode(1 << 32, "f16")
    with pytest.raises(LegalityError, match="expected a kind of tcgen05.mma"):
        InstructionDescriptor.decode(0, "f32")


def test_values_that_have_no_code():
    with pytest.raises(LegalityError, match="kind::f16: expected M 0, 16, 32, ..., 496, found 100"):
        example("f16", m=100).encode_unchecked()
    with pytest.raises(LegalityError, match="kind::f16: expected N 0, 8, 16, ..., 504, found 512"):
        example("f16", n=512).encode_unchecked()
    with pytest.raises(LegalityError, match="a_major: expected K or MN, found 'M'"):
        example("f16", a_major="M")


def test_smallest_max_shift():
    assert [smallest_max_shift(shift) for shift in (0, 1, 8, 9, 16, 17, 32)] == [0, 8, 8, 16, 16, 32, 32]
    for shift in (-1, 33):
        with pytest.raises(LegalityError, match=f"expected a column shift of 0 to 32, found {shift}"):
            smallest_max_shift(shift)


def test_the_target_decides_too():
    example("i8").verify(1, False, "sm_100a")
    with pytest.raises(LegalityError, match="kind::i8, cta_group 1: expected target .*, found sm_103a"):
        example("i8").verify(1, False, "sm_103a")
    example("mxf4nvf4", wide_k=True).verify(target="sm_103a")
    with pytest.raises(LegalityError, match="K = 96: expected target .*, found sm_100a"):
        example("mxf4nvf4", wide_k=True).verify(target="sm_100a")


@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(KINDS)))
def test_decode_and_encode_agree_on_any_word(word: int, kind: str):
    try:
        descriptor = InstructionDescriptor.decode(word, kind)
    except LegalityError:
        return
    assert descriptor.encode_unchecked() == word
