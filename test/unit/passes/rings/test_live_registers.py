"""Registers that tiles take together: in a block, in a branch, and around a loop."""

from __future__ import annotations

from unit.cases import together
from unit.passes.parsed import parsed

from tirx.dialects.tirx import KernelOp
from tirx.passes.rings.live_registers import live_registers

KERNEL = """
!f = !tirx.tile<128x32xf32, register, #tirx.tile_layout<S[(4, 32, 32) : (1@warpid, 1@laneid, 1)]>>
!h = !tirx.tile<128x32xf16, register, #tirx.tile_layout<S[(4, 32, 32) : (1@warpid, 1@laneid, 1)]>>
!row = !tirx.tile<1x32xf32, register, #tirx.tile_layout<S[(1, 32) : (1, 1)] + R[(4, 32) : (1@warpid, 1@laneid)]>>
tirx.kernel @k(%n: index, %p: i1) target("sm_90a") threads(128) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = "test.op"() : () -> !f
  {}
  tirx.return
}}
"""
HALF = "tirx.map ins({} : !f) (%e) {{ f16(%e) }} -> !h"
LOOP = "scf.for %i = %c0 to %n step %c1"
USE = '"test.op"({}) : ({}) -> ()\n'
BOTH = f'{USE.format("%x", "!f")} %y = "test.op"() : () -> !f {USE.format("%y", "!f")}'


@together(
    ("body", "registers"),
    [
        # A tile whose last use gives another one leaves it its registers; one that nothing uses takes none.
        (f"%y = {HALF.format('%x')} {USE.format('%y', '!h')}", 32),
        (f"%y = {HALF.format('%x')} {USE.format('%x', '!f')} {USE.format('%y', '!h')}", 48),
        ("", 0),
        # Elements that all threads have are in each of them; zeros are made where they are used.
        (f'%y = "test.op"() : () -> !row {USE.format("%x, %y", "!f, !row")}', 64),
        (f"%y = tirx.zero : !f {USE.format('%x, %y', '!f, !f')}", 32),
        # A loop takes over what it begins with, and needs what comes from outside until its end.
        (f"%y = {LOOP} iter_args(%a = %x) -> (!f) {{ {USE.format('%a', '!f')} scf.yield %a : !f }}", 32),
        (f"{LOOP} {{ {BOTH} }}", 64),
        (f"scf.if %p {{ {BOTH} }}", 32),
    ],
)
def test_live_registers(body: str, registers: int) -> None:
    (kernel,) = (op for op in parsed(KERNEL.format(body)).walk() if isinstance(op, KernelOp))
    assert live_registers(kernel) == registers
