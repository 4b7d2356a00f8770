"""Floats of 8 bits on targets without instructions for them: all 256 of each type."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tirx

_KERNEL = """
tirx.kernel @extend(%x: memref<256xTYPE>, %y: memref<256xWIDE>, %z: memref<256xWIDE>) grid(256) threads(128) {
  %i = tirx.block_id x
  %c0 = arith.constant 0 : index
  %e = memref.load %x[%i] : memref<256xTYPE>
  %w = arith.extf %e : TYPE to WIDE
  memref.store %w, %z[%i] : memref<256xWIDE>
  %r = tirx.load %x[0] : memref<256xTYPE> -> !tirx.tile<256xTYPE, register>
  %s = tirx.map ins(%r : !tirx.tile<256xTYPE, register>) (%v) { WIDE(%v) } -> !tirx.tile<256xWIDE, register>
  %first = arith.cmpi eq, %i, %c0 : index
  scf.if %first {
    tirx.store %s, %y[0] : !tirx.tile<256xWIDE, register>, memref<256xWIDE>
  }
}
"""


@pytest.mark.parametrize("target", ("sm_70", "sm_80", "sm_89"))
@pytest.mark.parametrize("wide, dtype", (("f16", np.float16), ("f32", np.float32)))
@pytest.mark.parametrize("name, narrow", (("f8E4M3FN", ml_dtypes.float8_e4m3fn), ("f8E5M2", ml_dtypes.float8_e5m2)))
@pytest.mark.sample(4)
def test_every_byte_is_extended(name: str, narrow: Any, wide: str, dtype: Any, target: str) -> None:
    x = np.arange(256, dtype=np.uint8).view(narrow)
    tiles, scalars = np.zeros(256, dtype), np.zeros(256, dtype)
    program = tirx.build(_KERNEL.replace("TYPE", name).replace("WIDE", wide), target=target)
    assert ("x2 " in program.ptx and "cvt.rn.f16x2" in program.ptx) == (target == "sm_89")
    program.kernels["extend"].simulate(x, tiles, scalars)
    np.testing.assert_array_equal(tiles, x.astype(dtype))
    np.testing.assert_array_equal(scalars, x.astype(dtype))
