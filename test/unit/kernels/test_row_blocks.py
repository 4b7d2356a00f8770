"""Accumulators of 256 rows in tensor memory, which two instructions compute."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.assembled import assembled

import tirx

KERNEL = """
!a = !tirx.tile<256x64xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!acc = !tirx.tile<256x64x{element}, {memory}>
!registers = !tirx.tile<256x64x{element}, register>
tirx.kernel @k(%a: memref<?x?xf16>, %b: memref<64x?xf16>, %d: memref<?x64x{element}>)
    target("sm_100a") grid(1, ceildiv(size(2, 0), 256)) threads(128) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %size = memref.dim %a, %c1 : memref<?x?xf16>
  %zero = arith.constant 0.0 : {element}
  %i = tirx.block_id y
  %m = arith.muli %i, %c256 : index
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : {element}, !acc
  scf.for %k = %c0 to %size step %c64 {{
    %ga = tirx.view %a[%m, %k] clipped : memref<?x?xf16> -> !tirx.tile<256x64xf16, global>
    %gb = tirx.view %b[%c0, %k] clipped : memref<64x?xf16> -> !tirx.tile<64x64xf16, global>
    tirx.copy %ga, %sa engine tma : !tirx.tile<256x64xf16, global>, !a
    tirx.copy %gb, %sb engine tma : !tirx.tile<64x64xf16, global>, !b
    tirx.mma %sa, %sb, %acc : !a, !b, !acc
  }}
  %gd = tirx.view %d[%m, %c0] clipped : memref<?x64x{element}> -> !tirx.tile<256x64x{element}, global>
  %x = tirx.load %acc : !acc -> !registers
  tirx.store %x, %gd : !registers, !tirx.tile<256x64x{element}, global>
  tirx.return
}}
"""


@pytest.mark.parametrize("element, memory", [("f32", "tensor"), ("f16", "accumulator")])
@pytest.mark.sample(1)
def test_two_instructions_along_the_rows(element: str, memory: str) -> None:
    program = tirx.build(KERNEL.format(element=element, memory=memory))
    assembled(program.ptx)
    dtype = np.dtype(np.float32 if element == "f32" else np.float16)
    rng = np.random.default_rng(0)
    for rows, depth in ((256, 0), (300, 200)):
        a, b = (rng.integers(-1, 2, (each, depth)).astype(np.float16) for each in (rows, 64))
        d = np.full((rows, 64), 7, dtype)
        program.kernels["k"].simulate(a, b, d, check="strict")
        np.testing.assert_array_equal(d.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64).T)
