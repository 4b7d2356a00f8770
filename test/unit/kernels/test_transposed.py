"""Shared tiles that products read transposed, and as they are, against numpy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tirx
from tirx.rules import LayoutChoiceError

_TYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "si8": np.int8,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f64": np.float64,
    "i32": np.int32,
    "f32": np.float32,
}

_BOTH = """
!g = !tirx.tile<64x{n}x{e}, global>
!s = !tirx.tile<64x{n}x{e}, shared>
!t = !tirx.tile<{n}x64x{e}, shared>
!p = !tirx.tile<{n}x{n}x{d}, accumulator>
!q = !tirx.tile<64x64x{d}, accumulator>
!gp = !tirx.tile<{n}x{n}x{d}, global>
!gq = !tirx.tile<64x64x{d}, global>
tirx.kernel @both(%a: memref<?x{n}x{e}>, %b: memref<?x{n}x{e}>, %d: memref<{n}x{n}x{d}>, %f: memref<?x64x{d}>)
    target("{target}") grid(1) {cluster} threads(128) {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %size = memref.dim %a, %c0 : memref<?x{n}x{e}>
  %zero = arith.constant {zero} : {d}
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %p = tirx.alloc : !p
  %q = tirx.alloc : !q
  tirx.fill %p, %zero : {d}, !p
  scf.for %k = %c0 to %size step %c64 {{
    tirx.fill %q, %zero : {d}, !q
    %ga = tirx.view %a[%k, %c0] clipped : memref<?x{n}x{e}> -> !g
    %gb = tirx.view %b[%k, %c0] clipped : memref<?x{n}x{e}> -> !g
    %gq = tirx.view %f[%k, %c0] clipped : memref<?x64x{d}> -> !gq
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    %ta = tirx.transpose %sa [1, 0] : !s -> !t
    %tb = tirx.transpose %sb [1, 0] : !s -> !t
    tirx.mma %ta, %tb, %p : !t, !t, !p
    {second}
    tirx.copy %q, %gq : !q, !gq
  }}
  %gp = tirx.view %d[%c0, %c0] : memref<{n}x{n}x{d}> -> !gp
  tirx.copy %p, %gp : !p, !gp
  tirx.return
}}
"""


def _text(target: str, e: str, d: str, n: int = 64, both: bool = True, cluster: str = "") -> str:
    second = "tirx.mma %sa, %sb, %q : !s, !s, !q" if both else ""
    zero = "0" if d == "i32" else "0.0"
    return _BOTH.format(target=target, e=e, d=d, n=n, second=second, cluster=cluster, zero=zero)


@pytest.mark.sample(3)
@pytest.mark.parametrize("size", [64, 130, 77])
@pytest.mark.parametrize(
    ("target", "e", "d"),
    [
        *((target, "f16", "f32") for target in ("sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a")),
        *((target, "bf16", "f32") for target in ("sm_80", "sm_90a", "sm_100a")),
        *(("sm_80", *types) for types in (("tf32", "f32"), ("si8", "i32"))),
        *(("sm_100a", *types) for types in (("si8", "i32"), ("f8E4M3FN", "f32"), ("f64", "f64"))),
    ],
)
def test_a_tile_is_multiplied_both_ways(target: str, e: str, d: str, size: int) -> None:
    """Both products read the same bytes: no other tile is staged."""
    a, b = (np.random.default_rng(i).integers(-2, 3, (size, 64)).astype(_TYPES[e]) for i in (0, 1))
    sums, products = np.zeros((64, 64), _TYPES[d]), np.zeros((size, 64), _TYPES[d])
    program = tirx.build(_text(target, e, d))
    program.kernels["both"].simulate(a, b, sums, products, check="strict")
    wide = a.astype(np.float64), b.astype(np.float64)
    np.testing.assert_array_equal(sums.astype(np.float64), wide[0].T @ wide[1])
    for k in range(0, size, 64):
        expected = wide[0][k : k + 64] @ wide[1][k : k + 64].T
        np.testing.assert_array_equal(products[k : k + 64, : len(expected)].astype(np.float64), expected)


def _with_columns(text: str) -> str:
    """The kernel without the product that reads the tile as it is."""
    return "\n".join(line for line in text.splitlines() if "%q" not in line and "%gq" not in line)


@pytest.mark.parametrize(("size", "n"), [(77, 64), (64, 256)])
def test_columns_of_tf32_are_operands(size: int, n: int) -> None:
    """tcgen05 reads columns of tf32 in atoms of 32 bytes, which bulk copies write; of 256 two products read parts."""
    a, b = (np.random.default_rng(i).integers(-2, 3, (size, n)).astype(np.float32) for i in (0, 1))
    sums = np.zeros((n, n), np.float32)
    program = tirx.build(_with_columns(_text("sm_100a", "tf32", "f32", n, both=False)))
    assert "cp.async.bulk.tensor" in program.ptx and "tcgen05.mma" in program.ptx
    program.kernels["both"].simulate(a, b, sums, np.zeros((size, 64), np.float32), check="strict")
    np.testing.assert_array_equal(sums, a.T @ b)


@pytest.mark.parametrize(("target", "e"), [("sm_90a", "tf32"), ("sm_90a", "si8"), ("sm_100a", "tf32")])
def test_no_layout_suits_both(target: str, e: str) -> None:
    with pytest.raises(LayoutChoiceError, match="instead of tirx.transpose, stage the tile once more from a view"):
        tirx.build(_text(target, e, "i32" if e == "si8" else "f32"))


def test_both_blocks_of_a_pair_have_columns_of_a_tile() -> None:
    text = _text("sm_100a", "f16", "f32", 256, both=False, cluster="cluster(2)").replace("accumulator", "tensor")
    a, b = (np.random.default_rng(i).integers(-2, 3, (128, 256)).astype(np.float16) for i in (0, 1))
    sums = np.zeros((256, 256), np.float32)
    tirx.build(_with_columns(text)).kernels["both"].simulate(
        a, b, sums, np.zeros((128, 64), np.float32), check="strict"
    )
    np.testing.assert_array_equal(sums, a.astype(np.float32).T @ b)
