"""What is known of indices: long chains of operations, and integers that wrap."""

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, i32
from xdsl.ir import SSAValue

import tirx
from tirx.dialects.tirx import BlockIdOp, GridAxis
from tirx.hw.integers import Integers
from tirx.passes.analysis.index_analysis import index_range


def constant(value: int) -> SSAValue:
    return arith.ConstantOp(IntegerAttr(value, IndexType())).result


def test_ranges():
    block, eight = BlockIdOp(GridAxis.X).result, constant(8)
    assert index_range(block) == Integers.within(0, None, 64)
    tile = arith.MuliOp(block, eight).result
    assert index_range(tile).divisor == 8
    assert index_range(arith.DivUIOp(tile, eight).result).divisor == 1
    assert index_range(arith.SubiOp(eight, constant(9)).result).value == (1 << 64) - 1
    assert index_range(arith.IndexCastOp(eight, i32).result) == Integers.of(8, 32)
    assert index_range(arith.RemUIOp(block, eight).result) == Integers(64)


def test_chains_are_longer_than_the_stack():
    four = constant(4)
    value = arith.MuliOp(BlockIdOp(GridAxis.X).result, four).result
    for _ in range(5000):
        value = arith.AddiOp(value, four).result
    assert index_range(value).divisor == 4


def test_constants_wrap():
    value = constant(3)
    for _ in range(40):
        value = arith.MuliOp(value, value).result
    assert index_range(value).value == pow(3, 1 << 40, 1 << 64)


KERNEL = """
tirx.kernel @k(%a: memref<8x8xf32>, %n: index) target("sm_90a") threads(32) {{
  %c0 = arith.constant 0 : index
  %x0 = arith.addi %n, %c0 : index
  {}
  %g = tirx.view %a[%x{}, %c0] : memref<8x8xf32> -> !tirx.tile<4x4xf32, global>
  %t = tirx.alloc : !tirx.tile<4x4xf32, shared>
  tirx.copy %g, %t : !tirx.tile<4x4xf32, global>, !tirx.tile<4x4xf32, shared>
  tirx.return
}}
"""


@pytest.mark.parametrize("operation, count", [("addi", 60), ("muli", 60)])
def test_doublings_take_linear_time(operation: str, count: int):
    lines = "\n  ".join(f"%x{i + 1} = arith.{operation} %x{i}, %x{i} : index" for i in range(count))
    assert ".visible .entry k" in tirx.compile(KERNEL.format(lines, count))
