"""Explanations of single words: every recorded descriptor, wrong ones with their repair, and what cannot be known."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from unit.cases import together

from tirx.explain import (
    Explanation,
    explain_instruction_descriptor,
    explain_matrix_descriptor,
    explain_tensor_map,
    explain_zero_column_mask,
)
from tirx.hw.errors import LegalityError
from tirx.smem.swizzle_modes import TCGEN05_OPERANDS, WGMMA_OPERANDS, OperandFamily
from tirx.smem.wgmma_descriptor import WgmmaDescriptor
from tirx.symbolic.integers import Integers

_UNIT = Path(__file__).parents[1]


def _vectors(path: str, key: str) -> list[dict[str, Any]]:
    return json.loads((_UNIT / path).read_text())[key]


def _words(explanation: Explanation) -> dict[str, str]:
    return {field.name: field.meaning for field in explanation.fields}


def test_recorded_matrix_descriptors() -> None:
    """CUTLASS's descriptors: the fields are its own, and those of single instructions are legal."""
    legal = 0
    for vector in _vectors("smem/data/smem_descriptors.json", "vectors"):
        found = explain_matrix_descriptor(int(vector["desc"], 0))
        codes = {field.name: field.code for field in found.fields}
        assert codes["leading dimension offset"] == vector["lbo_enc"]
        assert codes["stride dimension offset"] == vector["sbo_enc"]
        assert _words(found)["swizzle"] == vector["swizzle"]
        if vector["form"] == "mma_instr" and vector["dtype"] == "f16" and "base32B" not in vector["swizzle"]:
            whole = explain_matrix_descriptor(
                int(vector["desc"], 0),
                major=vector["major"],
                dtype=vector["dtype"],
                shape=(vector["mma_mn"], vector["mma_k"]),
            )
            assert whole.legal, (vector["id"], whole.problems)
            legal += 1
    assert legal >= 40


def test_recorded_instruction_descriptors() -> None:
    for vector in _vectors("tcgen05/data/instruction_descriptors.json", "accepted")[::3]:
        found = explain_instruction_descriptor(int(vector["idesc"], 0), vector["kind"])
        words = _words(found)
        assert (words["M"], words["N"]) == (str(vector["M"]), str(vector["N"]))
        assert words["a_major"] == vector["a_major"] and words["b_major"] == vector["b_major"]
        assert words["sparse"] == str(bool(vector["sparse"])).lower()


def test_recorded_masks() -> None:
    for vector in _vectors("tcgen05/data/zero_column_masks.json", "vectors")[::5]:
        found = explain_zero_column_mask(int(vector["desc"], 0), m=vector["M"], n=vector["N"])
        assert found.legal
        mask = int(vector["mask"], 0)
        zeroed = [column for column in range(vector["N"]) if mask >> column & 1]
        shown = dict(found.notes)[f"zeroed columns with M = {vector['M']}, N = {vector['N']}"]
        runs = [] if shown == "none" else [[int(end) for end in run.split("-")] for run in shown.split(", ")]
        assert [column for run in runs for column in range(run[0], run[-1] + 1)] == zeroed


@together(
    ("word", "problem", "nearest"),
    [
        (0x4000004000010000, "bits 46-48: expected 0b001", 0x4000404000010000),
        (0x4000404080010000, "bit 31: expected 0", 0x4000404000010000),
        (0x6000404000010000, "expected a swizzle mode", 0x4000404000010000),
        (0x4000402000010000, r"elements \(4, 0\) and \(8, 0\)", 0x4000404000010000),
        (0x4002404000010000, "matrix base offset: expected 0", 0x4000404000010000),
        (0x4000404000010009, "first 128 bytes", 0x4000404000010000),
    ],
)
def test_wrong_matrix_descriptors(word: int, problem: str, nearest: int) -> None:
    found = explain_matrix_descriptor(word, major="K", dtype="f16", shape=(128, 16))
    assert any(re.search(problem, each) for each in found.problems), found.problems
    assert found.nearest is not None
    assert explain_matrix_descriptor(found.nearest[0], major="K", dtype="f16", shape=(128, 16)).legal
    assert found.nearest[0] == nearest


@pytest.mark.parametrize("family", [TCGEN05_OPERANDS, WGMMA_OPERANDS])
def test_base_offset_without_a_swizzle(family: OperandFamily) -> None:
    constant = 1 << 46 if family is TCGEN05_OPERANDS else 0
    found = explain_matrix_descriptor(0x000A001000080010 | constant, family, major="K", dtype="f16")
    assert found.legal and _words(found)["matrix base offset"] == "ignored without a swizzle"


_TOO_WIDE = "swizzle 32B: expected at most 32 bytes of K, found {}; a wider swizzle reads more"
_PAST_ROW = (
    "start address: expected {} bytes of K within one 128-byte row of swizzle 128B, found byte 96 of a row; "
    "nearest is byte {}"
)


@together(
    ("family", "word", "dtype", "shape", "found"),
    [
        (TCGEN05_OPERANDS, 0xC000404000010000, "f16", (128, 24), _TOO_WIDE.format(48)),
        (TCGEN05_OPERANDS, 0xC000404000010000, "e2m1", (128, 72), _TOO_WIDE.format(36)),
        (TCGEN05_OPERANDS, 0x4000404000010006, "tf32", (128, 9), _PAST_ROW.format(36, 92)),
        (WGMMA_OPERANDS, 0xC000004000010000, "f16", (64, 24), _TOO_WIDE.format(48)),
        (WGMMA_OPERANDS, 0x4000004000010006, "f16", (64, 24), _PAST_ROW.format(48, 80)),
    ],
)
def test_bytes_along_k(family: OperandFamily, word: int, dtype: str, shape: tuple[int, int], found: str) -> None:
    assert explain_matrix_descriptor(word, family, major="K", dtype=dtype, shape=shape).problems == (found,)


def test_swapped_offsets_are_named() -> None:
    """Without a swizzle, LBO steps along K and SBO along M: swapped, two elements share a byte."""
    good = explain_matrix_descriptor(0x0000400800800000, major="K", dtype="f16", shape=(128, 16))
    assert good.legal
    swapped = explain_matrix_descriptor(0x0000408000080000, major="K", dtype="f16", shape=(256, 16))
    assert swapped.legal  # another layout, but of separate bytes
    small = explain_matrix_descriptor(0x0000400400080000, major="K", dtype="f16", shape=(128, 16))
    assert "SBO is 64 bytes, and one repeat of the pattern takes 128" in small.problems[0]


def test_a_word_of_the_other_family() -> None:
    found = explain_matrix_descriptor(0x4000404000010000, WGMMA_OPERANDS)
    assert found.problems == ("bits 46-48: expected 0 (reserved), found 0x1",)
    assert found.nearest is not None
    assert WgmmaDescriptor.decode(found.nearest[0]).swizzle == "128B"


def test_unknown_bits() -> None:
    """The start is computed by the kernel and masked, the rest is constant: it can be judged."""
    start = Integers(64, zeros=~0x3FF8 & (1 << 64) - 1)
    found = explain_matrix_descriptor(start | Integers.of(0x4000404000010000, 64), major="K", dtype="f16")
    assert found.word is None and found.legal
    assert _words(found)["start address"] == "computed by the kernel, a multiple of 128 bytes"
    assert _words(found)["swizzle"] == "128B"
    wrong = explain_matrix_descriptor(start | Integers.of(0x4000402000010000, 64), major="K", dtype="f16")
    assert "are both read" in wrong.problems[0] and wrong.nearest is None


def test_wrong_instruction_descriptor() -> None:
    found = explain_instruction_descriptor(0x07400050, "f16")
    assert found.problems == ("bit 6: expected 0 (reserved), found 0x1",)
    assert found.nearest == (0x08400010, "m 0x7 to 0x8, bit 6 to 0")
    assert explain_instruction_descriptor(0x08400010, "f16", target="sm_90a").problems
    assert explain_instruction_descriptor(0x08400010, "f16", target="sm_100a").legal
    with pytest.raises(LegalityError, match="expected a kind"):
        explain_instruction_descriptor(0x08400010, "f17")
    without_k = explain_instruction_descriptor(0x08A0148C, "mxf4nvf4", target="sm_107a")
    assert without_k.problems == ("kind::mxf4nvf4, sparse: expected a code of K of 0 or 1, found 2",)
    assert without_k.summary.startswith("D (f32, 128 x 128) += A (e2m1, 128 x ?, K-major) * B (e2m1, 128 x ?, K-major)")
    assert without_k.nearest == (0x08A01484, "widest_k 0x1 to 0x0")


def test_wrong_mask() -> None:
    found = explain_zero_column_mask(0x1107038100000003, m=32, n=32)
    assert "shift: expected at most 16" in found.problems[0]
    assert found.nearest is not None and explain_zero_column_mask(found.nearest[0], m=32, n=32).legal


def test_shift_that_no_mask_has() -> None:
    found = explain_zero_column_mask(0x3F07038100000003, n=32)
    assert found.problems == ("bits 56-61, column shift: expected 0 to 32, found 63",)
    assert found.nearest is not None and explain_zero_column_mask(found.nearest[0], n=32).legal


def test_start_behind_the_first_run() -> None:
    """Legal, and said: nine columns of four zeroed and eight used ones are skipped."""
    found = explain_zero_column_mask(0x0007038100000009, m=128, n=32)
    assert found.legal and found.notes == (
        ("zeroed columns with M = 128, N = 32", "3-6, 15-18, 27-30"),
        (
            "unusual",
            "start_count[0]: 9 skips more than the first run of 4 zeroed columns; no example of the PTX ISA does so, "
            "and the columns are those after so many bits of the pattern",
        ),
        ("legal", "with M = 128"),
    )


def test_json_is_plain() -> None:
    data = json.loads(json.dumps(explain_matrix_descriptor(0x4000404000010000).json()))
    assert data["legal"] and data["word"] == "0x4000404000010000"
    assert data["fields"][-1] == {"name": "swizzle", "bits": [61, 3], "code": 2, "meaning": "128B"}


def test_tensor_map_needs_all_bytes() -> None:
    with pytest.raises(LegalityError, match="expected the 128 bytes"):
        explain_tensor_map(bytes(64))
