"""Barriers in nested loops."""

import pytest

from tirx.dialects.tirx import BarrierOp
from tirx.passes.copies.tirx_insert_barriers import TirxInsertBarriersPass
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


def test_numbers_that_are_loaded_from_a_memref_that_is_written():
    """Every thread loads the element; others have written it, and write it again."""
    text = f"""
tirx.kernel @k(%a: memref<8x8xf32>, %b: memref<8x8xf32>) target("sm_80") threads(32) {{
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<8x8xf32> -> {_GLOBAL}
  %one = arith.constant 1.0 : f32
  tirx.fill %g, %one : f32, {_GLOBAL}
  %x = memref.load %a[%c0, %c0] : memref<8x8xf32>
  %y = memref.load %b[%c0, %c0] : memref<8x8xf32>
  %s = arith.addf %x, %y : f32
  tirx.fill %g, %s : f32, {_GLOBAL}
  tirx.return
}}"""
    module = parse_located(new_context(), text, "load.mlir")
    TirxInsertBarriersPass().apply(new_context(), module)
    names = [op.name for op in module.walk()]
    assert names.count("tirx.barrier") == 2
    assert names.index("tirx.barrier") < names.index("memref.load")
