"""Conversions to and from floats of 4 and 6 bits in maps: they round, saturate and are packed as ml_dtypes has them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from unit.sim.assembled import assembled

import tirx
from tirx.diagnostics import LocatedError

KERNEL = """
!x = !tirx.tile<16x64xf32, register{layout}>
!q = !tirx.tile<16x64xf4E2M1FN, register{layout}>
!g = !tirx.tile<16x64xf32, global>
!gq = !tirx.tile<16x64xf4E2M1FN, global>
tirx.kernel @k(%a: memref<16x64xf32>, %q: memref<16x64xf4E2M1FN>, %d: memref<16x64xf32>)
    target("sm_100a") grid(1) threads(32) {{
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<16x64xf32> -> !g
  %gq = tirx.view %q[%c0, %c0] : memref<16x64xf4E2M1FN> -> !gq
  %gd = tirx.view %d[%c0, %c0] : memref<16x64xf32> -> !g
  %x = tirx.load %ga : !g -> !x
  %narrow, %errors = tirx.map ins(%x : !x) {{
  ^bb0(%e: f32):
    %n = arith.truncf %e : f32 to f4E2M1FN
    %w = arith.extf %n : f4E2M1FN to f32
    %r = arith.subf %e, %w : f32
    tirx.yield %n, %r : f4E2M1FN, f32
  }} -> !q, !x
  tirx.store %narrow, %gq : !q, !gq
  %again = tirx.load %gq : !gq -> !q
  %sums = tirx.map ins(%again, %errors : !q, !x) {{
  ^bb0(%e: f4E2M1FN, %p: f32):
    %w = arith.extf %e : f4E2M1FN to f32
    %z = arith.addf %w, %p : f32
    tirx.yield %z : f32
  }} -> !x
  tirx.copy %sums, %gd : !x, !g
  tirx.return
}}
"""


@pytest.mark.parametrize("layout", ["", ", #tirx.tile_layout<S[(16, 2, 32) : (1@laneid, 16@laneid, 1)]>"])
def test_four_bits(layout: str):
    program = tirx.build(KERNEL.format(layout=layout))
    assembled(program.ptx)
    a = (3 * np.random.default_rng(0).standard_normal((16, 64))).astype(np.float32)
    a[0, :2] = 64, -64
    q, d = np.zeros((16, 32), np.uint8), np.zeros_like(a)
    program.kernels["k"].simulate(a, q, d, check="strict")
    found = np.stack([q & 15, q >> 4], -1).reshape(16, 64).view(ml_dtypes.float4_e2m1fn)
    np.testing.assert_array_equal(found.astype(np.float32), np.clip(a, -6, 6).astype(found.dtype).astype(np.float32))
    np.testing.assert_array_equal(d, a)


SIX_BITS = """
!x = !tirx.tile<8x64xf32, register>
!h = !tirx.tile<8x64xf16, register>
!g = !tirx.tile<8x64xf32, global>
!gh = !tirx.tile<8x64xf16, global>
tirx.kernel @k(%a: memref<8x64xf32>, %q: memref<8x64xf16>, %d: memref<8x64xf32>)
    target("{target}") grid(1) threads(32) {{
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<8x64xf32> -> !g
  %gq = tirx.view %q[%c0, %c0] : memref<8x64xf16> -> !gh
  %gd = tirx.view %d[%c0, %c0] : memref<8x64xf32> -> !g
  %x = tirx.load %ga : !g -> !x
  %near, %error = tirx.map ins(%x : !x) {{
  ^bb0(%e: f32):
    %n = arith.truncf %e : f32 to {element}
    %h = arith.extf %n : {element} to f16
    %w = arith.extf %n : {element} to f32
    %r = arith.subf %e, %w : f32
    tirx.yield %h, %r : f16, f32
  }} -> !h, !x
  tirx.store %near, %gq : !h, !gh
  tirx.store %error, %gd : !x, !g
  tirx.return
}}
"""


@pytest.mark.parametrize(
    "element, dtype, target",
    [("f6E2M3FN", ml_dtypes.float6_e2m3fn, "sm_100a"), ("f6E3M2FN", ml_dtypes.float6_e3m2fn, "sm_120a")],
)
def test_six_bits(element: str, dtype: type, target: str):
    """Numbers are rounded to six bits and back within a map; tiles of them are in memory only."""
    program = tirx.build(SIX_BITS.format(element=element, target=target))
    assembled(program.ptx)
    a = (3 * np.random.default_rng(0).standard_normal((8, 64))).astype(np.float32)
    a[0, :2] = 64, -64
    q, d = np.zeros((8, 64), np.float16), np.zeros_like(a)
    program.kernels["k"].simulate(a, q, d, check="strict")
    largest = 7.5 if element == "f6E2M3FN" else 28.0
    expected = np.clip(a, -largest, largest).astype(dtype).astype(np.float32)
    np.testing.assert_array_equal(q.astype(np.float32), expected)
    np.testing.assert_array_equal(d, a - expected)


def test_six_bits_before_blackwell():
    with pytest.raises(LocatedError, match="which sm_90a lacks"):
        tirx.build(SIX_BITS.format(element="f6E2M3FN", target="sm_90a"))
