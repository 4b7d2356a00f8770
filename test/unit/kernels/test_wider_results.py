"""Products whose accumulator is f16 and whose result is f32."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.assembled import assembled

import tirx

KERNEL = """
!a = !tirx.tile<{batch}{m}x{k}xf16, register>
!b = !tirx.tile<{batch}{n}x{k}xf16, register>
!c = !tirx.tile<{batch}{m}x{n}xf16, register>
!d = !tirx.tile<{batch}{m}x{n}xf32, register>
!ma = memref<{batch}{m}x{k}xf16>
!mb = memref<{batch}{n}x{k}xf16>
!mc = memref<{batch}{m}x{n}xf16>
!md = memref<{batch}{m}x{n}xf32>
tirx.kernel @k(%a: !ma, %b: !mb, %c: !mc, %d: !md) target("{target}") grid(1) threads(32) {{
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[{zeros}] : !ma -> !tirx.tile<{batch}{m}x{k}xf16, global>
  %gb = tirx.view %b[{zeros}] : !mb -> !tirx.tile<{batch}{n}x{k}xf16, global>
  %gc = tirx.view %c[{zeros}] : !mc -> !tirx.tile<{batch}{m}x{n}xf16, global>
  %gd = tirx.view %d[{zeros}] : !md -> !tirx.tile<{batch}{m}x{n}xf32, global>
  %ta = tirx.load %ga : !tirx.tile<{batch}{m}x{k}xf16, global> -> !a
  %tb = tirx.load %gb : !tirx.tile<{batch}{n}x{k}xf16, global> -> !b
  %tc = tirx.load %gc : !tirx.tile<{batch}{m}x{n}xf16, global> -> !c
  %td = tirx.mma %ta, %tb, %tc : !a, !b, !c -> !d
  tirx.store %td, %gd : !d, !tirx.tile<{batch}{m}x{n}xf32, global>
  tirx.return
}}
"""


@pytest.mark.parametrize(
    "target, shape, mnemonic",
    [
        ("sm_70", (4, 8, 8, 8), "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"),
        ("sm_80", (16, 8, 16), "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
    ],
)
def test_wider_results(target: str, shape: tuple[int, ...], mnemonic: str):
    """The accumulator is converted, which is exact: nothing is rounded to f16 on the way."""
    *batch, m, n, k = shape
    prefix = "".join(f"{x}x" for x in batch)
    zeros = ", ".join(["%c0"] * (len(batch) + 2))
    program = tirx.build(KERNEL.format(target=target, batch=prefix, m=m, n=n, k=k, zeros=zeros))
    assert mnemonic in assembled(program.ptx)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-64, 65, (*batch, rows, k)).astype(np.float16) for rows in (m, n))
    c = rng.integers(-2000, 2001, (*batch, m, n)).astype(np.float16)
    d = np.zeros((*batch, m, n), np.float32)
    program.kernels["k"].simulate(a, b, c, d, check="strict")
    expected = a.astype(np.float32) @ b.astype(np.float32).swapaxes(-1, -2) + c.astype(np.float32)
    assert (expected != expected.astype(np.float16)).any()
    np.testing.assert_array_equal(d, expected)
