"""Instruction shapes: the ISA's table, element types, and the errors."""

import itertools

import pytest
from unit.cases import together

from tirx.hw.dtypes import DTYPES, find_dtype
from tirx.hw.errors import LegalityError
from tirx.tcgen05.kinds import KINDS, find_kind
from tirx.tcgen05.shapes import check_shape, check_transposed_b, portable, shape_row

STEP_8, STEP_16, STEP_32 = (set(range(step, 257, step)) for step in (8, 16, 32))
WS = {64, 128, 256}

# kind, cta_group, ws, sparse -> (M, N, K), from the ISA's table of kinds and shapes
TABLE = {
    ("f16", 1, False, False): ({64, 128}, STEP_8, 16),
    ("f16", 1, False, True): ({64, 128}, STEP_8, 32),
    ("f16", 2, False, False): ({128, 256}, STEP_16, 16),
    ("f16", 2, False, True): ({128, 256}, STEP_16, 32),
    ("f16", 1, True, False): ({32, 64, 128}, WS, 16),
    ("f16", 1, True, True): ({32, 64, 128}, WS - {256}, 32),
    ("tf32", 1, False, False): ({64, 128}, STEP_8, 8),
    ("tf32", 1, False, True): ({64, 128}, STEP_8, 16),
    ("tf32", 2, False, False): ({128, 256}, STEP_16, 8),
    ("tf32", 2, False, True): ({128, 256}, STEP_16, 16),
    ("tf32", 1, True, False): ({32, 64, 128}, WS, 8),
    ("tf32", 1, True, True): ({32, 64, 128}, WS - {256}, 16),
    ("f8f6f4", 1, False, False): ({64, 128}, STEP_8, 32),
    ("f8f6f4", 1, False, True): ({64, 128}, STEP_8, 64),
    ("f8f6f4", 2, False, False): ({128, 256}, STEP_16, 32),
    ("f8f6f4", 2, False, True): ({128, 256}, STEP_16, 64),
    ("f8f6f4", 1, True, False): ({32, 64, 128}, WS, 32),
    ("f8f6f4", 1, True, True): ({32, 64, 128}, WS - {256}, 64),
    **{
        ("ti16", group, ws, sparse): (ms, ns, 32 if sparse else 16)
        for sparse in (False, True)
        for group, ws, ms, ns in (
            (1, False, {64, 128}, STEP_8),
            (2, False, {128, 256}, STEP_16),
            (1, True, {32, 64, 128}, WS - {256} if sparse else WS),
        )
    },
    ("i8", 1, False, False): ({64, 128}, {8, 24} | STEP_16, 32),
    ("i8", 1, False, True): ({64, 128}, {8, 24} | STEP_16, 64),
    ("i8", 2, False, False): ({128, 256}, STEP_32, 32),
    ("i8", 2, False, True): ({128, 256}, STEP_32, 64),
    ("i8", 1, True, False): ({32, 64, 128}, WS, 32),
    ("i8", 1, True, True): ({32, 64, 128}, WS - {256}, 64),
    ("mxf8f6f4", 1, False, False): ({128}, STEP_8, 32),
    ("mxf8f6f4", 1, False, True): ({128}, STEP_8, 64),
    ("mxf8f6f4", 2, False, False): ({128, 256}, STEP_16, 32),
    ("mxf8f6f4", 2, False, True): ({256}, STEP_16, 64),
    ("mxf4", 1, False, False): ({128}, STEP_8, 64),
    ("mxf4", 1, False, True): ({128}, STEP_8, 128),
    ("mxf4", 2, False, False): ({128, 256}, STEP_16, 64),
    ("mxf4", 2, False, True): ({256}, STEP_16, 128),
    ("mxf4nvf4", 1, False, False): ({128}, STEP_8, 64),
    ("mxf4nvf4", 1, False, True): ({128}, STEP_8, 128),
    ("mxf4nvf4", 2, False, False): ({128, 256}, STEP_16, 64),
    ("mxf4nvf4", 2, False, True): ({256}, STEP_16, 128),
}


@together("variant", TABLE)
def test_the_table(variant: tuple[str, int, bool, bool]):
    kind, cta_group, ws, sparse = variant
    ms, ns, k = TABLE[variant]
    for m in (0, 16, 32, 48, 64, 96, 128, 192, 256, 320):
        for n in range(0, 321, 8):
            if m in ms and n in ns:
                assert check_shape(kind, m, n, cta_group, ws, sparse) == (m, n, k)
            else:
                assert not portable(kind, m, n, cta_group, ws, sparse)
                with pytest.raises(LegalityError, match="nearest is"):
                    check_shape(kind, m, n, cta_group, ws, sparse)


def test_no_other_variant_exists():
    for kind, cta_group, ws, sparse in itertools.product(KINDS, (0, 1, 2, 4), (False, True), (False, True)):
        if (kind, cta_group, ws, sparse) not in TABLE:
            with pytest.raises(LegalityError, match=f"kind::{kind}: expected one of cta_group 1, cta_group 2"):
                shape_row(kind, cta_group, ws, sparse)


@pytest.mark.parametrize("kind", ["mxf8f6f4", "mxf4", "mxf4nvf4"])
def test_block_scaled_kinds_have_no_ws(kind: str):
    with pytest.raises(
        LegalityError, match=f"kind::{kind}: expected one of cta_group 1, cta_group 2, found cta_group 1 .ws"
    ):
        check_shape(kind, 128, 64, ws=True)


def test_k_of_96():
    for kind in ("mxf4", "mxf4nvf4"):
        assert check_shape(kind, 256, 48, 2, k_code=1) == (256, 48, 96)
        assert portable(kind, 256, 48, 2, k_code=1)
        assert check_shape(kind, 128, 8, k_code=1) == (128, 8, 96)
        assert not portable(kind, 128, 8, k_code=1)  # CUTLASS only
        with pytest.raises(LegalityError, match=r"cta_group 2, K = 96: expected M in \{256\}, found 128"):
            check_shape(kind, 128, 48, 2, k_code=1)
        with pytest.raises(LegalityError, match="sparse: expected a code of K of 0 or 1, found 2"):
            check_shape(kind, 256, 48, 2, sparse=True, k_code=2)
        with pytest.raises(LegalityError, match="K = 96: expected target .*, found sm_100a"):
            check_shape(kind, 256, 48, 2, k_code=1, target="sm_100a")
    with pytest.raises(LegalityError, match="kind::f16: expected a code of K of 0, found 1"):
        check_shape("f16", 128, 64, k_code=1)


# kind, sparse, K = 96 -> the targets out of TARGETS that run it
TARGETS = ("sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103a", "sm_107a", "sm_110a", "sm_120a")
RUN_BY = {
    ("f16", False, False): {"sm_100a", "sm_100f", "sm_103a", "sm_107a", "sm_110a"},
    ("tf32", True, False): {"sm_100a", "sm_100f", "sm_103a", "sm_107a", "sm_110a"},
    ("f8f6f4", False, False): {"sm_100a", "sm_100f", "sm_103a", "sm_107a", "sm_110a"},
    ("i8", False, False): {"sm_100a", "sm_110a"},
    ("i8", True, False): {"sm_100a", "sm_110a"},
    ("mxf8f6f4", True, False): {"sm_100a", "sm_100f", "sm_103a", "sm_107a", "sm_110a"},
    ("mxf4", False, False): {"sm_100a", "sm_100f", "sm_103a", "sm_107a", "sm_110a"},
    ("mxf4", True, False): {"sm_100a", "sm_103a", "sm_107a", "sm_110a"},
    ("mxf4nvf4", True, False): {"sm_100a", "sm_103a", "sm_107a", "sm_110a"},
    ("mxf4nvf4", False, True): {"sm_103a", "sm_107a"},
}


@together("variant", RUN_BY)
@together("target", TARGETS)
def test_targets(variant: tuple[str, bool, bool], target: str):
    kind, sparse, k96 = variant
    if target in RUN_BY[variant]:
        check_shape(kind, 128, 64, 1, False, sparse, k_code=int(k96), target=target)
    else:
        with pytest.raises(LegalityError, match=f"kind::{kind}, .*: expected target sm_10.*, found {target}"):
            check_shape(kind, 128, 64, 1, False, sparse, k_code=int(k96), target=target)


def test_errors_say_what_is_legal_and_nearest():
    with pytest.raises(
        LegalityError, match=r"cta_group 1: expected N in \{8, 16, ..., 256\}, found 100; nearest is 96"
    ):
        check_shape("f16", 128, 100)
    with pytest.raises(LegalityError, match=r"expected N in \{8, 16, 24, 32, 48, ..., 256\}, found 40; nearest is 32"):
        check_shape("i8", 128, 40)
    with pytest.raises(LegalityError, match=r"cta_group 2, sparse: expected M in \{256\}, found 128; nearest is 256"):
        check_shape("mxf4", 128, 64, cta_group=2, sparse=True)
    with pytest.raises(
        LegalityError, match=r"cta_group 1, .ws: expected M in \{32, 64, 128\}, found 256; nearest is 128"
    ):
        check_shape("f16", 256, 64, ws=True)
    with pytest.raises(
        LegalityError, match="expected one of cta_group 1, cta_group 2, cta_group 1 .ws, found cta_group 2 .ws"
    ):
        check_shape("f16", 128, 64, cta_group=2, ws=True)
    with pytest.raises(LegalityError, match=r"expected a kind of tcgen05.mma \(f16, .*found 'f64'"):
        check_shape("f64", 128, 64)


def test_portable_shapes_are_those_of_every_source():
    assert portable("f16", 64, 8) and portable("f16", 128, 16) and portable("f16", 256, 32, cta_group=2)
    check_shape("f16", 128, 24)
    assert not portable("f16", 128, 24)
    check_shape("f16", 256, 48, cta_group=2)
    assert not portable("f16", 256, 48, cta_group=2)
    check_shape("mxf8f6f4", 128, 64, cta_group=2)
    assert not portable("mxf8f6f4", 128, 64, cta_group=2)
    assert not portable("i8", 64, 24) and portable("i8", 64, 8)


def test_mn_major_b():
    check_transposed_b("e4m3", 32)
    check_transposed_b("f16", 8)
    with pytest.raises(LegalityError, match="expected N in steps of 32, found 80; nearest is 64"):
        check_transposed_b("u8", 80, cta_group=2)
    with pytest.raises(LegalityError, match="expected cta_group 1 or 2, found 4"):
        check_transposed_b("u8", 64, cta_group=4)


def test_dense_instructions_multiply_32_bytes_along_k():
    for kind in KINDS.values():
        for name, _ in kind.operands:
            padded = not kind.block_scaled or kind.transposable  # sub-byte types take a byte, except in the mxf4 kinds
            bits = max(find_dtype(name).bits, 8) if padded else find_dtype(name).bits
            assert kind.k * bits == 256
            assert kind.instruction_k(sparse=True) == 2 * kind.k
    assert find_kind(KINDS["f16"]) is KINDS["f16"]


@together(
    ("spelling", "name", "bits"),
    [
        ("f16", "f16", 16),
        ("bf16", "bf16", 16),
        ("tf32", "tf32", 32),
        ("f32", "f32", 32),
        ("f64", "f64", 64),
        ("f8E4M3FN", "e4m3", 8),
        ("f8E5M2", "e5m2", 8),
        ("f6E2M3FN", "e2m3", 6),
        ("f6E3M2FN", "e3m2", 6),
        ("f4E2M1FN", "e2m1", 4),
        ("f8E8M0FNU", "ue8m0", 8),
        ("ue4m3", "ue4m3", 8),
        ("i8", "s8", 8),
        ("si8", "s8", 8),
        ("ui8", "u8", 8),
        ("i32", "s32", 32),
    ],
)
def test_element_types(spelling: str, name: str, bits: int):
    element = find_dtype(spelling)
    assert (element.name, element.bits) == (name, bits)
    assert find_dtype(name) is element is DTYPES[name]
    assert find_dtype(element) is element


def test_types_that_the_tensor_cores_do_not_know():
    with pytest.raises(LegalityError, match="expected an element type of the tensor cores .*found i16"):
        find_dtype("i16")
    with pytest.raises(LegalityError, match="unknown element type 'float'"):
        find_dtype("float")
