"""Offsets of computed parts: the arithmetic that is emitted gives the digits of the index, times their strides."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i32
from xdsl.ir import Operation, OpResult, SSAValue

from tirx.layout import Iter
from tirx.passes.emit.emitter import Emitter
from tirx.passes.plan.computed_parts import ComputedOffset


def _value(value: SSAValue) -> int:
    """What an operation computes."""
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


@pytest.mark.parametrize(
    ("multiple", "iters", "expected"),
    [
        (1, ((4, 8),), {0: 0, 1: 8, 3: 24}),
        (4, ((4, 8),), {0: 0, 4: 8, 12: 24}),
        (4, ((4, 6),), {0: 0, 4: 6, 12: 18}),
        (1, ((1, 5), (4, 8), (1, 0)), {0: 0, 3: 24}),
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


@pytest.mark.parametrize(
    ("iters", "divisor"), [(((2, 12), (3, 8)), 4), (((1, 3), (2, 8)), 8), (((1, 3),), 0), (((4, 7), (1, 2)), 7)]
)
def test_divisors(iters: tuple[tuple[int, int], ...], divisor: int) -> None:
    index = arith.ConstantOp.from_int_and_width(0, IndexType()).result
    assert ComputedOffset(index, 1, tuple(Iter(*each) for each in iters)).divisor == divisor
