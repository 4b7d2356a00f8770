"""Conversions to and from floats of 4 bits in maps: they round, saturate and are packed as ml_dtypes has them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from unit.sim.assembled import assembled

import tirx

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
@pytest.mark.sample(1)
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
