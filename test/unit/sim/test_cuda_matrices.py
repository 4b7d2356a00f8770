"""Products of matrices in CUDA C++, compiled by nvcc: wmma, and mma.sync with ldmatrix and cp.async."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from unit.sim.cuda_programs import Program, program
from unit.sim.strict import run

# Kernel: M, N of a tile, types of A (and B), of C; whether A and B are row-major.
_WMMA: dict[str, tuple[int, int, Any, Any, bool, bool]] = {
    "wmma_f16_row_row": (16, 16, np.float16, np.float32, True, True),
    "wmma_f16_row_col": (16, 16, np.float16, np.float32, True, False),
    "wmma_f16_col_row": (16, 16, np.float16, np.float32, False, True),
    "wmma_f16_col_col": (16, 16, np.float16, np.float32, False, False),
    "wmma_f16_f16": (16, 16, np.float16, np.float16, True, False),
    "wmma_f16_wide": (8, 32, np.float16, np.float32, True, False),
    "wmma_f16_tall": (32, 8, np.float16, np.float32, False, True),
    "wmma_bf16": (16, 16, ml_dtypes.bfloat16, np.float32, True, False),
    "wmma_tf32": (16, 16, np.float32, np.float32, True, False),
    "wmma_f64": (8, 8, np.float64, np.float64, True, False),
    "wmma_s8": (16, 16, np.int8, np.int32, True, False),
    "wmma_u8_wide": (8, 32, np.uint8, np.int32, True, True),
}


@program("gemm_wmma")
@pytest.mark.parametrize("name", list(_WMMA))
@pytest.mark.sample(1)
def test_wmma(program: Program, name: str) -> None:
    """d = 2 (a b + c), column-major, and row-major where a and b are column-major."""
    tile_m, tile_n, dtype, result, a_rows, b_rows = _WMMA[name]
    m, n, k = 2 * tile_m, 2 * tile_n, 32
    rng = np.random.default_rng(9)
    low, high = (0, 9) if dtype is np.uint8 else (-4, 5)
    a, b = rng.integers(low, high, (m, k)).astype(dtype), rng.integers(low, high, (k, n)).astype(dtype)
    c = rng.integers(-9, 9, (m, n)).astype(result)
    d_rows = not a_rows and not b_rows
    d = np.zeros((m, n) if d_rows else (n, m), result)
    stored_a, stored_b = (a if a_rows else a.T.copy()), (b if b_rows else b.T.copy())
    run(program.ptx, name, (2, 2), 32, [stored_a, stored_b, c, d, m, n, k])
    exact = 2 * (a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64))
    np.testing.assert_array_equal((d if d_rows else d.T).astype(np.float64), exact)


@program("gemm_mma")
@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(("m", "n", "k"), [(128, 64, 96), (70, 65, 40), (8, 8, 8)])
@pytest.mark.sample(1)
def test_mma_sync_with_ldmatrix_and_cp_async(program: Program, seed: int | None, m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(10)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k), (n, k)))
    d = np.zeros((m, n), np.float32)
    run(program.ptx, "gemm_mma", (-(-n // 64), -(-m // 64)), 128, [a, b, d, m, n, k], seed=seed)
    np.testing.assert_array_equal(d, a.astype(np.float32) @ b.T.astype(np.float32))


@program("gemm_mma")
def test_mma_sync_of_normal_numbers(program: Program) -> None:
    rng = np.random.default_rng(11)
    a, b = (rng.standard_normal((64, 64)).astype(np.float16) for _ in range(2))
    d = np.zeros((64, 64), np.float32)
    run(program.ptx, "gemm_mma", (1, 1), 128, [a, b, d, 64, 64, 64])
    np.testing.assert_allclose(d, a.astype(np.float64) @ b.T.astype(np.float64), rtol=1e-5, atol=1e-5)
