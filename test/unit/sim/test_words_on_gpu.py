"""The comparison of words with hardware: its kernels, and what it reports."""

from __future__ import annotations

import json

import numpy as np
import pytest
from gpu.tensor_core_words import NUMBERS, cases, differing, examples
from unit.cases import Sampled
from unit.sim.kernels import DATA

# Rows of A and B, C and D, as words.
RECORDED: dict[str, list[tuple[list[int], list[int], int, int]]] = json.loads(
    (DATA / "h200_m8n8k4_words.json").read_text()
)


def test_cases(sampled: Sampled):
    """Every case has a kernel of its own; normal numbers give the product of numpy, but for rounding."""
    found = {case.name: case for case in cases(64, 0)}
    assert len(found) == len(list(cases(64, 0))) == 44
    for case in sampled(found.values(), 11):
        assert case.kernel() is not None  # it compiles
    for name in ("wgmma f32.bf16.bf16", "mma.sync m8n8k4.row.col.f32.f16", "mma.sync m8n8k4.col.row.f32.f16.f16"):
        case = found[name]
        d, _ = case.simulated()
        normal = slice(2 * len(d) // 4, 3 * len(d) // 4)
        assert NUMBERS[2] == "normal"
        a, b, c = (each[normal].astype(np.float64) for each in case.operands())
        expected = a @ b.transpose(0, 2, 1) + c
        np.testing.assert_allclose(d[normal], expected, rtol=1e-5, atol=1e-5)


def test_differences_are_shown_with_their_operands():
    case = next(case for case in cases(64, 0) if case.name == "mma.sync m16n8k4.row.col.f32.tf32")
    d, _ = case.simulated()
    other = d.copy()
    other[-1, 3, 5] = 0.5 if d[-1, 3, 5] != 0.5 else 1.5
    assert differing(other, d) == {"bits": 0, "finite": 0, "normal": 0, "cancelling": 1}
    (line,) = examples(case, other, d)
    a, b, c = (each.view(np.uint32) for each in case.operands())
    word = d.view(np.uint32)[-1, 3, 5]
    operands = f"A {a[-1, 3].tolist()}, B {b[-1, 5].tolist()}, C [{c[-1, 3, 5]}]"
    assert line == f"  cancelling: GPU {int(other.view(np.uint32)[-1, 3, 5]):#x}, simulator {int(word):#x}, {operands}"


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_m8n8k4_words(name: str):
    """Words of an H200: sums that depend on their order, and products beyond the largest number."""
    case = next(case for case in cases(1, 0) if case.name == f"mma.sync {name}")
    a, b, d = (np.zeros_like(each) for each in case.operands())
    unsigned = np.dtype(f"u{d.itemsize}")
    words = RECORDED[name]
    places = [divmod(index, 8) for index in range(len(words))]
    assert places[-1][0] < len(d)
    for (matrix, row), (row_of_a, row_of_b, c, _) in zip(places, words, strict=True):
        a.view(unsigned)[matrix, row], b.view(unsigned)[matrix, row] = row_of_a, row_of_b
        d.view(unsigned)[matrix, row, row] = c
    case.kernel().simulate(a, b, d)
    assert [int(d.view(unsigned)[matrix, row, row]) for matrix, row in places] == [word for *_, word in words]
