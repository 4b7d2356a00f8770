"""Integers of 4 bits in maps equal numpy: conversions with and without sign, arithmetic, and results."""

from __future__ import annotations

from itertools import permutations

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import bf16, f16, f32

import tirx
from tirx.diagnostics import LocatedError
from tirx.hw.targets import Target
from tirx.passes.scalars.nibbles import has_pairs

_N = 8 * 64
_TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "i32": np.int32, "i8": np.int8}

_HEAD = "tirx.kernel @map(%a: memref<8x64xi4>, %d: memref<8x64xT>) grid(1) threads(32) {"
_KERNEL = """
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<8x64xi4> -> !tirx.tile<8x64xi4, global>
  %gd = tirx.view %d[%c0, %c0] : memref<8x64xT> -> !tirx.tile<8x64xT, global>
  %x = tirx.load %ga : !tirx.tile<8x64xi4, global> -> !tirx.tile<8x64xi4, register>
  %y = tirx.map ins(%x : !tirx.tile<8x64xi4, register>) {
  ^bb0(%e: i4):
    BODY
    tirx.yield %r : T
  } -> !tirx.tile<8x64xT, register>
  tirx.store %y, %gd : !tirx.tile<8x64xT, register>, !tirx.tile<8x64xT, global>
  tirx.return
}
"""
_ODD = (
    "%n = arith.constant 5 : i4 %o = arith.constant 1 : i4 %m = arith.muli %e, %n : i4 %s = arith.{} %m, %o : i4 %r = "
)


def _run(type_: str, body: str, target: str, result: np.ndarray) -> np.ndarray:
    """Returns what a map of i4 makes of all 16 of them; writes to `result`."""
    nibbles = np.arange(_N, dtype=np.uint8).reshape(8, 64) * 7 % 16
    text = (_HEAD + _KERNEL.replace("BODY", body)).replace("xT", f"x{type_}").replace(": T", f": {type_}")
    (kernel,) = tirx.build(text, target=target).kernels.values()
    kernel.simulate(nibbles[:, ::2] | nibbles[:, 1::2] << 4, result)
    return nibbles.astype(np.int32)


@pytest.mark.sample(3)
@pytest.mark.parametrize(("type_", "target"), [("f16", "sm_75"), ("bf16", "sm_80"), ("f32", "sm_80")])
@pytest.mark.parametrize("sign", ["s", "u"])
def test_floats(sign: str, type_: str, target: str) -> None:
    found = np.zeros((8, 64), _TYPES[type_])
    n = _run(type_, f"%r = arith.{sign}itofp %e : i4 to {type_}", target, found)
    np.testing.assert_array_equal(found.astype(np.float32), n if sign == "u" else (n ^ 8) - 8)


_REORDERED = """
!x = !tirx.tile<32x16xi4, register, #tirx.tile_layout<S[(32, 16) : (1@laneid, 1)]>>
!y = !tirx.tile<32x16xT, register, #tirx.tile_layout<S[(32, 2, 2, 2, 2) : (1@laneid, STRIDES)]>>
tirx.kernel @map(%a: memref<32x16xi4>, %d: memref<32x16xT>) grid(1) threads(32) {
  %x = tirx.load %a[0, 0] : memref<32x16xi4> -> !x
  %y = tirx.map ins(%x : !x) {
  ^bb0(%e: i4):
    %r = arith.sitofp %e : i4 to T
    tirx.yield %r : T
  } -> !y
  tirx.store %y, %d[0, 0] : !y, memref<32x16xT>
}
"""


def _reordered(strides: str, type_: str) -> str:
    return _REORDERED.replace("STRIDES", strides).replace("xT", f"x{type_}").replace(" T", f" {type_}")


@pytest.mark.sample(4)
@pytest.mark.parametrize(("type_", "target"), [("f16", "sm_75"), ("bf16", "sm_80"), ("f32", "sm_80")])
@pytest.mark.parametrize("strides", list(permutations((1, 2, 4, 8))))
def test_pairs_of_any_two(strides: tuple[int, ...], type_: str, target: str) -> None:
    """Two neighbours in a register of the result are any two of sixteen in two registers of the operand."""
    nibbles = np.arange(32 * 16, dtype=np.uint8).reshape(32, 16) * 7 % 16
    (kernel,) = tirx.build(_reordered(", ".join(map(str, strides)), type_), target=target).kernels.values()
    found = np.zeros((32, 16), _TYPES[type_])
    kernel.simulate(nibbles[:, ::2] | nibbles[:, 1::2] << 4, found)
    np.testing.assert_array_equal(found.astype(np.float32), (nibbles.astype(np.int32) ^ 8) - 8)


@pytest.mark.parametrize(("strides", "moved"), [("4, 8, 2, 1", 8), ("8, 1, 4, 2", 2)])
def test_halves_of_a_register_are_where_they_are_used(strides: str, moved: int) -> None:
    """Bytes are moved once for each pair, of elements 4 apart only for those that lie too far left."""
    assert tirx.compile(_reordered(strides, "f16"), target="sm_80").count("prmt") == moved


def test_rows_that_threads_take_parts_of() -> None:
    """Threads have no rows of the tile that is transposed, so that none of its loads gives what they are to have."""
    text = """
!y = !tirx.tile<24x16xf16, register, #tirx.tile_layout<S[(16, 24) : (1@laneid, 1)]>>
tirx.kernel @map(%a: memref<16x24xi4>, %d: memref<24x16xf16>) grid(1) threads(32) {
  %t = tirx.load %a[0, 0] : memref<16x24xi4> -> !tirx.tile<16x24xi4, register>
  %x = tirx.transpose %t [1, 0] : !tirx.tile<16x24xi4, register> -> !tirx.tile<24x16xi4, register>
  %y = tirx.map ins(%x : !tirx.tile<24x16xi4, register>) (%e) { f16(%e) } -> !y
  tirx.store %y, %d[0, 0] : !y, memref<24x16xf16>
}"""
    with pytest.raises(LocatedError, match="5:8: error: expected .* a layout of it that threads keep"):
        tirx.compile(text, target="sm_80")


@pytest.mark.sample(2)
@pytest.mark.parametrize("type_", ["i8", "i32"])
@pytest.mark.parametrize("sign", ["s", "u"])
def test_arithmetic_wraps(sign: str, type_: str) -> None:
    """Only the low four bits of a product count, and shifts and extensions read them with the sign that they say."""
    found = np.zeros((8, 64), _TYPES[type_])
    product = _run(type_, f"{_ODD.format(f'shr{sign}i')} arith.ext{sign}i %s : i4 to {type_}", "sm_80", found) * 5 & 15
    np.testing.assert_array_equal(found, (product if sign == "u" else (product ^ 8) - 8) >> 1)


def test_results_are_packed():
    found = np.zeros((8, 32), np.uint8)
    n = _run("i4", "%n = arith.constant 3 : i4 %r = arith.addi %e, %n : i4", "sm_80", found) + 3 & 15
    np.testing.assert_array_equal(found, n[:, ::2] | n[:, 1::2] << 4)


def test_types_in_pairs() -> None:
    found = {name: [has_pairs(Target.parse(name), type_) for type_ in (f16, bf16, f32)] for name in ("sm_75", "sm_80")}
    assert found == {"sm_75": [True, False, False], "sm_80": [True, True, False]}
