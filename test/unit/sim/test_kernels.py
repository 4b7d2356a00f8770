"""Whole kernels: those written by hand, what a missing synchronisation does to them, and the project's examples."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from unit.cases import Sampled
from unit.sim.kernels import DATA, integers
from unit.sim.strict import run

from tirx.sim import SimError, TensorMap

_SEEDS = [None, 1, 2]
_EXAMPLES = Path(__file__).parents[3] / "examples"
_Arrays = list[Any]


def _product(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    return a.astype(np.float64) @ b.astype(np.float64).T


def _kernel(name: str) -> tuple[str, str, _Arrays, npt.NDArray[np.float64]]:
    """Text, entry, arguments (the last array is the result) and the expected result."""
    rng = np.random.default_rng(0)
    text = (DATA / f"{name}.ptx").read_text()
    found = re.search(r"\.entry (\w+)", text)
    assert found is not None
    a, b = integers(rng, (128, 64)), integers(rng, (128, 64))
    d = np.full((128, 128), 9, np.float32)
    if name == "gemm_tma":
        return text, found[1], [TensorMap(a, (64, 128), "128B"), TensorMap(b, (64, 128), "128B"), d], _product(a, b)
    return text, found[1], [a, b, d], _product(a, b)


def _result(arguments: _Arrays) -> npt.NDArray[np.float32]:
    return arguments[2]


_SYNCHRONISATION = re.compile(r"fence|bar\.|wait|commit|alloc|mbarrier|expect_tx|bulk")
# What may be missing without an effect in these kernels, and why.
_REDUNDANT = {
    "tcgen05.relinquish_alloc_permit": "optional",
    "fence.mbarrier_init": "a fence.proxy.async of the same thread covers it",
    "fence.proxy.async.shared::cta": "in gemm_tma only: fence.mbarrier_init covers it",
    "bar.warp.sync": "lanes meet again where their ways join",
    "before_thread_sync": "nothing asynchronous precedes the first barrier, and only a deallocation follows the last",
    "after_thread_sync": "the same",
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["gemm_plain", "gemm_tma"])
def test_no_synchronisation_may_be_missing(name: str, sampled: Sampled):
    """Each line of synchronisation is left out: that is an error, or the line is known to be redundant."""
    text, entry, _, expected = _kernel(name)
    lines = text.split("\n")
    code = [line.split("//")[0].strip() for line in lines]
    numbers = (
        number
        for number, instruction in enumerate(code)
        if _SYNCHRONISATION.search(instruction) and instruction.endswith(";") and not instruction.startswith(".")
    )
    reported = 0
    for number in sampled(numbers, 4):
        instruction = code[number]
        arguments = _kernel(name)[2]
        try:
            run("\n".join([*lines[:number], "", *lines[number + 1 :]]), entry, 1, 128, arguments)
        except SimError:
            reported += 1
            continue
        assert any(redundant in instruction for redundant in _REDUNDANT), (number + 1, instruction)
        assert "proxy" not in instruction or name == "gemm_tma"
        assert np.array_equal(_result(arguments), expected)
    assert reported >= 1


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("gemm_plain", "0x08200010", "0x08100010"),
        ("gemm_plain", "0x4000404000010000", "0x4000402000010000"),
        ("gemm_plain", "0x4000404000010000", "0x8000404000010000"),
        ("gemm_plain", "add.s64 %rd5, %rd5, 2", "add.s64 %rd5, %rd5, 4"),
        ("gemm_plain", "setp.ne.u32 %p3, %r21, 0", "setp.ne.u32 %p3, %r21, 1"),
        ("gemm_plain", "xor.b32 %r12, %r11, 32", "xor.b32 %r12, %r11, 48"),
        ("gemm_plain", "shl.b32 %r22, %r1, 21", "shl.b32 %r22, %r1, 22"),
        ("gemm_tma", "], 32768;", "], 16384;"),
    ],
)
@pytest.mark.sample(2)
def test_wrong_constants_are_noticed(name: str, old: str, new: str):
    """A wrong descriptor, advance or byte count gives an error or wrong numbers, never the right ones."""
    text, entry, arguments, expected = _kernel(name)
    assert old in text
    try:
        run(text.replace(old, new), entry, 1, 128, arguments)
    except SimError:
        return
    assert not np.array_equal(_result(arguments), expected)


# Examples: kernel, grid, block, arguments with the result last, and what the result is.
