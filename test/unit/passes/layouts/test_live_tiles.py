"""Kernels whose register tiles need more registers than a thread has."""

from __future__ import annotations

from unit.cases import together
from unit.passes.parsed import parsed

from tirx.diagnostics import diagnostic_handler
from tirx.dialects.tirx import kernels
from tirx.passes.layouts.live_tiles import warn_of_spills

_LOOP = """
!x = !tirx.tile<{x}x32xf32, register, #tirx.tile_layout<S[({x}, 32) : (1, 1@laneid)]>>
!y = !tirx.tile<{y}x32xf32, register, #tirx.tile_layout<S[({y}, 32) : (1, 1@laneid)]>>
tirx.kernel @k(%n: index, %a: memref<{x}x32xf32>, %b: memref<{y}x32xf32>) target("sm_80") grid(1) threads(32) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tirx.load %a[0, 0] : memref<{x}x32xf32> -> !x
  %y = tirx.load %b[0, 0] : memref<{y}x32xf32> -> !y
  %z = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!x) {{
    %q = "test.op"(%p, %y) : (!x, !y) -> !x
    scf.yield %q : !x
  }}
  "test.op"(%z) : (!x) -> ()
  tirx.return
}}
"""


@together(
    ("x", "y", "found"),
    [(128, 127, ""), (128, 128, "found 256 of "), (254, 1, ""), (255, 1, "found 256 of "), (256, 1, "found 256: ")],
)
def test_limits(x: int, y: int, found: str) -> None:
    said: list[str] = []
    with diagnostic_handler(lambda diagnostic: said.append(diagnostic.message)):
        (kernel,) = kernels(parsed(_LOOP.format(x=x, y=y)))
        warn_of_spills(list(kernel.walk()))
    assert [found in message for message in said] == [True] * bool(found), said
