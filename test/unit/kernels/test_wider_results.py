"""Products whose accumulator is f16 and whose result is f32."""

from __future__ import annotations

import re

import numpy as np
import pytest
from unit.sim.assembled import assembled

import tirx
from tirx.mma.fragments import VARIANTS
from tirx.mma.pick import pick_fragments
from tirx.sim import run

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
        ("sm_70", (4, 8, 8, 8), "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16"),
        ("sm_70", (32, 16, 12), "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16"),
        ("sm_80", (16, 8, 16), "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
    ],
)
def test_wider_results(target: str, shape: tuple[int, ...], mnemonic: str):
    """An instruction takes the accumulator as it is, or it is converted: nothing is rounded to f16 on the way."""
    *batch, m, n, k = shape
    prefix = "".join(f"{x}x" for x in batch)
    zeros = ", ".join(["%c0"] * (len(batch) + 2))
    program = tirx.build(KERNEL.format(target=target, batch=prefix, m=m, n=n, k=k, zeros=zeros))
    assert mnemonic in assembled(program.ptx)
    assert ("cvt.f32.f16" in program.ptx) == (target != "sm_70")
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-64, 65, (*batch, rows, k)).astype(np.float16) for rows in (m, n))
    c = rng.integers(-2000, 2001, (*batch, m, n)).astype(np.float16)
    d = np.zeros((*batch, m, n), np.float32)
    program.kernels["k"].simulate(a, b, c, d, check="strict")
    expected = a.astype(np.float32) @ b.astype(np.float32).swapaxes(-1, -2) + c.astype(np.float32)
    assert (expected != expected.astype(np.float16)).any()
    np.testing.assert_array_equal(d, expected)


MIXED = """.version 6.4
.target sm_70
.address_size 64
.visible .entry k(.param .u64 operands, .param .u64 c, .param .u64 d)
{
  .reg .b64 %rd<8>;
  .reg .b32 %r<12>;
  .reg .f32 %f<8>;
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd0, [operands];
  ld.param.u64 %rd1, [c];
  ld.param.u64 %rd2, [d];
  mul.wide.u32 %rd3, %r0, 16;
  add.u64 %rd0, %rd0, %rd3;
  add.u64 %rd1, %rd1, %rd3;
  mul.wide.u32 %rd4, %r0, 32;
  add.u64 %rd2, %rd2, %rd4;
  ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd0];
  ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd1];
  mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16
    {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, {%r1, %r2}, {%r3, %r4}, {%r5, %r6, %r7, %r8};
  st.global.v4.f32 [%rd2], {%f0, %f1, %f2, %f3};
  st.global.v4.f32 [%rd2+16], {%f4, %f5, %f6, %f7};
  ret;
}
"""


def test_the_instruction_that_widens():
    """m8n8k4 takes C in f16 and gives D in f32, each in the fragment of its own type."""
    half, wide = VARIANTS["m8n8k4.row.col.f16"], VARIANTS["m8n8k4.row.col.f32.f16"]
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-64, 65, (4, 8, 4)).astype(np.float16) for _ in range(2))
    c = rng.integers(-2000, 2001, (4, 8, 8)).astype(np.float16)
    operands, sums = np.zeros((32, 8), np.float16), np.zeros((32, 8), np.float16)
    for tile, fragment, registers in ((a, wide.a, operands[:, :4]), (b, wide.b, operands[:, 4:]), (c, half.c, sums)):
        places = [fragment.layout.axis_table(axis, fragment.shape) for axis in ("laneid", "m")]
        registers[places[0], places[1]] = tile
    d = np.zeros((32, 8), np.float32)
    run(assembled(MIXED), "k", (1, 1, 1), (32, 1, 1), [operands, sums, d])
    lanes, slots = (wide.c.layout.axis_table(axis, wide.c.shape) for axis in ("laneid", "m"))
    expected = a.astype(np.float32) @ b.astype(np.float32).swapaxes(-1, -2) + c.astype(np.float32)
    np.testing.assert_array_equal(d[lanes, slots], expected)


def test_an_accumulator_in_other_threads_than_the_result():
    """It is converted to f32, then given to the threads that hold the result."""
    picked = pick_fragments(16, 8, 16, "f16", "f32", 1)
    layouts = {"a": picked.a, "b": picked.b, "c": "S[(16, 2, 4) : (2@laneid, 1@laneid, 1)]", "d": picked.c}
    text = KERNEL.format(target="sm_80", batch="", m=16, n=8, k=16, zeros="%c0, %c0")
    for name, layout in layouts.items():
        text = re.sub(rf"(!{name} = .*register)>", rf"\1, #tirx.tile_layout<{layout}>>", text)
    program = tirx.build(text)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-64, 65, (rows, 16)).astype(np.float16) for rows in (16, 8))
    c, d = rng.integers(-2000, 2001, (16, 8)).astype(np.float16), np.zeros((16, 8), np.float32)
    program.kernels["k"].simulate(a, b, c, d, check="strict")
    assert (d == a.astype(np.float32) @ b.astype(np.float32).T + c.astype(np.float32)).all()
