"""Offsets of computed parts: the arithmetic that is emitted gives the digits of the index, times their strides."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i32
from xdsl.ir import Operation, OpResult, SSAValue

from tirx.dialects.tirx import SubviewOp
from tirx.hw.errors import MissingLayoutError, PartOffsetError
from tirx.layout import Iter
from tirx.passes.ir.emitter import Emitter
from tirx.passes.match.computed_parts import ComputedOffset, computed_offsets


def _value(value: SSAValue) -> int:
    """Computes the result of an operation."""
    assert isinstance(value, OpResult)
    op: Operation = value.op
    operands = [_value(operand) for operand in op.operands]
    match op:
        case arith.ConstantOp(value=IntegerAttr() as constant):
            return constant.value.data
        case arith.IndexCastOp():
            return operands[0]
        case arith.AddiOp():
            return operands[0] + operands[1]
        case arith.MuliOp():
            return operands[0] * operands[1]
        case arith.DivUIOp():
            return operands[0] // operands[1]
        case arith.RemUIOp():
            return operands[0] % operands[1]
        case arith.ShRUIOp():
            return operands[0] >> operands[1]
        case arith.ShLIOp():
            return operands[0] << operands[1]
        case arith.AndIOp():
            return operands[0] & operands[1]
        case _:
            raise AssertionError(op)


@together(
    ("multiple", "iters", "expected"),
    [
        (1, ((4, 8),), {0: 0, 1: 8, 3: 24}),
        (4, ((4, 8),), {0: 0, 4: 8, 12: 24}),
        (4, ((4, 6),), {0: 0, 4: 6, 12: 18}),
        (2, ((2, 100), (3, 7)), {0: 0, 2: 7, 4: 14, 6: 100, 10: 114}),
        (1, ((2, 1000), (2, 100), (5, 3)), {1: 3, 4: 12, 5: 100, 9: 112, 10: 1000, 19: 1112}),
        (8, ((2, 512), (4, 16)), {8: 16, 24: 48, 32: 512, 56: 560}),
    ],
)
def test_values(multiple: int, iters: tuple[tuple[int, int], ...], expected: dict[int, int]) -> None:
    for index, offset in expected.items():
        module = ModuleOp([])
        given = arith.ConstantOp.from_int_and_width(index, IndexType())
        end = arith.ConstantOp.from_int_and_width(0, i32)
        module.body.block.add_ops([given, end])
        found = ComputedOffset(given.result, multiple, tuple(Iter(*each) for each in iters)).value(Emitter.before(end))
        assert _value(found) == offset


def test_one_multiplication_is_enough() -> None:
    """Of an index whose multiple the stride has; otherwise quotients are counted."""
    for stride, expected in ((12, ["arith.index_cast", "arith.muli"]), (6, ["arith.index_cast", "arith.shrui"])):
        given, end = (arith.ConstantOp.from_int_and_width(0, each) for each in (IndexType(), i32))
        module = ModuleOp([given, end])
        ComputedOffset(given.result, 4, (Iter(4, stride),)).value(Emitter.before(end))
        emitted = [op.name for op in module.body.block.ops if not isinstance(op, arith.ConstantOp)]
        assert emitted[:2] == expected and (len(emitted) == 2) == (stride == 12)


@together(("iters", "divisor"), [(((2, 12), (3, 8)), 4), (((2, 8),), 8), ((), 0), (((4, 7), (2, 2)), 1)])
def test_divisors(iters: tuple[tuple[int, int], ...], divisor: int) -> None:
    index = arith.ConstantOp.from_int_and_width(0, IndexType()).result
    assert ComputedOffset(index, 1, tuple(Iter(*each) for each in iters)).divisor == divisor


PARTS = """
tirx.kernel @k() target("sm_100a") grid(4) threads(128) {{
  %c0 = arith.constant 0 : index
  %by = arith.constant {by} : index
  %x = tirx.block_id x
  %at = arith.muli %x, %by : index
  %t = tirx.alloc : {source}
  %p = tirx.subview %t[{at}] : {source} -> {part}
  tirx.return
}}
"""


def _part(source: str, part: str, at: str, by: int) -> SSAValue:
    types = (f"!tirx.tile<{text}>" for text in (source, part))
    text = PARTS.format(source=next(types), part=next(types), at=at, by=by)
    module = parsed(text)
    return next(op.result for op in module.walk() if isinstance(op, SubviewOp))


ROWS = "12x40xf16, shared, #tirx.tile_layout<S[(12, 40) : (48, 1)]>"
COLUMNS = "128x96xf32, tensor, #tirx.tile_layout<S[(128, 96) : (1@TLane, 1@TCol)]>"
STAGES = "3x128x24xf16, tensor, #tirx.tile_layout<S[(3, 128, 24) : (30@TCol, 1@TLane, 1@TCol)]>"


@together(
    ("source", "part", "at", "by", "offsets"),
    [
        (ROWS, "4x8xf16, shared", "%at, 8", 4, [(4, [(3, 384)])]),
        (ROWS, "4x8xf16, shared", "%at, 8", 1, [(1, [(9, 96)])]),
        (ROWS, "4x8xf16, shared", "5, %at", 8, [(8, [(5, 16)])]),
        (ROWS, "4x8xf16, shared", "%x, %at", 8, [(1, [(9, 96)]), (8, [(5, 16)])]),
        (COLUMNS, "128x8xf32, tensor", "0, %at", 8, [(8, [(12, 8)])]),
        (STAGES, "1x128x24xf16, tensor", "%x, 0, 0", 2, [(1, [(3, 15)])]),
        (STAGES, "1x128x6xf16, tensor", "%x, 0, %at", 6, [(1, [(3, 15)]), (6, [(4, 3)])]),
    ],
)
def test_offsets_of_parts(
    source: str, part: str, at: str, by: int, offsets: list[tuple[int, list[tuple[int, int]]]]
) -> None:
    """Steps in bytes of shared memory and in columns of tensor memory, for each computed coordinate."""
    found = list(computed_offsets(_part(source, part, at, by)))
    moving = [(each.multiple, [(it.extent, it.stride) for it in each.iters if it.extent > 1]) for each in found]
    assert moving == offsets


@together(
    ("source", "part", "at", "by", "problem"),
    [
        (COLUMNS, "32x8xf32, tensor", "%at, 0", 32,
         "expected computed offsets along the columns of tensor memory, found dimension 0 along TLane"),
        (STAGES, "1x128x6xf16, tensor", "1, 0, %at", 3,
         "expected parts that start on a whole column, found steps of 48 bits along dimension 2"),
        ("12x40xi4, shared, #tirx.tile_layout<S[(12, 40) : (48, 1)]>", "4x8xi4, shared", "0, %at", 1,
         "expected parts that start on a whole byte, found steps of 4 bits along dimension 1"),
        ("12x40xf16, shared", "4x8xf16, shared", "0, %at", 8,
         "expected a layout on !tirx.tile<12x40xf16, shared>; tirx-pick-layouts chooses one"),
    ],
)  # fmt: skip
def test_parts_without_offsets(source: str, part: str, at: str, by: int, problem: str) -> None:
    with pytest.raises((PartOffsetError, MissingLayoutError)) as error:
        list(computed_offsets(_part(source, part, at, by)))
    assert str(error.value) == problem
