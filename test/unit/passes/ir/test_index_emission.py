"""Index expressions as operations: they compute what the expressions mean, by shifts and masks where these do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from unit.cases import together
from unit.passes.evaluation import Lanes, evaluated
from xdsl.dialects.builtin import UnknownLoc, i32
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.index_emission import IndexEmission
from tirx.symbolic.index_expr import IndexExpr, var

X, Y = var("x", 96), var("y", 40)


@together(
    ("expression", "names"),
    [
        (lambda: X * 5 + 7, "muli addi"),
        (lambda: X * 8 + Y * 3 + 11, "shli muli addi addi"),
        (lambda: X // 8, "shrui"),
        (lambda: X // 6, "divui"),
        (lambda: X % 8, "andi"),
        (lambda: X % 6, "remui"),
        (lambda: (X - 50) // 8, "addi shrui addi"),
        (lambda: (X - 50) // 6, "addi divui addi"),
        (lambda: (X - 50) % 8, "addi andi"),
        (lambda: (X - 50) % 6, "addi remui"),
        (lambda: (X - 1) % 6, "addi remui"),
        (lambda: (X - 1) // 16, "addi shrui addi"),
        (lambda: (X - 50) % 1 + X, ""),
        (lambda: (X - 50) // 1, "addi"),
        (lambda: (X & 12) + Y, "andi addi"),
        (lambda: X ^ Y ^ 9, "xori xori"),
        (lambda: (X % 6) * 2 + (X % 6) * 3, None),
    ],
)
def test_values_and_operations(expression: Callable[[], IndexExpr], names: str | None) -> None:
    block = Block(arg_types=[i32, i32])
    emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    x = expression()
    result = IndexEmission(emit, {"x": block.args[0], "y": block.args[1]}, i32)(x)
    numbers: dict[str, Lanes] = {"x": np.arange(32) * 3 + 2, "y": np.arange(32)[::-1] + 7}
    values: dict[SSAValue, Lanes] = {
        arg: each.astype(np.uint32) for arg, each in zip(block.args, numbers.values(), strict=True)
    }
    evaluated(block.ops, values)
    assert values[result].view(np.int32).tolist() == x.evaluate(numbers).tolist()
    found = [op.name.removeprefix("arith.") for op in block.ops if op.operands]
    assert names is None or found == names.split()
    assert len(found) == len({(op.name, *op.operands) for op in block.ops if op.operands})
