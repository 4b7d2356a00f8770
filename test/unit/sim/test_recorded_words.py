"""
Words of tensor cores recorded on an H200 equal the simulator's, bit for bit.

h200_words.npz has one product for every type of elements and results of mma.sync and wgmma, of random bits (finite) and
of normal numbers. Registers of mma.sync are (lanes, registers). A and B of wgmma are images of shared memory without a
swizzle; C and D are the third and the third last register of every thread. The complete recording, 262,144 results for
each type, was compared once and has no difference.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from unit.sim.assembled import assembled
from unit.sim.kernels import DATA
from unit.sim.strict import run
from unit.sim.warp_registers import run_registers
from unit.sim.wgmma_kernels import A_BYTES, kernel

Array = npt.NDArray[Any]

# Types of elements and results, and K in elements.
_FORMS = [
    ("f16", "f32", 16), ("f16", "f16", 16), ("bf16", "f32", 16), ("tf32", "f32", 8),
    ("e4m3", "f32", 32), ("e4m3", "f16", 32), ("e5m2", "f32", 32), ("e5m2", "f16", 32),
]  # fmt: skip
# Core matrices of 8 rows of 16 bytes: 128 bytes apart along K, 256 bytes along M and N.
_DESCRIPTOR = 128 >> 4 << 16 | 256 >> 4 << 32


def _recorded(family: str, element: str, result: str, numbers: str) -> tuple[Array, Array, Array, Array]:
    with np.load(DATA / "h200_words.npz") as words:
        a, b, c, d = (words[f"{family}_{element}_{result}_{numbers}_{name}"] for name in "abcd")
        return a, b, c, d


@pytest.mark.parametrize("numbers", ["bits", "normal"])
@pytest.mark.parametrize(("element", "result", "k"), _FORMS)
@pytest.mark.sample(8)
def test_mma_sync(element: str, result: str, k: int, numbers: str):
    a, b, c, d = _recorded("mma", element, result, numbers)
    opcode = f"mma.sync.aligned.m16n8k{k}.row.col.{result}.{element}.{element}.{result}"
    found = run_registers(opcode + " {d}, {a}, {b}, {c};", {"a": a, "b": b, "c": c}, d.shape[1], "sm_90a")
    assert np.array_equal(found, d)


@pytest.mark.parametrize("numbers", ["bits", "normal"])
@pytest.mark.parametrize(("element", "result", "k"), _FORMS)
@pytest.mark.sample(5)
def test_wgmma(element: str, result: str, k: int, numbers: str):
    a, b, c, d = _recorded("wgmma", element, result, numbers)
    image = np.zeros(2 * A_BYTES, np.uint8)
    for start, operand in ((0, a), (A_BYTES, b)):
        image[start : start + operand.nbytes] = operand.view(np.uint8)
    registers = 32 if result == "f32" else 16
    kept = [2, registers - 3]
    words = np.zeros((128, registers), np.uint32)
    words[:, kept] = c
    signs = ", 1, 1, 0, 0" if element in ("f16", "bf16") else ", 1, 1"
    text = kernel(f"m64n64k{k}", result, f"{element}.{element}", 64, signs, a="%x", accumulate=True)
    none = np.zeros(512, np.uint32)
    run(assembled(text), "k", 1, 128, [image, words, _DESCRIPTOR, _DESCRIPTOR, none, none])
    assert np.array_equal(words[:, kept], d)
