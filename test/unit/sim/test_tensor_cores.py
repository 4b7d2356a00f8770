"""Sums of tensor cores: words recorded on a B200, and random numbers against the rules in integers of any size."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from unit.cases import together
from unit.sim.kernels import DATA, entry
from unit.sim.strict import run
from unit.sim.tensor_core_model import decode, fused, grouped, value
from unit.sim.tensor_kernels import run_tensor_kernel, tensor_kernel
from unit.sim.tensor_operands import k_major, row_bytes

from tirx.sim.numerics import modular, tensor_cores
from tirx.sim.numerics.rounding import canonical
from tirx.sim.numerics.tensor_cores import (
    MODULAR,
    Rule,
    find_rule,
    largest_integer,
    multiplier,
    multiply,
    multiply_scaled,
    operand,
)

Array = npt.NDArray[Any]

# Words with the codes of A, B and C: sf-tensor/tcgen05 (MIT), recorded on a B200.
WORDS: list[dict[str, Any]] = json.loads((DATA / "b200_words.json").read_text())["words"]
_INTEGERS = ("u8", "s8")
_GROUPED = ("mxf4", "mxf4nvf4")
_KINDS = {"f16": "f16", "bf16": "f16", "tf32": "tf32", "u8": "i8", "s8": "i8"}


def _tcgen05(element: str) -> Rule:
    rule = find_rule("tcgen05", "sm_100a", element)
    assert rule is not None
    return rule


def _selected(word: dict[str, Any], count: int) -> list[int]:
    """Places along K of the stored elements of a sparse A, by its metadata."""
    codes = [entry >> 4 * index & 15 for entry in word["meta"] for index in range(8)]
    pairs = word["kind"] in _GROUPED
    places: list[int] = []
    for chunk, code in enumerate(codes[: count // (4 if pairs else 2)]):
        for field in (code & 3, code >> 2):
            places += [8 * chunk + 2 * field, 8 * chunk + 2 * field + 1] if pairs else [4 * chunk + field]
    return places


def _bits(values: Array, result: str) -> Array:
    """The words of numbers."""
    if result == "f16":
        return canonical(values.astype(np.float16)).view(np.uint16).astype(np.uint32)
    return canonical(values.astype(np.float32)).view(np.uint32)


@together("word", [each for each in WORDS if each["fa"] not in _INTEGERS])
def test_recorded_words(word: dict[str, Any]):
    """The rules give what a B200 gave, sparse and block-scaled products included."""
    element, result = word["fa"], word.get("d", "f32")
    other = word.get("fb", element)
    a, b = np.array([decode(word["a"], element)]), np.array([decode(word["b"], other)])
    c = np.array([[value(word["c"], result)]])
    kept = None
    if "meta" in word:
        places = _selected(word, a.shape[1])
        dense = np.zeros_like(b)
        kept = np.zeros(b.shape, np.bool_)
        dense[0, places], kept[0, places] = a[0], True
        a = dense
    with np.errstate(all="ignore"):
        if "sfmt" in word:
            count = {"scale_vec::1X": 1, "scale_vec::2X": 2, "scale_vec::4X": 4}[word["scale"]]
            factors = [np.array([decode(word[name][:count], word["sfmt"])]) for name in ("sa", "sb")]
            packed = "e2m1x2" if word["kind"] in _GROUPED else element
            types = "f32", packed, other, "f32"
            found = multiply_scaled(_tcgen05(element), (a, b), (factors[0], factors[1]), c, types, word["sfmt"], kept)
        else:
            found = multiply(_tcgen05(element), operand(a, element), operand(b, other), c, result, kept)
    assert f"{int(_bits(found, result)[0, 0]):#010x}" == word["expect"]


@pytest.mark.parametrize(
    "word", [each for each in WORDS if "kind" not in each and "meta" not in each], ids=lambda each: each["name"]
)
@pytest.mark.sample(8)
def test_recorded_words_through_ptx(word: dict[str, Any]):
    """tcgen05.mma gives the recorded word in every element of D."""
    element, result = word["fa"], word.get("d", "f32")
    other, kind = word.get("fb", element), _KINDS.get(element, "f8f6f4")
    images = [
        k_major(np.repeat(_stored(word[name], own, kind), rows, axis=0), 0)
        for name, own, rows in (("a", element, 128), ("b", other, 16))
    ]
    shared = np.concatenate([image.data for image in images])[None]
    codes = {"f16": 0, "bf16": 1, "tf32": 2, "e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5, "u8": 0, "s8": 1}
    descriptor = codes[element] << 7 | codes[other] << 10 | {"f16": 0, "f32": 1, "s32": 2}[result] << 4
    descriptor |= 16 >> 3 << 17 | 128 >> 4 << 24 | int(word.get("saturate", False)) << 3
    issue = [
        f"add.s64 %y0, %desc, {images[0].descriptor(0):#x};",
        f"add.s64 %y1, %desc, {images[1].descriptor(images[0].data.size):#x};",
        f"tcgen05.mma.cta_group::1.kind::{kind} [%tm], %y0, %y1, {descriptor:#x}, 1;",
    ]
    words = np.full((1, 128, 16), word["c"], np.uint32)
    dump = run_tensor_kernel(tensor_kernel(shared.shape[1], 16, issue, (0, 16)), shared, words, 16)
    assert {f"{each:#010x}" for each in np.unique(dump).tolist()} == {word["expect"]}


def _stored(codes: Sequence[int], element: str, kind: str) -> Array:
    """The bytes of one row in shared memory."""
    if element in ("bf16", "tf32"):
        words = np.array([codes], np.uint32)
        return (words >> 16).astype(np.uint16).view(np.uint8) if element == "bf16" else words.view(np.uint8)
    if element == "f16":
        return np.array([codes], np.uint16).view(np.uint8)
    if element in ("e2m1", "e2m3", "e3m2"):
        return row_bytes(np.array([decode(codes, element)]), element, kind)
    return np.array([codes], np.uint8)


# Configurations: family, target, types of A, B and D, K of an instruction.
_FLOATS = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
_CASES = [
    *[("tcgen05", "sm_100a", a, a, d, k) for a, d, k in (
        ("f16", "f32", 16), ("f16", "f16", 16), ("bf16", "f32", 16), ("tf32", "f32", 8))],
    *[("tcgen05", "sm_100a", a, b, d, 32) for a in _FLOATS for b in _FLOATS for d in ("f32", "f16")],
    *[("wgmma", "sm_90a", a, a, d, k) for a, d, k in (
        ("f16", "f32", 16), ("f16", "f16", 16), ("bf16", "f32", 16), ("tf32", "f32", 8), ("e4m3", "f32", 32),
        ("e5m2", "f32", 32), ("e4m3", "f16", 32))],
    *[("mma.sync", target, a, a, d, k) for target in ("sm_80", "sm_90") for a, d, k in (
        ("f16", "f32", 16), ("f16", "f16", 16), ("bf16", "f32", 16), ("tf32", "f32", 8))],
    ("mma.sync", "sm_89", "e4m3", "e4m3", "f32", 32), ("mma.sync", "sm_89", "e5m2", "e5m2", "f32", 32),
    ("mma.sync", "sm_90", "e4m3", "e5m2", "f32", 32),
    ("mma.sync", "sm_90", "e4m3", "e5m2", "f16", 32), ("mma.sync", "sm_100a", "e5m2", "e5m2", "f16", 32),
]  # fmt: skip


def _random(rng: np.random.Generator, element: str, shape: tuple[int, ...], spread: bool) -> Array:
    """Finite numbers: of any bits, or of similar sizes."""
    if spread:
        bits = {"f16": 16, "bf16": 32, "tf32": 32, "f32": 32}.get(
            element, 4 if element == "e2m1" else 6 if "e3m2e2m3".find(element) >= 0 else 8
        )
        codes = rng.integers(0, 1 << bits, shape)
    else:
        numbers = rng.standard_normal(shape).astype(np.float32)
        if element == "f16":
            codes = numbers.astype(np.float16).view(np.uint16)
        elif element in ("bf16", "tf32", "f32"):
            codes = numbers.view(np.uint32)
        else:
            bits = 4 if element == "e2m1" else 6 if element in ("e3m2", "e2m3") else 8
            codes = rng.integers(0, 1 << bits, shape)
    values = np.array(decode(codes.ravel().tolist(), element)).reshape(shape)
    return np.where(np.isfinite(values), values, 0.0)


def _model(family: str, target: str, a: list[float], b: list[float], c: float, types: tuple[str, str, str]) -> int:
    """One result by the rules, written down once more: order, bits and zeros."""
    result = types[2]
    if family != "mma.sync":
        bits, fraction = (13, 13) if family == "wgmma" and types[0] in ("e4m3", "e5m2") else (25, 23)
        return fused(a, b, c, types, bits=bits, fraction=fraction)
    if target in ("sm_90", "sm_100a") and types[0] in ("e4m3", "e5m2"):
        total = 0.0
        for first in (True, False):
            own = [k for k in range(len(a)) if (k % 4 < 2) == first]
            total = value(fused([a[k] for k in own], [b[k] for k in own], total, types), result)
        dtype = np.float32 if result == "f32" else np.float16
        return int(_bits(np.array([dtype(total) + dtype(c)]), result)[0])
    if target == "sm_90":
        return fused(a, b, c, types)
    fp8 = types[0] in ("e4m3", "e5m2")
    step, word = {"tf32": 4, "f16": 8, "bf16": 8}.get(types[0], 16), 0
    for start in range(0, len(a), step):
        own = slice(start, start + step)
        zero = -132 if result == "f32" else -20
        word = fused(a[own], b[own], c, types, bits=13 if fp8 else 24, fraction=13 if fp8 else 23, zero=zero)
        c = value(word, result)
        if not np.isfinite(c):
            return word
    return word


@pytest.mark.parametrize("case", _CASES, ids=lambda case: "-".join(map(str, case)))
@pytest.mark.sample(6)
def test_random_numbers(case: tuple[str, str, str, str, str, int]):
    """Numbers of any bits and of similar sizes, with C of any size, zero and large: the same words as the model's."""
    family, target, a_type, b_type, result, depth = case
    rng = np.random.default_rng(depth + len(a_type))
    for spread in (True, False):
        a, b = _random(rng, a_type, (6, depth), spread), _random(rng, b_type, (8, depth), spread)
        a[0, ::2], b[1, 1::2] = 0.0, 0.0
        c = _random(rng, result, (6, 8), spread)
        c[2] = 0.0
        with np.errstate(all="ignore"):
            rule = find_rule(family, target, a_type)  # pyright: ignore[reportArgumentType]
            assert rule is not None
            found = _bits(multiplier(rule, (a_type, b_type), result)(a, b, c), result)
            expected = [
                [
                    _model(family, target, a[i].tolist(), b[j].tolist(), float(c[i, j]), (a_type, b_type, result))
                    for j in range(8)
                ]
                for i in range(6)
            ]
        assert np.array_equal(found, np.array(expected, np.uint32)), (spread, found, expected)


@pytest.mark.parametrize(("element", "blocks"), [("ue8m0", 2), ("ue8m0", 4), ("ue4m3", 4)])
def test_random_groups(element: str, blocks: int):
    """mxf4 and mxf4nvf4."""
    rng = np.random.default_rng(blocks)
    a, b = (_random(rng, "e2m1", (rows, 64), True) for rows in (6, 8))
    a[0, :16], b[1] = 0.0, 0.0
    high = 120 if element == "ue4m3" else 255
    low = 0 if element == "ue4m3" else 80
    codes = [rng.integers(low, high, (rows, blocks)) for rows in (6, 8)]
    factors = [np.array(decode(each.ravel().tolist(), element)).reshape(each.shape) for each in codes]
    c = _random(rng, "f32", (6, 8), False)
    c[2] = 0.0
    rule = _tcgen05("e2m1")
    with np.errstate(all="ignore"):
        types = "f32", "e2m1x2", "e2m1", "f32"
        found = multiply_scaled(rule, (a, b), (factors[0], factors[1]), c, types, element, None)
        found = _bits(found, "f32")
        wide = [np.repeat(each, 64 // blocks, axis=1) for each in factors]
        for i in range(6):
            for j in range(8):
                scales = list(zip(wide[0][i].tolist(), wide[1][j].tolist(), strict=True))
                assert found[i, j] == grouped(a[i].tolist(), b[j].tolist(), float(c[i, j]), scales, element), (i, j)


@pytest.mark.parametrize(("element", "blocks"), [("ue8m0", 2), ("ue4m3", 4)])
def test_sparse_groups(element: str, blocks: int):
    """16 stored elements are one sum: 32 places along K, of which the metadata selects every other pair."""
    rng = np.random.default_rng(blocks + 1)
    a, b = (_random(rng, "e2m1", (rows, 128), True) for rows in (3, 4))
    kept = np.tile(np.arange(128) // 2 % 4 % 3 == 0, (3, 1))
    codes = [rng.integers(100, 120, (rows, blocks)) for rows in (3, 4)]
    factors = [np.array(decode(each.ravel().tolist(), element)).reshape(each.shape) for each in codes]
    c = _random(rng, "f32", (3, 4), False)
    types = "f32", "e2m1x2", "e2m1", "f32"
    found = multiply_scaled(
        _tcgen05("e2m1"), (np.where(kept, a, 0.0), b), (factors[0], factors[1]), c, types, element, kept
    )
    wide = [np.repeat(each, 64 // blocks, axis=1) for each in factors]
    for i in range(3):
        for j in range(4):
            scales = list(zip(wide[0][i].tolist(), wide[1][j].tolist(), strict=True))
            stored = a[i, kept[i]].tolist(), b[j, kept[i]].tolist()
            assert _bits(found, "f32")[i, j] == grouped(*stored, float(c[i, j]), scales, element), (i, j)


def test_sparse_fp8_of_mma_sync():
    """Stored elements 0 and 1 of every four of A come from the places 0 to 3 of every eight, and are added first."""
    rng = np.random.default_rng(2)
    a, b, c = (_random(rng, "e4m3", shape, True) for shape in ((6, 64), (8, 64), (6, 8)))
    kept = np.tile(np.repeat([[True, False, True, False, False, True, True, False]], 6, axis=0), 8)
    rule = find_rule("mma.sync", "sm_90", "e4m3")
    assert rule is not None
    found = multiply(rule, operand(np.where(kept, a, 0.0), "e4m3"), operand(b, "e4m3"), c, "f32", kept)
    for i in range(6):
        for j in range(8):
            total = 0.0
            for places in ((0, 2), (5, 6)):
                own = [8 * chunk + place for chunk in range(8) for place in places]
                total = value(fused(a[i, own].tolist(), b[j, own].tolist(), total, ("e4m3", "e4m3", "f32")), "f32")
            assert found[i, j] == float(np.float32(total) + np.float32(c[i, j])), (i, j)


def test_plain_products_are_found_exact():
    """Small integers take the fast path, and give what the rule gives: no bit is cut off."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-4, 5, (64, 16)).astype(np.float64), rng.integers(-4, 5, (32, 16)).astype(np.float64)
    c = rng.integers(-999, 1000, (64, 32)).astype(np.float64)
    found = multiply(_tcgen05("f16"), operand(a, "f16"), operand(b, "f16"), c, "f32")
    assert np.array_equal(found, a @ b.T + c)


@together(
    ("a", "b", "c", "is_exact"),
    [
        (1.0, 1.0, 2.0**25, True), (1.0, 1.0, 2.0**26, False), (1.0, 1.0, -(2.0**25), True),
        (1.0, 1.0, -(2.0**26), False), (1.0, 1.0, 2.0**26 - 1, True), (1.0, 1.0, 2.0**-25, True),
        (1.0, 1.0, 2.0**-26, False), (2.0, 4.0, 2.0**-22, True), (2.0, 4.0, 2.0**-23, False),
        (2.0**-2, 2.0**-3, 2.0**20, True),
        (2.0**-2, 2.0**-3, 2.0**21, False), (2.0**-21, 1.0, 1.0, False), (1.0, 2.0**-21, 1.0, False),
        (0.0, 1.0, 5.5, True),
    ],
)  # fmt: skip
def test_where_nothing_is_cut_off(a: float, b: float, c: float, is_exact: bool):
    """Of f16 by tcgen05: 25 bits below the largest exponent."""
    left, right = (operand(np.array([[each]]), "f16") for each in (a, b))
    assert tensor_cores._is_exact(_tcgen05("f16"), left, right, np.array([[c, 0.0]]), -133) is is_exact


# 2^24, 1.5 and (at place 8 of K) a half of a product with 1.
_MMA = """
  mov.u32 %r0, %laneid; setp.eq.u32 %p0, %r0, 0; mov.b32 %r3, 0; mov.f32 %f0, 0f00000000;
  selp.b32 %r1, 0x3E007800, 0, %p0; selp.b32 %r2, 0x3C006000, 0, %p0;
  selp.b32 %r4, HALF, 0, %p0; selp.b32 %r5, 0x3C00, 0, %p0;
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r3, %r4, %r3}, {%r2, %r5},
    {%f0, %f0, %f0, %f0};
  ld.param.u64 %d0, [out]; @%p0 st.global.f32 [%d0], %f1;
"""


@pytest.mark.parametrize(
    ("target", "arithmetic", "expected"),
    [("sm_80", "hardware", (0, 0)), ("sm_90", "hardware", (0, 2)), ("sm_90", "exact", (2, 2))],
)
def test_arithmetic_of_a_launch(target: str, arithmetic: Literal["hardware", "exact"], expected: tuple[int, int]):
    """
    2^24 + 1.5 is 2^24 + 2 to nearest, and 2^24 if it is cut off.

    Another half is lost below 24 bits, but with 25 the sum is 2^24 + 2.
    """
    for half, more in zip((0, 0x3800), expected, strict=True):
        out = np.zeros(1, np.float32)
        text = entry(_MMA.replace("HALF", hex(half))).replace("sm_100a", target)
        run(text, "k", 1, 32, [out], arithmetic=arithmetic)
        assert out[0] == 2**24 + more


def test_scaled_products_without_a_rule():
    rng = np.random.default_rng(4)
    a, b, c = (rng.integers(-3, 4, shape).astype(np.float64) for shape in ((2, 8), (3, 8), (2, 3)))
    factors = np.array([[1.0, 2.0], [4.0, 0.5]]), np.array([[2.0, 8.0], [1.0, 1.0], [0.25, 4.0]])
    found = multiply_scaled(None, (a, b), factors, c, ("f32", "e4m3", "e4m3", "f32"), "ue8m0", None)
    wide_a, wide_b = (np.repeat(each, 4, axis=1) for each in factors)
    assert np.array_equal(found, (a * wide_a) @ (b * wide_b).T + c)


def test_scaled_products_of_residues():
    rng = np.random.default_rng(5)
    a, b, c = (rng.integers(-300, 300, shape).astype(np.float64) for shape in ((2, 8), (3, 8), (2, 3)))
    factors = np.array([[1.0, 2.0], [4.0, 300.0]]), np.array([[2.0, 8.0], [1.0, 1.0], [16.0, 4.0]])
    found = multiply_scaled(MODULAR, (a, b), factors, c, ("f32", "e4m3", "e4m3", "f32"), "ue8m0", None)
    wide_a, wide_b = (np.repeat(each, 4, axis=1) for each in factors)
    assert np.array_equal(found, modular.residues((a * wide_a) @ (b * wide_b).T + c))
    kept = np.arange(8) % 3 > 0
    found = multiply_scaled(
        MODULAR, (a, b), factors, c, ("f32", "e4m3", "e4m3", "f32"), "ue8m0", np.broadcast_to(kept, (2, 8))
    )
    assert np.array_equal(found, modular.residues((a * wide_a * kept) @ (b * wide_b).T + c))


@together(
    ("element", "rule"),
    [
        *((each, MODULAR) for each in ("f16", "bf16", "e4m3", "sm3")),
        *((each, None) for each in ("s1z4m11", "s8", "u4", "b1")),
    ],
)
def test_integers_are_no_residues(element: str, rule: Rule | None):
    assert tensor_cores.rule_of("modular", "mma.sync", "sm_100a", element) is rule
    assert tensor_cores.rule_of("exact", "mma.sync", "sm_100a", element) is None


@together(
    ("a", "b", "c"),
    [
        ([1.0, 2.0], [3.0, 4.0], 5.0),
        ([1.0, 2.0], [0.5, 4.0], 5.0),
        ([0.5, 2.0], [3.0, 4.0], 5.0),
        ([1.0, 2.0], [3.0, 4.0], 0.25),
        ([2.0**23] * 128, [2.0**23] * 128, 0.0),
        ([2.0**23] * 128, [2.0**23] * 128, 1.0),
        ([2.0**23] * 127, [2.0**23] * 127, 2.0**46 - 1),
        ([2.0**23] * 128, [2.0**23] * 128, 2.0**-30),
        ([1.0], [-1.0], 1.0),
        ([1.0], [1.0], 2.0**52),
    ],
)
def test_ideal_sums_are_rounded_to_odd(a: list[float], b: list[float], c: float):
    found = tensor_cores.ideal(np.array([a]), np.array([b]), np.array([[c]]))[0, 0]
    exact = sum((Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)), Fraction(c))
    near = float(exact)
    if Fraction(near) != exact:
        low = near if Fraction(near) < exact else np.nextafter(near, -np.inf)
        both = (low, np.nextafter(low, np.inf))
        near = next(each for each in both if np.float64(each).view(np.int64) & 1)
    assert found == near and not np.signbit(found)


def test_the_largest_of_integers_below_2_to_the_24():
    most = 2.0**24 - 1
    assert [largest_integer(np.array([[3.0, sign * most]])) for sign in (1, -1)] == [most, most]
    for other in (2.0**24, -(2.0**24), 0.5, np.nan, np.inf):
        assert largest_integer(np.array([[3.0, other]])) is None
