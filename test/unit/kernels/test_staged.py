"""Products by mma.sync of tiles staged through shared memory: no bank conflicts, and the numbers of numpy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from unit.kernels.staged_kernels import random_kernel

import tirx
from tirx.ptx.ptxas import assemble
from tirx.sim import Profile, run

NUMPY: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i32": np.int32,
}

M, N = 64, 64


def _depth(dtype: str) -> tuple[int, int]:
    """Columns of a staged tile, and of A and B: 64 bytes of narrow types, 128 of f64."""
    step = 16 if dtype == "f64" else 32
    return step, 2 * step


def staged_kernel(dtype: str, acc: str, target: str, clause: str, a_strides: str) -> str:
    zero = "0 : i32" if acc == "i32" else f"0.0 : {acc}"
    step, k = _depth(dtype)
    a, b, d = f"{M}x{step}x{dtype}", f"{N}x{step}x{dtype}", f"{M}x{N}x{acc}"
    memory = f"memref<{M}x{k}x{dtype}, strided<{a_strides}>>"
    return f"""
      tirx.kernel @gemm(%a: {memory}, %b: memref<{N}x{k}x{dtype}>, %d: memref<{M}x{N}x{acc}>)
          target("{target}") grid(1) threads(128) {{
        %c0 = arith.constant 0 : index
        %step = arith.constant {step} : index
        %end = arith.constant {k} : index
        %zero = arith.constant {zero}
        %sa = tirx.alloc : !tirx.tile<{a}, shared>
        %sb = tirx.alloc : !tirx.tile<{b}, shared>
        %ra = tirx.alloc : !tirx.tile<{a}, register>
        %rb = tirx.alloc : !tirx.tile<{b}, register>
        %acc = tirx.alloc : !tirx.tile<{d}, register>
        tirx.fill %acc, %zero : {acc}, !tirx.tile<{d}, register>
        scf.for %k = %c0 to %end step %step {{
          %ga = tirx.view %a[%c0, %k] : {memory} -> !tirx.tile<{a}, global>
          %gb = tirx.view %b[%c0, %k] : memref<{N}x{k}x{dtype}> -> !tirx.tile<{b}, global>
          tirx.copy %ga, %sa : !tirx.tile<{a}, global>, !tirx.tile<{a}, shared>
          tirx.copy %gb, %sb : !tirx.tile<{b}, global>, !tirx.tile<{b}, shared>
          tirx.copy %sa, %ra : !tirx.tile<{a}, shared>, !tirx.tile<{a}, register>
          tirx.copy %sb, %rb : !tirx.tile<{b}, shared>, !tirx.tile<{b}, register>
          tirx.mma %ra, %rb, %acc {clause} :
            !tirx.tile<{a}, register>, !tirx.tile<{b}, register>, !tirx.tile<{d}, register>
        }}
        %gd = tirx.view %d[%c0, %c0] : memref<{M}x{N}x{acc}> -> !tirx.tile<{d}, global>
        tirx.copy %acc, %gd : !tirx.tile<{d}, register>, !tirx.tile<{d}, global>
        tirx.return
      }}"""


@pytest.mark.parametrize(
    ("dtype", "acc", "target", "instruction", "loads", "major"),
    [
        ("f16", "f32", "sm_75", "m16n8k8", "ldmatrix", "K"),
        ("f16", "f32", "sm_80", "m16n8k16", "ldmatrix", "K"),
        ("bf16", "f32", "sm_80", "m16n8k16", "ldmatrix", "MN"),
        ("i8", "i32", "sm_80", "m16n8k32", "ldmatrix", "K"),
        ("f64", "f64", "sm_80", "m8n8k4", "ld.shared.v2.f64", "K"),
        ("f64", "f64", "sm_90", "m16n8k8", "ld.shared.f64", "K"),
    ],
)
@pytest.mark.sample(1)
def test_loads_of_fragments_have_no_conflicts(
    dtype: str, acc: str, target: str, instruction: str, loads: str, major: str
) -> None:
    k = _depth(dtype)[1]
    strides = f"[{k}, 1]" if major == "K" else f"[1, {M}]"
    ptx = tirx.compile(staged_kernel(dtype, acc, target, "", strides), options="pipeline=off")
    result = assemble(ptx, target)
    assert result.ok, result.stderr
    products = [line for line in ptx.splitlines() if "mma.sync" in line]
    assert products
    assert all(instruction in line for line in products)
    assert (".trans" in ptx) == (major == "MN")

    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(NUMPY[dtype]) for shape in ((M, k), (N, k)))
    d = np.zeros((M, N), NUMPY[acc])
    stored = np.ascontiguousarray(a if major == "K" else a.T)
    profile = Profile()
    run(ptx, "gemm", 1, 128, [stored, b, d], check="strict", observer=profile)
    assert (d == a.astype(np.float64) @ b.astype(np.float64).T).all()
    assert profile.conflicts == 0
    assert any(loads in name for name in profile.instructions)


@pytest.mark.parametrize("seed", [4, 35, 85])
@pytest.mark.sample(1)
def test_random_products(seed: int) -> None:
    """A sample; `python test/sweeps/staged_products.py FIRST LAST` runs more."""
    random_kernel(seed).check(seed)
