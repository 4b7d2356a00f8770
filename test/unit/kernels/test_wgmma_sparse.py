"""Sparse products by wgmma whose metadata are tiles of registers: codes of 4 bits, read from memory."""

from __future__ import annotations

import numpy as np
from unit.sim.assembled import assembled

import tirx

_KERNEL = """
!a = !tirx.tile<64x32xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!d = !tirx.tile<64x64xf32, register>
!e = !tirx.tile<64x16xi4, register>
!ga = !tirx.tile<64x32xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!ge = !tirx.tile<64x16xi4, global>
!gd = !tirx.tile<64x64xf32, global>
tirx.kernel @k(%pa: memref<64x32xf16>, %pb: memref<64x64xf16>, %pe: memref<64x16xi4>, %pd: memref<64x64xf32>)
    target("sm_90a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %d = tirx.alloc : !d
  %ga = tirx.view %pa[%c0, %c0] : memref<64x32xf16> -> !ga
  %gb = tirx.view %pb[%c0, %c0] : memref<64x64xf16> -> !gb
  %ge = tirx.view %pe[%c0, %c0] : memref<64x16xi4> -> !ge
  %gd = tirx.view %pd[%c0, %c0] : memref<64x64xf32> -> !gd
  tirx.copy %ga, %a : !ga, !a
  tirx.copy %gb, %b : !gb, !b
  %e = tirx.load %ge : !ge -> !e
  tirx.fill %d, %zero : f32, !d
  tirx.mma %a, %b, %d metadata(%e) : !a, !b, !d, !e
  tirx.store %d, %gd : !d, !gd
  tirx.return
}
"""


def test_codes_from_memory_say_which_elements_are_stored():
    program = tirx.build(_KERNEL)
    assembled(program.ptx)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((64, 32), (64, 64)))
    first = rng.integers(0, 3, (64, 16))
    second = rng.integers(first + 1, 4)
    # Of every four elements along K, those at `first` and `second` are stored.
    whole = np.zeros((64, 16, 4))
    np.put_along_axis(whole, np.stack((first, second), -1), a.reshape(64, 16, 2).astype(float), -1)
    codes = (first | second << 2).astype(np.uint8)
    d = np.zeros((64, 64), np.float32)
    program.kernels["k"].simulate(a, b, codes[:, ::2] | codes[:, 1::2] << 4, d, check="strict")
    np.testing.assert_array_equal(d, whole.reshape(64, 64) @ b.T.astype(float))
