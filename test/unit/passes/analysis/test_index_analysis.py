"""What is known of indices: long chains of operations, and integers that wrap."""

import random
from collections.abc import Callable

import pytest
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, i32, i64
from xdsl.ir import Block, Region, SSAValue

import tirx
from tirx.dialects.formula import Call, Formula
from tirx.dialects.tirx import BlockIdOp, CtaRankOp, GridAxis, GridDimOp, LaunchValueOp
from tirx.hw.integers import Integers
from tirx.passes.analysis.index_analysis import index_limits, index_range, never_runs, trip_count_is_positive

_MASK = (1 << 64) - 1
_UNSIGNED: dict[type[arith.SignlessIntegerBinaryOperation], Callable[[int, int], int]] = {
    arith.MinUIOp: min,
    arith.MaxUIOp: max,
    arith.DivUIOp: lambda a, b: a // max(b, 1),
    arith.RemUIOp: lambda a, b: a % max(b, 1),
    arith.AndIOp: lambda a, b: a & b,
}


def _signed(bits: int) -> int:
    return bits - (1 << 64) if bits >> 63 else bits


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


def test_shifts_remainders_and_masks_by_constants():
    block, four, mask = BlockIdOp(GridAxis.X).result, constant(4), constant(-16)
    tile = arith.ShLIOp(block, four).result
    assert index_range(tile) == index_range(arith.MuliOp(block, constant(16)).result)
    assert index_range(arith.ShRUIOp(tile, constant(2)).result) == Integers.within(0, None, 64, 4)
    assert index_range(arith.ShRSIOp(tile, constant(2)).result) == Integers(64, divisor=4)
    assert index_range(arith.DivUIOp(block, four).result).high is None
    assert index_range(arith.FloorDivSIOp(tile, constant(8)).result) == Integers(64, divisor=2)
    assert index_range(arith.DivSIOp(block, constant(8)).result) == Integers.within(0, None, 64)
    for kind in (arith.RemUIOp, arith.RemSIOp):
        assert index_range(kind(tile, constant(8)).result).divisor == 0
        assert index_range(kind(tile, constant(0)).result) == Integers(64)
    assert index_range(arith.RemSIOp(tile, constant(24)).result) == Integers(64, divisor=8)
    assert index_range(arith.RemUIOp(tile, constant(32)).result) == Integers(64, divisor=16)
    assert index_range(arith.AndIOp(block, mask).result) == Integers(64, divisor=16)
    assert index_range(arith.OrIOp(tile, constant(24)).result) == Integers(64, divisor=8)
    for kind in (arith.MinUIOp, arith.MaxSIOp):
        assert index_range(kind(tile, constant(40)).result) == Integers(64, divisor=8)
    assert index_range(arith.ShLIOp(block, constant(64)).result) == Integers(64)
    assert index_range(arith.ShLIOp(block, block).result) == Integers(64)


def test_remainders_by_subtraction_claim_no_limits():
    block = BlockIdOp(GridAxis.X).result
    down = arith.ShLIOp(arith.ShRUIOp(block, constant(2)).result, constant(2)).result
    assert index_range(arith.SubiOp(block, down).result).low is None
    assert index_range(arith.SubiOp(BlockIdOp(GridAxis.Y).result, constant(4)).result).low == -4


def test_limits_of_what_a_launch_can_have():
    x, y = BlockIdOp(GridAxis.X).result, BlockIdOp(GridAxis.Y).result
    three, eight = constant(3), constant(8)
    tile = arith.MuliOp(x, eight).result
    size = LaunchValueOp(Call("ceildiv", (Call("size", (0, 1)), 8))).result

    def ends(value: SSAValue) -> tuple[int | None, int | None]:
        limits = index_limits(value)
        return limits.low, limits.high

    assert ends(x) == (0, 2**31 - 2) and ends(y) == (0, 65534)
    assert ends(GridDimOp(GridAxis.Z).result) == (1, 65535)
    assert ends(tile) == (0, 8 * (2**31 - 2)) and index_limits(tile).divisor == 8
    assert ends(size) == (0, 1 << 48)
    assert ends(arith.SubiOp(size, x).result) == (2 - 2**31, 1 << 48)
    assert ends(arith.RemUIOp(x, size).result) == (0, 2**31 - 2)
    assert ends(arith.RemUIOp(x, three).result) == (0, 2)
    assert ends(arith.DivUIOp(x, size).result) == (0, 2**31 - 2)
    before = arith.SubiOp(y, three).result
    assert ends(before) == (-3, 65531)
    assert ends(arith.DivSIOp(before, three).result) == (None, None)
    assert ends(arith.RemSIOp(before, three).result) == (None, None)
    assert ends(arith.RemUIOp(before, three).result) == (0, 2)
    assert ends(arith.MinUIOp(before, eight).result) == (0, 8)
    assert ends(arith.MinUIOp(eight, constant(9)).result) == (8, 8)
    assert ends(arith.MinSIOp(before, eight).result) == (-3, 8)
    assert ends(arith.MinUIOp(before, before).result) == (None, None)
    assert ends(arith.MaxSIOp(before, three).result) == (3, 65531)
    assert ends(arith.MaxUIOp(before, three).result) == (None, None)
    assert ends(arith.AndIOp(x, three).result) == (0, 3)
    some = arith.CmpiOp(x, y, "ult").result
    assert ends(arith.SelectOp(some, before, tile).result) == (-3, 8 * (2**31 - 2))
    total = LaunchValueOp(Call("mul", (Call("size", (0, 0)), Call("min", (Call("sm_count"), 4))))).result
    assert ends(total) == (0, 1 << 50)
    assert index_limits(three).value == 3
    assert ends(LaunchValueOp(Call("stride", (0, 0))).result) == (-(1 << 48), 1 << 48)
    rng = random.Random(0)
    for op_type, compute in _UNSIGNED.items():
        for _ in range(50):
            a, b = (rng.choice([-3, -1, 0, 1, 2, 7, 8]) for _ in range(2))
            low, high = ends(op_type(arith.AddiOp(y, constant(a)).result, constant(b)).result)
            result = compute(a + rng.randrange(12) & _MASK, b & _MASK)
            assert b == 0 or (low is None or low <= _signed(result)) and (high is None or _signed(result) <= high)


def test_limits_of_formulas():
    size = Call("size", (0, 0))

    def ends(formula: Formula) -> tuple[int | None, int | None]:
        limits = index_limits(LaunchValueOp(formula).result)
        return limits.low, limits.high

    assert ends(Call("ceildiv", (5, size))) == (0, 5)
    assert ends(Call("ceildiv", (-5, size))) == (-5, 0)
    assert ends(Call("add", (5, size))) == (5, (1 << 48) + 5)
    assert ends(Call("mul", (-3, Call("min", (size, 7))))) == (-21, 0)
    assert ends(Call("mul", (Call("stride", (0, 0)), Call("max", (-2, 3))))) == (-3 << 48, 3 << 48)
    assert ends(Call("min", (Call("stride", (0, 0)), 9))) == (-(1 << 48), 9)
    assert ends(Call("max", (Call("stride", (0, 0)), 9))) == (9, 1 << 48)
    assert ends(Call("sm_count")) == (0, 1 << 48)


def test_extensions_and_casts():
    rank, y = CtaRankOp().result, BlockIdOp(GridAxis.Y).result
    below = arith.IndexCastOp(arith.SubiOp(rank, constant(4)).result, i32).result

    def ends(value: SSAValue) -> tuple[int, int | None, int | None]:
        found = index_range(value)
        return found.width, found.low, found.high

    assert ends(below) == (32, -4, -3)
    assert ends(arith.ExtSIOp(below, i64).result) == (64, -4, -3)
    assert index_range(arith.ExtUIOp(below, i64).result) == Integers(64)
    assert ends(arith.ExtUIOp(arith.IndexCastOp(rank, i32).result, i64).result) == (64, 0, 1)
    rows = arith.IndexCastOp(arith.SubiOp(arith.MuliOp(y, constant(24)).result, constant(48)).result, i32).result
    assert index_range(arith.ExtUIOp(rows, i64).result) == Integers(64, divisor=8)


def test_loops_that_run():
    found = [
        (never_runs(loop), trip_count_is_positive(loop))
        for low, high in ((0, 1), (3, 3), (4, 3), (-1, 0))
        for loop in [scf.ForOp(constant(low), constant(high), constant(1), [], Region(Block()))]
    ]
    assert found == [(False, True), (True, False), (True, False), (False, True)]
    block = BlockIdOp(GridAxis.X).result
    for bounds in ((block, constant(0)), (constant(0), block)):
        loop = scf.ForOp(*bounds, constant(1), [], Region(Block()))
        assert not never_runs(loop) and not trip_count_is_positive(loop)
    assert not never_runs(arith.ConstantOp(IntegerAttr(0, IndexType())))


def test_chains_are_longer_than_the_stack():
    four = constant(4)
    value = arith.MuliOp(BlockIdOp(GridAxis.X).result, four).result
    for _ in range(2000):
        value = arith.AddiOp(value, four).result
    assert index_range(value).divisor == 4


def test_long_expressions_of_several_values_claim_no_limits():
    """What they have in common is not looked for: each would look through all of those before it."""
    y = BlockIdOp(GridAxis.Y).result
    value = BlockIdOp(GridAxis.X).result
    for _ in range(1200):
        value = arith.SubiOp(value, y).result
    assert index_range(value) == Integers(64)


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
