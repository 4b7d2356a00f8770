"""Known indices: long chains of operations, and integers that wrap."""

import random
from collections.abc import Callable

import pytest
from unit.passes.parsed import parsed
from xdsl.dialects import arith, memref, scf, test
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, i32, i64
from xdsl.ir import Block, Region, SSAValue

import tirx
from tirx.dialects.formula import Call, Formula
from tirx.dialects.tirx import BlockIdOp, CtaRankOp, GridAxis, GridDimOp, LaunchValueOp
from tirx.passes.ir.index_analysis import (
    forget_ranges,
    index_limits,
    index_range,
    narrow_sizes,
    never_runs,
    ranges_found_once,
    trip_count_is_positive,
)
from tirx.symbolic.integers import Integers

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
    assert index_range(arith.RemSIOp(mask, constant(64)).result) == Integers(64, divisor=16)  # -16, and not 48
    assert index_range(arith.RemSIOp(mask, constant(8)).result) == Integers.of(0, 64)
    assert index_range(arith.RemUIOp(tile, constant(32)).result) == Integers(64, divisor=16)
    assert index_range(arith.AndIOp(block, mask).result) == Integers(64, divisor=16)
    assert index_range(arith.OrIOp(tile, constant(24)).result) == Integers(64, divisor=8)
    for kind in (arith.MinUIOp, arith.MaxSIOp):
        assert index_range(kind(tile, constant(40)).result) == Integers(64, divisor=8)
    assert index_range(arith.ShLIOp(block, constant(64)).result) == Integers(64)
    assert index_range(arith.ShLIOp(block, block).result) == Integers(64)


_KNOWN = """
tirx.kernel @k() grid(5, 3) threads(32) {
  %x = tirx.block_id x
  %y = tirx.block_id y
  %b = tirx.grid_dim x
  CONSTANTS
  %m1 = arith.constant -1 : index
  %m3 = arith.constant -3 : index
  %low = arith.subi %x, %c2 : index
  %sub1 = arith.subi %x, %c1 : index
  %by6 = arith.muli %x, %c6 : index
  %by4 = arith.muli %y, %c4 : index
  BODY
  tirx.return
}
""".replace("CONSTANTS", "\n".join(f"%c{i} = arith.constant {i} : index" for i in (0, 1, 2, 3, 4, 6, 7, 20, 63, 64)))
"""x is 0 to 4, y 0 to 2, b any number of 32 bits from 1 on; low is x - 2, sub1 x - 1, by6 6 * x and by4 4 * y."""

_ARITHMETIC = {
    "addi %x, %y": ((0, 6, 1), (0, 6, 1)),
    "addi %x, %x | muli %x, %y": ((0, 8, 1), (0, 8, 1)),
    "addi %x, %m1 | subi %x, %c1": ((-1, 3, 1), (-1, 3, 1)),
    "addi %low, %x | addi %sub1, %x | subi %x, %x | muli %low, %x": ((None, None, 1), (None, None, 1)),
    "muli %low, %low | divui %b, %m3 | divsi %low, %c3": ((None, None, 1), (None, None, 1)),
    "floordivsi %b, %c0 | floordivsi %low, %m3 | shli %b, %c64": ((None, None, 1), (None, None, 1)),
    "shli %x, %m1 | shrui %b, %c64 | shrsi %b, %c64": ((None, None, 1), (None, None, 1)),
    "maxui %by6, %m1 | minui %m1, %m3 | remsi %x, %low": ((None, None, 1), (None, None, 1)),
    "remsi %m1, %c4 | remsi %sub1, %y | remsi %x, %m3 | divsi %x, %low": ((None, None, 1), (None, None, 1)),
    "divsi %sub1, %x | ceildivui %sub1, %y": ((None, None, 1), (None, None, 1)),
    "addi %low, %y | addi %y, %low | subi %x, %y": ((-2, 4, 1), (-2, 4, 1)),
    "muli %x, %x": ((0, 16, 1), (0, 16, 1)),
    "muli %low, %y": ((-4, 4, 1), (-4, 4, 1)),
    "divui %x, %c3 | divsi %x, %c3": ((0, 1, 1), (0, 1, 1)),
    "divui %b, %c7": ((0, None, 1), (0, ((1 << 31) - 1) // 7, 1)),
    "divui %b, %c0 | divsi %b, %c0 | divsi %b, %b | divui %b, %x": ((None, None, 1), (0, (1 << 31) - 1, 1)),
    "divui %low, %c3": ((0, _MASK // 3, 1), (0, _MASK // 3, 1)),
    "divui %low, %c4": ((0, _MASK // 4, 1), (0, _MASK // 4, 1)),
    "floordivsi %low, %c2 | shrsi %low, %c1": ((-1, 1, 1), (-1, 1, 1)),
    "floordivsi %low, %c3": ((-1, 0, 1), (-1, 0, 1)),
    "shli %x, %c0": ((0, 4, 1), (0, 4, 1)),
    "shli %x, %c1": ((0, 8, 2), (0, 8, 2)),
    "shli %b, %c63": ((None, None, 1 << 63), (None, None, 1 << 63)),
    "shrui %b, %c1": ((0, None, 1), (0, (1 << 30) - 1, 1)),
    "shrui %b, %c63": ((0, None, 1), (0, 0, 0)),
    "shrui %low, %c1": ((0, None, 1), (0, None, 1)),
    "shrsi %x, %c1": ((0, 2, 1), (0, 2, 1)),
    "shrsi %b, %c63": ((None, None, 1), (0, 0, 0)),
    "remui %x, %c3 | andi %x, %y": ((None, None, 1), (0, 2, 1)),
    "remui %by6, %c3 | remsi %by6, %c3 | andi %by6, %c1": ((0, 0, 0), (0, 0, 0)),
    "remui %by6, %c4 | remsi %by6, %c4": ((None, None, 2), (0, 2, 2)),
    "remui %b, %b | remui %sub1, %b": ((None, None, 1), (0, (1 << 31) - 2, 1)),
    "remsi %by6, %c0 | remui %by6, %c0": ((None, None, 1), (0, -1, 1)),
    "andi %by6, %by4 | andi %b, %by4": ((None, None, 4), (0, 8, 4)),
    "ori %by6, %by4 | xori %by6, %by4": ((None, None, 2), (None, None, 2)),
    "minsi %by6, %by4 | minui %by6, %by4": ((None, None, 2), (0, 8, 2)),
    "maxsi %by6, %by4": ((None, None, 2), (0, 24, 2)),
    "maxui %by6, %c4": ((None, None, 2), (4, 24, 2)),
    "minui %by6, %c4": ((None, None, 2), (0, 4, 2)),
    "minui %by6, %m1 | minui %low, %by6": ((None, None, 1), (0, 24, 1)),
    "maxui %x, %c3": ((None, None, 1), (3, 4, 1)),
    "maxsi %low, %m1": ((None, None, 1), (-1, 2, 1)),
    "minsi %low, %m1": ((None, None, 1), (-2, -1, 1)),
    "remui %b, %x": ((None, None, 1), (0, 3, 1)),
    "remui %x, %b | divui %x, %b | ceildivui %x, %y": ((None, None, 1), (0, 4, 1)),
    "remsi %x, %y | remui %sub1, %y": ((None, None, 1), (0, 1, 1)),
    "divui %by6, %c6": ((0, 4, 1), (0, 4, 1)),
    "remsi %c7, %c4 | remui %c7, %c4": ((3, 3, 3), (3, 3, 3)),
}
"""Operations -> least and greatest value and divisor, of all that can be reached, and the limits of any launch."""


def _facts(found: Integers) -> tuple[int | None, int | None, int]:
    return found.low, found.high, found.divisor


def test_operations():
    names = [op for row in _ARITHMETIC for op in row.split(" | ")]
    body = "\n".join(f"%r{i} = arith.{op} : index" for i, op in enumerate(names))
    results = [op.results[0] for op in parsed(_KNOWN.replace("BODY", body)).walk() if op.results][-len(names) :]
    expected = {op: facts for row, facts in _ARITHMETIC.items() for op in row.split(" | ")}
    found = {
        op: (_facts(index_range(value)), _facts(index_limits(value))) for op, value in zip(names, results, strict=True)
    }
    assert found == expected


_LOOPS = {
    "%c0, %c7, %c2": (0, 6, 2),
    "%c1, %c7, %c3": (1, 4, 1),
    "%c3, %c20, %c4": (3, 19, 1),
    "%c0, %c6, %c3": (0, 3, 3),
    "%c0, %c1, %c1": (0, 0, 0),
    "%c7, %c3, %c2": (7, 7, 7),
    "%by4, %by6, %c6": (0, 22, 2),
    "%by4, %b, %c4": (0, None, 4),
    "%b, %c7, %c4": (None, 6, 1),
    "%low, %c7, %c1": (-2, 6, 1),
    "%x, %c7, %m1": (0, None, 1),
    "%c4, %c7, %c0": (4, None, 1),
    "%c4, %c7, %x": (4, None, 1),
    "for 5": (0, 4, 1),
    "for 0": (0, 0, 0),
    "for %x": (0, 3, 1),
    "for %b": (0, None, 1),
    "of (%x, %b)": (0, 3, 1),
    "of (%b, %x)": (0, None, 1),
}
"""Loops -> their counter, or the first coordinate of a tile: the least and the greatest value, and the divisor."""


def test_counters_of_loops():
    """Values carried to the next iteration are not known, and neither is a tile that hardware gives."""
    lines: list[str] = []
    for i, loop in enumerate(_LOOPS):
        match loop.split():
            case ["for", trips]:
                lines.append(f"%v{i} = tirx.for @l{i} %i = 0 to {trips} iter(%w: index = %c7) {{\ntirx.yield %i\n}}")
            case ["of", *_]:
                lines.append(f"tirx.tiles @l{i} %i, %j = order(row) {loop} {{\n}}")
            case _:
                low, high, step = loop.split(", ")
                lines.append(f"%v{i} = scf.for %i = {low} to {high} step {step} iter_args(%w = %c7) -> (index) {{")
                lines[-1] += "\nscf.yield %i : index\n}"
    lines += ["%ring = tirx.ring slots(2) stations(ask, read) : !tirx.ring<tile_id>"]
    lines += ["tirx.tiles @h %i, %j = hardware(%ring, read) {\n}"]
    *loops, hardware = [op for op in parsed(_KNOWN.replace("BODY", "\n".join(lines))).walk() if op.regions][2:]
    arguments = [loop.regions[0].block.args for loop in loops]
    assert {loop: _facts(index_range(args[0])) for loop, args in zip(_LOOPS, arguments, strict=True)} == _LOOPS
    others = [_facts(index_range(args[1])) for args in arguments]
    assert others == [(None, None, 1)] * (len(_LOOPS) - 2) + [(0, None, 1), (0, 3, 1)]
    assert [_facts(index_range(arg)) for arg in hardware.regions[0].block.args] == [(None, None, 1)] * 2


def test_choices_and_casts():
    text = """
      %p = arith.cmpi ult, %x, %b : index
      %chosen = arith.select %p, %low, %by6 : index
      %words = arith.muli %b, %c6 : index
      %same = arith.index_cast %words : index to i64
      %known = arith.index_cast %by6 : index to i64
      %narrow = arith.index_cast %by6 : index to i32
      %signed = arith.extsi %narrow : i32 to i64
      %before = arith.index_cast %sub1 : index to i32
      %unsigned = arith.extui %before : i32 to i64
      %loaded = "test.op"() : () -> i32
      %wide = arith.extsi %loaded : i32 to i64
    """
    values = {
        op.results[0].name_hint: op.results[0] for op in parsed(_KNOWN.replace("BODY", text)).walk() if op.results
    }
    names = ("chosen", "same", "known", "narrow", "signed", "unsigned", "wide")
    found = [(index_range(values[name]).width, *_facts(index_range(values[name]))) for name in names]
    assert found == [
        (64, None, None, 1),
        (64, None, None, 2),
        (64, 0, 24, 6),
        (32, 0, 24, 6),
        (64, 0, 24, 6),
        (64, None, None, 1),
        (64, None, None, 1),
    ]
    assert _facts(index_limits(values["chosen"])) == (-2, 24, 1)
    rows = arith.MuliOp(BlockIdOp(GridAxis.X).result, constant(24)).result
    assert index_range(arith.IndexCastOp(rows, i64).result) == Integers(64, divisor=8)
    assert index_range(arith.IndexCastOp(BlockIdOp(GridAxis.X).result, i64).result) == Integers.within(0, None, 64)
    loop = scf.ForOp(constant(0), BlockIdOp(GridAxis.X), constant(6), [], Region(Block(arg_types=[IndexType()])))
    counter = index_range(arith.IndexCastOp(loop.body.block.args[0], i64).result)
    assert counter == Integers(64, low=0, divisor=6)
    dim = memref.DimOp(test.TestOp(result_types=[MemRefType(i32, [-1])]).results[0], constant(0))
    assert _facts(index_limits(dim.result)) == (0, 1 << 48, 1)


@pytest.mark.parametrize("operations, low", [(61, -7), (62, -7), (63, None)])
def test_what_two_values_share_is_looked_for_among_64_values(operations: int, low: int | None):
    """The values are here the operations, their one constant, and the block."""
    one, found = constant(1), BlockIdOp(GridAxis.X).result
    for _ in range(operations):
        found = arith.MuliOp(found, one).result
    rank = CtaRankOp().result
    assert [index_range(arith.SubiOp(*pair).result).low for pair in ((found, rank), (found, one))] == [low, -1]
    assert index_range(arith.SubiOp(rank, found).result).high == (None if low is None else 7)


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
    assert ends(size) == (0, 1 << 45)
    assert ends(arith.SubiOp(size, x).result) == (2 - 2**31, 1 << 45)
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

    assert ends(below) == (32, -4, 3)
    assert ends(arith.ExtSIOp(below, i64).result) == (64, -4, 3)
    assert index_range(arith.ExtUIOp(below, i64).result) == Integers(64)
    assert ends(arith.ExtUIOp(arith.IndexCastOp(rank, i32).result, i64).result) == (64, 0, 7)
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
    """Common parts of them are not looked for: each would look through all of those before it."""
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


_NARROW = {
    # Blocks, sizes and loops: a size of at most 2^31 - 2^20 keeps them there.
    "%x, %c64 | muli": ("size(0, 0)",),
    "%y, %c64 | muli": (),
    "%rows, %c7 | addi": None,
    "%rows, %c7 | divui": ("size(0, 1)",),
    "%rows, %c7 | muli": None,
    "%rows, %x | minsi": ("size(0, 0)", "size(0, 1)"),
    "%k, %c0 | addi": ("size(1, 0)",),
    "%k, %x | addi": None,
    "%k, %c7 | remui": ("size(1, 0)",),
    "%n, %c7 | remui": (),
    "%n, %c0 | addi": None,
    "%word, %c0 | addi": None,
    "%words, %c7 | addi": ("size(1, 0)",),
    "%z, %c64 | muli": (),
}
"""Operands and operation -> the sizes that keep its result narrow; None where nothing does."""


def test_sizes_that_keep_an_index_narrow() -> None:
    text = """
    tirx.kernel @k(%a: memref<?x?xf32>, %b: memref<?xf32>, %n: index, %i: i32) target("sm_80")
        grid(ceildiv(size(0, 0), 64), 5, 7) threads(32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c7 = arith.constant 7 : index
      %c64 = arith.constant 64 : index
      %x = tirx.block_id x
      %y = tirx.block_id y
      %z = tirx.block_id z
      %rows = memref.dim %a, %c1 : memref<?x?xf32>
      %size = memref.dim %b, %c0 : memref<?xf32>
      %words = tirx.launch_value ceildiv(size(1, 0), 4)
      %word = arith.index_cast %i : i32 to index
      scf.for %k = %c0 to %size step %c64 {
        BODY
      }
      tirx.return
    }
    """
    lines = [f"%r{i} = arith.{case.split(' | ')[1]} {case.split(' | ')[0]} : index" for i, case in enumerate(_NARROW)]
    module = parsed(text.replace("BODY", "\n".join(lines)))
    results = {op.results[0].name_hint: op.results[0] for op in module.walk() if op.results}
    found = [narrow_sizes(results[f"r{i}"]) for i in range(len(_NARROW))]
    assert [None if sizes is None else tuple(map(str, sizes)) for sizes in found] == list(_NARROW.values())


def test_ranges_are_found_once_where_nothing_changes() -> None:
    block = BlockIdOp(GridAxis.X)
    twice = arith.MuliOp(block, constant(2))
    with ranges_found_once():
        first, limits = index_range(twice.result), index_limits(twice.result)
        with ranges_found_once():
            assert index_range(twice.result) is first and index_limits(twice.result) is limits
        assert index_range(twice.result) is first and limits.high is not None and first.high is None
        forget_ranges(constant(2))  # of which nothing is known
        assert index_range(twice.result) is first
        forget_ranges(twice.operands[0])
        assert index_range(twice.result) is not first
    twice.operands[1] = constant(4)
    assert index_range(twice.result).divisor == 4
