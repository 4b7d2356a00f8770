"""Kernels written by hand from the PTX ISA, which tirx did not print: the simulator's numbers are numpy's."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from unit.cases import together
from unit.sim.strict import run

from tirx.sim import TensorMap

_DATA = Path(__file__).parent / "data"
_SEEDS = (None, 1, 2)
# Zero-column masks of 32x64: descriptor, and the columns of its four sub-masks of 16 that are zero.
_MASKS = (
    (0, ""),
    # 1 column zero, 4 used, B shifted by 0; every sub-mask starts at its first used column.
    (0x0003008000000000, "0000100001000010" * 4),
    # The same, but sub-mask i starts i columns later, and columns come from 2 to the right.
    (0x0203008003020100, "0000100001000010000100001000010000100001000010000100001000010000"),
    # 4 zero, 2 used; sub-masks 0 and 2 start with the zero run.
    (0x0001038500000000, ("11110011110011110011110011110011") * 2),
    # No mask, but shifted.
    (5 << 56, ""),
)


def _kernel(name: str) -> str:
    return (_DATA / f"{name}.ptx").read_text()


def _m8n8k4_f16(a: str, b: str) -> str:
    """The kernel for A and B in row-major or column-major order: a lane has four elements along K, or across it."""
    along = "add.u32 {0}, %r2, %r3; shl.b32 {0}, {0}, 2;  // (row or column) * 4 + (k = 0)"
    across = "shl.b32 {0}, %r2, 3; add.u32 {0}, {0}, %r3;  // k * 8 + first row or column (0 or 4)"
    firsts = {
        "a_first": (along if a == "row" else across).format("%r4"),
        "b_first": (along if b == "col" else across).format("%r5"),
    }
    return Template(_kernel("mma884_f16")).substitute(a=a, b=b, **firsts)


def _random(rng: np.random.Generator, shape: tuple[int, ...], exact: bool, dtype: Any = np.float16) -> npt.NDArray[Any]:
    """Small integers, whose products and sums are exact, or normal numbers."""
    return (rng.integers(-4, 5, shape) if exact else rng.standard_normal(shape)).astype(dtype)


def _compare(found: np.ndarray, wanted: np.ndarray, exact: bool) -> None:
    if exact:
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("tma", [False, True])
@pytest.mark.sample(3)
def test_gemm(exact: bool, seed: int | None, tma: bool) -> None:
    rng = np.random.default_rng(0)
    a, b = _random(rng, (128, 64), exact), _random(rng, (128, 64), exact)
    d = np.full((128, 128), np.nan, np.float32)
    if tma:
        maps = [TensorMap(each, (64, 128), "128B") for each in (a, b)]
        run(_kernel("gemm_tma"), "gemm_128x128x64_f16_tma", 1, 128, [*maps, d], seed=seed)
    else:
        run(_kernel("gemm_plain"), "gemm_128x128x64_f16", 1, 128, [a, b, d], seed=seed)
    _compare(d, _product(a, b.T), exact)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(("descriptor", "zero"), _MASKS)
@pytest.mark.sample(4)
def test_weight_stationary_with_zero_columns(exact: bool, descriptor: int, zero: str) -> None:
    rng = np.random.default_rng(1)
    a, b = _random(rng, (32, 64), exact), _random(rng, (80, 64), exact)
    d = np.full((32, 64), np.nan, np.float32)
    run(_kernel("gemm_ws_zmask"), "gemm_ws_32x64x64_f16_zmask", 1, 128, [a, b, d, descriptor])
    shift = descriptor >> 56
    used = b[shift : shift + 64].copy()
    used[np.array([column == "1" for column in zero.ljust(64, "0")])] = 0
    _compare(d, _product(a, used.T), exact)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("a_layout", ["row", "col"])
@pytest.mark.parametrize("b_layout", ["row", "col"])
@pytest.mark.sample(3)
def test_m8n8k4_f16(exact: bool, a_layout: str, b_layout: str) -> None:
    rng = np.random.default_rng(2)
    a, b = _random(rng, (4, 8, 4), exact), _random(rng, (4, 4, 8), exact)
    d = np.full((4, 8, 8), np.nan, np.float32)
    stored_a = a if a_layout == "row" else a.transpose(0, 2, 1).copy()
    stored_b = b if b_layout == "row" else b.transpose(0, 2, 1).copy()
    text = _m8n8k4_f16(a_layout, b_layout)
    run(text, f"mma884_f16_{a_layout}_{b_layout}", 1, 32, [stored_a, stored_b, d])
    _compare(d, _product(a, b), exact)


@pytest.mark.parametrize("k", [0, 4, 12])
def test_m8n8k4_f64(k: int) -> None:
    rng = np.random.default_rng(3)
    a, b, c = (rng.integers(-99, 99, shape).astype(np.float64) for shape in ((8, k), (8, k), (8, 8)))
    d = np.zeros((8, 8))
    run(_kernel("mma884_f64"), "mma884_f64", 1, 32, [a if k else np.zeros(1), b if k else np.zeros(1), c, d, k])
    np.testing.assert_array_equal(d, a @ b.T + c)


def _gpu_cases() -> list[str]:
    with np.load(_DATA / "gpu_m8n8k4.npz") as stored:
        return sorted({name.rsplit("-", 1)[0] for name in stored.files})


@together("case", _gpu_cases())
def test_m8n8k4_of_a_gpu(case: str) -> None:
    """Normal numbers of very different sizes: bit for bit what an H200 gives. Stored are the inputs and its results."""
    kernel = case.split("-")[0]
    with np.load(_DATA / "gpu_m8n8k4.npz") as stored:
        *inputs, wanted = (stored[f"{case}-{index}"] for index in range(4 if kernel == "mma884_f64" else 3))
    found = np.zeros_like(wanted)
    depth = [inputs[0].shape[1]] if kernel == "mma884_f64" else []
    text = _kernel(kernel) if depth else _m8n8k4_f16(*kernel.split("_")[2:])
    run(text, kernel, 1, 32, [*inputs, found, *depth])
    np.testing.assert_array_equal(found, wanted)
