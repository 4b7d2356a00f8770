"""Barriers in nested loops."""

import pytest

from tirx.dialects.tirx import BarrierOp
from tirx.passes.tirx_insert_barriers import TirxInsertBarriersPass
from tirx.text.parsing import parse_located
from tirx.universe import new_context

_GLOBAL, _SHARED = "!tirx.tile<8x8xf32, global>", "!tirx.tile<8x8xf32, shared>"


def _nest(depth: int) -> str:
    """Loops in each other: each writes one tile before the next and reads another one behind it."""
    loops = [
        f"scf.for %i{i} = %c0 to %c4 step %c1 {{\n    tirx.copy %g, %t : {_GLOBAL}, {_SHARED}" for i in range(depth)
    ]
    ends = [f"tirx.copy %u, %g : {_SHARED}, {_GLOBAL}\n  }}"] * depth
    return f"""
tirx.kernel @k(%a: memref<8x8xf32>) target("sm_90a") threads(32) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %g = tirx.view %a[%c0, %c0] : memref<8x8xf32> -> {_GLOBAL}
  %t = tirx.alloc : {_SHARED}
  %u = tirx.alloc : {_SHARED}
  {" ".join(loops)}
  tirx.copy %t, %u : {_SHARED}, {_SHARED}
  {" ".join(ends)}
  tirx.return
}}"""


@pytest.mark.parametrize("depth", [1, 2, 60])
def test_nested_loops(depth: int):
    """Deep nests take as long as their number of loops: two barriers a loop, one in the innermost."""
    context = new_context()
    module = parse_located(context, _nest(depth), "nest.mlir")
    TirxInsertBarriersPass().apply(context, module)
    assert sum(isinstance(op, BarrierOp) for op in module.walk()) == 2 * depth + 1
