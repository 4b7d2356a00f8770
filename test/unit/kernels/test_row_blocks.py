"""Accumulators of 256 rows in tensor memory, which two instructions compute, and parts of their columns."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.assembled import assembled

import tirx

KERNEL = """
!a = !tirx.tile<256x64xf16, shared>
!b = !tirx.tile<{n}x64xf16, shared>
!acc = !tirx.tile<256x{n}x{element}, {memory}>
!registers = !tirx.tile<256x{n}x{element}, register>
tirx.kernel @k(%a: memref<?x?xf16>, %b: memref<{n}x?xf16>, %d: memref<?x{n}x{element}>)
    target("sm_100a") grid(1, ceildiv(size(2, 0), 256)) threads(128) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %size = memref.dim %a, %c1 : memref<?x?xf16>
  %zero = arith.constant {start} : {element}
  %i = tirx.block_id y
  %m = arith.muli %i, %c256 : index
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : {element}, !acc
  scf.for %k = %c0 to %size step %c64 {{
    %ga = tirx.view %a[%m, %k] clipped : memref<?x?xf16> -> !tirx.tile<256x64xf16, global>
    %gb = tirx.view %b[%c0, %k] clipped : memref<{n}x?xf16> -> !tirx.tile<{n}x64xf16, global>
    tirx.copy %ga, %sa engine tma : !tirx.tile<256x64xf16, global>, !a
    tirx.copy %gb, %sb engine tma : !tirx.tile<{n}x64xf16, global>, !b
    tirx.mma %sa, %sb, %acc : !a, !b, !acc
  }}
  %gd = tirx.view %d[%m, %c0] clipped : memref<?x{n}x{element}> -> !tirx.tile<256x{n}x{element}, global>
  {changed}
  tirx.copy %acc, %gd : !acc, !tirx.tile<256x{n}x{element}, global>
  tirx.return
}}
"""


CHANGED = """
  %part = tirx.subview %acc[0, 32] : !acc -> !tirx.tile<256x32xf32, tensor>
  %x = tirx.load %part : !tirx.tile<256x32xf32, tensor> -> !tirx.tile<256x32xf32, register>
  %y = tirx.map ins(%x : !tirx.tile<256x32xf32, register>) {
  ^bb0(%e: f32):
    %twice = arith.addf %e, %e : f32
    tirx.yield %twice : f32
  } -> !tirx.tile<256x32xf32, register>
  tirx.store %y, %part : !tirx.tile<256x32xf32, register>, !tirx.tile<256x32xf32, tensor>
"""


@pytest.mark.parametrize(
    "n, element, memory, start, changed",
    [
        (128, "f32", "tensor", 1.0, CHANGED),
        (64, "f16", "accumulator", 0.0, ""),
        (256, "f32", "accumulator", 0.0, ""),
        (80, "f32", "tensor", 2.0, CHANGED),
    ],
)
@pytest.mark.sample(1)
def test_two_instructions_along_the_rows(n: int, element: str, memory: str, start: float, changed: str) -> None:
    """A fill with zeros becomes products that overwrite; others are stored half by half."""
    text = KERNEL.format(n=n, element=element, memory=memory, start=start, changed=changed)
    program = tirx.build(text)
    assembled(program.ptx)
    assert ("tcgen05.st" in program.ptx) == (start != 0)
    dtype = np.dtype(np.float32 if element == "f32" else np.float16)
    rng = np.random.default_rng(0)
    for rows, depth in ((256, 0), (300, 200)):
        a, b = (rng.integers(-1, 2, (each, depth)).astype(np.float16) for each in (rows, n))
        d = np.full((rows, n), 7, dtype)
        program.kernels["k"].simulate(a, b, d, check="strict")
        expected = a.astype(np.float64) @ b.astype(np.float64).T + start
        if changed:
            expected[:, 32:64] *= 2
        np.testing.assert_array_equal(d.astype(np.float64), expected)
