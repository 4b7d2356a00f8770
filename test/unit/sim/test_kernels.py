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
    if name == "gemm_ws_zmask":
        a, b = integers(rng, (32, 64)), integers(rng, (80, 64))
        zero = np.array([column % 7 < 3 for column in range(64)])
        expected = _product(a, np.where(zero[:, None], 0, b[2:66]))
        # Sub-mask s starts at column 16 s: in a zeroed run only if 16 s % 7 is below 3.
        starts = [16 * part % 7 for part in range(4)]
        first = sum(int(start < 3) << part for part, start in enumerate(starts))
        counts = sum((start if start < 3 else start - 3) << 8 * part for part, start in enumerate(starts))
        mask = 2 << 56 | 3 << 48 | 2 << 40 | 1 << 39 | first << 32 | counts
        d = np.full((32, 64), 9, np.float32)
        return text, found[1], [a, b, d, mask], expected
    a, b = integers(rng, (128, 64)), integers(rng, (128, 64))
    d = np.full((128, 128), 9, np.float32)
    if name == "gemm_tma":
        return text, found[1], [TensorMap(a, (64, 128), "128B"), TensorMap(b, (64, 128), "128B"), d], _product(a, b)
    return text, found[1], [a, b, d], _product(a, b)


def _result(arguments: _Arrays) -> npt.NDArray[np.float32]:
    return arguments[2]


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("name", ["gemm_plain", "gemm_tma", "gemm_ws_zmask"])
@pytest.mark.sample(1)
def test_matrix_products(name: str, seed: int | None):
    text, entry, arguments, expected = _kernel(name)
    run(text, entry, 1, 128, arguments, seed=seed)
    assert np.array_equal(_result(arguments), expected)


@pytest.mark.parametrize("seed", _SEEDS)
def test_mma_f64(seed: int | None):
    rng = np.random.default_rng(0)
    a, b, c, d = (
        rng.standard_normal((8, 16)),
        rng.standard_normal((8, 16)),
        rng.standard_normal((8, 8)),
        np.zeros((8, 8)),
    )
    run((DATA / "mma884_f64.ptx").read_text(), "mma884_f64", 1, 32, [a, b, c, d, 16], seed=seed)
    np.testing.assert_allclose(d, a @ b.T + c, rtol=1e-14)


@pytest.mark.parametrize("layout_b", ["row", "col"])
@pytest.mark.parametrize("layout_a", ["row", "col"])
def test_mma_f16(layout_a: str, layout_b: str):
    rng = np.random.default_rng(0)
    a, b, d = integers(rng, (4, 8, 4)), integers(rng, (4, 4, 8)), np.zeros((4, 8, 8), np.float32)
    name = f"mma884_f16_{layout_a}_{layout_b}"
    stored_a = a if layout_a == "row" else np.ascontiguousarray(a.transpose(0, 2, 1))
    # The kernels of column-major B read it as 8 columns of 4.
    stored_b = b if layout_b == "row" else np.ascontiguousarray(b.transpose(0, 2, 1))
    run((DATA / f"{name}.ptx").read_text(), name, 1, 32, [stored_a, stored_b, d])
    assert np.array_equal(d, a.astype(np.float32) @ b.astype(np.float32))


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
