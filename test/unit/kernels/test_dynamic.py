"""Kernels whose sizes only the launch knows, with edges that no tile divides: equal to numpy, integers bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.assembled import assembled

import tirx

GEMM = """
tirx.kernel @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %d: memref<?x?xf32>)
    target("sm_90a") grid(ceildiv(size(2, 1), 16), ceildiv(size(2, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c64 : index
  %n = arith.muli %j, %c16 : index
  %k = memref.dim %a, %c1 : memref<?x?xf16>
  %sa = tirx.alloc : !tirx.tile<64x16xf16, shared>
  %sb = tirx.alloc : !tirx.tile<16x16xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x16xf32, register>
  tirx.fill %acc, %zero : f32, !tirx.tile<64x16xf32, register>
  scf.for %kk = %c0 to %k step %c16 {
    %ga = tirx.view %a[%m, %kk] clipped : memref<?x?xf16> -> !tirx.tile<64x16xf16, global>
    %gb = tirx.view %b[%n, %kk] clipped : memref<?x?xf16> -> !tirx.tile<16x16xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<64x16xf16, global>, !tirx.tile<64x16xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<16x16xf16, global>, !tirx.tile<16x16xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<64x16xf16, shared>, !tirx.tile<16x16xf16, shared>,
      !tirx.tile<64x16xf32, register>
  }
  %gd = tirx.view %d[%m, %n] clipped : memref<?x?xf32> -> !tirx.tile<64x16xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<64x16xf32, register>, !tirx.tile<64x16xf32, global>
  tirx.return
}
"""


@pytest.mark.parametrize("options", ["pipeline=on", "pipeline=on order=group roles=none"])
@pytest.mark.sample(1)
def test_gemm(options: str) -> None:
    program = tirx.build(GEMM, options=options)
    assembled(program.ptx)
    rng = np.random.default_rng(0)
    for m, n, k in ((72, 24, 40), (16, 8, 8)):
        a, b = (rng.integers(-3, 4, (rows, k)).astype(np.float16) for rows in (m, n))
        d = np.full((m, n), 7, np.float32)
        program.kernels["gemm"].simulate(a, b, d, check="strict")
        np.testing.assert_array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T)


_FOUR_STRIDES = """
!m = memref<?x?x?x?xf16, STRIDES>
!t = !tirx.tile<2x3x4x8xf16, register>
tirx.kernel @k(%a: !m, %d: !m) grid(ceildiv(size(0, 0), 2)) threads(64) {
  %i = tirx.block_id x
  %s = tirx.alloc copy(%a[%i * 2, 0, 0, 0] clipped) : !m, !tirx.tile<2x3x4x8xf16, shared>
  %x = tirx.load %s : !tirx.tile<2x3x4x8xf16, shared> -> !t
  tirx.store %x, %d[%i * 2, 0, 0, 0] clipped : !t, !m
}
"""


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("strides", ["strided<[?, ?, ?, ?]>", "strided<[?, ?, ?, 1]>"])
@pytest.mark.sample(2)
def test_any_strides_of_four_dimensions(target: str, strides: str) -> None:
    """Odd ones, for which a second kernel stands in where the first one has an engine, and those of a transposition."""
    program = tirx.build(_FOUR_STRIDES.replace("STRIDES", strides), target)
    whole = np.random.default_rng(0).integers(-9, 9, (4, 4, 5, 9)).astype(np.float16)
    arrays = [whole[:, :3, :4, :7], whole[:3, :3, :, :].transpose(2, 1, 0, 3)]
    arrays += [whole.T[::2]] * (strides == "strided<[?, ?, ?, ?]>")
    for a in arrays:
        d, covered = np.zeros_like(a), np.zeros_like(a)
        program.kernels["k"].simulate(a, d, check="strict")
        covered[:, :3, :4, :8] = a[:, :3, :4, :8]
        np.testing.assert_array_equal(d, covered)
