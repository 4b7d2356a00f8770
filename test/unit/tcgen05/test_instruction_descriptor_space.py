"""The whole space of instruction descriptors against an encoder and a verdict written again from the ISA's tables."""

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest
from unit.cases import Sampled

from tirx.hw.errors import LegalityError
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor

F8F6F4 = {"e4m3": "000", "e5m2": "001", "e2m3": "011", "e3m2": "100", "e2m1": "101"}
OPERANDS = {
    "f16": {"f16": "000", "bf16": "001"},
    "tf32": {"tf32": "010"},
    "f8f6f4": F8F6F4,
    "i8": {"u8": "000", "s8": "001"},
    "ti16": {"s1z4m11": "011"},
    "mxf8f6f4": F8F6F4,
    "mxf4": {"e2m1": "001"},
    "mxf4nvf4": {"e2m1": "001"},
}
D_TYPES = {
    "f16": {"f16": "00", "f32": "01"},
    "tf32": {"f32": "01"},
    "f8f6f4": {"f16": "00", "f32": "01"},
    "i8": {"s32": "10"},
    "ti16": {"s32": "10"},
}
SHIFTS = {0: "00", 8: "01", 16: "10", 32: "11"}
UNSCALED = ("f16", "tf32", "f8f6f4", "i8", "ti16")
SCALES = {"ue4m3": "00", "ue8m0": "01", "ue5m3": "10"}
WIDE = {"f8f6f4": 1, "mxf8f6f4": 1, "mxf4": 2, "mxf4nvf4": 2}
"""Number of larger K that a kind has."""
BOTH = (False, True)


def expected_word(**f: Any) -> int:
    """The descriptor as a string of 32 bits, most significant first, one line a row of the ISA's tables."""
    kind = f["kind"]
    operand = OPERANDS[kind]
    bits: list[str]
    if kind in UNSCALED:
        bits = [
            SHIFTS[f["max_shift"]],  # 30-31
            "01"[f["wide_k"]],  # 29
            f"{f['m'] // 16:05b}",  # 24-28
            "0",
            f"{f['n'] // 8:06b}",  # 17-22
            "01"[f["b_major"] == "MN"],
            "01"[f["a_major"] == "MN"],
            "01"[f["negate_b"]],
            "01"[f["negate_a"]],
            operand[f["b"]],  # 10-12
            operand[f["a"]],  # 7-9
            "0",
            D_TYPES[kind][f["d"]],  # 4-5
            "01"[f["saturate"]],
            "01"[f["sparse"]],
            f"{f['sparsity_selector']:02b}",
        ]
    else:
        bits = [
            "01"[f["wide_k"]],  # 31
            f"{f['sf_a_id']:02b}",  # 29-30
            f"{f['m'] // 128:02b}",  # 27-28
            "01"[f["a_scale_lanes"] == 128],  # 26
            "0",
            SCALES[f["scale"]],  # 23-24
            f"{f['n'] // 8:06b}",  # 17-22
            "01"[f["b_major"] == "MN"],
            "01"[f["a_major"] == "MN"],
            "01"[f["negate_b"]],
            "01"[f["negate_a"]],
            operand[f["b"]] if kind == "mxf8f6f4" else f"{f['sparsity_version']}{operand[f['b']][1:]}",  # 10-12
            operand[f["a"]],  # 7-9
            "0",
            f"{f['sf_b_id']:02b}",  # 4-5
            "01"[f["widest_k"]],  # 3
            "01"[f["sparse"]],
            "00",
        ]
    text = "".join(bits)
    assert len(text) == 32
    return int(text, 2)


DEFAULTS: dict[str, Any] = {
    "negate_a": False,
    "negate_b": False,
    "a_major": "K",
    "b_major": "K",
    "sparse": False,
    "saturate": False,
    "max_shift": 0,
    "scale": None,
    "sf_a_id": 0,
    "sf_b_id": 0,
    "sparsity_selector": 0,
    "wide_k": False,
    "widest_k": False,
    "a_scale_lanes": 32,
    "sparsity_version": 0,
}


def variants(kind: str) -> Iterator[dict[str, Any]]:
    """Every legal combination of the fields of a kind, but for M and N: 128x128, which every variant has."""
    types = list(itertools.product(OPERANDS[kind], repeat=2))
    if kind in UNSCALED:
        negate = (False,) if kind == "i8" else BOTH
        wides = (False, True) if kind in WIDE else (False,)
        for (a, b), d, negate_a, negate_b, saturate, sparse, shift, wide in itertools.product(
            types, D_TYPES[kind], negate, negate, BOTH if kind == "i8" else (False,), BOTH, SHIFTS, wides
        ):
            if wide and (sparse or shift or not {a, b} <= {"e4m3", "e5m2"}):
                continue
            if kind == "f16" and d == "f16" and (a, b) != ("f16", "f16"):
                continue
            majors = [("K", "MN") if x not in ("e2m1", "e2m3", "e3m2", "s1z4m11") else ("K",) for x in (a, b)]
            selectors = range(4) if sparse and kind in ("f16", "tf32", "ti16") else (0,)
            for a_major, b_major, selector in itertools.product(*majors, selectors):
                yield DEFAULTS | {
                    "kind": kind,
                    "a": a,
                    "b": b,
                    "d": d,
                    "negate_a": negate_a,
                    "negate_b": negate_b,
                    "saturate": saturate,
                    "sparse": sparse,
                    "wide_k": wide,
                    "max_shift": shift,
                    "a_major": a_major,
                    "b_major": b_major,
                    "sparsity_selector": selector,
                }
        return
    scales = tuple(SCALES) if kind == "mxf4nvf4" else ("ue8m0",)
    for (a, b), negate_a, negate_b, sparse, wide, scale, sf_a_id, sf_b_id in itertools.product(
        types, BOTH, BOTH, BOTH, range(WIDE[kind] + 1), scales, range(4), range(4)
    ):
        if not {sf_a_id, sf_b_id} <= ids(kind, wide) or (sparse and wide == 2):
            continue
        eight = [("K", "MN") if x in ("e4m3", "e5m2") else ("K",) for x in (a, b)]
        for a_major, b_major in itertools.product(*eight):
            yield DEFAULTS | {
                "kind": kind,
                "a": a,
                "b": b,
                "d": "f32",
                "negate_a": negate_a,
                "negate_b": negate_b,
                "sparse": sparse,
                "wide_k": wide == 1,
                "widest_k": wide == 2,
                "a_scale_lanes": 128 if negate_b else 32,
                "sparsity_version": int(kind != "mxf8f6f4" and negate_a),
                "scale": scale,
                "sf_a_id": sf_a_id,
                "sf_b_id": sf_b_id,
                "a_major": a_major,
                "b_major": b_major,
            }


def ids(kind: str, wide: int) -> set[int]:
    """Legal scale-factor ids: all bytes of a column for one or three factors, even ones for two or six."""
    return {0, 1, 2, 3} if (kind == "mxf8f6f4") != (wide == 1) else {0} if wide == 2 else {0, 2}


@pytest.mark.parametrize("kind", OPERANDS)
@pytest.mark.sample(4)
def test_every_combination_of_fields(kind: str):
    words: set[int] = set()
    for fields in variants(kind):
        fields |= {"m": 128, "n": 128}
        descriptor = InstructionDescriptor(**fields)
        word = descriptor.encode()
        assert word == expected_word(**fields)
        assert InstructionDescriptor.decode(word, kind) == descriptor
        words.add(word)
    assert len(words) == sum(1 for _ in variants(kind))  # no two descriptors share their bits


def ns(kind: str, cta_group: int, ws: bool, sparse: bool, b_is_mn_major_8_bit: bool) -> set[int]:
    """Legal N, again from the ISA's text."""
    if ws:
        return {64, 128} if sparse else {64, 128, 256}
    step = {("i8", 2): 32}.get((kind, cta_group), 8 * cta_group)
    legal = set(range(step, 257, step))
    if (kind, cta_group) == ("i8", 1):
        legal = {8, 16, 24, 32, *range(48, 257, 16)}
    if b_is_mn_major_8_bit:
        legal &= set(range(16 * cta_group, 257, 16 * cta_group))
    return legal


def ms(kind: str, cta_group: int, ws: bool, sparse: bool, wide: bool) -> set[int]:
    """Legal M, again from the ISA's text."""
    if wide:
        return set() if ws else {128 * cta_group}
    if kind in UNSCALED:
        return {32, 64, 128} if ws else {1: {64, 128}, 2: {128, 256}}[cta_group]
    if cta_group == 1:
        return {128}
    return {256} if sparse else {128, 256}


@pytest.mark.parametrize("kind", OPERANDS)
def test_every_shape(kind: str, sampled: Sampled):
    """All M and N that the fields can hold: the bits, and the verdict for each variant of the instruction."""
    types = list(OPERANDS[kind])[:1]
    majors = ("K", "MN") if types[0] not in ("e2m1", "s1z4m11") else ("K",)
    scale = None if kind in UNSCALED else "ue8m0"
    d = "s32" if kind in ("i8", "ti16") else "f32"
    legal_words = 0
    shapes = itertools.product(range(0, 512, 16), range(0, 512, 8), majors, BOTH)
    for m, n, major, sparse in sampled(shapes, 800):
        fields: dict[str, Any] = DEFAULTS | {
            "kind": kind,
            "a": types[0],
            "b": types[0],
            "d": d,
            "m": m,
            "n": n,
            "b_major": major,
            "sparse": sparse,
            "scale": scale,
        }
        wide = major == "MN" and kind in ("f8f6f4", "i8", "mxf8f6f4")
        legal = any(
            m in ms(kind, group, ws, sparse, False) and n in ns(kind, group, ws, sparse, wide)
            for group, ws in ((1, False), (2, False), (1, True))
            if not ws or kind in UNSCALED
        )
        descriptor = InstructionDescriptor(**fields)
        if not legal:
            with pytest.raises(LegalityError, match="expected [MN]"):
                descriptor.encode()
            continue
        legal_words += 1
        word = descriptor.encode()
        assert word == expected_word(**fields)
        assert InstructionDescriptor.decode(word, kind) == descriptor
    assert legal_words > 8


def test_random_descriptors_for_random_instructions():
    """The verdict on fields that are legal or not, together, for a known instruction."""
    choose = random.Random(1).choice
    verdicts = {True: 0, False: 0}
    for _ in range(20000):
        kind = choose(list(OPERANDS))
        # Mostly types of the kind, so that other fields decide as well.
        types = list(OPERANDS[kind]) if choose(range(8)) else ["f16", "tf32", "e4m3", "s8", "e2m1"]
        fields: dict[str, Any] = DEFAULTS | {
            "kind": kind,
            "a": choose(types),
            "b": choose(types),
            "d": choose(["f32", "f32", "f32", "f16", "s32"])
            if kind not in ("i8", "ti16")
            else choose(["s32", "s32", "f32"]),
            "m": choose([32, 64, 128, 128, 256, 256]),
            "n": choose([8, 16, 24, 32, 40, 48, 64, 96, 128, 128, 256]),
            "a_major": choose(["K", "K", "MN"]),
            "b_major": choose(["K", "K", "MN"]),
            "sparse": choose(BOTH),
            "saturate": choose([False] * 4 + [True]),
            "negate_a": choose([False] * 4 + [True]),
            "max_shift": choose([0, 0, 0, 8, 32]),
            "scale": (None if kind in UNSCALED else "ue8m0") if choose(range(8)) else choose([None, "ue8m0", "ue4m3"]),
            "sf_a_id": choose([0, 0, 0, 1, 2]),
            "sparsity_selector": choose([0, 0, 0, 1]),
            "wide_k": not choose(range(8)),
            "widest_k": not choose(range(8)),
        }
        group, ws = choose([(1, False), (2, False), (1, True)])
        f, scaled = fields, kind not in UNSCALED
        k = f["wide_k"] + 2 * f["widest_k"]
        narrow = [
            f[f"{x}_major"] == "MN" and (f[x] in ("e2m1", "e2m3", "e3m2") or kind.startswith(("mxf4", "ti")))
            for x in "ab"
        ]
        wide = f["b_major"] == "MN" and f["b"] in ("e4m3", "e5m2", "u8", "s8")
        expected = (
            {f["a"], f["b"]} <= set(OPERANDS[kind])
            and f["d"] in D_TYPES.get(kind, {"f32"})
            and not (kind == "f16" and f["d"] == "f16" and (f["a"], f["b"]) != ("f16", "f16"))
            and not any(narrow)
            and (kind == "i8" or not f["saturate"])
            and (kind != "i8" or not f["negate_a"])
            and (f["max_shift"] == 0 or ws)
            and f["scale"] in ({None} if not scaled else set(SCALES) if kind == "mxf4nvf4" else {"ue8m0"})
            and f["sf_a_id"] in (ids(kind, k) if scaled and k <= WIDE[kind] else {0})
            and (f["sparsity_selector"] == 0 or (f["sparse"] and kind in ("f16", "tf32", "ti16")))
            and k <= WIDE.get(kind, 0)
            and not (f["sparse"] and ((kind, k) == ("f8f6f4", 1) or k == 2))
            and (kind != "f8f6f4" or not k or {f["a"], f["b"]} <= {"e4m3", "e5m2"})
            and not (scaled and ws)
            and f["m"] in ms(kind, group, ws, f["sparse"], k > 0)
            and f["n"] in ns(kind, group, ws, f["sparse"], wide)
        )
        try:
            InstructionDescriptor(**fields).verify(group, ws)
            found = True
        except LegalityError:
            found = False
        assert found == expected, (fields, group, ws)
        verdicts[found] += 1
    assert min(verdicts.values()) > 500
