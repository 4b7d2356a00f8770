"""Accumulators that change places round a loop and are read again: copied where they have to be, and right."""

from __future__ import annotations

import numpy as np

import tirx

TEXT = """
!g = !tirx.tile<64x16xf16, global>
!h = !tirx.tile<8x16xf16, global>
!a = !tirx.tile<64x16xf16, shared>
!b = !tirx.tile<8x16xf16, shared>
!d = !tirx.tile<64x8xf32, register>
!gd = !tirx.tile<64x8xf32, global>

tirx.kernel @rotated(%a: memref<64x16xf16>, %b: memref<8x16xf16>, %d: memref<3x64x8xf32>, %n: index)
    target("sm_90a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %ga = tirx.view %a[%c0, %c0] : memref<64x16xf16> -> !g
  %gb = tirx.view %b[%c0, %c0] : memref<8x16xf16> -> !h
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  tirx.copy %ga, %sa : !g, !a
  tirx.copy %gb, %sb : !h, !b
  %x = tirx.splat %zero : f32 -> !d
  %y = tirx.splat %one : f32 -> !d
  %u, %v, %w = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %y, %r = %x) -> (!d, !d, !d) {
    %sum = tirx.mma %sa, %sb, %p : !a, !b, !d -> !d
    scf.yield %q, %sum, %p : !d, !d, !d
  }
  %d0 = tirx.view %d[%c0, %c0, %c0] : memref<3x64x8xf32> -> !gd
  %d1 = tirx.view %d[%c1, %c0, %c0] : memref<3x64x8xf32> -> !gd
  %d2 = tirx.view %d[%c2, %c0, %c0] : memref<3x64x8xf32> -> !gd
  tirx.store %u, %d0 : !d, !gd
  tirx.store %v, %d1 : !d, !gd
  tirx.store %w, %d2 : !d, !gd
  tirx.return
}
"""


def test_rotated_accumulators():
    kernel = tirx.build(TEXT).kernels["rotated"]
    for rounds in (0, 3):
        rng = np.random.default_rng(rounds)
        a, b = rng.integers(-3, 4, (64, 16)).astype(np.float16), rng.integers(-3, 4, (8, 16)).astype(np.float16)
        d = np.full((3, 64, 8), 7, np.float32)
        kernel.simulate(a, b, d, rounds, check="strict")
        product = a.astype(np.float64) @ b.T.astype(np.float64)
        u, v, w = np.zeros_like(product), np.ones_like(product), np.zeros_like(product)
        for _ in range(rounds):
            u, v, w = v, u + product, u
        np.testing.assert_array_equal(d, np.stack([u, v, w]))
