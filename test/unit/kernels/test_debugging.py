"""`tirx.print` writes the same in the simulator and in the interpreter, and `tirx.assert` stops both."""

from __future__ import annotations

import numpy as np
import pytest

import tirx
from tirx import embed
from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import KernelOp
from tirx.interp import RunError, run_kernel
from tirx.sim import SimError

_TEXT = """
!t = !tirx.tile<4x8xf16, register>
!b = !tirx.tile<4x8xi8, register>
tirx.kernel @k(%a: memref<4x8xf16>, %n: index, %x: f32) target("sm_80") grid(2) threads(64) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %b = tirx.block_id x
  %ga = tirx.view %a[%c0, %c0] : memref<4x8xf16> -> !tirx.tile<4x8xf16, global>
  %t = tirx.load %ga : !tirx.tile<4x8xf16, global> -> !t
  %few = arith.cmpi ult, %n, %c5 : index
  %far = arith.constant -5000000000 : i64
  %near = arith.constant -7 : i32
  %small = tirx.map ins(%t : !t) {
  ^bb0(%e: f16):
    %most = arith.constant 30.0 : f16
    %p = arith.cmpf olt, %e, %most : f16
    %r = arith.extui %p : i1 to i8
    tirx.yield %r : i8
  } -> !b
  tirx.print "100%", %t, %b, %x, %few, %far, %near : !t, index, f32, i1, i64, i32
  tirx.assert %few, "few" : i1
  tirx.assert %small, "small" : !b
  tirx.return
}
"""


def _kernel() -> KernelOp:
    kernel = embed.parse(_TEXT, "k.mlir").body.block.first_op
    assert isinstance(kernel, KernelOp)
    return kernel


@pytest.mark.parametrize("target", ["sm_75", "sm_90a"])
def test_text(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    a = np.arange(-8, 24, dtype=np.float16).reshape(4, 8) / np.float16(4)
    tirx.build(_TEXT, target=target).kernels["k"].simulate(a, 3, 1.5, check="strict")
    simulated = capsys.readouterr().out
    run_kernel(_kernel(), [a, 3, np.float32(1.5)], grid=(2,))
    assert capsys.readouterr().out == simulated
    rows = ["".join(f" {x:g}" for x in row) for row in a.astype(float)]
    assert simulated.splitlines() == ["100% 0 1.5 1 -5000000000 -7", *rows, "100% 1 1.5 1 -5000000000 -7", *rows]


@pytest.mark.parametrize(
    ("n", "element", "where"), [(7, 0.0, "a condition that is false"), (3, 32.0, "element 11 in ")]
)
def test_assertions(n: int, element: float, where: str) -> None:
    a = np.zeros((4, 8), np.float16)
    a[1, 3] = element
    message = "few" if n > 5 else "small"
    with pytest.raises(SimError, match=rf"assertion failed: {message} \(k, k.mlir:\d+\)"):
        tirx.build(embed.parse(_TEXT, "k.mlir")).kernels["k"].simulate(a, n, 1.5)
    with pytest.raises(RunError, match=f"{message}: {where}") as error:
        run_kernel(_kernel(), [a, n, np.float32(1.5)], grid=(2,))
    assert error.value.kind == "assertion"


def test_tiles_in_other_orders() -> None:
    columns = "!tirx.tile<4x8xf16, shared, #tirx.tile_layout<S[(4, 8) : (1, 4)]>>"
    text = _TEXT.replace("  tirx.print", f"  %s = tirx.alloc : {columns}\n  tirx.print").replace(
        '"100%", %t', '"100%", %s'
    )
    with pytest.raises(LocatedError, match="expected a tile in registers, or in shared memory in row-major order"):
        tirx.build(text.replace(": !t, index", f": {columns}, index"))
